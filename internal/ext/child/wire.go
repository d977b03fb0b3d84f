package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/isotope-agent/isotope/internal/ext/js"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// The types of messages. The engine's process sends the first group, the host's the
// second; an operation is answered under the id that its asker gave it.
const (
	msgOpen   = "open"   // body: opening
	msgCall   = "call"   // answered with reply
	msgPost   = "post"   // a call without an answer
	msgLoad   = "load"   // body: a script; answered with reply
	msgDrop   = "drop"   // nobody waits for the reply any more
	msgAnswer = "answer" // of an operation
	msgEmit   = "emit"   // of an operation; answered with taken

	msgReply  = "reply"
	msgSync   = "sync"   // an operation that scripts wait for
	msgAsync  = "async"  // one that runs beside them
	msgCancel = "cancel" // the script does not want it any more
	msgTaken  = "taken"
	msgLog    = "log"
	msgFailed = "failed"
	msgDied   = "died"
)

// head is the first line of a message; Size bytes of body follow.
type head struct {
	Type  string   `json:"t"`
	ID    int64    `json:"i,omitzero"`
	Owner string   `json:"o,omitzero"`
	Name  string   `json:"n,omitzero"` // of a dispatcher or an operation
	Key   string   `json:"k,omitzero"` // the id that a post carries
	Err   *failure `json:"e,omitzero"`
	Size  int      `json:"s,omitzero"`
}

type message struct {
	head
	body jsonx.Raw // empty for none
}

// conn sends and receives messages. send may be called by any goroutine, receive by one.
type conn struct {
	r *bufio.Reader

	mu sync.Mutex
	w  *bufio.Writer
}

func newConn(r io.Reader, w io.Writer) *conn {
	const size = 64 << 10
	return &conn{r: bufio.NewReaderSize(r, size), w: bufio.NewWriterSize(w, size)}
}

// send writes a message. An error means that the other side is gone, which whoever
// receives notices too.
func (c *conn) send(m message) {
	m.Size = len(m.body)
	line, err := jsonx.Marshal(m.head)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.w.Write(append(line, '\n'))
	_, _ = c.w.Write(m.body)
	_ = c.w.Flush()
}

// receive reads a message.
func (c *conn) receive() (m message, err error) {
	line, err := c.r.ReadBytes('\n')
	if err != nil {
		return m, err
	}
	if err := jsonx.Unmarshal(line, &m.head); err != nil {
		return m, fmt.Errorf("reading a message of the extension host: %w", err)
	}
	if m.Size < 0 {
		return m, errors.New("reading a message of the extension host: negative size")
	}
	if m.Size > 0 {
		m.body = make(jsonx.Raw, m.Size)
		_, err = io.ReadFull(c.r, m.body)
	}
	return m, err
}

// bodyOf encodes a value; nil has no body.
func bodyOf(v any) (jsonx.Raw, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case jsonx.Raw:
		return v, nil
	}
	return jsonx.Marshal(v)
}

// value is what bodyOf encoded.
func (m message) value() any {
	if len(m.body) == 0 {
		return nil
	}
	return m.body
}

// failure is an error on its way.
type failure struct {
	Kind   string      `json:"kind"`
	Text   string      `json:"text,omitzero"`
	After  int64       `json:"after,omitzero"` // nanoseconds
	Thrown *js.Error   `json:"thrown,omitzero"`
	Op     *js.OpError `json:"op,omitzero"`
}

// The kinds of failures.
const (
	failThrown   = "thrown"
	failEndless  = "endless"
	failStuck    = "stuck"
	failDead     = "dead"
	failClosed   = "closed"
	failCanceled = "canceled"
	failOp       = "op"
	failOther    = "other"
)

// failureOf takes an error apart; nil for none.
func failureOf(err error) *failure {
	var (
		thrown  *js.Error
		endless *js.Interrupted
		stuck   *js.Stuck
		op      *js.OpError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &thrown):
		return &failure{Kind: failThrown, Thrown: thrown}
	case errors.As(err, &endless):
		return &failure{Kind: failEndless, After: int64(endless.After)}
	case errors.As(err, &stuck):
		return &failure{Kind: failStuck, After: int64(stuck.After)}
	case errors.As(err, &op):
		return &failure{Kind: failOp, Op: op}
	case errors.Is(err, js.ErrDead):
		return &failure{Kind: failDead, Text: err.Error()}
	case errors.Is(err, js.ErrClosed):
		return &failure{Kind: failClosed}
	case errors.Is(err, context.Canceled):
		return &failure{Kind: failCanceled}
	}
	return &failure{Kind: failOther, Text: err.Error()}
}

// err puts the error together again.
func (f *failure) err() error {
	if f == nil {
		return nil
	}
	switch f.Kind {
	case failThrown:
		return f.Thrown
	case failEndless:
		return &js.Interrupted{After: time.Duration(f.After)}
	case failStuck:
		return &js.Stuck{After: time.Duration(f.After)}
	case failOp:
		return f.Op
	case failDead:
		return &lost{f.Text}
	case failClosed:
		return js.ErrClosed
	case failCanceled:
		return context.Canceled
	}
	return errors.New(f.Text)
}

// lost is ErrDead with the words of the other process.
type lost struct{ text string }

// Error implements error.
func (e *lost) Error() string { return e.text }

// Is reports that it is js.ErrDead.
func (e *lost) Is(target error) bool { return target == js.ErrDead } //nolint:errorlint // that is its meaning

// opening is what the host's process needs to start.
type opening struct {
	Modules map[string]string `json:"modules"`
	Entry   string            `json:"entry"`
	Cwd     string            `json:"cwd"`
	Cache   string            `json:"cache"`
	Proxy   string            `json:"proxy"`
	Sync    []string          `json:"sync"`
	Async   []string          `json:"async"`
	Slice   int64             `json:"slice"` // nanoseconds, as the two that follow
	Load    int64             `json:"load"`
	Settle  int64             `json:"settle"`
	Memory  int64             `json:"memory"`
}

// program is a bundled script.
type program struct {
	Name string `json:"name"`
	Code string `json:"code"`
	Dir  string `json:"dir"`
	Map  []byte `json:"map"`
}
