package engine

import (
	"context"
	"time"
)

// RefreshOptions say how far a refresh goes: Network allows it to ask servers, Force to
// ask again what was asked a moment ago.
type RefreshOptions struct {
	Network, Force bool
}

// ProviderError says why the models of a provider could not be refreshed.
type ProviderError struct {
	Provider string `json:"provider"`
	Message  string `json:"message"`
}

// Refreshed is the outcome of a refresh. Aborted: the time was over before it was.
type Refreshed struct {
	Aborted bool            `json:"aborted"`
	Errors  []ProviderError `json:"errors"`
	*Accounts
}

// refreshing is the one refresh that is under way, and who waits for it.
type refreshing struct {
	active bool
	done   []func([]ProviderError)
}

// RefreshModels reads keys and lists of models again, beside the lane. Of several that
// are asked for at once one is done, and answers all. After timeout (0: none) it is
// answered as aborted and goes on by itself.
func (e *Engine) RefreshModels(opt RefreshOptions, timeout time.Duration, reply func(Refreshed, error)) {
	ok := e.post(func() {
		if e.closing {
			reply(Refreshed{}, ErrShutdown)
			return
		}
		finished := make(chan []ProviderError, 1)
		e.refresh.done = append(e.refresh.done, func(errs []ProviderError) { finished <- errs })
		e.goDo(func() { e.awaitRefresh(finished, timeout, reply) })
		if e.refresh.active {
			return
		}
		e.refresh.active = true
		e.goDo(func() {
			errs, err := try(e, func() ([]ProviderError, error) { return e.reread(opt), nil })
			if err != nil {
				errs = append(errs, ProviderError{Message: err.Error()})
			}
			e.post(func() { e.refreshed(errs) })
		})
	})
	if !ok {
		reply(Refreshed{}, ErrShutdown)
	}
}

func (e *Engine) reread(opt RefreshOptions) []ProviderError {
	if e.cfg.Refresh != nil {
		return e.cfg.Refresh(e.ctx, opt)
	}
	e.cfg.Models.Reload()
	return nil
}

func (e *Engine) refreshed(errs []ProviderError) {
	waiting := e.refresh.done
	e.refresh = refreshing{}
	for _, done := range waiting {
		done(errs)
	}
}

func (e *Engine) awaitRefresh(finished <-chan []ProviderError, timeout time.Duration, reply func(Refreshed, error)) {
	ctx, cancel := e.ctx, context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(e.ctx, timeout)
	}
	defer cancel()
	out := Refreshed{}
	select {
	case out.Errors = <-finished:
	case <-ctx.Done():
		out.Aborted = true
	}
	out.Errors = orEmpty(out.Errors)
	out.Accounts = e.accounts()
	e.post(func() { reply(out, nil) })
}

// Reload reads settings, models, keys and resources again. It holds the lane; session,
// queued messages and queue modes stay (atomic-facts.md 1.3).
func (e *Engine) Reload(reply func(struct{}, error)) {
	alone(e, reply, func() (struct{}, error) {
		e.hookLife(e.hooks().SessionShutdown, "reload")
		e.awaitSaves()
		if e.cfg.Reload != nil {
			if err := e.cfg.Reload(); err != nil {
				return struct{}{}, err
			}
		} else {
			e.cfg.Settings.Reload()
			e.cfg.Models.Reload()
		}
		e.reinstall()
		e.hookLife(e.hooks().SessionStart, "reload")
		return struct{}{}, nil
	})
}

// reinstall gives the live session what was read anew. It is not called on the engine
// goroutine.
func (e *Engine) reinstall() {
	var next installation
	e.sync(func() { next.store = e.store })
	if next.store == nil {
		return
	}
	next = e.ready(next.store)
	e.sync(func() {
		e.tools = next.tools
		e.conv.systemFor = nil
		e.retry.enabled, e.autoCompact = next.retry, next.compact
		before, level := e.model, e.thinking
		if before == nil {
			e.chosen, e.thinking = next.chosen, next.chosen.Thinking
			e.setModel(next.chosen.Model, next.budget)
			e.tellChoice(before, level)
			return
		}
		if m, ok := e.cfg.Models.Find(before.Provider, before.ID); ok {
			budget := int64(0)
			if e.budgeted() {
				budget = before.ContextWindow
			}
			e.setModel(m, budget)
			if e.model.ContextWindow != before.ContextWindow {
				e.tellModel(before, "set")
			}
		}
		if clamped := e.model.ClampThinking(level); clamped != level {
			if err := e.changeThinking(clamped); err != nil {
				e.cfg.Report(err.Error())
			}
		}
	})
}
