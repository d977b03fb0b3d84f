package engine

import (
	"context"
	"errors"

	"github.com/isotope-agent/isotope/internal/compact"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// Sources of summarization_retry_attempt_start.
const (
	sourceCompaction    = "compaction"
	sourceBranchSummary = "branchSummary"
)

// errNoSummaryModel refuses the summary of a branch (atomic-facts.md 1.3).
var errNoSummaryModel = errors.New("No model available for summarization")

// asker is who asks a model beside the conversation, for the events of its retries.
type asker struct {
	emit   func(event.Event)
	source string
	reason string
}

// completer returns the function with which compactions and branch summaries ask a
// model. Transient failures are tried again as the settings say.
func (e *Engine) completer(a asker) compact.Completer {
	return func(ctx context.Context, req *llm.Request) (*llm.AssistantMessage, error) {
		full := *req
		full.SessionID = newUUID()
		cred, err := e.cfg.Keys.Model(ctx, req.Model)
		if err != nil {
			return nil, &llm.Error{Kind: llm.ErrAuth, Message: err.Error(), Err: err}
		}
		Authorize(&full, cred)
		p, err := e.provider(req.Model.API)
		if err != nil {
			return nil, err
		}
		return e.completeRetrying(ctx, a, p, &full)
	}
}

func (e *Engine) completeRetrying(ctx context.Context, a asker, p llm.Provider, req *llm.Request) (*llm.AssistantMessage, error) {
	policy := e.cfg.Settings.Retry()
	var spent llm.Usage
	for attempt := 1; ; attempt++ {
		m, err := e.complete(ctx, p, req)
		if err != nil {
			return nil, err
		}
		spent = spent.Add(m.Usage)
		enabled := false
		e.sync(func() { enabled = e.retry.enabled && !e.closing })
		if m.StopReason != llm.StopError || !enabled || !retryable(m.Err) || attempt > policy.MaxRetries || ctx.Err() != nil {
			if attempt > 1 {
				a.emit(event.SummarizationRetryFinished{})
			}
			m.Usage = spent
			return m, nil
		}
		delay := retryDelay(policy, attempt, m.Err.RetryAfter)
		a.emit(event.SummarizationRetryScheduled{
			Attempt: attempt, MaxAttempts: policy.MaxRetries, DelayMs: delay.Milliseconds(), ErrorMessage: m.ErrorMessage,
		})
		if !wait(ctx, delay) {
			a.emit(event.SummarizationRetryFinished{})
			return nil, context.Cause(ctx)
		}
		a.emit(event.SummarizationRetryAttemptStart{Source: a.source, Reason: a.reason})
	}
}

// complete makes one call and folds its stream. A panic of a provider is its failure.
func (e *Engine) complete(ctx context.Context, p llm.Provider, req *llm.Request) (m *llm.AssistantMessage, err error) {
	start := e.now()
	b := llm.NewBuilder(req.Model, req.Thinking, start)
	var failure *llm.Error
	err = recovered(e.cfg.Report, "provider "+req.Model.Provider, func() error {
		for ev, err := range p.Stream(ctx, req) {
			if err != nil {
				failure = llm.AsError(err)
				break
			}
			b.Add(ev)
		}
		return nil
	})
	switch {
	case ctx.Err() != nil:
		return nil, context.Canceled
	case err != nil:
		return nil, err
	case failure == nil && !b.Done():
		failure = &llm.Error{Kind: llm.ErrTransport, Message: "stream ended without a final event"}
	}
	return b.Finish(failure, e.now()-start), nil
}

// branchSummaryOptions is what a client wants of the summary of a branch.
type branchSummaryOptions struct {
	Instructions  string // "" for nothing in particular
	ReplacePrompt bool   // Instructions stand for the own instructions
}

// branchSummary lets the current model write the summary of the entries that a move in
// the session tree leaves behind (session.View.Leaving), ready to be stored but for
// FromID. It waits for the model, so it is called on a goroutine that may; ctx and an
// abort cancel it. Retries are told as summarization_retry_* with source branchSummary. The error is
// compact.ErrCancelled, errNoSummaryModel or a *compact.Failure, whose usage is in the session
// then; nothing else was stored.
func (e *Engine) branchSummary(ctx context.Context, entries []session.SpanEntry, o branchSummaryOptions) (*session.BranchSummary, error) {
	var (
		store    *session.Store
		m        *llm.Model
		thinking llm.ThinkingLevel
	)
	ctx, cancel := withCancel(ctx)
	defer cancel()
	e.sync(func() { store, m, thinking, e.comp.branch = e.store, e.model, e.thinking, cancel })
	defer e.sync(func() { e.comp.branch = nil })
	if m == nil {
		return nil, errNoSummaryModel
	}
	s, err := compact.SummarizeBranch(ctx, &compact.BranchRequest{
		Entries: entries, Model: m, Thinking: thinking, Window: m.ContextWindow,
		ReserveTokens: e.cfg.Settings.BranchSummary().ReserveTokens,
		Instructions:  o.Instructions, ReplacePrompt: o.ReplacePrompt,
	}, e.completer(asker{emit: func(ev event.Event) { e.emitBeside(ctx, ev) }, source: sourceBranchSummary}))
	var f *compact.Failure
	if errors.As(err, &f) {
		e.storeUsage(store, m, sourceBranchSummary, f)
	}
	return s, err
}
