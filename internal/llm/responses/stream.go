package responses

import (
	"bytes"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/sse"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// stream turns the events of one response into events of this program. A block ends
// when its item is done.
type stream struct {
	resp  *wire.Response
	model *llm.Model
	wire.Emitter
	ev    event
	level string // the effort that the input told, "" for none

	calls      int
	slots      slots
	responseID string
	// lateSignatures says that the server may send a reasoning item's encrypted
	// content only with the whole response (Azure).
	lateSignatures bool
}

// run reads the stream up to its terminal event.
func (s *stream) run() {
	s.Emit(llm.Event{Kind: llm.EventMeta, ProviderLevel: s.level})
	for ev, err := range sse.Events(s.resp) {
		if s.Stopped {
			return
		}
		if err != nil {
			s.Fail(llm.AsError(err))
			return
		}
		data := bytes.TrimSpace(ev.Data)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			break
		}
		if len(data) > 0 {
			s.event(ev, data)
		}
		if s.Stopped {
			return
		}
	}
	s.Fail(wire.Cut(textNoTerminal))
}

// event handles one event.
func (s *stream) event(ev sse.Event, data []byte) {
	e := &s.ev
	e.reset()
	if err := jsonx.Unmarshal(data, e); err != nil {
		switch {
		case jsonx.Valid(data) && ev.Name == "error":
			s.Fail(errorEvent(s.resp, bytes.Clone(data), nil))
		case jsonx.Valid(data), ev.Cut: // nothing of ours; or its end is missing, as will be the terminal event
		default:
			s.Fail(wire.Malformed(textMalformed, err))
		}
		return
	}
	name := ev.Name
	if len(e.Type) > 2 {
		name = s.name(e.Type)
	}
	if name == "error" || ev.Name == "error" || present(e.Error) {
		s.Fail(errorEvent(s.resp, bytes.Clone(data), bytes.Clone(e.Error)))
		return
	}
	s.dispatch(name, e)
}

// name returns an event's type; the frequent ones cost nothing.
func (s *stream) name(raw jsonx.Raw) string {
	switch string(raw) {
	case `"response.output_text.delta"`:
		return "response.output_text.delta"
	case `"response.function_call_arguments.delta"`:
		return "response.function_call_arguments.delta"
	case `"response.reasoning_summary_text.delta"`:
		return "response.reasoning_summary_text.delta"
	case `"response.reasoning_text.delta"`:
		return "response.reasoning_text.delta"
	}
	return text(raw)
}

func (s *stream) dispatch(name string, e *event) {
	switch name {
	case "response.output_text.delta", "response.refusal.delta":
		s.delta(kindText, e.Delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		s.delta(kindThinking, e.Delta)
	case "response.function_call_arguments.delta":
		s.delta(kindCall, e.Delta)
	case "response.custom_tool_call_input.delta":
		s.delta(kindCustom, e.Delta)
	case "response.reasoning_summary_part.done":
		s.delta(kindThinking, jsonx.Raw(`"\n\n"`))
	case "response.output_text.done":
		s.late(kindText, e.Text)
	case "response.refusal.done":
		s.late(kindText, e.Refusal)
	case "response.reasoning_summary_text.done", "response.reasoning_text.done":
		s.late(kindThinking, e.Text)
	case "response.content_part.added":
		s.part(e.Part)
	case "response.function_call_arguments.done":
		s.argument(kindCall, e.Arguments)
	case "response.custom_tool_call_input.done":
		s.argument(kindCustom, e.Input)
	case "response.output_item.added":
		if it, ok := decodeItem(e.Item); ok {
			s.added(it, indexOf(e.OutputIndex))
		}
	case "response.output_item.done":
		if it, ok := decodeItem(e.Item); ok {
			s.done(it, indexOf(e.OutputIndex))
		}
	case "response.created", "response.in_progress":
		s.meta(decodeResponse(e.Response))
	case "response.completed", "response.done":
		s.terminal(decodeResponse(e.Response), "completed")
	case "response.incomplete":
		s.terminal(decodeResponse(e.Response), "incomplete")
	case "response.failed":
		s.failed(decodeResponse(e.Response))
	}
}

// slot returns the open slot that the event speaks of.
func (s *stream) slot(k kind) *slot {
	return s.slots.find(k, indexOf(s.ev.OutputIndex), s.ev.ItemID)
}

func (s *stream) delta(k kind, raw jsonx.Raw) {
	if sl := s.slot(k); sl != nil {
		s.grow(sl, raw)
	}
}

// late takes a text at its end when none of it came before.
func (s *stream) late(k kind, raw jsonx.Raw) {
	if sl := s.slot(k); sl != nil && !sl.grown {
		s.grow(sl, raw)
	}
}

// part takes the text with which a content part begins.
func (s *stream) part(raw jsonx.Raw) {
	var p struct {
		Text jsonx.Raw `json:"text"`
	}
	if len(raw) > 0 && raw[0] == '{' && jsonx.Unmarshal(raw, &p) == nil && len(p.Text) > 2 {
		s.late(kindText, p.Text)
	}
}

func (s *stream) argument(k kind, raw jsonx.Raw) {
	if sl := s.slot(k); sl != nil {
		s.extend(sl, raw)
		sl.whole = true
	}
}

func (s *stream) meta(r *response) {
	if id := text(r.ID); id != "" && id != s.responseID {
		s.responseID = id
		s.Emit(llm.Event{Kind: llm.EventMeta, ResponseID: id})
	}
}

// failed ends the stream with the error of a failed response.
func (s *stream) failed(r *response) {
	s.meta(r)
	if status := text(r.Status); status != "" {
		s.Emit(llm.Event{Kind: llm.EventMeta, RawStopReason: status})
	}
	s.Fail(failure(s.resp, r))
}

// terminal ends the stream with a response that is complete, or incomplete for a
// reason.
func (s *stream) terminal(r *response, status string) {
	s.resp.Finish()
	s.meta(r)
	if said := text(r.Status); said != "" {
		status = said
	}
	raw := r.rawStop(status)
	if u := r.usage(); u != nil {
		s.Emit(llm.Event{Kind: llm.EventMeta, Usage: u, Prices: s.prices(text(r.ServiceTier))})
	}
	unfinished := s.settle(r.items())
	reason, err := s.stop(r, status)
	if err == nil && reason == llm.StopToolUse && unfinished != nil {
		err = wire.Cut(textUnfinished + unfinished.name + " (" + unfinished.id + ")")
	}
	if err != nil {
		s.Emit(llm.Event{Kind: llm.EventMeta, RawStopReason: raw})
		s.Fail(err)
		return
	}
	e := llm.Event{Kind: llm.EventDone, StopReason: reason, RawStopReason: raw}
	switch string(r.EndTurn) {
	case "true", "false":
		said := string(r.EndTurn) == "true"
		e.EndTurn = &said
	}
	s.Emit(e)
	s.Stopped = true
}

// settle ends what is still open, with what the whole response says of it, and
// returns a call whose arguments may be cut, nil for none.
func (s *stream) settle(items []*item) (unfinished *slot) {
	if len(s.slots.all) == 0 { // a server that sends only the whole response
		for i, it := range items {
			s.done(it, i)
		}
	}
	for _, sl := range s.slots.all {
		if sl.ended {
			continue
		}
		it := sl.in(items)
		switch {
		case sl.late != nil:
			var encrypted jsonx.Raw
			if it != nil {
				encrypted = it.EncryptedContent
			}
			s.endThinking(sl, thinkingSignature(sl.late, encrypted))
		case it != nil:
			s.finish(sl, it)
		case sl.kind == kindThinking:
			s.endThinking(sl, "")
		case sl.kind == kindText:
			sl.ended = true
			s.Emit(llm.Event{Kind: llm.EventTextEnd, Index: sl.content})
		case sl.kind == kindCall, sl.kind == kindCustom:
			if !sl.whole && !jsonx.Valid(sl.text) {
				unfinished = sl
			}
			s.endCall(sl)
		}
	}
	return unfinished
}

// in returns the slot's item among those of the whole response, nil for none.
func (sl *slot) in(items []*item) *item {
	for i, it := range items {
		if it.kind() != sl.kind {
			continue
		}
		isCall := sl.kind == kindCall || sl.kind == kindCustom
		if isCall && sl.callID != "" && text(it.CallID) == sl.callID ||
			!isCall && (i == sl.index || sl.itemID != "" && text(it.ID) == sl.itemID) {
			return it
		}
	}
	return nil
}

// stop returns why the response ended.
func (s *stream) stop(r *response, status string) (llm.StopReason, error) {
	reason := r.reason()
	switch status {
	case "incomplete":
		switch {
		case reason == "max_output_tokens":
			return llm.StopLength, nil
		case reason == "":
			return "", s.resp.StreamError(textNoReason, "", textNoReason)
		}
		err := s.resp.StreamError(textIncomplete+reason, reason, textIncomplete+reason)
		if reason == "content_filter" {
			err.Kind = llm.ErrRefusal
		}
		return "", err
	case "failed", "cancelled":
		if present(r.Error) {
			return "", failure(s.resp, r)
		}
		return "", s.resp.StreamError(textUnknown, "", textUnknown)
	}
	if s.calls > 0 {
		return llm.StopToolUse, nil
	}
	return llm.StopEnd, nil
}
