package record

import (
	"bytes"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/scripted"
)

// folder folds the events of one stream into a turn. It is used by the goroutine that
// ranges over the stream.
type folder struct {
	steps  []*scripted.Step
	step   *scripted.Step // the last one while its block may go on, else nil
	at     int            // its block
	open   map[int]*block
	done   *llm.Event
	failed bool
}

// block is a content block that has begun and not ended.
type block struct {
	number int // in the turn
	kind   llm.EventKind
}

// add takes one event.
func (f *folder) add(e llm.Event) {
	switch e.Kind {
	case llm.EventMeta:
		f.push(&scripted.Step{Meta: &scripted.Meta{
			ResponseID: e.ResponseID, ResponseModel: e.ResponseModel, ProviderLevel: e.ProviderLevel,
			EndTurn: e.EndTurn, Usage: scripted.UsageOf(e.Usage),
		}})
	case llm.EventTextStart, llm.EventThinkingStart, llm.EventToolCallStart:
		f.start(e)
	case llm.EventTextDelta, llm.EventThinkingDelta, llm.EventToolCallDelta:
		f.delta(e)
	case llm.EventTextEnd, llm.EventThinkingEnd, llm.EventToolCallEnd:
		f.end(e)
	case llm.EventDone:
		f.done = &e
	}
}

func (f *folder) push(st *scripted.Step) {
	f.steps = append(f.steps, st)
	f.step = nil
}

func (f *folder) start(e llm.Event) {
	if f.open == nil {
		f.open = map[int]*block{}
	}
	b := &block{number: e.Index, kind: e.Kind}
	f.open[e.Index] = b
	st := newStep(b.kind, &scripted.ToolCall{Name: e.Name, ID: e.ID})
	st.StartSignature, st.Redacted, st.Open = e.Signature, e.Redacted, true
	f.push(st)
	f.step, f.at = st, e.Index
}

// newStep returns a step without text for a block that began with an event kind.
func newStep(kind llm.EventKind, call *scripted.ToolCall) *scripted.Step {
	switch kind {
	case llm.EventTextStart:
		return &scripted.Step{Text: &scripted.Pieces{}}
	case llm.EventThinkingStart:
		return &scripted.Step{Thinking: &scripted.Pieces{}}
	}
	call.RawArguments = &scripted.Pieces{}
	return &scripted.Step{ToolCall: call}
}

func (f *folder) delta(e llm.Event) {
	b := f.open[e.Index]
	if b == nil {
		return
	}
	if f.step == nil || f.at != e.Index {
		st := newStep(b.kind, &scripted.ToolCall{})
		number := b.number
		st.Block, st.Open = &number, true
		f.push(st)
		f.step, f.at = st, e.Index
	}
	p := pieces(f.step)
	*p = append(*p, strings.Clone(e.Delta))
}

// pieces returns where the text of a content step goes.
func pieces(st *scripted.Step) *scripted.Pieces {
	switch {
	case st.Text != nil:
		return st.Text
	case st.Thinking != nil:
		return st.Thinking
	}
	return st.ToolCall.RawArguments
}

func (f *folder) end(e llm.Event) {
	b := f.open[e.Index]
	if b == nil {
		return
	}
	delete(f.open, e.Index)
	st := f.step
	rename := e.Name != "" && b.kind == llm.EventToolCallStart
	// What begins a block and what ends it may share a step when they agree.
	if st == nil || f.at != e.Index || st.Redacted != e.Redacted {
		number := b.number
		st = &scripted.Step{End: &number}
		if rename {
			st = newStep(b.kind, &scripted.ToolCall{})
			st.Block = &number
		}
		f.steps = append(f.steps, st)
		st.Redacted = e.Redacted
	}
	if rename {
		st.ToolCall.EndName = e.Name
	}
	st.Open, st.Signature, st.Final = false, e.Signature, e.Replace
	f.step = nil
}

// fail takes the error that ended the stream.
func (f *folder) fail(err error) {
	e := llm.AsError(err)
	if e.Kind == llm.ErrAborted {
		return
	}
	f.failed = true
	f.push(&scripted.Step{Error: &scripted.Error{
		Kind: e.Kind, Status: e.Status, Code: e.Code, Message: e.Message, Body: e.Body,
		RetryAfterMs: e.RetryAfter.Milliseconds(),
	}})
}

// finish returns the turn. A stream with neither an end nor an error was cancelled: it
// hangs when it is played.
func (f *folder) finish() *scripted.Turn {
	t := &scripted.Turn{Steps: f.steps, Verbatim: true}
	for _, st := range t.Steps {
		tidy(st)
	}
	switch e := f.done; {
	case f.failed:
	case e == nil:
		t.Steps = append(t.Steps, &scripted.Step{Hang: true})
	default:
		t.StopReason, t.RawStopReason, t.EndTurn = e.StopReason, e.RawStopReason, e.EndTurn
		t.ResponseID, t.ResponseModel, t.ProviderLevel = e.ResponseID, e.ResponseModel, e.ProviderLevel
		t.Usage = scripted.UsageOf(e.Usage)
	}
	if t.Steps == nil {
		t.Steps = []*scripted.Step{}
	}
	return t
}

// tidy gives a call whose arguments came in one piece the form that people write.
func tidy(st *scripted.Step) {
	c := st.ToolCall
	if c == nil {
		return
	}
	switch raw := *c.RawArguments; {
	case len(raw) == 0:
		c.RawArguments = nil
	case len(raw) == 1 && st.Block == nil && !st.Open:
		if compact, err := jsonx.Compact([]byte(raw[0])); err == nil && bytes.Equal(compact, []byte(raw[0])) {
			c.Arguments, c.RawArguments = compact, nil
		}
	}
}
