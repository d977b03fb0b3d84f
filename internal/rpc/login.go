package rpc

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/isotope-agent/isotope/internal/auth"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// loginUI shows a login to the client and asks it, by extension_ui_request records
// (atomic-facts.md 3.4). Its methods may be called concurrently.
type loginUI struct {
	server          *server
	provider, login string
}

// Notify implements auth.UI.
func (u *loginUI) Notify(n auth.Notice) {
	u.send(n.Record(uuid.NewString(), u.provider, u.login))
}

// Ask implements auth.UI.
func (u *loginUI) Ask(ctx context.Context, q auth.Question) (string, error) {
	id := uuid.NewString()
	answers := u.server.questions.open(id)
	defer u.server.questions.close(id)
	u.send(q.Record(id, u.provider, u.login))
	select {
	case a := <-answers:
		if a.Cancelled || a.Value == nil {
			return q.Cancelled()
		}
		return *a.Value, nil
	case <-ctx.Done():
		if q.Method == auth.MethodCode {
			u.send(auth.WithdrawCode(uuid.NewString(), u.provider, u.login))
		}
		return "", auth.ErrCancelled
	}
}

// send writes a record; an output that is gone ends the process anyway.
func (u *loginUI) send(r auth.Record) { _ = u.server.cfg.Output.Write(r) }

// answer is an extension_ui_response, as far as a login needs it.
type answer struct {
	Value     *string `json:"value"`
	Cancelled bool    `json:"cancelled"`
}

// questions are those of logins that wait for the client, by the id of their record.
type questions struct {
	mu      sync.Mutex
	waiting map[string]chan answer
}

func (q *questions) open(id string) <-chan answer {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == nil {
		q.waiting = map[string]chan answer{}
	}
	ch := make(chan answer, 1)
	q.waiting[id] = ch
	return ch
}

func (q *questions) close(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, id)
}

// take hands an answer to the question with that id and reports whether there is one.
// A second answer comes too late, and one of the wrong form counts as a cancel.
func (q *questions) take(id string, line []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	ch, ok := q.waiting[id]
	if !ok {
		return false
	}
	delete(q.waiting, id)
	var a answer
	if jsonx.Unmarshal(line, &a) != nil {
		a = answer{Cancelled: true}
	}
	ch <- a
	return true
}
