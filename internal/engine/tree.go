package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/isotope-agent/isotope/internal/compact"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// Errors of moves in the session tree (atomic-facts.md 1.3).
var (
	errNavigateBusy       = errors.New("Wait for the current response to finish before navigating the session tree.")
	errNavigateCompacting = errors.New("Wait for the compaction to finish before navigating the session tree.")
	errNavigating         = errors.New("A move in the session tree is already under way.")
	errMovedMeanwhile     = errors.New("The session changed while the branch was summarized; nothing was moved.")
)

// Navigation is a move to an entry of the session tree. Summarize leaves a summary of
// the branch that is left; Instructions are added to the request for it, or replace it.
// Label marks the summary, or the target.
type Navigation struct {
	TargetID            string
	Summarize           bool
	CustomInstructions  string
	ReplaceInstructions bool
	Label               string
}

// Navigated is the outcome of a move. EditorText is the text of the user's message (or
// an extension's) before which the session stands now, to be edited and sent again.
type Navigated struct {
	Cancelled  bool    `json:"cancelled"`
	EditorText *string `json:"editorText,omitzero"`
}

// move is where a navigation leads.
type move struct {
	leaf string // "" is before every entry
	text *string
	none bool // the target is where the session stands
}

// NavigateTree moves to an entry: to the place before it when it is a message of the
// user or an extension. A mere move is not stored: what is appended next is. With a
// summary to be made it goes on beside the lane, else it is one step.
func (e *Engine) NavigateTree(n Navigation, reply func(Navigated, error)) {
	if !n.Summarize && e.hooks().BeforeTree == nil {
		ask(e, false, reply, func() (Navigated, error) { return e.land(n, e.store.View(), nil) })
		return
	}
	refuse := func(err error) { reply(Navigated{}, err) }
	ok := e.post(func() {
		e.enter(&waiter{refuse: refuse, step: func() {
			if e.navigating {
				refuse(errNavigating)
				return
			}
			e.navigating = true
			e.goDo(func() {
				res, err := try(e, func() (Navigated, error) { return e.navigateSlowly(n) })
				e.post(func() {
					e.navigating = false
					reply(res, err)
					e.checkClosed()
				})
			})
		}})
	})
	if !ok {
		refuse(ErrShutdown)
	}
}

// navigateSlowly asks extensions and has the branch summarized, then moves.
func (e *Engine) navigateSlowly(n Navigation) (Navigated, error) {
	var (
		to   move
		view *session.View
	)
	err := error(ErrShutdown)
	e.sync(func() {
		if to, err = e.destination(n.TargetID); err == nil {
			view = e.store.View()
		}
	})
	if err != nil || to.none {
		return Navigated{}, err
	}
	if hook := e.hooks().BeforeTree; hook != nil {
		cancelled, err := hook(e.ctx, n.TargetID)
		if err != nil || cancelled {
			return Navigated{Cancelled: cancelled && err == nil}, err
		}
	}
	var summary *session.BranchSummary
	if n.Summarize {
		var cancelled bool
		if summary, cancelled, err = e.summarizeBranch(e.ctx, view, to.leaf, n); err != nil || cancelled {
			return Navigated{Cancelled: cancelled && err == nil}, err
		}
	}
	out := Navigated{}
	err = ErrShutdown
	e.sync(func() { out, err = e.land(n, view, summary) })
	return out, err
}

// land moves in one step, on the engine goroutine: it leaves the summary below the new
// place, and labels it.
func (e *Engine) land(n Navigation, seen *session.View, summary *session.BranchSummary) (Navigated, error) {
	to, err := e.destination(n.TargetID)
	if err != nil || to.none {
		return Navigated{}, err
	}
	if seen.Header().ID != e.store.ID() || seen.LeafID() != e.store.LeafID() {
		return Navigated{}, errMovedMeanwhile
	}
	before := e.store.LeafID()
	if err := e.store.SetLeaf(to.leaf); err != nil {
		return Navigated{}, err
	}
	marked := n.TargetID
	if summary != nil {
		if summary.FromID = to.leaf; to.leaf == "" {
			summary.FromID = "root"
		}
		if marked, err = e.store.Append(*summary); err != nil {
			return Navigated{}, errors.Join(fmt.Errorf("storing the summary: %w", err), e.store.SetLeaf(before))
		}
	}
	if n.Label != "" {
		if err := e.label(marked, n.Label); err != nil {
			return Navigated{}, err
		}
	}
	e.moved()
	if hook := e.hooks().TreeMoved; hook != nil {
		m := TreeMove{OldLeafID: before, NewLeafID: e.store.LeafID()}
		if summary != nil {
			m.SummaryID = marked
		}
		e.observe(func(ctx context.Context) { hook(ctx, m) })
	}
	return Navigated{EditorText: to.text}, nil
}

// destination says where a navigation leads, and whether it can be done now.
func (e *Engine) destination(targetID string) (move, error) {
	switch {
	case e.run != nil || e.admit.busy():
		return move{}, errNavigateBusy
	case e.compacting():
		return move{}, errNavigateCompacting
	case targetID == e.store.LeafID():
		return move{none: true}, nil
	}
	view := e.store.View()
	i := view.Index(targetID)
	if i < 0 {
		return move{}, &session.EntryNotFoundError{ID: targetID}
	}
	entry := view.Entry(i)
	if entry.Role != llm.RoleUser && entry.Type != session.TypeCustomMessage {
		return move{leaf: targetID}, nil
	}
	text, err := view.Text(i)
	if err != nil {
		return move{}, err
	}
	to := move{text: &text}
	if entry.HasParent {
		to.leaf = entry.ParentID
	}
	return to, nil
}

// moved makes the conversation that of the new place; the budget is replayed.
func (e *Engine) moved() {
	e.conv.reset(false)
	if e.model == nil {
		return
	}
	had, err := e.store.View().Selection()
	if err != nil {
		e.cfg.Report("reading the session's choices: " + err.Error())
		return
	}
	if had.ContextWindow > 0 {
		e.changeBudget(had.ContextWindow)
	}
}

// SetLabel marks an entry; "" takes the mark away.
func (e *Engine) SetLabel(entryID, label string, reply func(struct{}, error)) {
	ask(e, false, reply, func() (struct{}, error) { return struct{}{}, e.label(entryID, label) })
}

func (e *Engine) label(entryID, label string) error {
	if _, err := e.store.Append(session.Label{TargetID: entryID, Label: label}); err != nil {
		var unknown *session.EntryNotFoundError
		if errors.As(err, &unknown) {
			return err
		}
		return fmt.Errorf("storing the label: %w", err)
	}
	return nil
}

// summarizeBranch makes the summary of the branch that a move to leaf leaves; nil when
// nothing is left behind. cancelled: somebody gave it up.
func (e *Engine) summarizeBranch(ctx context.Context, view *session.View, leaf string, n Navigation) (summary *session.BranchSummary, cancelled bool, err error) {
	left, _, err := view.Leaving(leaf)
	if err != nil || len(left) == 0 {
		return nil, false, err
	}
	summary, err = e.branchSummary(ctx, left, branchSummaryOptions{Instructions: n.CustomInstructions, ReplacePrompt: n.ReplaceInstructions})
	if errors.Is(err, compact.ErrCancelled) {
		return nil, true, nil
	}
	return summary, false, err
}
