package anthropic

import (
	"context"
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/sse"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// stream turns the events of one answer into those of llm.
type stream struct {
	ctx   context.Context
	resp  *wire.Response
	req   *llm.Request
	level string
	yield func(llm.Event, error) bool
	// prices returns those of a model that answers in place of the request's, nil for none.
	prices func(model string) *llm.ModelCost

	left    bool // the consumer left the loop, or the sequence has ended
	begun   bool // the first event was sent
	open    []*openBlock
	next    int // content index of the next block
	calls   int // tool calls so far
	usage   llm.Usage
	reason  string
	details jsonx.Raw
}

// openBlock is a content block that has begun and not ended.
type openBlock struct {
	wire  int // index in the provider's count
	index int // ours
	kind  llm.EventKind
	sig   []byte
	input jsonx.Raw // a tool call's arguments if they came with its start
	delta bool      // a delta came
}

// run reads the stream to its end.
func (s *stream) run() {
	var ev event
	for raw, err := range sse.Events(s.resp) {
		if err != nil {
			s.fail(err)
			return
		}
		if raw.Name == "error" {
			s.reported(raw.Data)
			return
		}
		ev = event{}
		if err := jsonx.Unmarshal(raw.Data, &ev); err != nil {
			if known(raw.Name) || raw.Cut {
				s.fail(malformed(raw, err))
				return
			}
			continue // what a proxy put in
		}
		if s.handle(&ev, raw.Data); s.left {
			return
		}
	}
	if s.begun {
		s.fail(wire.Cut(TextNoStop))
	} else {
		s.fail(wire.Cut(TextNoReason)) // an empty body, or some page of a gateway
	}
}

// known reports whether an event's name is one of the protocol's.
func known(name string) bool {
	return strings.HasPrefix(name, "message_") || strings.HasPrefix(name, "content_block_")
}

// malformed is the error of an event that does not decode; one that the end of the
// stream cut is no fault of its own.
func malformed(raw sse.Event, err error) error {
	if raw.Cut {
		return wire.Cut(TextNoStop)
	}
	return wire.Malformed(wire.Truncate(fmt.Sprintf("%s%s: %v; data=%s", textMalformed, raw.Name, err, raw.Data)), err)
}

// handle handles one event. Those of unknown types are skipped.
func (s *stream) handle(ev *event, data []byte) {
	switch ev.Type {
	case "message_start":
		s.start(ev.Message)
	case "content_block_start":
		if ev.Block != nil {
			s.startBlock(ev.Index, ev.Block)
		}
	case "content_block_delta":
		s.delta(ev.Index, &ev.Delta)
	case "content_block_stop":
		s.endBlock(ev.Index)
	case "message_delta":
		if ev.Delta.StopReason != "" {
			s.reason, s.details = string(ev.Delta.StopReason), ev.Delta.StopDetails.Clone()
		}
		e := llm.Event{Kind: llm.EventMeta, RawStopReason: s.reason}
		e.Usage = s.count(ev.Usage)
		s.emit(e)
	case "message_stop":
		s.stop()
	case "error":
		s.reported(data)
	}
}

// start handles message_start. A proxy that started over sends a second one: what was
// open ends there.
func (s *stream) start(m *start) {
	s.endAll()
	e := llm.Event{Kind: llm.EventMeta, ProviderLevel: s.level}
	if m != nil {
		e.ResponseID, e.ResponseModel = string(m.ID), string(m.Model)
		e.Prices = s.prices(e.ResponseModel)
		e.Usage = s.count(m.Usage)
	}
	s.begun = true
	s.emit(e)
}

// count merges counts and returns the sum so far, nil when there are none.
func (s *stream) count(u *usage) *llm.Usage {
	if u == nil {
		return nil
	}
	s.usage = u.onto(s.usage, isOpenRouter(s.req.Model))
	now := s.usage
	return &now
}

// startBlock handles content_block_start. Blocks of the provider's own tools and of
// unknown types are skipped, with all that belongs to them.
func (s *stream) startBlock(at int, b *begun) {
	s.endBlock(at)
	e := llm.Event{Index: s.next}
	text := lax("")
	o := &openBlock{wire: at, index: s.next}
	switch b.Type {
	case "text":
		e.Kind, text = llm.EventTextStart, b.Text
	case "thinking":
		e.Kind, text = llm.EventThinkingStart, b.Thinking
		o.sig = []byte(b.Signature)
	case "redacted_thinking":
		e.Kind, e.Redacted, e.Signature = llm.EventThinkingStart, true, string(b.Data)
	case "tool_use":
		e.Kind, e.ID, e.Name = llm.EventToolCallStart, string(b.ID), string(b.Name)
		o.input = b.Input.Clone()
		s.calls++
	default:
		return
	}
	o.kind = e.Kind
	s.next++
	s.open = append(s.open, o)
	s.emit(e)
	if text != "" {
		s.emit(llm.Event{Kind: deltaKind(e.Kind), Index: o.index, Delta: string(text)})
	}
}

func deltaKind(start llm.EventKind) llm.EventKind {
	switch start {
	case llm.EventTextStart:
		return llm.EventTextDelta
	case llm.EventThinkingStart:
		return llm.EventThinkingDelta
	}
	return llm.EventToolCallDelta
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

// delta handles content_block_delta. Deltas that do not fit their block, and those
// that add no content (citations), are skipped.
func (s *stream) delta(at int, d *delta) {
	o := s.find(at)
	if o == nil {
		return
	}
	e := llm.Event{Index: o.index}
	switch d.Type {
	case "text_delta":
		e.Kind, e.Delta = llm.EventTextDelta, string(d.Text)
	case "thinking_delta":
		e.Kind, e.Delta = llm.EventThinkingDelta, string(d.Thinking)
	case "input_json_delta":
		e.Kind, e.Delta = llm.EventToolCallDelta, string(d.PartialJSON)
	case "signature_delta":
		o.sig = append(o.sig, d.Signature...)
		return
	default:
		return
	}
	if e.Kind != deltaKind(o.kind) {
		return
	}
	o.delta = o.delta || e.Delta != ""
	s.emit(e)
}

// endBlock ends the block of an index if it is open.
func (s *stream) endBlock(at int) {
	for i, o := range s.open {
		if o.wire == at {
			s.open = append(s.open[:i], s.open[i+1:]...)
			s.ended(o)
			return
		}
	}
}

// endAll ends all blocks that are open, in the order of their start.
func (s *stream) endAll() {
	for _, o := range s.open {
		s.ended(o)
	}
	s.open = s.open[:0]
}

func (s *stream) ended(o *openBlock) {
	e := llm.Event{Index: o.index, Signature: string(o.sig)}
	switch o.kind {
	case llm.EventTextStart:
		e.Kind = llm.EventTextEnd
	case llm.EventThinkingStart:
		e.Kind = llm.EventThinkingEnd
	case llm.EventToolCallStart:
		e.Kind = llm.EventToolCallEnd
		// Some servers send the arguments with the start and no deltas.
		if !o.delta && o.input.Kind() == '{' {
			text := string(o.input)
			e.Replace = &text
		}
	}
	s.emit(e)
}

// stop handles message_stop.
func (s *stream) stop() {
	if s.ctx.Err() != nil {
		s.fail(wire.Aborted(s.ctx, TextAborted))
		return
	}
	reason, fault := s.stopReason()
	if fault != nil {
		s.fail(fault)
		return
	}
	s.endAll()
	s.emit(llm.Event{Kind: llm.EventDone, StopReason: reason, RawStopReason: s.reason})
	s.left = true
	s.resp.Finish()
}

// stopReason translates the stop reason; those that are failures come as an error.
func (s *stream) stopReason() (llm.StopReason, error) {
	switch s.reason {
	case "":
		return "", wire.Cut(TextNoReason)
	case "max_tokens":
		return llm.StopLength, nil
	case "refusal":
		return "", &llm.Error{Kind: llm.ErrRefusal, Message: explanation(s.details), Code: s.reason}
	case "sensitive":
		return "", &llm.Error{Kind: llm.ErrRefusal, Message: textStopped + s.reason, Code: s.reason}
	case "model_context_window_exceeded":
		return "", &llm.Error{Kind: llm.ErrOverflow, Message: textStopped + s.reason, Code: s.reason}
	}
	// end_turn, tool_use, stop_sequence, pause_turn, and whatever else a server says:
	// what the answer holds decides, since some say end_turn after a tool call.
	if s.calls > 0 {
		return llm.StopToolUse, nil
	}
	return llm.StopEnd, nil
}

// explanation returns why a model refused.
func explanation(details jsonx.Raw) string {
	var d struct {
		Explanation string `json:"explanation"`
	}
	if jsonx.Unmarshal(details, &d) == nil && strings.TrimSpace(d.Explanation) != "" {
		return wire.Truncate(d.Explanation)
	}
	return TextRefused
}

// reported handles an error event inside a stream of status 200. Its message is the
// event's text, as in the reference.
func (s *stream) reported(data []byte) {
	text := strings.TrimSpace(string(data))
	var ev struct {
		Error *fault `json:"error"`
	}
	code := ""
	if jsonx.Unmarshal(data, &ev) == nil && ev.Error != nil {
		code = plain(ev.Error.Type)
	}
	message := text
	if message == "" {
		message = "error"
	}
	s.fail(s.resp.StreamError(message, code, text))
}

// emit sends an event unless the consumer has left. An event must not come before
// the first EventMeta, even when a server leaves message_start out.
func (s *stream) emit(e llm.Event) {
	if !s.begun && !s.left {
		s.begun = true
		if e.Kind != llm.EventMeta {
			s.left = !s.yield(llm.Event{Kind: llm.EventMeta, ProviderLevel: s.level}, nil)
		}
	}
	if !s.left {
		s.left = !s.yield(e, nil)
	}
}

// fail ends the sequence with an error.
func (s *stream) fail(err error) {
	if !s.left {
		s.left = true
		s.yield(llm.Event{}, err)
	}
}
