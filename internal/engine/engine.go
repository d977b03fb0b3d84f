// Package engine owns one live session: its conversation, queues, run, model,
// thinking level and direct bash commands, and decides what happens when. It is the
// only package that knows all of the levels below it.
//
// It must not know response ids, "success", lines or flags: clients of the engine
// are rpc, the JSON and print modes, and the extension host.
//
// Concurrency: one goroutine, started by New, owns all state. Every exported method
// may be called from any goroutine: it posts a function to that goroutine's mailbox
// and returns at once; the outcome comes through the reply function, which is called
// exactly once, on the engine goroutine, in the same step as the decision. A reply
// must not block. Steps run in the order of the calls. The engine goroutine never
// waits for a provider, a tool, a hook or a client: the run goroutine does.
package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/model"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/tool"
)

// Output takes the engine's records in order and never drops one.
type Output interface {
	// Emit blocks while too many bytes wait for the client. Runs and bash use it.
	Emit(event.Event)
	// Post never blocks. The engine goroutine uses it.
	Post(event.Event)
}

// Errors that clients see.
var (
	// ErrBusy refuses a prompt that does not say how to queue itself.
	ErrBusy = errors.New("Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.")
	// ErrCompacting refuses a prompt during a manual compaction.
	ErrCompacting = errors.New("Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry.")
	// ErrAbortedEarly answers a prompt that an abort overtook before it was accepted.
	ErrAbortedEarly = errors.New("prompt was aborted before it was accepted")
	// ErrShutdown answers whatever comes after the engine was told to stop.
	ErrShutdown = errors.New("shutting down")
	// ErrNothingToSend refuses a prompt without text and images.
	ErrNothingToSend = errors.New("nothing to send: message is empty and there are no images")
)

// Causes of a cancelled context, as context.Cause returns them.
var (
	errAborted  = errors.New("aborted by the client")
	errReplaced = errors.New("session was replaced")
)

// Engine is one live session. See the package comment for its concurrency rule.
type Engine struct {
	cfg     Config
	mailbox chan func()
	stopped chan struct{} // closed when the engine goroutine has left
	wg      sync.WaitGroup
	ctx     context.Context // cancelled at shutdown
	cancel  context.CancelCauseFunc

	// All below belongs to the engine goroutine.
	store    *session.Store
	conv     conversation
	tools    *tool.Set
	model    *llm.Model
	thinking llm.ThinkingLevel
	chosen   model.Initial
	queues   queues
	admit    admission
	run      *activeRun // nil when idle
	retry    retryState
	bash     map[*bashCommand]struct{}
	deferred []deferredBash // records that wait for the run to settle
	saves    []func()       // settings that wait to be written
	lane     lane
	closing  bool
	closed   []func()
}

// New starts the engine on an open session. The caller must call Close.
func New(cfg Config, store *session.Store) *Engine {
	e := &Engine{
		cfg:     cfg.withDefaults(),
		mailbox: make(chan func(), 64),
		stopped: make(chan struct{}),
		bash:    map[*bashCommand]struct{}{},
	}
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	e.install(store)
	go e.loop()
	return e
}

// loop is the engine goroutine. It ends when Close has let everything settle.
func (e *Engine) loop() {
	defer close(e.stopped)
	for fn := range e.mailbox {
		if fn == nil {
			return
		}
		e.step(fn)
	}
}

// step runs one function of the mailbox. A panic is reported and costs only that
// function: the session goes on.
func (e *Engine) step(fn func()) {
	defer func() {
		if p := recover(); p != nil {
			e.cfg.Report(fmt.Sprintf("internal error: %v\n%s", p, debug.Stack()))
		}
	}()
	fn()
}

// post hands fn to the engine goroutine. After the engine has left, fn is dropped
// and post reports false.
func (e *Engine) post(fn func()) bool {
	select {
	case <-e.stopped:
		return false
	default:
	}
	select {
	case e.mailbox <- fn:
		return true
	case <-e.stopped:
		return false
	}
}

// sync runs fn on the engine goroutine and waits for it. It is for the engine's own
// goroutines (runs, bash, preparation) and must never be called on the engine
// goroutine itself.
func (e *Engine) sync(fn func()) {
	done := make(chan struct{})
	if !e.post(func() { defer close(done); fn() }) {
		return
	}
	select {
	case <-done:
	case <-e.stopped:
	}
}

// goDo starts a goroutine that Close waits for.
func (e *Engine) goDo(fn func()) {
	e.wg.Add(1)
	go func() {
		defer e.wg.Done()
		defer func() {
			if p := recover(); p != nil {
				e.cfg.Report(fmt.Sprintf("internal error: %v\n%s", p, debug.Stack()))
			}
		}()
		fn()
	}()
}

// now returns the time in milliseconds since 1970.
func (e *Engine) now() int64 { return e.cfg.Now().UnixMilli() }

// Close lets everything settle and stops the engine: preparing prompts are answered,
// the run is aborted, persisted and told as settled, bash commands are cancelled and
// answered, and the session is synced and closed. It returns when that is done or
// when ctx ends, whichever is first; the error is ctx's then.
func (e *Engine) Close(ctx context.Context) error {
	settled := make(chan struct{})
	e.post(func() { e.shutdown(func() { close(settled) }) })
	select {
	case <-settled:
	case <-e.stopped:
		return nil
	case <-ctx.Done():
		e.cancel(ErrShutdown)
		return fmt.Errorf("waiting for the session to settle: %w", context.Cause(ctx))
	}
	e.cancel(ErrShutdown)
	waited := make(chan struct{})
	go func() { e.wg.Wait(); close(waited) }()
	select {
	case <-waited:
	case <-ctx.Done():
		return fmt.Errorf("waiting for the session's goroutines: %w", context.Cause(ctx))
	}
	err := e.closeStore()
	e.mailbox <- nil
	<-e.stopped
	return err
}

// closeStore closes the session from the engine goroutine.
func (e *Engine) closeStore() error {
	var err error
	e.sync(func() {
		err = errors.Join(e.store.Sync(), e.store.Close())
	})
	return err
}

// shutdown begins the orderly end; done is called when nothing is open any more.
// Inputs that were read before are still admitted, so that each gets its answer;
// then what runs is aborted.
func (e *Engine) shutdown(done func()) {
	e.closing = true
	e.closed = append(e.closed, done)
	e.lane.drop()
	for b := range e.bash {
		b.cancel(ErrShutdown)
	}
	e.checkClosed()
}

// checkClosed brings the orderly end on: once inputs are decided the run is aborted,
// and once nothing is open the waiters of shutdown are called.
func (e *Engine) checkClosed() {
	if !e.closing || e.admit.busy() {
		return
	}
	if e.run != nil {
		e.run.abort(ErrShutdown)
	}
	if e.run != nil || len(e.bash) > 0 || len(e.saves) > 0 || e.lane.held {
		return
	}
	for _, done := range e.closed {
		done()
	}
	e.closed = nil
}

// ask answers reply with the outcome of fn, exactly once, in one step of the engine
// goroutine. Ordinary commands wait while a session replacement holds the lane;
// getters and interrupts (direct) never do.
func ask[T any](e *Engine, direct bool, reply func(T, error), fn func() (T, error)) {
	step := func() {
		answered := false
		defer func() {
			if p := recover(); p != nil && !answered {
				e.cfg.Report(fmt.Sprintf("internal error: %v\n%s", p, debug.Stack()))
				var zero T
				reply(zero, fmt.Errorf("internal error: %v", p))
			}
		}()
		v, err := fn()
		answered = true
		reply(v, err)
	}
	refuse := func(err error) {
		var zero T
		reply(zero, err)
	}
	ok := e.post(func() {
		switch {
		case direct:
			step()
		case e.closing:
			refuse(ErrShutdown)
		default:
			e.lane.enter(step, refuse)
		}
	})
	if !ok {
		refuse(ErrShutdown)
	}
}

// lane holds ordinary commands back while a session replacement is under way.
type lane struct {
	held    bool
	waiting []waiter
}

type waiter struct {
	step   func()
	refuse func(error)
}

// enter runs step now, or when the lane is free again.
func (l *lane) enter(step func(), refuse func(error)) {
	if l.held {
		l.waiting = append(l.waiting, waiter{step, refuse})
		return
	}
	step()
}

// release frees the lane and runs what waited, until something holds it again.
func (l *lane) release() {
	l.held = false
	for len(l.waiting) > 0 && !l.held {
		w := l.waiting[0]
		l.waiting = l.waiting[1:]
		w.step()
	}
}

// drop refuses everything that waits.
func (l *lane) drop() {
	waiting := l.waiting
	l.waiting = nil
	for _, w := range waiting {
		w.refuse(ErrShutdown)
	}
}

// withCancel is context.WithCancel with a plain function, for storing.
func withCancel(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	return ctx, cancel
}

// wait blocks for d or until ctx ends, and reports whether the time passed.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
