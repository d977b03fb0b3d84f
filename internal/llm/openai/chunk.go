package openai

import (
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// chunk is one event of a stream. Its raw fields keep their memory from chunk to
// chunk, and none has a type that a server's oddity could fail to decode into.
type chunk struct {
	ID      jsonx.Raw `json:"id"`
	Model   jsonx.Raw `json:"model"`
	Object  jsonx.Raw `json:"object"`
	Choices choices   `json:"choices"`
	Usage   jsonx.Raw `json:"usage"`
	Error   jsonx.Raw `json:"error"`
	XGroq   struct {
		Usage jsonx.Raw `json:"usage"`
	} `json:"x_groq"`
}

func (c *chunk) reset() {
	for _, raw := range []*jsonx.Raw{&c.ID, &c.Model, &c.Object, &c.Usage, &c.Error, &c.XGroq.Usage} {
		*raw = (*raw)[:0]
	}
	c.Choices.found = false
}

// choices is the choice with index 0, or without an index; others are skipped.
type choices struct {
	found  bool
	choice choice
	other  choice
}

type choice struct {
	Index        jsonx.Raw `json:"index"`
	Delta        delta     `json:"delta"`
	FinishReason jsonx.Raw `json:"finish_reason"`
	Usage        jsonx.Raw `json:"usage"`
	Error        jsonx.Raw `json:"error"`
}

type delta struct {
	Content          jsonx.Raw `json:"content"`
	ReasoningContent jsonx.Raw `json:"reasoning_content"`
	Reasoning        jsonx.Raw `json:"reasoning"`
	ReasoningText    jsonx.Raw `json:"reasoning_text"`
	ReasoningDetails jsonx.Raw `json:"reasoning_details"`
	Refusal          jsonx.Raw `json:"refusal"`
	ToolCalls        jsonx.Raw `json:"tool_calls"`
	FunctionCall     jsonx.Raw `json:"function_call"`
}

func (c *choice) reset() {
	d := &c.Delta
	for _, raw := range []*jsonx.Raw{
		&c.Index, &c.FinishReason, &c.Usage, &c.Error, &d.Content, &d.ReasoningContent, &d.Reasoning,
		&d.ReasoningText, &d.ReasoningDetails, &d.Refusal, &d.ToolCalls, &d.FunctionCall,
	} {
		*raw = (*raw)[:0]
	}
}

// UnmarshalJSONFrom reads the array of choices.
func (c *choices) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	return jsonx.EachObject(dec, func() error {
		into := &c.choice
		if c.found {
			into = &c.other
		}
		into.reset()
		if err := jsonx.UnmarshalDecode(dec, into); err != nil {
			return err
		}
		if !c.found {
			i := string(into.Index)
			c.found = i == "" || i == "0" || i == "null"
		}
		return nil
	})
}

// toolDelta is a piece of a tool call.
type toolDelta struct {
	Index    jsonx.Raw `json:"index"`
	ID       jsonx.Raw `json:"id"`
	Function *struct {
		Name      jsonx.Raw `json:"name"`
		Arguments jsonx.Raw `json:"arguments"`
	} `json:"function"`
	Custom *struct {
		Name  jsonx.Raw `json:"name"`
		Input jsonx.Raw `json:"input"`
	} `json:"custom"`
	ExtraContent jsonx.Raw `json:"extra_content"`
}

// present reports whether a member was there and not null.
func present(raw jsonx.Raw) bool { return len(raw) > 0 && raw[0] != 'n' }

// text returns a raw string's text, "" for any other value.
func text(raw jsonx.Raw) string {
	var p jsonx.Pieces
	return p.Next(raw)
}
