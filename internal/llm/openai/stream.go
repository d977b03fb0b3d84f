package openai

import (
	"bytes"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/sse"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// stream turns the chunks of one answer into events. An answer has at most one text
// and one thinking block, in the order of their first piece among the tool calls.
type stream struct {
	resp        *wire.Response
	model       *llm.Model
	wantsFinish bool // the server is one that sends finish_reason
	wire.Emitter
	chunk      chunk
	toolDeltas []toolDelta

	started        bool // id and model are known
	text, thinking block
	details        details
	calls          calls
	usage          *llm.Usage
	finish         string // finish_reason, "" so far
	done           bool   // [DONE] came
}

// block is the text or the thinking block.
type block struct {
	open      bool
	content   int
	signature string
	pieces    jsonx.Pieces
}

func newStream(resp *wire.Response, m *llm.Model, wantsFinish bool, yield func(llm.Event, error) bool) *stream {
	return &stream{resp: resp, model: m, wantsFinish: wantsFinish, Emitter: wire.Emitter{Yield: yield}}
}

// run reads the stream to its end.
func (s *stream) run() {
	s.Emit(llm.Event{Kind: llm.EventMeta})
	for ev, err := range sse.Events(s.resp) {
		if s.Stopped {
			return
		}
		if err != nil {
			s.broken(err)
			return
		}
		data := bytes.TrimSpace(ev.Data)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			s.done = true
			break
		}
		if !s.event(ev, data) {
			return
		}
	}
	s.complete()
}

// broken handles a stream that could not be read further. An answer that has its
// finish reason is complete; the blocks of an aborted one are ended.
func (s *stream) broken(err error) {
	e := llm.AsError(err)
	switch {
	case e.Kind == llm.ErrAborted:
		s.end()
	case s.finish != "":
		s.complete()
		return
	}
	s.Fail(e)
}

// event handles one event and reports whether the stream goes on.
func (s *stream) event(ev sse.Event, data []byte) bool {
	if len(data) == 0 {
		return true
	}
	c := &s.chunk
	c.reset()
	if err := jsonx.Unmarshal(data, c); err != nil {
		switch {
		case jsonx.Valid(data):
			return ev.Name != "error" || s.failed(data) // no chunk, though JSON
		case ev.Cut:
			return true // its end is missing, and so will be the finish reason
		}
		s.Fail(wire.Malformed(textMalformed, err))
		return false
	}
	s.meta(c)
	switch {
	case present(c.Error) && c.Error[0] != 'f':
		return s.failed(c.Error)
	case ev.Name == "error", string(c.Object) == `"error"`:
		return s.failed(data)
	}
	if c.Choices.found {
		return s.choice(&c.Choices.choice)
	}
	return !s.Stopped
}

// failed ends the stream with an error that the server sent as value.
func (s *stream) failed(value []byte) bool {
	if s.finish != "" {
		s.Emit(llm.Event{Kind: llm.EventMeta, RawStopReason: s.finish})
	}
	s.Fail(streamError(s.resp, bytes.Clone(value)))
	return false
}

// meta reads what a chunk says of the whole answer.
func (s *stream) meta(c *chunk) {
	var e llm.Event
	if !s.started {
		e.ResponseID = text(c.ID)
		if m := text(c.Model); m != s.model.ID {
			e.ResponseModel = m
		}
		s.started = e.ResponseID != ""
	}
	for _, raw := range []jsonx.Raw{c.Usage, c.XGroq.Usage, c.Choices.choice.Usage} {
		if u := parseUsage(raw, s.model); u != nil {
			// Some servers repeat it with every chunk, and some end with zeros.
			if !sameUsage(s.usage, u) && (s.usage == nil || !blank(u)) {
				s.usage, e.Usage = u, u
			}
			break
		}
	}
	if e.ResponseID != "" || e.ResponseModel != "" || e.Usage != nil {
		e.Kind = llm.EventMeta
		s.Emit(e)
	}
}

// choice handles the answer's part in a chunk. Reasoning comes before text where a
// chunk has both (field report 112).
func (s *stream) choice(c *choice) bool {
	if present(c.Error) {
		return s.failed(c.Error)
	}
	if f := text(c.FinishReason); f != "" {
		s.finish = f
	}
	d := &c.Delta
	s.reason(d)
	if present(d.ReasoningDetails) {
		s.addDetails(d.ReasoningDetails)
	}
	switch {
	case len(d.Content) == 0:
	case d.Content[0] == '[':
		s.parts(d.Content)
	default:
		s.say(d.Content)
	}
	if present(d.Refusal) {
		s.say(d.Refusal)
	}
	if present(d.ToolCalls) {
		s.toolCalls(d.ToolCalls)
	}
	if present(d.FunctionCall) {
		s.functionCall(d.FunctionCall)
	}
	return !s.Stopped
}

// reason handles reasoning: in the first field that has any, since some servers
// send it in two.
func (s *stream) reason(d *delta) {
	for _, f := range [...]struct {
		name string
		raw  jsonx.Raw
	}{
		{fieldReasoningContent, d.ReasoningContent},
		{fieldReasoning, d.Reasoning},
		{fieldReasoningText, d.ReasoningText},
	} {
		if len(f.raw) > 2 && f.raw[0] == '"' {
			s.think(f.raw, reasoningField(s.model, f.name))
			return
		}
	}
}

func (s *stream) think(raw jsonx.Raw, signature string) {
	s.openThinking(signature)
	if d := s.thinking.pieces.Next(raw); d != "" {
		s.Emit(llm.Event{Kind: llm.EventThinkingDelta, Index: s.thinking.content, Delta: d})
	}
}

func (s *stream) openThinking(signature string) {
	if !s.thinking.open {
		s.thinking = block{open: true, content: s.NewBlock(), signature: signature}
		s.Emit(llm.Event{Kind: llm.EventThinkingStart, Index: s.thinking.content, Signature: signature})
	}
}

func (s *stream) say(raw jsonx.Raw) {
	if len(raw) <= 2 || raw[0] != '"' {
		return
	}
	if !s.text.open {
		s.text = block{open: true, content: s.NewBlock()}
		s.Emit(llm.Event{Kind: llm.EventTextStart, Index: s.text.content})
	}
	if d := s.text.pieces.Next(raw); d != "" {
		s.Emit(llm.Event{Kind: llm.EventTextDelta, Index: s.text.content, Delta: d})
	}
}

func (s *stream) addDetails(raw jsonx.Raw) {
	var entries []jsonx.Raw
	if raw[0] != '[' || jsonx.Unmarshal(raw, &entries) != nil {
		return
	}
	for _, e := range entries {
		if s.details.add(e) {
			s.openThinking("")
		}
	}
}

// contentPart is an element of content where a server sends an array.
type contentPart struct {
	Type     jsonx.Raw `json:"type"`
	Text     jsonx.Raw `json:"text"`
	Thinking jsonx.Raw `json:"thinking"` // text, or text parts
}

func (s *stream) parts(raw jsonx.Raw) {
	var parts []contentPart
	if jsonx.Unmarshal(raw, &parts) != nil {
		return
	}
	for _, p := range parts {
		var inner []contentPart
		switch {
		case !present(p.Thinking):
			s.say(p.Text)
		case p.Thinking[0] == '[' && jsonx.Unmarshal(p.Thinking, &inner) == nil:
			for _, t := range inner {
				s.think(t.Text, "")
			}
		default:
			s.think(p.Thinking, "")
		}
	}
}

// functionCall handles the form that tool calls had before there were several.
func (s *stream) functionCall(raw jsonx.Raw) {
	d := toolDelta{Index: jsonx.Raw("0")}
	if jsonx.Unmarshal(raw, &d.Function) == nil && d.Function != nil {
		s.toolCall(&d)
	}
}

// end ends all blocks in the order of their index.
func (s *stream) end() {
	calls := s.calls.all
	for i := range s.Blocks {
		switch {
		case s.text.open && s.text.content == i:
			s.Emit(llm.Event{Kind: llm.EventTextEnd, Index: i})
		case s.thinking.open && s.thinking.content == i:
			signature := s.thinking.signature
			if d := s.details.signature(); d != "" {
				signature = d
			}
			s.Emit(llm.Event{Kind: llm.EventThinkingEnd, Index: i, Signature: signature})
		case len(calls) > 0:
			s.endCall(calls[0])
			calls = calls[1:]
		}
	}
}

// complete ends an answer whose stream ended in good order, which does not mean that
// the answer did.
func (s *stream) complete() {
	if s.done || s.finish != "" {
		s.resp.Finish()
	}
	s.end()
	reason, err := s.stop()
	if err != nil {
		if s.finish != "" {
			s.Emit(llm.Event{Kind: llm.EventMeta, RawStopReason: s.finish})
		}
		s.Fail(err)
		return
	}
	s.Emit(llm.Event{Kind: llm.EventDone, StopReason: reason, RawStopReason: s.finish})
}

// stop returns why the answer stopped.
func (s *stream) stop() (llm.StopReason, error) {
	natural := llm.StopEnd
	if len(s.calls.all) > 0 {
		natural = llm.StopToolUse // servers say "stop" after calls too
	}
	switch s.finish {
	case "":
		if !s.wantsFinish || s.done && s.whole() {
			return natural, nil
		}
		return "", wire.Cut(textNoFinish)
	case "stop", "end":
		return natural, nil
	case "length":
		return llm.StopLength, nil
	case "tool_calls", "function_call":
		return llm.StopToolUse, nil
	}
	message := textFinish + s.finish
	err := s.resp.StreamError(message, s.finish, message)
	switch s.finish {
	case "content_filter":
		err.Kind = llm.ErrRefusal
	case "network_error":
		err.Kind = llm.ErrTransport
	}
	return "", err
}

// whole reports whether there is content and every call's arguments are whole.
func (s *stream) whole() bool {
	for _, c := range s.calls.all {
		if len(c.args) > 0 && !c.custom && !c.complete() {
			return false
		}
	}
	return s.Blocks > 0
}
