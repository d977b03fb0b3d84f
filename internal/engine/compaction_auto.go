package engine

import (
	"context"
	"errors"

	"github.com/isotope-agent/isotope/internal/compact"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

// recoveryState is what a run knows of its compactions. It is the run goroutine's own.
type recoveryState struct {
	recovered   bool  // the one recovery of the user's message was used up
	underflowed bool  // the same for requests with too little room for output
	blocked     error // why no further request is sent
}

// saw gives a new recovery to each message of a user, and after each good answer.
func (s *recoveryState) saw(m llm.Message) {
	switch m := m.(type) {
	case *llm.UserMessage:
		*s = recoveryState{}
	case *llm.AssistantMessage:
		if !m.Failed() && m.StopReason != llm.StopLength {
			s.recovered, s.underflowed = false, false
		}
	}
}

// budget is what an automatic compaction is decided by.
type budget struct {
	enabled bool
	model   *llm.Model
	reserve int64
	fixed   func() int64
}

func (e *Engine) budget() budget {
	var (
		b     budget
		tools *tool.Set
	)
	e.sync(func() { b.enabled, b.model, tools = e.autoCompact && !e.closing, e.model, e.tools })
	if b.model == nil {
		b.enabled = false
	}
	if b.enabled {
		b.reserve = e.cfg.Settings.Compaction(b.model.Provider, b.model.ID).ReserveTokens
		if w := b.model.ContextWindow; b.reserve > w/4*3 { // it would always be due
			b.reserve = w / 4
		}
	}
	b.fixed = func() int64 { return e.fixedTokens(tools) }
	return b
}

// verdict decides about the context behind last. live: last has just ended a part.
func (e *Engine) verdict(r *activeRun, last *llm.AssistantMessage, live bool) compact.Verdict {
	b := e.budget()
	if !b.enabled || last == nil || r.ctx.Err() != nil || r.recovery.blocked != nil {
		return compact.Verdict{}
	}
	msgs, err := e.conversationMessages()
	if err != nil {
		return compact.Verdict{}
	}
	check := compact.Check{
		Enabled: true, Window: b.model.ContextWindow, Reserve: b.reserve, Model: b.model, Last: last, Live: live,
		Tokens:    func() int64 { return compact.RequestTokens(msgs, b.fixed()) },
		Recovered: r.recovery.recovered, Underflowed: r.recovery.underflowed,
	}
	if !live { // what a part ended with is newer than any boundary
		check.Since, _ = boundaryTime(msgs)
	}
	return compact.Decide(check)
}

// runCompaction returns a compaction of a run, not prepared yet.
func (e *Engine) runCompaction(r *activeRun, v compact.Verdict, last *llm.AssistantMessage) *compaction {
	c := &compaction{cause: v.Cause, urgency: v.Urgency, willRetry: v.WillRetry, emit: func(ev event.Event) { e.emit(r, ev) }}
	c.ctx, c.cancel = context.WithCancelCause(r.ctx)
	if v.DropLast {
		c.drop = last
	}
	return c
}

// planRecovery decides what becomes of the context after a part: nothing, a compaction,
// or one and another try of what the context spoiled (atomic-facts.md 6.11).
func (e *Engine) planRecovery(r *activeRun, last *llm.AssistantMessage) nextStep {
	v := e.verdict(r, last, true)
	if v.Exhausted != "" {
		end := event.CompactionEnd{
			Reason: v.Cause.Reason(), Result: e.noResult(), UnresolvedOverflow: v.Unresolved, ErrorMessage: v.Exhausted,
		}
		return nextStep{do: func() bool { e.emit(r, end); return false }}
	}
	if !v.Compact {
		return nextStep{}
	}
	if v.WillRetry && v.Cause != compact.CauseOverflow && v.Cause != compact.CauseLength && r.recovery.recovered {
		v.WillRetry, v.DropLast = false, false
	}
	c := e.runCompaction(r, v, last)
	c.emit = func(ev event.Event) { e.emit(r, ev) }
	err := e.prepareCompaction(c)
	if err != nil && v.Cause == compact.CauseLength && nothingToDo(err) && !c.summary {
		return nextStep{again: true, do: func() bool { // a shorter context would not help: once more as it is
			r.recovery.recovered = true
			e.sync(func() { e.dropAnswer(last) })
			return true
		}}
	}
	return nextStep{again: err == nil && v.WillRetry, do: func() bool {
		if v.WillRetry {
			r.recovery.recovered = true
			r.recovery.underflowed = r.recovery.underflowed || compact.OutputUnderflow(last)
		}
		return e.compactInRun(c, err) && v.WillRetry
	}}
}

// nothingToDo reports whether a compaction cannot make the context smaller.
func nothingToDo(err error) bool {
	return errors.Is(err, compact.ErrNothingToCompact) || errors.Is(err, compact.ErrAlreadyCompacted) ||
		errors.Is(err, compact.ErrNothingDeletable)
}

// compactInRun tells and makes a compaction that was prepared, or could not be because
// of failed. It reports whether the context is another one. It is called on the run
// goroutine.
func (e *Engine) compactInRun(c *compaction, failed error) bool {
	defer c.cancel(nil)
	if c.summary && nothingToDo(failed) {
		return false // nothing of it is told
	}
	e.beginCompaction(c)
	result, err := any(nil), failed
	if err == nil {
		result, err = e.tryCompaction(c)
	}
	end := e.compactionEnd(c, result, err)
	if errors.Is(err, compact.ErrNothingToCompact) { // a pair that says so
		end.ErrorMessage = ""
	}
	e.endCompaction(c, end)
	return err == nil
}

// tryCompaction is makeCompaction with a panic as an error.
func (e *Engine) tryCompaction(c *compaction) (any, error) {
	return try(e, func() (any, error) { return e.makeCompaction(c) })
}

func (e *Engine) beginCompaction(c *compaction) {
	e.sync(func() { e.comp.now = c })
	c.emit(event.CompactionStart{Reason: c.cause.Reason(), MidTurn: c.midTurn})
}

func (e *Engine) endCompaction(c *compaction, end event.CompactionEnd) {
	e.sync(func() { e.comp.now = nil })
	c.emit(end)
	e.sync(func() {
		for _, done := range c.after {
			done()
		}
	})
}

// compactBeforePrompt compacts when what the session holds leaves no room for a new
// prompt. If that fails, the run goes on: the provider has the last word.
func (e *Engine) compactBeforePrompt(r *activeRun) {
	if !e.budget().enabled {
		return
	}
	msgs, err := e.conversationMessages()
	if err != nil {
		return // the first request says so
	}
	v := e.verdict(r, lastAnswer(msgs), false)
	if !v.Compact {
		return
	}
	c := e.runCompaction(r, v, lastAnswer(msgs))
	e.compactInRun(c, e.prepareCompaction(c))
}

// lastAnswer returns the newest answer of a context, nil when there is none.
func lastAnswer(msgs []llm.Message) *llm.AssistantMessage {
	for i := len(msgs) - 1; i >= 0; i-- {
		if m, ok := msgs[i].(*llm.AssistantMessage); ok {
			return m
		}
	}
	return nil
}

// compactMidTurn compacts when a turn's tool results leave too little room for the next
// request (atomic-facts.md 6.12). It is called on the run goroutine. A context that
// does not fit afterwards is not sent.
func (e *Engine) compactMidTurn(ctx context.Context, r *activeRun) {
	b := e.budget()
	if !b.enabled || ctx.Err() != nil || r.recovery.blocked != nil {
		return
	}
	msgs, err := e.conversationMessages()
	if err != nil {
		return
	}
	window := b.model.ContextWindow
	due, over := compact.MidTurn(compact.RequestTokens(msgs, b.fixed()), window, b.reserve)
	if !due {
		return
	}
	c := e.runCompaction(r, compact.Verdict{Cause: compact.CauseMidTurn, Urgency: compact.LoadBearing}, nil)
	defer c.cancel(nil)
	c.midTurn, c.allowSmall = true, over
	failed := e.prepareCompaction(c)
	nothing := nothingToDo(failed)
	if nothing && c.summary {
		return
	}
	e.beginCompaction(c)
	result, err := any(nil), failed
	if err == nil {
		result, err = e.tryCompaction(c)
	}
	end := e.compactionEnd(c, result, err)
	switch {
	case nothing && !over:
		end.ErrorMessage = ""
	case err == nil:
		if tokens := e.tokensNow(ctx, b); window > 0 && tokens > window {
			end.ErrorMessage = compact.StillTooLarge(tokens, window)
			r.recovery.blocked = errors.New(end.ErrorMessage)
		}
	case end.Aborted:
		r.recovery.blocked = errors.New(compact.MidTurnCancelled)
	case over:
		r.recovery.blocked = errors.New(end.ErrorMessage)
	}
	e.endCompaction(c, end)
}

// tokensNow estimates the next request, as extensions leave it.
func (e *Engine) tokensNow(ctx context.Context, b budget) int64 {
	msgs, err := e.messages(ctx)
	if err != nil {
		return 0
	}
	return compact.RequestTokens(msgs, b.fixed())
}
