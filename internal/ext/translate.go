package ext

import (
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// translator makes stream events of the steps of a provider that an extension
// implements (start, text_*, thinking_*, toolcall_*, done, error).
type translator struct{ begun bool }

func newTranslator() *translator { return &translator{} }

// providerStep is a step as extensions write it.
type providerStep struct {
	Type    string  `json:"type"`
	Index   int     `json:"contentIndex"`
	Delta   string  `json:"delta"`
	Content *string `json:"content"`
	Call    *struct {
		ID        string    `json:"id"`
		Name      string    `json:"name"`
		Arguments jsonx.Raw `json:"arguments"`
	} `json:"toolCall"`
	Partial *struct {
		Content []struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"content"`
	} `json:"partial"`
}

func (t *translator) step(raw jsonx.Raw) []llm.Event {
	var s providerStep
	if jsonx.Unmarshal(raw, &s) != nil {
		return nil
	}
	var out []llm.Event
	if !t.begun {
		t.begun = true
		out = append(out, llm.Event{Kind: llm.EventMeta})
	}
	kind, ok := map[string]llm.EventKind{
		"text_start": llm.EventTextStart, "text_delta": llm.EventTextDelta, "text_end": llm.EventTextEnd,
		"thinking_start": llm.EventThinkingStart, "thinking_delta": llm.EventThinkingDelta, "thinking_end": llm.EventThinkingEnd,
		"toolcall_start": llm.EventToolCallStart, "toolcall_delta": llm.EventToolCallDelta, "toolcall_end": llm.EventToolCallEnd,
	}[s.Type]
	if !ok {
		return out
	}
	ev := llm.Event{Kind: kind, Index: s.Index, Delta: s.Delta, Replace: s.Content}
	if kind == llm.EventToolCallStart && s.Partial != nil && s.Index < len(s.Partial.Content) {
		ev.ID, ev.Name = s.Partial.Content[s.Index].ID, s.Partial.Content[s.Index].Name
	}
	if s.Call != nil {
		args := string(s.Call.Arguments)
		ev.ID, ev.Name, ev.Replace = s.Call.ID, s.Call.Name, &args
	}
	return append(out, ev)
}

// end makes the last event of the final message, or its error.
func (t *translator) end(raw jsonx.Raw, err error) (llm.Event, error) {
	if err != nil {
		return llm.Event{}, &llm.Error{Message: err.Error()}
	}
	var m struct {
		StopReason llm.StopReason `json:"stopReason"`
		Error      string         `json:"errorMessage"`
		Usage      *llm.Usage     `json:"usage"`
		ResponseID string         `json:"responseId"`
	}
	if err := jsonx.Unmarshal(raw, &m); err != nil {
		return llm.Event{}, &llm.Error{Message: "the extension's provider returned no message"}
	}
	if m.StopReason == llm.StopError || m.StopReason == llm.StopAborted {
		return llm.Event{}, &llm.Error{Message: m.Error}
	}
	return llm.Event{Kind: llm.EventDone, StopReason: m.StopReason, Usage: m.Usage, ResponseID: m.ResponseID}, nil
}
