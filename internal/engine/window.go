package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// Texts about the context window (atomic-facts.md 8.9).
const (
	textNoModelSelected = "No model selected"
	textWindowTooLarge  = "contextWindow must be at most %d, the context window of %s"
)

// ContextWindows is what get_available_context_windows shows, in tokens, ascending.
type ContextWindows struct {
	ContextWindows       []int64 `json:"contextWindows"`
	CurrentContextWindow int64   `json:"currentContextWindow"`
	SupportsSelection    bool    `json:"supportsSelection"`
}

// budgetFor returns the budget of a session that is opened with a model: what its
// branch chose for it, else what settings say; 0 for the model's own.
func (e *Engine) budgetFor(m *llm.Model, had session.Selection) int64 {
	switch {
	case m == nil:
		return 0
	case had.ContextWindow > 0 && had.Model != nil && had.Model.Provider == m.Provider && had.Model.ID == m.ID:
		return had.ContextWindow
	}
	return e.cfg.Settings.DefaultContextWindow(m.Provider, m.ID)
}

// setModel makes m the model, with a budget of its context window: 0 is all of it.
func (e *Engine) setModel(m *llm.Model, budget int64) {
	e.listed, e.model = m, m
	if m != nil && budget > 0 && budget < m.ContextWindow {
		smaller := *m
		smaller.ContextWindow = budget
		e.model = &smaller
	}
}

// budgeted reports whether the budget is smaller than the model's context window.
func (e *Engine) budgeted() bool { return e.model != e.listed }

// SetContextWindow changes how much of the model's context window is used, in tokens,
// and stores and tells that when it is a change.
func (e *Engine) SetContextWindow(tokens int64, reply func(struct{}, error)) {
	ask(e, false, reply, func() (struct{}, error) {
		switch {
		case e.model == nil:
			return struct{}{}, errors.New(textNoModelSelected)
		case tokens > e.listed.ContextWindow:
			return struct{}{}, fmt.Errorf(textWindowTooLarge, e.listed.ContextWindow, e.listed.Ref())
		case tokens == e.model.ContextWindow:
			return struct{}{}, nil
		}
		if _, err := e.store.Append(session.ContextWindowChange{ContextWindow: tokens}); err != nil {
			return struct{}{}, fmt.Errorf("storing the context window: %w", err)
		}
		e.changeBudget(tokens)
		return struct{}{}, nil
	})
}

func (e *Engine) changeBudget(tokens int64) {
	before := e.model.ContextWindow
	if e.setModel(e.listed, tokens); e.model.ContextWindow != before {
		e.cfg.Output.Post(event.ContextWindowChanged{ContextWindow: e.model.ContextWindow})
	}
}

// AvailableContextWindows replies with the budgets that make sense: the model's window,
// the sizes at which its price changes, and the current one.
func (e *Engine) AvailableContextWindows(reply func(ContextWindows, error)) {
	ask(e, true, reply, func() (ContextWindows, error) {
		out := ContextWindows{ContextWindows: []int64{}}
		if e.model == nil {
			return out, nil
		}
		list := []int64{e.listed.ContextWindow, e.model.ContextWindow}
		for _, t := range e.listed.Cost.Tiers {
			if t.InputTokensAbove > 0 && t.InputTokensAbove < e.listed.ContextWindow {
				list = append(list, t.InputTokensAbove)
			}
		}
		slices.Sort(list)
		out.ContextWindows = slices.Compact(list)
		out.CurrentContextWindow, out.SupportsSelection = e.model.ContextWindow, len(out.ContextWindows) > 1
		return out, nil
	})
}
