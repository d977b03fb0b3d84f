package mistral

import (
	"strconv"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// chunk is one event of a stream. Its raw fields keep their memory from chunk to
// chunk, and none has a type that a server's oddity could fail to decode into.
type chunk struct {
	ID      jsonx.Raw `json:"id"`
	Model   jsonx.Raw `json:"model"`
	Choices choices   `json:"choices"`
	Usage   jsonx.Raw `json:"usage"`
	apiError
}

func (c *chunk) reset() {
	for _, raw := range []*jsonx.Raw{&c.ID, &c.Model, &c.Usage, &c.Object, &c.Message, &c.Detail, &c.Type, &c.Code, &c.Error} {
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
	Index  jsonx.Raw `json:"index"`
	Finish jsonx.Raw `json:"finish_reason"`
	Delta  delta     `json:"delta"`
}

func (c *choice) reset() {
	for _, raw := range []*jsonx.Raw{&c.Index, &c.Finish, &c.Delta.Content, &c.Delta.ToolCalls} {
		*raw = (*raw)[:0]
	}
}

// delta is an object; other values add nothing.
type delta struct {
	Content   jsonx.Raw `json:"content"` // a string, or contentParts
	ToolCalls jsonx.Raw `json:"tool_calls"`
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
			n, ok := tokens(into.Index)
			c.found = n == 0 && (ok || !present(into.Index))
		}
		return nil
	})
}

// UnmarshalJSONFrom reads a delta.
func (d *delta) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	if dec.PeekKind() != '{' {
		return dec.SkipValue()
	}
	type plain delta
	return jsonx.UnmarshalDecode(dec, (*plain)(d))
}

type contentPart struct {
	Type     jsonx.Raw `json:"type"`
	Text     jsonx.Raw `json:"text"`
	Thinking jsonx.Raw `json:"thinking"` // parts, or a string
}

type toolDelta struct {
	Index    jsonx.Raw `json:"index"`
	ID       jsonx.Raw `json:"id"`
	Function jsonx.Raw `json:"function"`
}

type functionDelta struct {
	Name      jsonx.Raw `json:"name"`
	Arguments jsonx.Raw `json:"arguments"` // JSON text, or the object itself
}

// into decodes raw when it is a value of the kind that v needs ('{' or '[').
func into(raw jsonx.Raw, kind byte, v any) bool {
	return len(raw) > 0 && raw[0] == kind && jsonx.Unmarshal(raw, v) == nil
}

// objects decodes the objects of an array; other elements are left out.
func objects[T any](raw jsonx.Raw) []T {
	var raws []jsonx.Raw
	if !into(raw, '[', &raws) {
		return nil
	}
	out := make([]T, 0, len(raws))
	for _, r := range raws {
		var v T
		if into(r, '{', &v) {
			out = append(out, v)
		}
	}
	return out
}

// present reports whether a member was there and not null.
func present(raw jsonx.Raw) bool { return len(raw) > 0 && raw[0] != 'n' }

// text returns a raw string's text, "" for any other value.
func text(raw jsonx.Raw) string {
	var p jsonx.Pieces
	return p.Next(raw)
}

// tokens returns a count, 0 for what is none.
func tokens(raw jsonx.Raw) (n int64, ok bool) {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f < 0 || f > 1e15 {
		return 0, false
	}
	return int64(f), true
}

// usageOf returns the tokens that a chunk reports, nil when it does not. Cached ones
// stand in one of several places.
func usageOf(raw jsonx.Raw) *llm.Usage {
	var u struct {
		Prompt     jsonx.Raw `json:"prompt_tokens"`
		Completion jsonx.Raw `json:"completion_tokens"`
		Cached     jsonx.Raw `json:"num_cached_tokens"`
		Details    jsonx.Raw `json:"prompt_tokens_details"`
		Details2   jsonx.Raw `json:"prompt_token_details"`
	}
	if !into(raw, '{', &u) {
		return nil
	}
	prompt, ok := tokens(u.Prompt)
	if !ok {
		return nil
	}
	out := &llm.Usage{}
	out.Output, _ = tokens(u.Completion)
	for _, raw := range []jsonx.Raw{u.Details, u.Details2} {
		var d struct {
			Cached jsonx.Raw `json:"cached_tokens"`
		}
		if into(raw, '{', &d) && out.CacheRead == 0 {
			out.CacheRead, _ = tokens(d.Cached)
		}
	}
	if out.CacheRead == 0 {
		out.CacheRead, _ = tokens(u.Cached)
	}
	out.CacheRead = min(out.CacheRead, prompt)
	out.Input = prompt - out.CacheRead
	return out
}
