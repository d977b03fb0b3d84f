// Package js owns one JavaScript engine and its event loop, and what scripts find of
// Node in it: timers, files, children, network and the like.
//
// It must not know the agent: what an extension can do with the session comes in
// through Config, as named operations and as host modules in JavaScript.
//
// Concurrency: one goroutine, started by New, owns the engine; every entry into it is a
// job of that goroutine, with a limit on its running time. Only strings cross the
// border: one native function into Go, one dispatcher into JavaScript. Operations that
// wait run on goroutines of their own and post their outcome; Close waits for them. A
// crash of the engine ends this runtime and nothing else: whoever waits gets ErrDead.
package js

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isotope-agent/isotope/internal/ext/bundle"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/network"
)

// Limits bound what scripts take. Zero values mean the defaults.
type Limits struct {
	Slice  time.Duration // running time of one entry into a script; 5 s
	Load   time.Duration // running time of one entry while a script is loaded; 30 s
	Settle time.Duration // how long a handler may stay unsettled with nothing under way; 60 s
	Memory int64         // bytes of the engine's heap; 256 MiB
}

func (l Limits) withDefaults() Limits {
	if l.Slice == 0 {
		l.Slice = 5 * time.Second
	}
	if l.Load == 0 {
		l.Load = 30 * time.Second
	}
	if l.Settle == 0 {
		l.Settle = time.Minute
	}
	if l.Memory == 0 {
		l.Memory = 256 << 20
	}
	return l
}

// SyncOp is an operation that scripts call and wait for. It runs on the engine's
// goroutine and must not block for long. owner is the extension that is running.
type SyncOp func(owner string, args jsonx.Raw) (any, error)

// AsyncOp is an operation that runs beside the scripts; ctx ends when the script
// cancels it or the runtime closes. emit tells the script something meanwhile and
// returns once the script has taken it.
type AsyncOp func(ctx context.Context, owner string, args jsonx.Raw, emit func(any)) (any, error)

// Config connects a runtime with its surroundings. Functions are called on the
// engine's goroutine unless they say otherwise.
type Config struct {
	// Modules are further host modules in JavaScript by slashed path, Entry the one
	// to run; it can import "../node/…" (see prelude).
	Modules map[string]string
	Entry   string
	Sync    map[string]SyncOp
	Async   map[string]AsyncOp
	Cache   *bundle.Cache
	Cwd     string
	Limits  Limits
	// Log takes what scripts write to the console, stdout and stderr.
	Log func(text string)
	// Failed takes errors that belong to no call: of timers and of promises that
	// nobody waits for.
	Failed func(owner string, err error)
	// Died is told, on a goroutine of its own, when the engine is lost.
	Died func(err error)
	// Child is told the process id of every child; the function it returns is called
	// when the child has ended. nil for nobody.
	Child func(pid int) (ended func())
	// Network carries what scripts send over HTTP and says whom they trust; nil for one
	// of the process's environment.
	Network *network.Network
}

var (
	// ErrDead answers whatever comes after the engine is lost.
	ErrDead = errors.New("the extension host has crashed")
	// ErrClosed answers whatever comes after Close.
	ErrClosed = errors.New("the extension host is closed")
)

// A Runtime is one engine. Methods may be called from any goroutine but the engine's.
type Runtime struct {
	cfg    Config
	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	queue  *jobs
	done   chan struct{} // closed when the engine's goroutine has left
	ops    sync.WaitGroup
	ids    atomic.Int64

	mu       sync.Mutex
	calls    map[string]*call
	inflight map[string]int // operations under way, by owner
	dead     error

	*state
}

// state belongs to the engine's goroutine.
type state struct {
	eng     *engine
	owner   string // whose code runs
	cancels map[string]context.CancelFunc
	timers  map[string]*timer
	maps    map[string]*bundle.Reader
	files   *files
	procs   *procs
	conns   *conns
	loops   int // entries in a row whose promises did not come to rest
}

// call is somebody who waits for a script's answer.
type call struct {
	owner string
	reply chan answer
}

type answer struct {
	value jsonx.Raw
	err   error
}

// New starts a runtime with the host modules loaded. The caller must call Close.
func New(cfg Config) (*Runtime, error) {
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.Network == nil {
		cfg.Network = network.New(network.Options{})
	}
	r := &Runtime{
		cfg: cfg, queue: newJobs(), done: make(chan struct{}),
		calls: map[string]*call{}, inflight: map[string]int{},
		state: &state{cancels: map[string]context.CancelFunc{}, timers: map[string]*timer{}, maps: map[string]*bundle.Reader{}, files: newFiles(), procs: newProcs(), conns: newConns()},
	}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	started := make(chan error, 1)
	go r.loop(started)
	if err := <-started; err != nil {
		<-r.done
		return nil, err
	}
	return r, nil
}

// loop is the engine's goroutine.
func (r *Runtime) loop(started chan<- error) {
	defer close(r.done)
	debug.SetPanicOnFault(true) // the engine is translated C: a fault of its is a panic here
	err := r.guarded(func() error { return r.boot() })
	started <- err
	if err == nil {
		for job := range r.queue.all() {
			if err := r.guarded(func() error { job(); return nil }); err != nil {
				r.die(err)
				break
			}
		}
	}
	r.queue.close()
	r.cancel(ErrClosed)
	r.stopTimers()
	_ = r.guarded(func() error { r.eng.close(); return nil })
}

// guarded turns a panic, also of the engine itself, into an error.
func (r *Runtime) guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDead, p)
		}
	}()
	return f()
}

// die fails whoever waits and tells that the engine is lost.
func (r *Runtime) die(err error) {
	r.mu.Lock()
	r.dead = err
	waiting := r.calls
	r.calls = map[string]*call{}
	r.mu.Unlock()
	for _, c := range waiting {
		c.reply <- answer{err: err}
	}
	if r.cfg.Died != nil {
		r.ops.Add(1)
		go func() { defer r.ops.Done(); r.cfg.Died(err) }()
	}
}

// Close stops the scripts: operations are cancelled, children killed, and the engine's
// memory is given back. It waits for all of it. It must not be called by an operation.
func (r *Runtime) Close() {
	r.queue.close()
	r.cancel(ErrClosed)
	for gone := false; !gone; {
		r.eng.interrupt() // it holds for one entry only
		select {
		case <-r.done:
			gone = true
		case <-time.After(20 * time.Millisecond):
		}
	}
	r.mu.Lock()
	waiting := r.calls
	r.calls = map[string]*call{}
	if r.dead == nil {
		r.dead = ErrClosed
	}
	r.mu.Unlock()
	for _, c := range waiting {
		c.reply <- answer{err: ErrClosed}
	}
	r.ops.Wait()
	r.files.close()
}

// Call has the dispatcher kind of the scripts answer arg on behalf of owner, and waits.
// It ends early when ctx ends, when the code runs longer than a slice, and when it stays
// unsettled for the settling time while nothing that it started is under way.
func (r *Runtime) Call(ctx context.Context, owner, kind string, arg any) (jsonx.Raw, error) {
	return r.Begin(owner, kind, arg).Wait(ctx)
}

// A Pending is a call that stands in the queue. Wait must be called once.
type Pending struct {
	r      *Runtime
	id     string
	call   *call
	settle time.Duration
	err    error // why it does not stand there
}

// Begin puts a call into the queue, behind what was put there before, and does not wait.
func (r *Runtime) Begin(owner, kind string, arg any) *Pending {
	return r.begin(owner, r.cfg.Limits.Settle, func(id string) error { return r.dispatch(kind, id, arg) })
}

// Post has the dispatcher kind take arg, without an answer.
func (r *Runtime) Post(owner, kind, id string, arg any) {
	r.post(func() {
		if err := r.enter(owner, r.cfg.Limits.Slice, func() error { return r.dispatch(kind, id, arg) }); err != nil {
			r.failed(owner, err)
		}
	})
}

// Load runs a bundled script on behalf of owner and waits until it is loaded: top-level
// awaits are over.
func (r *Runtime) Load(ctx context.Context, owner string, s *bundle.Script) error {
	p := r.begin(owner, r.cfg.Limits.Load, func(id string) error {
		r.maps[s.Name] = bundle.NewReader(s.Map)
		if err := r.eng.run(s.Name, s.Code); err != nil {
			return err
		}
		return r.dispatch("loaded", id, s.Name)
	})
	_, err := p.Wait(ctx)
	return err
}

// begin puts an entry into the queue whose answer is waited for.
func (r *Runtime) begin(owner string, settle time.Duration, entry func(id string) error) *Pending {
	id := strconv.FormatInt(r.ids.Add(1), 10)
	c := &call{owner: owner, reply: make(chan answer, 1)}
	r.mu.Lock()
	if r.dead != nil {
		defer r.mu.Unlock()
		return &Pending{err: r.dead}
	}
	r.calls[id] = c
	r.mu.Unlock()
	limit := r.cfg.Limits.Slice
	if settle == r.cfg.Limits.Load {
		limit = settle
	}
	posted := r.post(func() {
		if err := r.enter(owner, limit, func() error { return entry(id) }); err != nil {
			r.answer(id, answer{err: err})
		}
	})
	if !posted {
		r.drop(id)
		return &Pending{err: ErrClosed}
	}
	return &Pending{r: r, id: id, call: c, settle: settle}
}

// Wait returns the answer; see Call.
func (p *Pending) Wait(ctx context.Context) (jsonx.Raw, error) {
	if p.err != nil {
		return nil, p.err
	}
	r, id, c, settle := p.r, p.id, p.call, p.settle
	t := time.NewTimer(settle)
	defer t.Stop()
	for {
		select {
		case a := <-c.reply:
			return a.value, a.err
		case <-ctx.Done():
			r.drop(id)
			return nil, context.Cause(ctx)
		case <-t.C:
			if r.busy(c.owner) {
				t.Reset(settle)
				continue
			}
			r.drop(id)
			return nil, &Stuck{After: settle}
		}
	}
}

// busy reports whether operations of an owner are under way.
func (r *Runtime) busy(owner string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inflight[owner] > 0
}

func (r *Runtime) drop(id string) {
	r.mu.Lock()
	delete(r.calls, id)
	r.mu.Unlock()
}

// answer hands an answer to whoever waits for it; late ones are dropped.
func (r *Runtime) answer(id string, a answer) {
	r.mu.Lock()
	c := r.calls[id]
	delete(r.calls, id)
	r.mu.Unlock()
	if c != nil {
		c.reply <- a
	}
}

func (r *Runtime) post(job func()) bool { return r.queue.put(job) }

func (r *Runtime) failed(owner string, err error) {
	if r.cfg.Failed != nil {
		r.cfg.Failed(owner, err)
	}
}
