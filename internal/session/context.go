package session

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// A ModelRef names a model as files do.
type ModelRef struct{ Provider, ID string }

// A Context is the current branch as a model sees it. Messages and EntryIDs run in
// parallel: EntryIDs[k] is the entry that Messages[k] comes from (for the text of a
// boundary, the compaction entry).
//
// Failed and aborted answers are in it; llm.Replay leaves them out of requests.
// Messages of role system are not.
type Context struct {
	Messages []llm.Message
	EntryIDs []string

	Model         *ModelRef // chosen last, or of the last answer, on the branch; nil for none
	Thinking      string    // level chosen last on the branch; "off" when HasThinking is false
	HasThinking   bool
	ContextWindow int64 // budget chosen last on the branch, in tokens; 0 for none

	CompactionID string // entry of the boundary that the context starts with, "" for none
}

// item is an entry that the context is made from.
type item struct {
	rec  int32
	edit jsonx.Raw // replacement of a context_edit; nil for none, "null" leaves the entry out
}

// edited applies the edit to a message; nil means that nothing is left.
func (it *item) edited(message []byte) []byte {
	if it.edit == nil {
		return message
	}
	content := member(it.edit, "content")
	if content == nil {
		return nil
	}
	switch string(text(member(message, "role"))) {
	case llm.RoleAssistant, llm.RoleToolResult:
		if content[0] == '"' { // these roles have blocks only
			content = []byte(`[{"type":"text","text":` + string(content) + `}]`)
		}
	case llm.RoleUser, llm.RoleCustom:
	default:
		return message
	}
	return replaceMember(message, "content", content)
}

// projection is the selection of entries that make the context.
type projection struct {
	path     []int32
	items    []item
	boundary int32  // newest compaction on the path, or noParent
	verbatim bool   // it keeps text, not messages
	kept     []item // with verbatim: the entries whose text the boundary keeps
}

// project selects the entries of the context: those of the branch, from the newest
// boundary on, which comes first, followed by what it keeps.
func (v *View) project() (*projection, error) {
	p := &projection{path: v.branch(), boundary: noParent}
	at := -1
	for k := len(p.path) - 1; k >= 0; k-- {
		if v.recs[p.path[k]].typ == typCompaction {
			at, p.boundary = k, p.path[k]
			break
		}
	}
	r := v.reader()
	defer r.close()
	var err error
	if at < 0 {
		if p.items, err = v.items(p.path, r); err != nil {
			return nil, err
		}
		return p, v.applyEdits(p, r)
	}
	raw, err := r.line(&v.recs[p.boundary])
	if err != nil {
		return nil, err
	}
	p.verbatim = isVerbatim(member(raw, "details"))
	first := text(member(raw, "firstKeptEntryId"))
	var kept []item
	for k, i := range p.path[:at] {
		if v.recs[i].id == string(first) && len(first) > 0 {
			if kept, err = v.items(p.path[k:at], r); err != nil {
				return nil, err
			}
			break
		}
	}
	p.items = append(p.items, item{rec: p.boundary})
	if p.verbatim {
		p.kept = kept
	} else {
		p.items = append(p.items, kept...)
	}
	rest, err := v.items(p.path[at+1:], r)
	if err != nil {
		return nil, err
	}
	p.items = append(p.items, rest...)
	return p, v.applyEdits(p, r)
}

// items selects the entries that have a message in the context. An older compaction
// within the kept entries has none: only the newest counts. Nor has a failed attempt
// that was tried again: what came next on the branch is another answer.
func (v *View) items(path []int32, r *reader) ([]item, error) {
	n := 0
	for _, i := range path {
		if v.recs[i].inContext() || v.recs[i].typ == typEdit {
			n++
		}
	}
	out := make([]item, 0, n)
	last := int32(noParent) // the message before, when it is an answer
	for _, i := range path {
		rec := &v.recs[i]
		if !rec.inContext() {
			if rec.typ == typEdit {
				out = append(out, item{rec: i})
			}
			continue
		}
		if rec.role == roleAssistant && last != noParent {
			failed, err := v.failed(last, r)
			if err != nil {
				return nil, err
			}
			if failed {
				k := len(out) - 1
				for out[k].rec != last { // only edits come after it
					k--
				}
				out = slices.Delete(out, k, k+1)
			}
		}
		out = append(out, item{rec: i})
		if last = noParent; rec.role == roleAssistant {
			last = i
		}
	}
	return out, nil
}

// failed reports whether an answer ended in an error.
func (v *View) failed(i int32, r *reader) (bool, error) {
	raw, err := r.line(&v.recs[i])
	if err != nil {
		return false, err
	}
	return string(text(member(member(raw, "message"), "stopReason"))) == string(llm.StopError), nil
}

func (rec *record) inContext() bool {
	switch rec.typ {
	case typMessage:
		return rec.role != roleSystem && rec.role != roleNone
	case typCustomMessage, typBranchSummary:
		return true
	}
	return false
}

// applyEdits attaches the last edit of each entry and takes the edits themselves out.
func (v *View) applyEdits(p *projection, r *reader) error {
	edits := map[string]jsonx.Raw{}
	for _, list := range [][]item{p.kept, p.items} {
		for _, it := range list {
			if v.recs[it.rec].typ != typEdit {
				continue
			}
			raw, err := r.line(&v.recs[it.rec])
			if err != nil {
				return err
			}
			replacement := jsonx.Raw(member(raw, "replacement")).Clone()
			if len(replacement) == 0 {
				replacement = jsonx.Raw("null")
			}
			edits[string(text(member(raw, "targetId")))] = replacement
		}
	}
	if len(edits) > 0 {
		p.kept, p.items = v.withEdits(p.kept, edits), v.withEdits(p.items, edits)
	}
	return nil
}

func (v *View) withEdits(list []item, edits map[string]jsonx.Raw) []item {
	out := list[:0]
	for _, it := range list {
		if v.recs[it.rec].typ == typEdit {
			continue
		}
		it.edit = edits[v.recs[it.rec].id]
		if it.edit != nil && isNull(it.edit) {
			continue
		}
		out = append(out, it)
	}
	return out
}

// Messages yields the messages of the context as JSON, without decoding and encoding
// them: those of message entries as they were written, the others built around their
// parts. What is yielded is valid until the next step of the loop.
func (v *View) Messages() iter.Seq2[jsonx.Raw, error] {
	return func(yield func(jsonx.Raw, error) bool) {
		p, err := v.project()
		if err != nil {
			yield(nil, err)
			return
		}
		r := v.reader()
		defer r.close()
		for k := range p.items {
			raw, err := v.message(p, k, r)
			if err == nil && raw == nil {
				continue
			}
			if !yield(raw, err) || err != nil {
				return
			}
		}
	}
}

// message returns the JSON message of item k, nil when it has none.
func (v *View) message(p *projection, k int, r *reader) (jsonx.Raw, error) {
	it := &p.items[k]
	if it.rec == p.boundary && p.verbatim {
		m, err := v.verbatimMessage(p, r)
		if err != nil {
			return nil, err
		}
		return jsonx.Marshal(m)
	}
	raw, err := r.line(&v.recs[it.rec])
	if err != nil {
		return nil, err
	}
	return it.edited(v.messageOf(it.rec, raw)), nil
}

// messageOf turns the JSON of an entry into that of its message, nil when it has
// none. For a message entry that is a part of raw.
func (v *View) messageOf(i int32, raw []byte) []byte {
	rec := &v.recs[i]
	part := func(dst []byte, name string) []byte {
		if value := member(raw, name); value != nil {
			return appendMember(dst, name, value)
		}
		return dst
	}
	var out []byte
	switch rec.typ {
	case typMessage:
		return fillContent(rec.message(raw), rec.role)
	case typCustomMessage:
		out = appendMember(out, "role", []byte(`"custom"`))
		out = part(out, "customType")
		content := member(raw, "content")
		if isNull(content) {
			content = []byte("[]")
		}
		out = appendMember(out, "content", content)
		out = part(out, "display")
		out = part(out, "details")
		out = part(out, "excludeFromContext")
	case typBranchSummary:
		if len(text(member(raw, "summary"))) == 0 {
			return nil
		}
		out = appendMember(out, "role", []byte(`"branchSummary"`))
		out = part(out, "summary")
		out = part(out, "fromId")
	case typCompaction:
		out = appendMember(out, "role", []byte(`"compactionSummary"`))
		out = part(out, "summary")
		out = part(out, "tokensBefore")
	default:
		return nil
	}
	out = appendMember(out, "timestamp", fmt.Appendf(nil, "%d", rec.ms))
	return append(append([]byte{'{'}, out...), '}')
}

// fillContent gives a message of an old or edited file, whose content is missing, an
// empty one.
func fillContent(message []byte, r role) []byte {
	switch r {
	case roleUser, roleAssistant, roleToolResult:
		if hasContent(message) {
			return message
		}
		if isNull(member(message, "content")) {
			return replaceMember(message, "content", []byte("[]"))
		}
	}
	return message
}

// hasContent recognises the usual messages by their beginning, without reading on.
func hasContent(message []byte) bool {
	start := message[:min(len(message), 256)]
	_, rest, ok := bytes.Cut(start, []byte(`","content":`))
	return ok && len(rest) > 0 && rest[0] != 'n' && bytes.HasPrefix(start, []byte(`{"role":"`))
}

// Context returns the current branch as a model sees it.
func (v *View) Context() (*Context, error) {
	p, err := v.project()
	if err != nil {
		return nil, err
	}
	r := v.reader()
	defer r.close()
	c := &Context{Messages: make([]llm.Message, 0, len(p.items)), EntryIDs: make([]string, 0, len(p.items)), Thinking: "off"}
	if p.boundary != noParent {
		c.CompactionID = v.recs[p.boundary].id
	}
	var d decoder
	for k := range p.items {
		m, err := v.decoded(p, k, r, &d)
		if err != nil {
			return nil, err
		}
		if m != nil {
			c.Messages = append(c.Messages, m)
			c.EntryIDs = append(c.EntryIDs, v.recs[p.items[k].rec].id)
		}
	}
	return c, v.choices(c, p.path, r)
}

func (v *View) decoded(p *projection, k int, r *reader, d *decoder) (llm.Message, error) {
	if p.items[k].rec == p.boundary && p.verbatim {
		return v.verbatimMessage(p, r)
	}
	raw, err := v.message(p, k, r)
	if err != nil || raw == nil {
		return nil, err
	}
	return d.message(raw), nil
}

// choices finds what was chosen last on the branch. A budget counts for the model that
// it was chosen for: another model that came later has its own.
func (v *View) choices(c *Context, path []int32, r *reader) error {
	switched := false
	for k := len(path) - 1; k >= 0 && !(c.Model != nil && c.HasThinking && c.ContextWindow > 0); k-- {
		rec := &v.recs[path[k]]
		model := rec.typ == typModelChange || rec.role == roleAssistant
		if !(model && c.Model == nil || rec.typ == typThinking && !c.HasThinking || rec.typ == typWindow && c.ContextWindow == 0 && !switched) {
			continue
		}
		switched = switched || rec.typ == typModelChange
		raw, err := r.line(rec)
		if err != nil {
			return err
		}
		switch {
		case rec.typ == typModelChange:
			c.Model = modelRef(member(raw, "provider"), member(raw, "modelId"))
		case rec.typ == typThinking:
			c.Thinking, c.HasThinking = string(text(member(raw, "thinkingLevel"))), true
		case rec.typ == typWindow:
			c.ContextWindow = number(member(raw, "contextWindow"))
		default:
			m := rec.message(raw)
			c.Model = modelRef(member(m, "provider"), member(m, "model"))
		}
	}
	return nil
}

func modelRef(provider, id []byte) *ModelRef {
	p, m := text(provider), text(id)
	if len(p) == 0 && len(m) == 0 {
		return nil
	}
	return &ModelRef{Provider: string(p), ID: string(m)}
}

// countMemo remembers the number of messages of one context.
type countMemo struct {
	ok    bool
	leaf  int32
	count int
}

// MessageCount returns the number of messages of the context, role system left out,
// as Messages yields them. After an append it costs what was appended.
func (v *View) MessageCount() (int, error) {
	v.cache.mu.Lock()
	defer v.cache.mu.Unlock()
	memo := &v.cache.count
	if memo.ok {
		n, i := 0, v.leaf
		// Only a few steps are worth it: a leaf of another branch never gets there.
		for steps := 0; i != memo.leaf && i != noParent && steps < 256; steps++ {
			rec := &v.recs[i]
			again := rec.role == roleAssistant && v.answered(rec.parent)
			if rec.typ == typCompaction || rec.typ == typEdit || rec.typ == typBranchSummary || again {
				i = noParent
				break
			}
			if rec.inContext() {
				n++
			}
			i = rec.parent
		}
		if i == memo.leaf && i != noParent {
			memo.leaf, memo.count = v.leaf, memo.count+n
			return memo.count, nil
		}
	}
	n, err := v.countMessages()
	if err != nil {
		return 0, err
	}
	*memo = countMemo{ok: true, leaf: v.leaf, count: n}
	return n, nil
}

// answered reports whether the message at or before entry i is an answer: one that
// follows it may replace it.
func (v *View) answered(i int32) bool {
	for ; i != noParent; i = v.recs[i].parent {
		if v.recs[i].inContext() {
			return v.recs[i].role == roleAssistant
		}
	}
	return false
}

func (v *View) countMessages() (int, error) {
	p, err := v.project()
	if err != nil {
		return 0, err
	}
	r := v.reader()
	defer r.close()
	n := len(p.items)
	for k := range p.items {
		if rec := &v.recs[p.items[k].rec]; rec.typ == typBranchSummary {
			raw, err := r.line(rec)
			if err != nil {
				return 0, err
			}
			if len(text(member(raw, "summary"))) == 0 {
				n--
			}
		}
	}
	return n, nil
}
