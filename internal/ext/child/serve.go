package child

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isotope-agent/isotope/internal/ext/bundle"
	"github.com/isotope-agent/isotope/internal/ext/js"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/network"
	"github.com/isotope-agent/isotope/internal/proc"
)

// Argument is the only argument of a program that is to call Serve on its stdin and
// stdout.
const Argument = "--extension-host"

// server is the host's side.
type server struct {
	conn *conn
	ctx  context.Context // ends with the input
	kids *proc.Local
	ids  atomic.Int64

	mu    sync.Mutex
	rt    *js.Runtime                  // nil before it is open
	asked map[int64]chan message       // operations that are under way
	drops map[int64]context.CancelFunc // calls that are waited for
}

// Serve is the host's process: it reads from in, the engine's end, until that is closed.
// Then the scripts and their children end, and it returns; it waits for at most leave.
func Serve(in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{conn: newConn(in, out), ctx: ctx, kids: proc.New(), asked: map[int64]chan message{}, drops: map[int64]context.CancelFunc{}}
	var err error
	for err == nil {
		var m message
		if m, err = s.conn.receive(); err == nil {
			s.handle(m)
		}
	}
	cancel()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if rt := s.runtime(); rt != nil {
			rt.Close()
		}
		_ = s.kids.Close()
	}()
	select {
	case <-gone:
	case <-time.After(leave - time.Second): // what hangs ends with the process
	}
	if err == io.EOF { //nolint:errorlint // as io.Reader has it
		return nil
	}
	return err
}

// handle takes one message. It must not wait for the engine's process.
func (s *server) handle(m message) {
	rt := s.runtime()
	switch m.Type {
	case msgOpen:
		s.await(m.ID, func(context.Context) (jsonx.Raw, error) { return nil, s.open(m.body) })
	case msgCall, msgLoad, msgPost:
		if rt == nil {
			s.reply(m.ID, nil, js.ErrClosed)
			return
		}
		s.enter(rt, m)
	case msgDrop:
		s.mu.Lock()
		drop := s.drops[m.ID]
		s.mu.Unlock()
		if drop != nil {
			drop()
		}
	case msgAnswer, msgEmit:
		s.mu.Lock()
		asker := s.asked[m.ID]
		s.mu.Unlock()
		if asker != nil {
			asker <- m // it has room: see ask
		}
	}
}

func (s *server) runtime() *js.Runtime {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rt
}

// enter takes a message into the scripts. Calls and posts stand in the queue in the
// order in which they came.
func (s *server) enter(rt *js.Runtime, m message) {
	switch m.Type {
	case msgCall:
		s.await(m.ID, rt.Begin(m.Owner, m.Name, m.value()).Wait)
	case msgLoad:
		s.await(m.ID, func(ctx context.Context) (jsonx.Raw, error) { return nil, load(ctx, rt, m) })
	case msgPost:
		rt.Post(m.Owner, m.Name, m.Key, m.value())
	}
}

func (s *server) reply(id int64, body jsonx.Raw, err error) {
	s.conn.send(message{head{Type: msgReply, ID: id, Err: failureOf(err)}, body})
}

// await replies when the answer has come.
func (s *server) await(id int64, wait func(context.Context) (jsonx.Raw, error)) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	s.drops[id] = cancel
	s.mu.Unlock()
	go func() { // it ends with the runtime
		defer cancel()
		body, err := wait(ctx)
		if err != nil && s.ctx.Err() != nil {
			err = js.ErrClosed
		}
		s.mu.Lock()
		delete(s.drops, id)
		s.mu.Unlock()
		s.reply(id, body, err)
	}()
}

func (s *server) open(body jsonx.Raw) error {
	var o opening
	if err := jsonx.Unmarshal(body, &o); err != nil {
		return err
	}
	cfg := js.Config{
		Modules: o.Modules, Entry: o.Entry, Cwd: o.Cwd, Cache: bundle.NewCache(o.Cache),
		Limits: js.Limits{Slice: time.Duration(o.Slice), Load: time.Duration(o.Load), Settle: time.Duration(o.Settle), Memory: o.Memory},
		Sync:   map[string]js.SyncOp{}, Async: map[string]js.AsyncOp{},
		Log:     func(text string) { s.conn.send(message{head: head{Type: msgLog, Name: text}}) },
		Failed:  func(owner string, err error) { s.tell(msgFailed, owner, err) },
		Died:    func(err error) { s.tell(msgDied, "", err) },
		Child:   s.kids.Adopt,
		Network: network.New(network.Options{Proxy: func() string { return o.Proxy }}),
	}
	for _, name := range o.Sync {
		cfg.Sync[name] = func(owner string, args jsonx.Raw) (any, error) {
			return s.ask(s.ctx, head{Type: msgSync, Name: name, Owner: owner}, args, nil)
		}
	}
	for _, name := range o.Async {
		cfg.Async[name] = func(ctx context.Context, owner string, args jsonx.Raw, emit func(any)) (any, error) {
			return s.ask(ctx, head{Type: msgAsync, Name: name, Owner: owner}, args, emit)
		}
	}
	rt, err := js.New(cfg)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.rt = rt
	s.mu.Unlock()
	return nil
}

func (s *server) tell(kind, owner string, err error) {
	s.conn.send(message{head: head{Type: kind, Owner: owner, Err: failureOf(err)}})
}

func load(ctx context.Context, rt *js.Runtime, m message) error {
	var p program
	if err := jsonx.Unmarshal(m.body, &p); err != nil {
		return err
	}
	return rt.Load(ctx, m.Owner, &bundle.Script{Name: p.Name, Code: p.Code, Map: bundle.SourceMap{Dir: p.Dir, Raw: p.Map}})
}

// ask has the engine's process do an operation. The other side sends one emit at a time
// and one answer: two places are enough for it never to wait.
func (s *server) ask(ctx context.Context, h head, args jsonx.Raw, emit func(any)) (any, error) {
	h.ID = s.ids.Add(1)
	told := make(chan message, 2)
	s.mu.Lock()
	s.asked[h.ID] = told
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.asked, h.ID)
		s.mu.Unlock()
	}()
	s.conn.send(message{h, args})
	done := ctx.Done()
	for {
		select {
		case m := <-told:
			if m.Type == msgAnswer {
				return m.value(), m.Err.err()
			}
			emit(m.value())
			s.conn.send(message{head: head{Type: msgTaken, ID: h.ID}})
		case <-done:
			done = nil
			s.conn.send(message{head: head{Type: msgCancel, ID: h.ID}})
			if s.ctx.Err() != nil {
				return nil, js.ErrClosed
			}
		case <-s.ctx.Done():
			return nil, js.ErrClosed
		}
	}
}
