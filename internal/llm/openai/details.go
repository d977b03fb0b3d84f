package openai

import (
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// detail is the known part of an entry of reasoning_details, the form in which
// OpenRouter and others carry reasoning that must go back as it came. Entries are
// kept raw; only text and summaries are joined over deltas.
type detail struct {
	Type      string  `json:"type"`
	ID        *string `json:"id"`
	Format    string  `json:"format"`
	Index     *int    `json:"index"`
	Text      *string `json:"text"`
	Signature *string `json:"signature"`
	Summary   *string `json:"summary"`
	Data      *string `json:"data"`
}

const (
	detailText      = "reasoning.text"
	detailSummary   = "reasoning.summary"
	detailEncrypted = "reasoning.encrypted"
)

// parseDetail decodes an entry; ok is false for one that no server takes back.
func parseDetail(raw jsonx.Raw) (d detail, ok bool) {
	if jsonx.Unmarshal(raw, &d) != nil {
		return d, false
	}
	switch d.Type {
	case detailText:
		return d, d.Text != nil
	case detailSummary:
		return d, d.Summary != nil
	case detailEncrypted:
		return d, d.Data != nil
	}
	return d, false
}

// details collects the reasoning_details of one answer: text after text and summary
// after summary grow into one entry, whose text is kept apart until the end.
type details struct {
	entries []*jsonx.Object
	kind    string // type of the last entry
	text    []byte // its text or summary
}

// add adds an entry; false means that it is none.
func (ds *details) add(raw jsonx.Raw) bool {
	d, ok := parseDetail(raw)
	if !ok {
		return false
	}
	text := d.Text
	if d.Type == detailSummary {
		text = d.Summary
	}
	if d.Type == ds.kind && d.Type != detailEncrypted {
		ds.text = append(ds.text, *text...)
		ds.fill(d)
		return true
	}
	ds.close()
	o := &jsonx.Object{}
	if o.Merge(raw) != nil {
		return false
	}
	ds.entries, ds.kind, ds.text = append(ds.entries, o), d.Type, nil
	if d.Type != detailEncrypted {
		ds.text = append(ds.text, *text...)
	}
	return true
}

// fill adds what the last entry does not know yet: a signature comes at the end.
func (ds *details) fill(d detail) {
	last := ds.entries[len(ds.entries)-1]
	missing := func(name string) bool {
		raw, ok := last.Get(name).(jsonx.Raw)
		return last.Get(name) == nil || ok && (string(raw) == "null" || string(raw) == `""`)
	}
	if d.Signature != nil && *d.Signature != "" && missing("signature") {
		last.Set("signature", *d.Signature)
	}
	if d.ID != nil && missing("id") {
		last.Set("id", *d.ID)
	}
	if d.Format != "" && missing("format") {
		last.Set("format", d.Format)
	}
	if d.Index != nil && missing("index") {
		last.Set("index", *d.Index)
	}
}

// close writes the collected text into the last entry.
func (ds *details) close() {
	switch ds.kind {
	case detailText:
		ds.entries[len(ds.entries)-1].Set("text", string(ds.text))
	case detailSummary:
		ds.entries[len(ds.entries)-1].Set("summary", string(ds.text))
	}
	ds.kind = ""
}

// signature returns the entries as JSON, "" when there are none.
func (ds *details) signature() string {
	if len(ds.entries) == 0 {
		return ""
	}
	ds.close()
	raw, err := jsonx.Marshal(ds.entries)
	if err != nil {
		return ""
	}
	return string(raw)
}

// reasoningDetails returns what a message sends back: the entries kept in a thinking
// signature, else encrypted ones that older sessions keep with tool calls.
func reasoningDetails(thoughts []*llm.Thinking, calls []*llm.ToolCall) jsonx.Raw {
	for _, t := range thoughts {
		if validDetails(t.ThinkingSignature) {
			return jsonx.Raw(t.ThinkingSignature)
		}
	}
	var legacy []jsonx.Raw
	for _, c := range calls {
		raw := jsonx.Raw(c.ThoughtSignature)
		if d, ok := parseDetail(raw); ok && d.Type == detailEncrypted && d.ID != nil && *d.ID != "" && *d.Data != "" {
			legacy = append(legacy, raw)
		}
	}
	if len(legacy) == 0 {
		return nil
	}
	raw, err := jsonx.Marshal(legacy)
	if err != nil {
		return nil
	}
	return raw
}

func validDetails(signature string) bool {
	if len(signature) < 2 || signature[0] != '[' {
		return false
	}
	var entries []jsonx.Raw
	if jsonx.Unmarshal([]byte(signature), &entries) != nil || len(entries) == 0 {
		return false
	}
	for _, e := range entries {
		if _, ok := parseDetail(e); !ok {
			return false
		}
	}
	return true
}

// extraContent returns a call's extra_content (Gemini's thought signature) that was
// kept as its thought signature, nil for signatures of other kinds.
func extraContent(signature string) jsonx.Raw {
	if len(signature) < 2 || signature[0] != '{' {
		return nil
	}
	var head struct {
		Type   jsonx.Raw `json:"type"`
		Google jsonx.Raw `json:"google"`
	}
	if jsonx.Unmarshal([]byte(signature), &head) != nil || head.Type != nil || head.Google == nil {
		return nil
	}
	return jsonx.Raw(signature)
}
