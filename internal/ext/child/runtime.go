// Package child runs an extension host (ext/js) in a process of its own: Start is the
// engine's side of the border, Serve the host's. Both ends are the same program.
//
// It must not know what operations mean: it carries their names, arguments and answers,
// as strings, over a pipe each way. What the host's process does when it crashes, is
// killed or writes nonsense ends this runtime and nothing else: whoever waits gets
// js.ErrDead. The host ends when its input does, so it cannot outlive the engine.
//
// Concurrency: the methods of a Runtime may be called from any goroutine. One goroutine
// reads what the host says, in order, and runs the operations that scripts wait for;
// those that wait run on goroutines of their own. Close waits for all of them.
package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isotope-agent/isotope/internal/ext/bundle"
	"github.com/isotope-agent/isotope/internal/ext/js"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Process says how the host's process is started.
type Process struct {
	Path  string   // the program, one that calls Serve
	Args  []string // with its name first
	Env   []string // nil for this process's own
	Proxy string   // that a setting names; see network.Options
	// Adopt puts the process under a guard; see proc.Local.Adopt. nil: under none.
	Adopt func(pid int) (release func())
}

// Runtime is a js.Runtime in another process.
type Runtime struct {
	cfg    js.Config
	cmd    *exec.Cmd
	conn   *conn
	input  io.Closer
	stderr head1
	ctx    context.Context // ends with the process
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the process is gone and was told
	ops    sync.WaitGroup
	ids    atomic.Int64

	mu      sync.Mutex
	calls   map[int64]chan message
	running map[int64]*operation
	dead    error
	closing bool
}

// operation is one that scripts started and that runs here.
type operation struct {
	cancel context.CancelFunc
	taken  chan struct{}
}

// Start starts a process with the host modules loaded. The caller must call Close. Of
// cfg, Child and Network are the other process's own.
func Start(cfg js.Config, p Process) (*Runtime, error) {
	cmd := exec.Command(p.Path)
	cmd.Args, cmd.Env = p.Args, p.Env
	js.OwnGroup(cmd)
	r := &Runtime{cfg: cfg, cmd: cmd, done: make(chan struct{}), calls: map[int64]chan message{}, running: map[int64]*operation{}}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = &r.stderr
	cmd.WaitDelay = time.Second // for what children leave behind with its stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the process of the extension host: %w", err)
	}
	release := func() {}
	if p.Adopt != nil {
		release = p.Adopt(cmd.Process.Pid)
	}
	r.conn, r.input = newConn(out, in), in
	go r.read(release)
	if _, err := r.ask(context.Background(), message{head: head{Type: msgOpen}}, r.opening(p.Proxy)); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Runtime) opening(proxy string) opening {
	l := r.cfg.Limits
	return opening{
		Modules: r.cfg.Modules, Entry: r.cfg.Entry, Cwd: r.cfg.Cwd, Cache: r.cfg.Cache.Dir(), Proxy: proxy,
		Sync: slices.Sorted(maps.Keys(r.cfg.Sync)), Async: slices.Sorted(maps.Keys(r.cfg.Async)),
		Slice: int64(l.Slice), Load: int64(l.Load), Settle: int64(l.Settle), Memory: l.Memory,
	}
}

// Call is js.Runtime.Call.
func (r *Runtime) Call(ctx context.Context, owner, kind string, arg any) (jsonx.Raw, error) {
	return r.ask(ctx, message{head: head{Type: msgCall, Owner: owner, Name: kind}}, arg)
}

// Post is js.Runtime.Post.
func (r *Runtime) Post(owner, kind, id string, arg any) {
	body, err := bodyOf(arg)
	if err != nil {
		r.failed(owner, err)
		return
	}
	r.conn.send(message{head{Type: msgPost, Owner: owner, Name: kind, Key: id}, body})
}

// Load is js.Runtime.Load.
func (r *Runtime) Load(ctx context.Context, owner string, s *bundle.Script) error {
	_, err := r.ask(ctx, message{head: head{Type: msgLoad, Owner: owner}}, program{s.Name, s.Code, s.Map.Dir, s.Map.Raw})
	return err
}

// ask sends a message and waits for its reply.
func (r *Runtime) ask(ctx context.Context, m message, body any) (jsonx.Raw, error) {
	var err error
	if m.body, err = bodyOf(body); err != nil {
		return nil, err
	}
	m.ID = r.ids.Add(1)
	reply := make(chan message, 1)
	r.mu.Lock()
	if r.dead != nil {
		defer r.mu.Unlock()
		return nil, r.dead
	}
	r.calls[m.ID] = reply
	r.mu.Unlock()
	r.conn.send(m)
	select {
	case a := <-reply:
		return a.body, a.Err.err()
	case <-ctx.Done():
		r.take(m.ID)
		r.conn.send(message{head: head{Type: msgDrop, ID: m.ID}})
		return nil, context.Cause(ctx)
	}
}

// take returns who waits for a reply, nil for nobody.
func (r *Runtime) take(id int64) chan message {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[id]
	delete(r.calls, id)
	return c
}

// read is the goroutine that takes what the host says. It sees the process through to
// its end.
func (r *Runtime) read(release func()) {
	defer close(r.done)
	var err error
	for err == nil {
		var m message
		if m, err = r.conn.receive(); err == nil {
			r.handle(m)
		}
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		_ = r.cmd.Process.Kill() // what it writes is not understood
	}
	werr := r.cmd.Wait()
	release()
	r.end(werr)
}

// end fails whoever waits, and tells of a process that nobody asked to end.
func (r *Runtime) end(err error) {
	r.mu.Lock()
	closing := r.closing
	if r.dead == nil {
		r.dead = js.ErrClosed
		if !closing {
			r.dead = r.crash(err)
		}
	}
	dead, waiting := r.dead, r.calls
	r.calls = map[int64]chan message{}
	r.mu.Unlock()
	r.cancel(dead)
	for _, c := range waiting {
		c <- message{head: head{Err: failureOf(dead)}}
	}
	if !closing && r.cfg.Died != nil {
		r.ops.Go(func() { r.cfg.Died(dead) })
	}
}

// crash says how a process ended that was to go on.
func (r *Runtime) crash(err error) error {
	text := js.ErrDead.Error() + ": its process has ended"
	if err != nil {
		text += " (" + err.Error() + ")"
	}
	if line := r.stderr.first(); line != "" {
		text += ": " + line
	}
	return &lost{text}
}

// handle takes one message. It must not wait for the host.
func (r *Runtime) handle(m message) {
	switch m.Type {
	case msgReply:
		if c := r.take(m.ID); c != nil {
			c <- m
		}
	case msgSync:
		v, err := r.sync(m)
		r.answer(m.ID, v, err)
	case msgAsync:
		r.async(m)
	case msgCancel, msgTaken:
		r.mu.Lock()
		op := r.running[m.ID]
		r.mu.Unlock()
		switch {
		case op == nil:
		case m.Type == msgCancel:
			op.cancel()
		default:
			op.taken <- struct{}{}
		}
	case msgLog:
		if r.cfg.Log != nil {
			r.cfg.Log(m.Name)
		}
	case msgFailed:
		r.failed(m.Owner, m.Err.err())
	case msgDied:
		r.mu.Lock()
		r.dead = m.Err.err()
		r.mu.Unlock()
		_ = r.cmd.Process.Kill() // an engine that is lost is of no use
	}
}

func (r *Runtime) failed(owner string, err error) {
	if r.cfg.Failed != nil {
		r.cfg.Failed(owner, err)
	}
}

func (r *Runtime) sync(m message) (any, error) {
	f := r.cfg.Sync[m.Name]
	if f == nil {
		return nil, errUnknown(m.Name)
	}
	return guarded(func() (any, error) { return f(m.Owner, m.body) })
}

func errUnknown(op string) error {
	return &js.OpError{Message: "the host has no operation " + op, Code: "ERR_UNSUPPORTED"}
}

// answer sends what became of an operation.
func (r *Runtime) answer(id int64, v any, err error) {
	var body jsonx.Raw
	if err == nil {
		body, err = bodyOf(v)
	}
	a := message{head: head{Type: msgAnswer, ID: id}}
	if err != nil {
		a.Err = &failure{Kind: failOp, Op: js.AsOpError(err)}
	} else {
		a.body = body
	}
	r.conn.send(a)
}

// async starts an operation that runs beside the scripts.
func (r *Runtime) async(m message) {
	f := r.cfg.Async[m.Name]
	if f == nil {
		r.answer(m.ID, nil, errUnknown(m.Name))
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	op := &operation{cancel: cancel, taken: make(chan struct{}, 1)}
	r.mu.Lock()
	r.running[m.ID] = op
	r.mu.Unlock()
	var one sync.Mutex // what the script is told, one at a time
	emit := func(ev any) {
		one.Lock()
		defer one.Unlock()
		body, err := bodyOf(ev)
		if err != nil {
			return
		}
		r.conn.send(message{head{Type: msgEmit, ID: m.ID}, body})
		select {
		case <-op.taken:
		case <-r.ctx.Done():
		}
	}
	r.ops.Go(func() {
		defer cancel()
		v, err := guarded(func() (any, error) { return f(ctx, m.Owner, m.body, emit) })
		r.mu.Lock()
		delete(r.running, m.ID)
		r.mu.Unlock()
		r.answer(m.ID, v, err)
	})
}

// guarded runs an operation; a panic of it is its error.
func guarded(f func() (any, error)) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, &js.OpError{Message: "internal error of the host"}
		}
	}()
	return f()
}

// leave is how long the host may take for an orderly end.
const leave = 5 * time.Second

// Close ends the process, and with it all that its scripts started. It waits for it,
// and for the operations that run here. It must not be called by an operation.
func (r *Runtime) Close() {
	r.mu.Lock()
	r.closing = true
	r.mu.Unlock()
	_ = r.input.Close()
	t := time.NewTimer(leave)
	defer t.Stop()
	select {
	case <-r.done:
	case <-t.C:
		_ = r.cmd.Process.Kill()
		<-r.done
	}
	r.ops.Wait()
}

// head1 keeps the beginning of what is written to it.
type head1 struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (h *head1) Write(b []byte) (int, error) {
	const most = 4 << 10
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buf.Write(b[:min(len(b), max(most-h.buf.Len(), 0))])
	return len(b), nil
}

// first returns the first line with a word in it.
func (h *head1) first() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for line := range strings.Lines(h.buf.String()) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
