package bedrock

import (
	"encoding/base64"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// stream turns the events of one answer into those of llm. Only calls have a start
// event; texts and reasoning begin with their first delta.
type stream struct {
	resp  *wire.Response
	level string
	wire.Emitter
	ev event

	open   []*openBlock
	calls  int
	reason string
}

// openBlock is a content block that has begun and not ended.
type openBlock struct {
	wire      int // index in the provider's count
	content   int // ours
	kind      llm.EventKind
	pieces    jsonx.Pieces
	signature string
	redacted  []byte // nil: not redacted
}

// run reads the stream up to its last event, metadata, which follows the stop reason.
func (s *stream) run() {
	s.Emit(llm.Event{Kind: llm.EventMeta, ProviderLevel: s.level})
	for f, err := range frames(s.resp) {
		if s.Stopped {
			return
		}
		if err != nil {
			s.Fail(err)
			return
		}
		if s.frame(f); s.Stopped {
			return
		}
	}
	s.complete()
}

// frame handles one message.
func (s *stream) frame(f frame) {
	e := &s.ev
	e.reset()
	err := jsonx.Unmarshal(f.payload, e)
	switch {
	case f.kind == "error":
		s.Fail(s.resp.StreamError(f.message, f.name, f.message))
	case f.kind == "exception":
		message := worded(f.name, text(e.Message))
		s.Fail(s.resp.StreamError(message, f.name, message))
	case err == nil:
		s.event(f.name, e)
	case len(f.payload) > 0 && !jsonx.Valid(f.payload):
		s.Fail(wire.Malformed(textMalformed, err))
	}
}

func (s *stream) event(name string, e *event) {
	switch name {
	case "contentBlockStart":
		s.start(e)
	case "contentBlockDelta":
		s.delta(e)
	case "contentBlockStop":
		if o := s.find(e.index()); o != nil {
			s.end(o)
		}
	case "messageStop":
		s.reason = text(e.StopReason)
	case "metadata":
		if u := usageOf(e.Usage); u != nil {
			s.Emit(llm.Event{Kind: llm.EventMeta, Usage: u})
		}
		if s.reason != "" {
			s.complete()
		}
	}
}

// start begins a call. Tools that the server runs itself are skipped, with all that
// belongs to them.
func (s *stream) start(e *event) {
	var b blockStart
	var use startedUse
	if !object(e.Start, &b) || !object(b.Use, &use) || text(use.Type) == "server_tool_use" {
		return
	}
	if o := s.find(e.index()); o != nil {
		s.end(o)
	}
	s.calls++
	o := s.begin(e.index(), llm.EventToolCallStart)
	s.Emit(llm.Event{Kind: llm.EventToolCallStart, Index: o.content, ID: text(use.ID), Name: text(use.Name)})
}

func (s *stream) begin(at int, kind llm.EventKind) *openBlock {
	o := &openBlock{wire: at, content: s.NewBlock(), kind: kind}
	s.open = append(s.open, o)
	return o
}

// find returns the open block of an index, nil for none. At most a few are open.
func (s *stream) find(at int) *openBlock {
	for _, o := range s.open {
		if o.wire == at {
			return o
		}
	}
	return nil
}

// block returns the open block of a delta when it is of that kind; a text or reasoning
// that is not open yet begins.
func (s *stream) block(at int, kind llm.EventKind) *openBlock {
	o := s.find(at)
	switch {
	case o == nil && kind != llm.EventToolCallStart:
		o = s.begin(at, kind)
		s.Emit(llm.Event{Kind: kind, Index: o.content})
	case o != nil && o.kind != kind:
		return nil
	}
	return o
}

// delta handles a piece of content. Pieces that add none (citations, results of the
// server's tools) are skipped.
func (s *stream) delta(e *event) {
	var d blockDelta
	if !object(e.Delta, &d) {
		return
	}
	var use useDelta
	var thought reasoningDelta
	switch {
	case len(d.Text) > 0 && d.Text[0] == '"':
		s.grow(s.block(e.index(), llm.EventTextStart), llm.EventTextDelta, d.Text)
	case object(d.Use, &use):
		s.grow(s.block(e.index(), llm.EventToolCallStart), llm.EventToolCallDelta, use.Input)
	case object(d.Reasoning, &thought):
		o := s.block(e.index(), llm.EventThinkingStart)
		if o == nil {
			return
		}
		s.grow(o, llm.EventThinkingDelta, thought.Text)
		o.signature += text(thought.Signature)
		if data, err := base64.StdEncoding.DecodeString(text(thought.Redacted)); err == nil && len(data) > 0 {
			o.redacted = append(o.redacted, data...)
		}
	}
}

func (s *stream) grow(o *openBlock, kind llm.EventKind, raw jsonx.Raw) {
	if o == nil {
		return
	}
	if d := o.pieces.Next(raw); d != "" {
		s.Emit(llm.Event{Kind: kind, Index: o.content, Delta: d})
	}
}

// end ends a block that is open.
func (s *stream) end(o *openBlock) {
	for i := range s.open {
		if s.open[i] == o {
			s.open = append(s.open[:i], s.open[i+1:]...)
			break
		}
	}
	e := llm.Event{Index: o.content}
	switch o.kind {
	case llm.EventTextStart:
		e.Kind = llm.EventTextEnd
	case llm.EventToolCallStart:
		e.Kind = llm.EventToolCallEnd
	case llm.EventThinkingStart:
		e.Kind, e.Signature = llm.EventThinkingEnd, o.signature
		if o.redacted != nil {
			// A block has a signature or sealed content, never both.
			e.Redacted, e.Signature = true, base64.StdEncoding.EncodeToString(o.redacted)
		}
	}
	s.Emit(e)
}

// complete ends an answer behind its last event.
func (s *stream) complete() {
	s.resp.Finish()
	if s.reason == "" {
		s.Fail(wire.Cut(textNoReason))
		return
	}
	for len(s.open) > 0 {
		s.end(s.open[0])
	}
	reason, err := s.stop()
	if err != nil {
		s.Emit(llm.Event{Kind: llm.EventMeta, RawStopReason: s.reason})
		s.Fail(err)
		return
	}
	s.Emit(llm.Event{Kind: llm.EventDone, StopReason: reason, RawStopReason: s.reason})
	s.Stopped = true
}

// stop returns why the answer stopped.
func (s *stream) stop() (llm.StopReason, error) {
	switch s.reason {
	case "end_turn", "stop_sequence", "tool_use":
		if s.calls > 0 {
			return llm.StopToolUse, nil
		}
		return llm.StopEnd, nil
	case "max_tokens":
		return llm.StopLength, nil
	}
	message := textStopped + s.reason
	err := s.resp.StreamError(message, s.reason, message)
	switch s.reason {
	case "guardrail_intervened", "content_filtered":
		err.Kind = llm.ErrRefusal
	case "model_context_window_exceeded":
		err.Kind = llm.ErrOverflow
	}
	return "", err
}
