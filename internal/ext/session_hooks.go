package ext

import (
	"bytes"
	"context"
	"errors"

	"github.com/isotope-agent/isotope/internal/compact"
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// beforeCompact lets extensions cancel a compaction or make it themselves. Their summary
// needs the entry from which everything is kept; without one it is what was planned.
func (x *Extensions) beforeCompact(ctx context.Context, c engine.CompactRequest) (engine.CompactDecision, error) {
	var none engine.CompactDecision
	if !x.current.Load().has("session_before_compact") {
		return none, nil
	}
	branch, err := x.branchEntries()
	if err != nil {
		return none, err
	}
	type preparation struct {
		FirstKept   *string       `json:"firstKeptEntryId,omitzero"`
		ToSummarize []llm.Message `json:"messagesToSummarize"`
		TurnPrefix  []llm.Message `json:"turnPrefixMessages"`
		IsSplit     bool          `json:"isSplitTurn"`
		Tokens      int64         `json:"tokensBefore"`
		Previous    string        `json:"previousSummary,omitzero"`
		Files       compact.Files `json:"fileOps"`
	}
	p := c.Plan
	out, ok, err := decide[struct {
		Cancel     bool `json:"cancel"`
		Compaction *struct {
			Summary   string     `json:"summary"`
			FirstKept string     `json:"firstKeptEntryId"`
			Tokens    int64      `json:"tokensBefore"`
			Usage     *llm.Usage `json:"usage"`
			Details   jsonx.Raw  `json:"details"`
		} `json:"compaction"`
	}](ctx, x, "session_before_compact", struct {
		Preparation   preparation `json:"preparation"`
		BranchEntries []jsonx.Raw `json:"branchEntries"`
		Instructions  string      `json:"customInstructions,omitzero"`
		Reason        string      `json:"reason"`
		WillRetry     bool        `json:"willRetry"`
	}{
		preparation{p.FirstKeptEntryID, p.ToSummarize, p.TurnPrefix, len(p.TurnPrefix) > 0, p.TokensBefore, p.PreviousSummary, p.Files},
		branch, c.Instructions, c.Reason, c.WillRetry,
	}, emission{signal: true})
	if err != nil || !ok {
		return none, err
	}
	if out.Cancel || out.Compaction == nil {
		return engine.CompactDecision{Cancel: out.Cancel}, nil
	}
	r := compact.Replacement{
		Text: out.Compaction.Summary, FirstKeptEntryID: out.Compaction.FirstKept, TokensBefore: out.Compaction.Tokens,
		Usage: out.Compaction.Usage, Details: out.Compaction.Details,
	}
	if r.Text == "" {
		return none, errors.New("compaction.summary must be a text that is not empty")
	}
	if r.FirstKeptEntryID == "" && p.FirstKeptEntryID != nil {
		r.FirstKeptEntryID = *p.FirstKeptEntryID
	}
	if r.TokensBefore == 0 {
		r.TokensBefore = p.TokensBefore
	}
	return engine.CompactDecision{Replace: &r}, nil
}

// compacted tells of a compaction that was stored.
func (x *Extensions) compacted(ctx context.Context, c engine.CompactDone) {
	if !x.current.Load().has("session_compact") {
		return
	}
	_, _ = x.Emit(ctx, "session_compact", struct {
		Entry     jsonx.Raw `json:"compactionEntry"`
		FromExt   bool      `json:"fromExtension"`
		Reason    string    `json:"reason"`
		WillRetry bool      `json:"willRetry"`
	}{x.entry(c.EntryID), c.FromHook, c.Reason, c.WillRetry}) // failures were told
}

// beforeTree asks whether the session may go on from another entry.
func (x *Extensions) beforeTree(ctx context.Context, targetID string) (bool, error) {
	v := x.view()
	if v == nil || !x.current.Load().has("session_before_tree") {
		return false, nil
	}
	leaving, common, err := v.Leaving(targetID)
	if err != nil {
		return false, err
	}
	type preparation struct {
		TargetID  string      `json:"targetId"`
		OldLeafID *string     `json:"oldLeafId"`
		Common    *string     `json:"commonAncestorId"`
		Entries   []jsonx.Raw `json:"entriesToSummarize"`
	}
	entries, err := rawEntries(v, leaving, func(e session.SpanEntry) string { return e.ID })
	if err != nil {
		return false, err
	}
	p := preparation{targetID, orNull(v.LeafID()), orNull(common), entries}
	out, _, err := decide[struct {
		Cancel bool `json:"cancel"`
	}](ctx, x, "session_before_tree", struct {
		Preparation preparation `json:"preparation"`
	}{p}, emission{signal: true})
	return out.Cancel, err
}

// treeMoved tells that the session goes on from another entry.
func (x *Extensions) treeMoved(ctx context.Context, m engine.TreeMove) {
	if !x.current.Load().has("session_tree") {
		return
	}
	payload := struct {
		NewLeafID *string   `json:"newLeafId"`
		OldLeafID *string   `json:"oldLeafId"`
		Summary   jsonx.Raw `json:"summaryEntry,omitzero"`
	}{NewLeafID: orNull(m.NewLeafID), OldLeafID: orNull(m.OldLeafID)}
	if m.SummaryID != "" {
		payload.Summary = x.entry(m.SummaryID)
	}
	_, _ = x.Emit(ctx, "session_tree", payload) // failures were told
}

// entry returns an entry of the session, null when it is not there.
func (x *Extensions) entry(id string) jsonx.Raw {
	if v := x.view(); v != nil {
		if i := v.Index(id); i >= 0 {
			if raw, err := v.Raw(i); err == nil {
				return raw
			}
		}
	}
	return jsonx.Raw("null")
}

func orNull(id string) *string {
	if id == "" {
		return nil
	}
	return &id
}

// branchEntries returns the entries from the root to the current one.
func (x *Extensions) branchEntries() ([]jsonx.Raw, error) {
	v := x.view()
	if v == nil {
		return []jsonx.Raw{}, nil
	}
	return rawEntries(v, v.Branch(), func(e session.Entry) string { return e.ID })
}

// rawEntries returns the JSON of entries of a session, which are known by their ids.
func rawEntries[E any](v *session.View, list []E, id func(E) string) ([]jsonx.Raw, error) {
	numbers := func(yield func(int) bool) {
		for _, e := range list {
			if i := v.Index(id(e)); i >= 0 && !yield(i) {
				return
			}
		}
	}
	out := make([]jsonx.Raw, 0, len(list))
	for raw, err := range v.Raws(numbers) {
		if err != nil {
			return nil, err
		}
		out = append(out, bytes.Clone(raw))
	}
	return out, nil
}

// view returns the session as it is now, nil when there is none any more.
func (x *Extensions) view() *session.View {
	h := x.host.Load()
	if h.View == nil {
		return nil
	}
	v, err := h.View()
	if err != nil {
		return nil
	}
	return v
}

func (x *Extensions) shortcuts() []engine.Shortcut {
	var out []engine.Shortcut
	for _, s := range x.Shortcuts() {
		out = append(out, engine.Shortcut{Key: s.Key, Description: s.Description})
	}
	return out
}

// shortcut looks a key up; what goes wrong behind it is told as the extension's error.
func (x *Extensions) shortcut(key string) (func(context.Context), bool) {
	for _, s := range x.Shortcuts() {
		if s.Key == key {
			return func(ctx context.Context) {
				if _, err := x.InvokeShortcut(ctx, key); err != nil {
					x.failed(s.Source.Path, "shortcut:"+key, err)
				}
			}, true
		}
	}
	return nil, false
}
