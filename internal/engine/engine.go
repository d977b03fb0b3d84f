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
	idle    Hooks // those that count while nobody listens
	mailbox chan func()
	stopped chan struct{} // closed when the engine goroutine has left
	wg      sync.WaitGroup
	ctx     context.Context // cancelled at shutdown
	cancel  context.CancelCauseFunc

	closeOnce sync.Once
	closeErr  error      // of closing the session; set before stopped is closed
	late      sync.Mutex // held while functions run that came after the engine goroutine left

	// All below belongs to the engine goroutine.
	store     *session.Store
	conv      conversation
	tools     *tool.Set
	model     *llm.Model // with the session's budget as its ContextWindow
	listed    *llm.Model // the same as the catalogue has it
	cwd       string     // where the session works
	thinking  llm.ThinkingLevel
	chosen    model.Initial
	queues    queues
	nextTurn  []llm.Message // of extensions, for the next prompt
	admit     admission
	run       *activeRun // nil when idle
	retry     retryState
	comp      compactions
	observers observers
	// autoCompact: the context is compacted without being asked.
	autoCompact bool
	bash        map[*bashCommand]struct{}
	deferred    []deferredBash // records that wait for the run to settle
	saves       []func()       // settings that wait to be written
	lane        lane
	refresh     refreshing
	logins      []*loginUnderWay
	navigating  bool // a move in the tree that takes its time is under way
	closing     bool
	closed      []func()
}

// New starts the engine on an open session. The caller must call Close.
func New(cfg Config, store *session.Store) *Engine {
	e := &Engine{
		cfg:     cfg.withDefaults(),
		mailbox: make(chan func(), 64),
		stopped: make(chan struct{}),
		bash:    map[*bashCommand]struct{}{},
	}
	e.idle = Hooks{SessionStart: e.cfg.Hooks.SessionStart}
	e.cwd = e.cfg.Cwd
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	go e.loop()
	first := e.ready(store)
	e.sync(func() { e.install(first) })
	return e
}

// loop is the engine goroutine. It ends when Close has let everything settle.
func (e *Engine) loop() {
	for fn := range e.mailbox {
		if fn == nil {
			break
		}
		e.step(fn)
	}
	close(e.stopped)
	e.drain()
}

// step runs one function of the mailbox. A panic is reported and costs only that
// function: the session goes on.
func (e *Engine) step(fn func()) {
	_ = recovered(e.cfg.Report, "internal error", func() error { fn(); return nil })
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
	case <-e.stopped:
		return false
	}
	select {
	case <-e.stopped: // it left meanwhile, perhaps without seeing fn
		e.drain()
	default:
	}
	return true
}

// drain runs what came too late for the engine goroutine, so that whoever asked gets
// an answer.
func (e *Engine) drain() {
	e.late.Lock()
	defer e.late.Unlock()
	for {
		select {
		case fn := <-e.mailbox:
			if fn != nil {
				e.step(fn)
			}
		default:
			return
		}
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

// goDo starts a goroutine that Close waits for. It is called on the engine goroutine.
func (e *Engine) goDo(fn func()) {
	e.wg.Add(1)
	go func() {
		defer e.wg.Done()
		e.step(fn)
	}()
}

// now returns the time in milliseconds since 1970.
func (e *Engine) now() int64 { return e.cfg.Now().UnixMilli() }

// Close lets everything settle and stops the engine: preparing prompts are answered,
// the run is aborted, persisted and told as settled, bash commands are cancelled and
// answered, and the session is synced and closed. It returns when that is done or
// when ctx ends, whichever is first; the error is ctx's then, all contexts of the
// engine are cancelled, and the end goes on in the background.
func (e *Engine) Close(ctx context.Context) error {
	e.closeOnce.Do(func() { go e.finish() })
	select {
	case <-e.stopped:
		return e.closeErr
	case <-ctx.Done():
		e.cancel(ErrShutdown)
		return fmt.Errorf("waiting for the session to settle: %w", context.Cause(ctx))
	}
}

// finish brings the engine to its end. Close waits for it.
func (e *Engine) finish() {
	settled := make(chan struct{})
	e.post(func() { e.shutdown(func() { close(settled) }) })
	<-settled
	e.cancel(ErrShutdown)
	e.wg.Wait()
	e.sync(func() { e.closeErr = errors.Join(e.store.Sync(), e.store.Close()) })
	e.mailbox <- nil
	<-e.stopped
}

// prepareAtMost is how long inputs may be prepared once the engine was told to stop:
// a hook that hangs must not keep the run from being aborted and persisted.
const prepareAtMost = time.Second

// shutdown begins the orderly end; done is called when nothing is open any more.
// Inputs that were read before are still admitted, so that each gets its answer;
// then what runs is aborted.
func (e *Engine) shutdown(done func()) {
	e.closing = true
	e.closed = append(e.closed, done)
	for _, w := range e.lane.take(func(*waiter) bool { return true }) {
		w.refuse(ErrShutdown)
	}
	for b := range e.bash {
		b.cancel(ErrShutdown)
	}
	if e.admit.busy() {
		e.goDo(func() {
			if wait(e.ctx, prepareAtMost) {
				e.post(func() { e.refuseInputs(ErrShutdown); e.admitNext() })
			}
		})
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
	e.comp.abort(ErrShutdown)
	if e.run != nil || e.comp.manual != nil || len(e.bash) > 0 || len(e.saves) > 0 || e.lane.held {
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
	step := func() { reply(try(e, fn)) }
	refuse := func(err error) {
		var zero T
		reply(zero, err)
	}
	ok := e.post(func() {
		if direct {
			step()
		} else {
			e.enter(&waiter{step: step, refuse: refuse})
		}
	})
	if !ok {
		refuse(ErrShutdown)
	}
}

// InTurn calls fn in the order of the calls to the engine, on the engine goroutine,
// and at once when that has left. fn must not block.
func (e *Engine) InTurn(fn func()) {
	if !e.post(fn) {
		fn()
	}
}

// try runs fn and makes a panic an error, which is reported too.
func try[T any](e *Engine, fn func() (T, error)) (v T, err error) {
	err = recovered(e.cfg.Report, "internal error", func() (err error) {
		v, err = fn()
		return err
	})
	return v, err
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
