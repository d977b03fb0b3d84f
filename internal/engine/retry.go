package engine

import (
	"time"

	"github.com/isotope-agent/isotope/internal/agent"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/settings"
)

// textRetryCancelled is the finalError of a retry that was aborted.
const textRetryCancelled = "Retry cancelled"

// retryState is the switch and the wait that abort_retry ends.
type retryState struct {
	enabled bool
	cancel  func() // ends the current wait; nil when there is none
	aborts  []func()
}

// over ends a wait and answers those who asked for its end.
func (s *retryState) over() {
	waiting := s.aborts
	s.cancel, s.aborts = nil, nil
	for _, done := range waiting {
		done()
	}
}

// retryPlan says whether and when a failed part is tried again.
type retryPlan struct {
	retry   bool
	failed  *llm.AssistantMessage
	text    string // what is wrong with it
	attempt int
	max     int
	delay   time.Duration
}

// planRetry decides about a part that has just ended. It is called on the run
// goroutine, before agent_end.
func (e *Engine) planRetry(r *activeRun, out agent.Outcome) retryPlan {
	m := out.Last
	fault := faultOf(m)
	if fault == nil || r.ctx.Err() != nil {
		return retryPlan{}
	}
	policy := e.cfg.Settings.Retry()
	enabled := false
	e.sync(func() { enabled = e.retry.enabled && !e.closing })
	if !enabled || !retryable(fault) || r.attempt >= policy.MaxRetries {
		e.retryGaveUp(r, fault)
		return retryPlan{}
	}
	attempt := r.attempt + 1
	return retryPlan{
		retry: true, failed: m, text: fault.Message, attempt: attempt, max: policy.MaxRetries,
		delay: retryDelay(policy, attempt, fault.RetryAfter),
	}
}

// retryable reports whether trying again can help. Quota, keys and bad requests do
// not pass by themselves.
func retryable(err *llm.Error) bool {
	if err == nil {
		return false
	}
	switch err.Kind {
	case llm.ErrTransient, llm.ErrRateLimit, llm.ErrTransport:
		return true
	}
	return false
}

// retryDelay doubles the base with every attempt, up to its cap. What the server
// asked for counts when it is longer, up to a cap of its own.
func retryDelay(p settings.Retry, attempt int, asked time.Duration) time.Duration {
	d := p.BaseDelay
	for i := 1; i < attempt && (p.MaxAgentDelay == 0 || d < p.MaxAgentDelay); i++ {
		d *= 2
	}
	return max(capped(d, p.MaxAgentDelay), capped(asked, p.MaxRetryDelay))
}

// capped limits d; a limit of 0 is none.
func capped(d, limit time.Duration) time.Duration {
	if limit > 0 {
		return min(d, limit)
	}
	return d
}

// awaitRetry tells the retry, waits, and reports whether it is to be made.
func (e *Engine) awaitRetry(r *activeRun, p retryPlan) bool {
	r.attempt = p.attempt
	ctx, cancel := withCancel(r.ctx)
	defer cancel()
	e.sync(func() {
		e.dropAnswer(p.failed)
		e.retry.cancel = cancel
	})
	e.emit(r, event.AutoRetryStart{Attempt: p.attempt, MaxAttempts: p.max, DelayMs: p.delay.Milliseconds(), ErrorMessage: p.text})
	passed := wait(ctx, p.delay)
	if !passed {
		r.attempt = 0
		e.emit(r, event.AutoRetryEnd{Success: false, Attempt: p.attempt, FinalError: textRetryCancelled})
	}
	e.sync(e.retry.over)
	return passed
}

// retrySucceeded tells the end of a retry at the first good answer.
func (e *Engine) retrySucceeded(r *activeRun, m *llm.AssistantMessage) {
	if r.attempt > 0 && m.StopReason != llm.StopAborted && faultOf(m) == nil {
		attempt := r.attempt
		r.attempt = 0
		e.emit(r, event.AutoRetryEnd{Success: true, Attempt: attempt})
	}
}

// retryGaveUp remembers that the attempts are over; it is told after agent_end.
func (e *Engine) retryGaveUp(r *activeRun, fault *llm.Error) {
	if r.attempt > 0 {
		r.gaveUp = &event.AutoRetryEnd{Success: false, Attempt: r.attempt, FinalError: fault.Message}
		r.attempt = 0
	}
}

// AbortRetry ends the wait before a retry; the run then settles. It replies when that
// is told, at once when there is no wait.
func (e *Engine) AbortRetry(reply func(struct{}, error)) {
	ok := e.post(func() {
		done := func() { reply(struct{}{}, nil) }
		if e.retry.cancel == nil {
			done()
			return
		}
		e.retry.aborts = append(e.retry.aborts, done)
		e.retry.cancel()
	})
	if !ok {
		reply(struct{}{}, ErrShutdown)
	}
}

// SetAutoRetry switches retries on or off and writes it to the settings.
func (e *Engine) SetAutoRetry(on bool, reply func(struct{}, error)) {
	ask(e, false, reply, func() (struct{}, error) {
		e.retry.enabled = on
		return struct{}{}, e.saveSetting(on, "retry", "enabled")
	})
}
