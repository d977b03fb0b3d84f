package engine

import (
	"bytes"
	"context"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/proc"
	"github.com/isotope-agent/isotope/internal/session"
)

// bashCommand is one direct bash command. It belongs to the process: it outlives a
// session replacement and is recorded in the session in which it began.
type bashCommand struct {
	req    BashRequest
	store  *session.Store // retained until the record is made
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// BashRequest is a direct bash command. ID is the client's id as it was sent, for
// its output events and for AbortBash; nil when it had none.
type BashRequest struct {
	ID                 jsonx.Raw
	Command            string
	ExcludeFromContext bool
}

// deferredBash is a record that waits for the run to settle.
type deferredBash struct {
	store *session.Store
	msg   *llm.BashExecutionMessage
}

// Bash runs a command beside everything else. It replies when the command is over:
// an error only when it could not be run at all.
func (e *Engine) Bash(req BashRequest, reply func(proc.BashResult, error)) {
	ok := e.post(func() {
		if e.closing {
			reply(proc.BashResult{}, ErrShutdown)
			return
		}
		if e.store.ReadOnly() {
			reply(proc.BashResult{}, session.ErrReadOnly)
			return
		}
		b := &bashCommand{req: req, store: e.store.Retain()}
		b.ctx, b.cancel = context.WithCancelCause(e.ctx)
		e.bash[b] = struct{}{}
		id := e.store.ID()
		e.goDo(func() {
			res, err := try(e, func() (proc.BashResult, error) { return e.runBash(b, e.cfg.Bash.Spill(id)) })
			e.post(func() { e.bashDone(b, res, err, reply) })
		})
	})
	if !ok {
		reply(proc.BashResult{}, ErrShutdown)
	}
}

// runBash runs the command on its own goroutine; an extension may answer instead.
func (e *Engine) runBash(b *bashCommand, spill proc.Spill) (proc.BashResult, error) {
	if hook := e.hooks().UserBash; hook != nil {
		handled, output, code, err := hook(b.ctx, b.req.Command)
		if err != nil {
			return proc.BashResult{}, err
		}
		if handled {
			return proc.BashResult{Output: output, ExitCode: &code}, nil
		}
	}
	return proc.Direct(b.ctx, e.cfg.Bash.Runner, e.cfg.Bash.Command(b.req.Command), spill, func(channel, delta string) {
		e.cfg.Output.Emit(event.BashExecutionUpdate{ID: b.req.ID, Channel: channel, Delta: delta})
	})
}

// bashDone records a command in its own session and replies: exactly once each.
func (e *Engine) bashDone(b *bashCommand, res proc.BashResult, err error, reply func(proc.BashResult, error)) {
	delete(e.bash, b)
	b.cancel(nil)
	if err == nil {
		e.recordBash(deferredBash{store: b.store, msg: bashMessage(b.req, res, e.now())})
	} else {
		e.release(b.store)
	}
	reply(res, err)
	e.checkClosed()
}

func bashMessage(req BashRequest, res proc.BashResult, now int64) *llm.BashExecutionMessage {
	return &llm.BashExecutionMessage{
		Command: req.Command, Output: res.Output, ExitCode: res.ExitCode, Cancelled: res.Cancelled,
		Truncated: res.Truncated, FullOutputPath: res.Path(), Timestamp: now,
		ExcludeFromContext: req.ExcludeFromContext,
	}
}

// recordBash stores a record now, or when the run of its session settles: between a
// tool call and its result there is no place for it. A compaction is waited for too.
func (e *Engine) recordBash(d deferredBash) {
	if d.store == e.store && (e.run != nil || e.compacting()) {
		e.deferred = append(e.deferred, d)
		return
	}
	e.storeBash(d)
}

func (e *Engine) storeBash(d deferredBash) {
	defer e.release(d.store)
	if _, err := d.store.Append(session.Message{Message: d.msg}); err != nil {
		e.cfg.Report("storing a bash command: " + err.Error())
		return
	}
	if d.store == e.store {
		e.conv.append(d.msg)
	}
}

// recordDeferredBash stores what waited for the run to settle.
func (e *Engine) recordDeferredBash() {
	waiting := e.deferred
	e.deferred = nil
	for _, d := range waiting {
		e.storeBash(d)
	}
}

func (e *Engine) release(s *session.Store) {
	if err := s.Close(); err != nil {
		e.cfg.Report("closing a session: " + err.Error())
	}
}

// AbortBash cancels direct bash commands: those with the given id, or all when id is
// nil. Each still gets its one reply.
func (e *Engine) AbortBash(id jsonx.Raw, reply func(struct{}, error)) {
	ask(e, true, reply, func() (struct{}, error) {
		for b := range e.bash {
			if id == nil || sameID(b.req.ID, id) {
				b.cancel(errAborted)
			}
		}
		return struct{}{}, nil
	})
}

// sameID reports whether two ids are the same JSON value: a string may be written in
// several ways.
func sameID(a, b jsonx.Raw) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errX := jsonx.DecodeStr(a)
	y, errY := jsonx.DecodeStr(b)
	return errX == nil && errY == nil && x == y
}
