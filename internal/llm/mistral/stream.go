package mistral

import (
	"bytes"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/sse"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// stream turns the chunks of one answer into events. Pieces of one kind that follow
// each other are one block; calls end with the answer.
type stream struct {
	resp  *wire.Response
	model *llm.Model
	wire.Emitter
	chunk chunk

	open    *block // text or thinking that still grows
	calls   calls
	started bool // id and model are known
	finish  string
	done    bool // [DONE] came
}

// block is the text or the thinking that still grows.
type block struct {
	content  int
	thinking bool
	pieces   jsonx.Pieces
}

// run reads the stream to its end.
func (s *stream) run() {
	s.Emit(llm.Event{Kind: llm.EventMeta})
	for ev, err := range sse.Events(s.resp) {
		if s.Stopped {
			return
		}
		if err != nil {
			s.broken(llm.AsError(err))
			return
		}
		data := bytes.TrimSpace(ev.Data)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			s.done = true
			break
		}
		if s.event(ev, data); s.Stopped {
			return
		}
	}
	s.complete()
}

// broken handles a stream that could not be read further. An answer that has its
// finish reason is complete.
func (s *stream) broken(e *llm.Error) {
	if s.finish != "" && e.Kind != llm.ErrAborted {
		s.complete()
		return
	}
	s.Fail(e)
}

// event handles one event.
func (s *stream) event(ev sse.Event, data []byte) {
	c := &s.chunk
	c.reset()
	if err := jsonx.Unmarshal(data, c); err != nil {
		switch {
		case len(data) == 0, ev.Cut: // its end is missing, and so will be the finish reason
		case !jsonx.Valid(data):
			s.Fail(wire.Malformed(textMalformed, err))
		case ev.Name == "error":
			s.Fail(s.resp.StreamError(string(data), "", string(data)))
		}
		return
	}
	if ev.Name == "error" || present(c.Error) || text(c.Object) == "error" {
		e := c.innermost()
		said := e.text()
		if said == "" {
			said = string(data)
		}
		s.Fail(s.resp.StreamError(said, e.code(), string(data)))
		return
	}
	s.meta(c)
	if c.Choices.found {
		s.choice(&c.Choices.choice)
	}
}

// meta reads what a chunk says of the whole answer.
func (s *stream) meta(c *chunk) {
	e := llm.Event{Kind: llm.EventMeta}
	if len(c.Usage) > 0 {
		e.Usage = usageOf(c.Usage)
	}
	if !s.started {
		e.ResponseID, e.ResponseModel = text(c.ID), text(c.Model)
		s.started = e.ResponseID != ""
	}
	if e.ResponseID != "" || e.Usage != nil {
		s.Emit(e)
	}
}

func (s *stream) choice(c *choice) {
	if reason := text(c.Finish); reason != "" {
		s.finish = reason
	}
	d := &c.Delta
	if len(d.Content) > 0 && d.Content[0] == '[' {
		for _, p := range objects[contentPart](d.Content) {
			s.part(&p)
		}
	} else {
		s.grow(d.Content, false)
	}
	if len(d.ToolCalls) > 0 {
		for _, t := range objects[toolDelta](d.ToolCalls) {
			s.toolCall(&t)
		}
	}
}

func (s *stream) part(p *contentPart) {
	if !present(p.Thinking) {
		s.grow(p.Text, false)
		return
	}
	s.grow(p.Thinking, true)
	for _, inner := range objects[contentPart](p.Thinking) {
		s.grow(inner.Text, true)
	}
}

// grow adds a piece of text. Empty ones, which some models send between pieces of
// their reasoning, begin no block.
func (s *stream) grow(raw jsonx.Raw, thinking bool) {
	if len(raw) <= 2 || raw[0] != '"' {
		return
	}
	start, more := llm.EventTextStart, llm.EventTextDelta
	if thinking {
		start, more = llm.EventThinkingStart, llm.EventThinkingDelta
	}
	if s.open == nil || s.open.thinking != thinking {
		s.endBlock()
		s.open = &block{content: s.NewBlock(), thinking: thinking}
		s.Emit(llm.Event{Kind: start, Index: s.open.content})
	}
	if d := s.open.pieces.Next(raw); d != "" {
		s.Emit(llm.Event{Kind: more, Index: s.open.content, Delta: d})
	}
}

// endBlock ends the text or thinking that is open.
func (s *stream) endBlock() {
	if b := s.open; b != nil {
		s.open = nil
		e := llm.Event{Kind: llm.EventTextEnd, Index: b.content}
		if b.thinking {
			e.Kind = llm.EventThinkingEnd
		}
		s.Emit(e)
	}
}

func (s *stream) toolCall(t *toolDelta) {
	var f functionDelta
	if !into(t.Function, '{', &f) {
		return
	}
	p := piece{index: -1, id: text(t.ID), name: text(f.Name)}
	if n, ok := tokens(t.Index); ok {
		p.index = n
	}
	if p.id == "null" {
		p.id = ""
	}
	c := s.calls.find(p)
	if c == nil {
		s.endBlock()
		c = s.calls.begin(p, s.NewBlock())
		s.Emit(llm.Event{Kind: llm.EventToolCallStart, Index: c.content, ID: c.id, Name: c.name})
	}
	if c.name == "" {
		c.name = p.name
	}
	if d := c.delta(f.Arguments); d != "" {
		s.Emit(llm.Event{Kind: llm.EventToolCallDelta, Index: c.content, Delta: d})
	}
}

// complete ends an answer whose stream ended in good order, which does not mean that
// the answer did.
func (s *stream) complete() {
	s.resp.Finish()
	reason, err := s.stop()
	if err != nil && s.finish == "" {
		s.Fail(err)
		return
	}
	s.endBlock()
	for _, c := range s.calls.all {
		s.Emit(llm.Event{Kind: llm.EventToolCallEnd, Index: c.content, Name: c.name})
	}
	if err != nil {
		s.Emit(llm.Event{Kind: llm.EventMeta, RawStopReason: s.finish})
		s.Fail(err)
		return
	}
	s.Emit(llm.Event{Kind: llm.EventDone, StopReason: reason, RawStopReason: s.finish})
	s.Stopped = true
}

// stop returns why the answer stopped.
func (s *stream) stop() (llm.StopReason, error) {
	natural := llm.StopEnd
	if len(s.calls.all) > 0 {
		natural = llm.StopToolUse
	}
	switch s.finish {
	case "":
		if s.done && s.Blocks > 0 && s.calls.whole() {
			return natural, nil
		}
		return "", wire.Cut(textNoFinish)
	case "stop":
		return natural, nil
	case "length", "model_length":
		return llm.StopLength, nil
	case "tool_calls":
		return llm.StopToolUse, nil
	}
	message := textStopped + s.finish
	if s.finish == "error" { // a failure of the server's that passes
		message += textServer
	}
	return "", s.resp.StreamError(message, s.finish, message)
}
