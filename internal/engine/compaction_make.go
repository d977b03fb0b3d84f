package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/isotope-agent/isotope/internal/compact"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/settings"
	"github.com/isotope-agent/isotope/internal/tool"
)

// compaction is one compaction from its decision to its end. It is prepared and made on
// a goroutine that may wait: that of its run, or one of its own.
type compaction struct {
	cause        compact.Cause
	urgency      compact.Urgency
	allowSmall   bool
	midTurn      bool
	willRetry    bool                  // the interrupted work is tried again afterwards
	drop         *llm.AssistantMessage // the answer that leaves the context first; nil for none
	instructions string
	ctx          context.Context
	cancel       context.CancelCauseFunc
	emit         func(event.Event)
	after        []func() // of abort_compaction; belongs to the engine goroutine

	// Set when it is prepared.
	store    *session.Store
	leaf     string     // where the branch ended
	model    *llm.Model // that is asked: the session's, or that of the setting compactionModel
	summary  bool       // the strategy writes a summary
	plan     *compact.Plan
	settings settings.Compaction
}

// CompactRequest is what a BeforeCompact hook sees.
type CompactRequest struct {
	Plan         *compact.Plan
	Reason       string // manual, threshold or overflow
	WillRetry    bool
	Instructions string
}

// CompactDecision is what a BeforeCompact hook wants: to cancel the compaction, or what
// stands for it. The zero value lets it happen.
type CompactDecision struct {
	Cancel  bool
	Replace *compact.Replacement
}

// CompactDone is what a Compacted hook sees.
type CompactDone struct {
	EntryID   string
	FromHook  bool
	Reason    string
	WillRetry bool
}

// prepareCompaction reads the branch and decides what would be done. It asks no model.
func (e *Engine) prepareCompaction(c *compaction) error {
	var (
		view     *session.View
		thinking llm.ThinkingLevel
		tools    *tool.Set
	)
	e.sync(func() {
		c.store, view = e.store, e.store.View()
		c.model, thinking, tools = e.model, e.thinking, e.tools
	})
	if view == nil {
		return ErrShutdown
	}
	c.leaf = view.LeafID()
	branch, err := compact.Load(view)
	if err != nil {
		return err
	}
	if c.drop != nil {
		dropAnswer(branch)
	}
	m := c.model
	if m == nil { // what there is decides first
		m = &llm.Model{}
	}
	c.settings = e.cfg.Settings.Compaction(m.Provider, m.ID)
	name := cmp.Or(c.settings.Strategy, e.cfg.Strategy, compact.NameVerbatim)
	c.summary = name == compact.NameSummary
	window := m.ContextWindow
	if by, level, ok := e.usableModel(c.settings.Model, thinking); ok && c.model != nil {
		c.model, m, thinking = by, by, level
		if window == 0 || by.ContextWindow > 0 && by.ContextWindow < window {
			window = by.ContextWindow
		}
	}
	c.plan, err = compact.ByName(name).Prepare(&compact.Input{
		Branch: branch, Model: m, Thinking: thinking, Window: window, Fixed: e.fixedTokens(tools),
		Urgency: c.urgency, AllowSmall: c.allowSmall, Instructions: c.instructions,
		Options: compact.Options{
			KeepRecentTokens: c.settings.KeepRecentTokens, Ratio: c.settings.Ratio,
			PreserveRecent: int(min(c.settings.PreserveRecent, 1<<30)), Query: c.settings.Query,
		},
		Fallbacks: e.fallbackModels(thinking),
	})
	if err == nil && c.model == nil {
		return errNoModel
	}
	return err
}

// dropAnswer takes the last answer out of a branch.
func dropAnswer(b *compact.Branch) {
	list := b.Span.Entries
	for i := len(list) - 1; i >= b.Span.Kept; i-- {
		if _, ok := list[i].Message.(*llm.AssistantMessage); ok {
			b.Span.Entries = list[:i:i]
			break
		}
		if list[i].Message != nil {
			return
		}
	}
	if n := len(b.Messages); n > 0 {
		if _, ok := b.Messages[n-1].(*llm.AssistantMessage); ok {
			b.Messages = b.Messages[: n-1 : n-1]
		}
	}
}

// fixedTokens estimates what of a request no compaction changes.
func (e *Engine) fixedTokens(tools *tool.Set) int64 {
	chars := compact.Chars(e.systemPrompt(tools))
	for _, spec := range tools.Specs() {
		chars += len(spec.Name) + len(spec.Description) + len(spec.Parameters)
	}
	return int64(chars+3) / 4
}

// makeCompaction does what was prepared and stores it. The error is
// compact.ErrCancelled, a *compact.Failure, or that of the session.
func (e *Engine) makeCompaction(c *compaction) (result any, err error) {
	o, err := e.compactionOutcome(c)
	if err != nil {
		return nil, e.compactionFailed(c, err)
	}
	e.writeDiagnostics(c.store, o.Diagnostics)
	if _, ok := o.Result.(*compact.VerbatimResult); ok && c.store.Persistent() {
		path, err := compact.Backup(c.store.Path(), c.cause.BackupLabel(), e.cfg.Now())
		if err != nil { // nothing is taken away from the file, so it is no reason to stop
			e.cfg.Report(err.Error())
		}
		if err := o.SetBackup(path); err != nil {
			return nil, err
		}
	}
	id, err := e.storeCompaction(c, o)
	if err != nil {
		return nil, err
	}
	if hook := e.hooks().Compacted; hook != nil {
		hook(c.ctx, CompactDone{
			EntryID: id, FromHook: o.Entry.FromHook != nil, Reason: c.cause.Reason(), WillRetry: c.willRetry,
		})
	}
	return o.Result, nil
}

// compactionOutcome asks extensions, then the model.
func (e *Engine) compactionOutcome(c *compaction) (*compact.Outcome, error) {
	if hook := e.hooks().BeforeCompact; hook != nil && c.ctx.Err() == nil {
		d, err := hook(c.ctx, CompactRequest{Plan: c.plan, Reason: c.cause.Reason(), WillRetry: c.willRetry, Instructions: c.instructions})
		switch {
		case err != nil:
			e.cfg.Report("session_before_compact: " + err.Error())
		case d.Cancel:
			return nil, compact.ErrCancelled
		case d.Replace != nil:
			return c.plan.Replace(*d.Replace)
		}
	}
	return c.plan.Run(c.ctx, e.completer(asker{emit: c.emit, source: sourceCompaction, reason: c.cause.Reason()}))
}

// compactionFailed keeps what a failed compaction leaves: its diagnostics beside the
// session, and its usage in it. It returns the error that clients see.
func (e *Engine) compactionFailed(c *compaction, err error) error {
	var f *compact.Failure
	if !errors.As(err, &f) {
		return err
	}
	f.Path = e.writeDiagnostics(c.store, f.Diagnostics)
	e.storeUsage(c.store, c.model, "compaction", f)
	return f
}

// storeUsage records the tokens of a request that came to nothing.
func (e *Engine) storeUsage(store *session.Store, m *llm.Model, kind string, f *compact.Failure) {
	if f.Usage == nil || *f.Usage == (llm.Usage{}) {
		return
	}
	e.sync(func() {
		if e.store != store {
			return
		}
		u := session.Usage{Kind: kind, Provider: m.Provider, Model: m.ID, Usage: *f.Usage, Note: string(f.Category)}
		if _, err := store.Append(u); err != nil {
			e.cfg.Report("storing the usage of a " + kind + ": " + err.Error())
		}
	})
}

// writeDiagnostics writes files beside the session and returns the path of the last
// that tells of a failure. A session without a file has none.
func (e *Engine) writeDiagnostics(store *session.Store, list []compact.Diagnostic) (failure string) {
	if !store.Persistent() {
		return ""
	}
	for i := range list {
		path, err := compact.WriteDiagnostic(store.Path(), &list[i], e.cfg.Now(), newUUID)
		if err != nil {
			e.cfg.Report(err.Error())
			continue
		}
		if list[i].Kind() == "diagnostic" {
			failure = path
		}
	}
	return failure
}

func newUUID() string { return uuid.Must(uuid.NewV7()).String() }

// storeCompaction appends the boundary in one step with the decision that it still
// fits, and lets the context be read again.
func (e *Engine) storeCompaction(c *compaction, o *compact.Outcome) (id string, err error) {
	err = ErrShutdown
	e.sync(func() {
		if c.ctx.Err() != nil || e.store != c.store || !onBranch(e.store, c.leaf) {
			err = compact.ErrCancelled
			return
		}
		back := e.store.LeafID()
		if c.drop != nil {
			leaveAnswer(e.store)
		}
		if id, err = e.store.Append(o.Entry); err != nil {
			_ = e.store.SetLeaf(back)
			err = fmt.Errorf("storing the compaction: %w", err)
			return
		}
		e.conv.reload()
	})
	return id, err
}

// onBranch reports whether an entry is on the current branch.
func onBranch(s *session.Store, id string) bool {
	if id == s.LeafID() {
		return true
	}
	for _, entry := range s.View().Branch() {
		if entry.ID == id {
			return true
		}
	}
	return id == ""
}

// leaveAnswer moves before the answer at the end of the branch, so that what follows
// takes its place: it stays in the file, on a branch of its own.
func leaveAnswer(s *session.Store) {
	v := s.View()
	i := v.Index(s.LeafID())
	if i < 0 {
		return
	}
	if entry := v.Entry(i); entry.Type == session.TypeMessage && entry.Role == llm.RoleAssistant {
		_ = s.SetLeaf(entry.ParentID)
	}
}

// dropAnswer takes the last answer out of the context, because it is asked for again. A
// failed one is recognised in the file; another one needs a branch of its own.
func (e *Engine) dropAnswer(m *llm.AssistantMessage) {
	e.conv.dropFailed(m)
	if m.StopReason != llm.StopError {
		leaveAnswer(e.store)
	}
}
