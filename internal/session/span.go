package session

import (
	"slices"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// A Span is what a compaction of the current branch works on: the entries that the
// newest boundary keeps and those behind it, oldest first, whether a model sees them
// or not. Without a boundary it is the whole branch.
type Span struct {
	Boundary *SpanEntry // the newest compaction of the branch, nil for none
	Entries  []SpanEntry
	Kept     int // how many of Entries stand before the boundary
}

// A SpanEntry is one entry with its message as the context holds it, context edits
// applied; Message is nil for an entry that has none or was edited out.
//
// The message of a compaction entry is its text as a summary, whatever its kind.
// Details and FromHook are those of compactions and branch summaries.
type SpanEntry struct {
	ID       string
	Type     string
	Time     int64 // ms since 1970
	Message  llm.Message
	Details  jsonx.Raw
	FromHook bool
	Verbatim bool // a compaction that keeps text (details.strategy)
}

// Span returns what a compaction of the current branch works on.
func (v *View) Span() (*Span, error) {
	path := v.branch()
	at := -1
	for k := len(path) - 1; k >= 0; k-- {
		if v.recs[path[k]].typ == typCompaction {
			at = k
			break
		}
	}
	r := v.reader()
	defer r.close()
	s := &Span{}
	list := path
	if at >= 0 {
		raw, err := r.line(&v.recs[path[at]])
		if err != nil {
			return nil, err
		}
		b := v.spanEntry(path[at], raw, nil, &decoder{})
		s.Boundary = &b
		first := string(text(member(raw, "firstKeptEntryId")))
		from := at
		if k := slices.IndexFunc(path[:at], func(i int32) bool { return v.recs[i].id == first }); k >= 0 && first != "" {
			from = k
		}
		s.Kept = at - from
		list = append(slices.Clone(path[from:at]), path[at+1:]...)
	}
	var err error
	if s.Entries, err = v.spanEntries(list, r); err != nil {
		return nil, err
	}
	for k := range s.Entries { // of the boundaries only the newest counts
		if s.Entries[k].Type == TypeCompaction {
			s.Entries[k].Message = nil
		}
	}
	return s, nil
}

// Leaving returns the entries of the current branch that are not on the branch of
// targetID ("" is before every entry), oldest first, boundaries among them, and the
// newest entry that the two branches share, "" for none.
func (v *View) Leaving(targetID string) (entries []SpanEntry, common string, err error) {
	shared := map[int32]bool{}
	if targetID != "" {
		i := v.Index(targetID)
		if i < 0 {
			return nil, "", &EntryNotFoundError{ID: targetID}
		}
		for _, i := range branchOf(v.recs, int32(i)) {
			shared[i] = true
		}
	}
	path := v.branch()
	n := 0
	for n < len(path) && shared[path[n]] {
		n++
	}
	if n > 0 {
		common = v.recs[path[n-1]].id
	}
	r := v.reader()
	defer r.close()
	entries, err = v.spanEntries(path[n:], r)
	return entries, common, err
}

func (v *View) spanEntries(list []int32, r *reader) ([]SpanEntry, error) {
	edits := map[string]jsonx.Raw{}
	for _, i := range list {
		if v.recs[i].typ != typEdit {
			continue
		}
		raw, err := r.line(&v.recs[i])
		if err != nil {
			return nil, err
		}
		replacement := jsonx.Raw(member(raw, "replacement")).Clone()
		if len(replacement) == 0 {
			replacement = jsonx.Raw("null")
		}
		edits[string(text(member(raw, "targetId")))] = replacement
	}
	out := make([]SpanEntry, len(list))
	var d decoder
	for k, i := range list {
		rec := &v.recs[i]
		var raw []byte
		if rec.inContext() || rec.typ == typCompaction {
			var err error
			if raw, err = r.line(rec); err != nil {
				return nil, err
			}
		}
		out[k] = v.spanEntry(i, raw, edits[rec.id], &d)
	}
	return out, nil
}

// spanEntry builds an entry from its line, nil for one without a message.
func (v *View) spanEntry(i int32, raw []byte, edit jsonx.Raw, d *decoder) SpanEntry {
	rec := &v.recs[i]
	e := SpanEntry{ID: rec.id, Type: v.types[rec.typ], Time: rec.ms}
	if raw == nil {
		return e
	}
	if rec.typ == typCompaction || rec.typ == typBranchSummary {
		e.Details = jsonx.Raw(member(raw, "details")).Clone()
		e.FromHook = string(member(raw, "fromHook")) == "true"
		e.Verbatim = rec.typ == typCompaction && isVerbatim(e.Details)
	}
	if edit != nil && isNull(edit) {
		return e
	}
	message := v.messageOf(i, raw)
	if message != nil && edit != nil {
		message = (&item{rec: i, edit: edit}).edited(message)
	}
	if message != nil {
		e.Message = d.message(message)
	}
	return e
}

// LastRequest returns the newest message of the current branch that a model reads as
// the user's (a user's, an extension's, a branch summary or a bash command), before
// or behind a boundary; nil for none.
func (v *View) LastRequest() (llm.Message, error) {
	path := v.branch()
	r := v.reader()
	defer r.close()
	for _, i := range slices.Backward(path) {
		rec := &v.recs[i]
		switch {
		case rec.typ == typCustomMessage, rec.typ == typBranchSummary:
		case rec.typ == typMessage && rec.role != roleAssistant && rec.role != roleToolResult:
		default:
			continue
		}
		raw, err := r.line(rec)
		if err != nil {
			return nil, err
		}
		if e := v.spanEntry(i, raw, nil, &decoder{}); e.Message != nil && len(llm.ForModel([]llm.Message{e.Message})) > 0 {
			return e.Message, nil
		}
	}
	return nil, nil
}
