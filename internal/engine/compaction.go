package engine

import (
	"context"
	"errors"

	"github.com/isotope-agent/isotope/internal/compact"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/session"
)

// errTakenOver cancels an automatic compaction, and the run that it belongs to, when a
// client asks for one.
var errTakenOver = errors.New("a client asked for a compaction")

// errCompactionOnly cancels a compaction and leaves its run alone.
var errCompactionOnly = errors.New("the compaction was cancelled by the client")

// compactions is what is under way. It belongs to the engine goroutine.
type compactions struct {
	now    *compaction       // the one that works, in a run or beside it
	manual *manualCompaction // the one that a client asked for, from its acceptance on
	branch func()            // cancels the summary of a branch that is being written; nil for none
}

// abortBranch gives up the summary of a branch.
func (c *compactions) abortBranch() {
	if c.branch != nil {
		c.branch()
	}
}

// manualCompaction is one that a client asked for. Whoever asks while it is under way
// gets the same result.
type manualCompaction struct {
	*compaction
	replies []func(any, error)
	after   []func() // called behind the replies
}

// reason returns why a compaction is under way, "" when there is none.
func (c *compactions) reason() string {
	switch {
	case c.manual != nil:
		return c.manual.cause.Reason()
	case c.now != nil:
		return c.now.cause.Reason()
	}
	return ""
}

// abort cancels what is under way.
func (c *compactions) abort(cause error) {
	if c.manual != nil {
		c.manual.cancel(cause)
	}
	if c.now != nil {
		c.now.cancel(cause)
	}
}

// compacting reports whether a compaction that a client asked for is under way. Those
// of a run are part of it.
func (e *Engine) compacting() bool { return e.comp.manual != nil }

// Compact shortens the context. What runs is aborted and settles first; queued messages
// stay queued. instructions are what the user wants it to care for. The reply gets the
// strategy's result; the second of two calls gets that of the first.
func (e *Engine) Compact(instructions string, reply func(any, error)) {
	refuse := func(err error) { reply(nil, err) }
	step := func() {
		if e.store.ReadOnly() {
			refuse(session.ErrReadOnly)
			return
		}
		if m := e.comp.manual; m != nil {
			m.replies = append(m.replies, reply)
			return
		}
		m := &manualCompaction{
			compaction: &compaction{cause: compact.CauseManual, instructions: instructions},
			replies:    []func(any, error){reply},
		}
		m.ctx, m.cancel = context.WithCancelCause(e.ctx)
		m.emit = func(ev event.Event) { e.emitBeside(m.ctx, ev) }
		e.comp.manual = m
		if r := e.run; r != nil {
			r.settled = append(r.settled, func() { e.startManual(m) })
			r.abort(errTakenOver)
			if r.parked {
				e.partDone(r)
			}
			return
		}
		e.startManual(m)
	}
	if !e.post(func() { e.enter(&waiter{step: step, refuse: refuse}) }) {
		refuse(ErrShutdown)
	}
}

// emitBeside tells an event that belongs to no run: extensions first, then the client.
func (e *Engine) emitBeside(ctx context.Context, ev event.Event) {
	if hook := e.hooks().Event; hook != nil {
		hook(ctx, ev)
	}
	e.cfg.Output.Emit(ev)
}

// startManual begins a compaction that a client asked for, on a goroutine of its own.
func (e *Engine) startManual(m *manualCompaction) {
	e.goDo(func() {
		result, err := try(e, func() (any, error) {
			m.emit(event.CompactionStart{Reason: m.cause.Reason()})
			if err := e.prepareCompaction(m.compaction); err != nil {
				return nil, err
			}
			return e.makeCompaction(m.compaction)
		})
		if errors.Is(err, compact.ErrCancelled) {
			err = compact.ErrCancelled
		}
		end := e.compactionEnd(m.compaction, result, err)
		if hook := e.hooks().Event; hook != nil {
			hook(m.ctx, end)
		}
		e.sync(func() { e.manualDone(m, end, result, err) })
	})
}

// manualDone ends it in one step: to a client that sees the end, the next prompt is
// welcome.
func (e *Engine) manualDone(m *manualCompaction, end event.CompactionEnd, result any, err error) {
	e.comp.manual = nil
	m.cancel(nil)
	e.recordDeferredBash()
	e.cfg.Output.Post(end)
	for _, reply := range m.replies {
		reply(result, err)
	}
	for _, done := range m.after {
		done()
	}
	e.syncStore()
	e.checkClosed()
}

// compactionEnd is the event that ends a compaction.
func (e *Engine) compactionEnd(c *compaction, result any, err error) event.CompactionEnd {
	end := event.CompactionEnd{Reason: c.cause.Reason(), Result: result, MidTurn: c.midTurn}
	if err == nil {
		end.WillRetry = c.willRetry
		return end
	}
	end.Result = e.noResult()
	end.Aborted = errors.Is(err, compact.ErrCancelled)
	end.ErrorMessage = c.cause.ErrorMessage(err)
	end.UnresolvedOverflow = c.cause == compact.CauseOverflow && errors.Is(err, compact.ErrNothingDeletable)
	return end
}

// noResult stands for the result of a compaction that has none, as the dialect has it.
func (e *Engine) noResult() any {
	if e.cfg.NullCompactionResult {
		return jsonx.Raw("null")
	}
	return nil
}

// whenIdle ends the run and the compaction that are under way and calls done, on the
// engine goroutine, when both are over.
func (e *Engine) whenIdle(cause error, done func()) {
	open := 1
	over := func() {
		if open--; open == 0 {
			done()
		}
	}
	if m := e.comp.manual; m != nil {
		open++
		m.after = append(m.after, over)
	}
	e.comp.abort(cause)
	e.comp.abortBranch()
	if r := e.run; r != nil {
		open++
		r.settled = append(r.settled, over)
		r.abort(cause)
	}
	over()
}

// AbortCompaction cancels a compaction, whoever asked for it; the run that it belongs to
// goes on. It replies when its end is told, at once when there is none.
func (e *Engine) AbortCompaction(reply func(struct{}, error)) {
	ok := e.post(func() {
		done := func() { reply(struct{}{}, nil) }
		e.comp.abort(errCompactionOnly)
		switch {
		case e.comp.manual != nil:
			e.comp.manual.after = append(e.comp.manual.after, done)
		case e.comp.now != nil:
			e.comp.now.after = append(e.comp.now.after, done)
		default:
			done()
		}
	})
	if !ok {
		reply(struct{}{}, ErrShutdown)
	}
}

// SetAutoCompaction says whether the context is compacted without being asked, and
// writes it to the settings.
func (e *Engine) SetAutoCompaction(on bool, reply func(struct{}, error)) {
	ask(e, false, reply, func() (struct{}, error) {
		e.autoCompact = on
		return struct{}{}, e.saveSetting(on, "compaction", "enabled")
	})
}
