package anthropic

import (
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// event is any event of the stream; which fields are set depends on Type.
type event struct {
	Type    word   `json:"type"`
	Index   int    `json:"index"`
	Message *start `json:"message"`
	Block   *begun `json:"content_block"`
	Delta   delta  `json:"delta"`
	Usage   *usage `json:"usage"`
}

// start is the message of message_start.
type start struct {
	ID    lax    `json:"id"`
	Model lax    `json:"model"`
	Usage *usage `json:"usage"`
}

// begun is the block of content_block_start.
type begun struct {
	Type      word      `json:"type"`
	Text      lax       `json:"text"`
	Thinking  lax       `json:"thinking"`
	Signature lax       `json:"signature"`
	Data      lax       `json:"data"`
	ID        lax       `json:"id"`
	Name      lax       `json:"name"`
	Input     jsonx.Raw `json:"input"`
}

// delta is that of content_block_delta and message_delta.
type delta struct {
	Type        word      `json:"type"`
	Text        lax       `json:"text"`
	Thinking    lax       `json:"thinking"`
	Signature   lax       `json:"signature"`
	PartialJSON lax       `json:"partial_json"`
	StopReason  lax       `json:"stop_reason"`
	StopDetails jsonx.Raw `json:"stop_details"`
}

type fault struct {
	Type jsonx.Raw `json:"type"`
}

// usage holds counts as sent: one that is missing or null keeps its earlier value.
// Some servers send them as fractions.
type usage struct {
	Input      number `json:"input_tokens"`
	Output     number `json:"output_tokens"`
	CacheRead  number `json:"cache_read_input_tokens"`
	CacheWrite number `json:"cache_creation_input_tokens"`
	Creation   *struct {
		Hour number `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Details *struct {
		Thinking number `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	Cost number `json:"cost"` // of one gateway
}

// onto returns u with the counts of v.
func (v *usage) onto(u llm.Usage, priced bool) llm.Usage {
	set := func(to *int64, n number) {
		if n.set && n.value >= 0 {
			*to = int64(n.value)
		}
	}
	set(&u.Input, v.Input)
	set(&u.Output, v.Output)
	set(&u.CacheRead, v.CacheRead)
	set(&u.CacheWrite, v.CacheWrite)
	hour := int64(0)
	if u.CacheWrite1h != nil {
		hour = *u.CacheWrite1h
	}
	if v.Creation != nil {
		set(&hour, v.Creation.Hour)
	}
	u.CacheWrite1h = &hour
	if v.Details != nil && v.Details.Thinking.set {
		n := int64(v.Details.Thinking.value)
		u.Reasoning = &n
	}
	if priced && v.Cost.set {
		yes := true
		u.Cost.Total, u.Cost.TotalFromProvider = v.Cost.value, &yes
	}
	return u
}

// word is a string of a small set: the known ones cost no allocation.
type word string

// UnmarshalJSONFrom reads a string; other values are "".
func (w *word) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*w = ""
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	switch string(raw[1 : len(raw)-1]) {
	case "content_block_delta":
		*w = "content_block_delta"
	case "text_delta":
		*w = "text_delta"
	case "thinking_delta":
		*w = "thinking_delta"
	case "input_json_delta":
		*w = "input_json_delta"
	case "signature_delta":
		*w = "signature_delta"
	case "ping":
		*w = "ping"
	default:
		*w = word(raw[1 : len(raw)-1])
	}
	return nil
}

// lax is a string; other values are "". Blocks and deltas of types that are skipped
// use the same names for other things.
type lax string

// UnmarshalJSONFrom reads a string.
func (l *lax) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	if dec.PeekKind() != '"' {
		*l = ""
		return dec.SkipValue()
	}
	t, err := dec.ReadToken()
	if err != nil {
		return err
	}
	*l = lax(t.String())
	return nil
}

// number is a number, and whether it was there; other values count as not there.
type number struct {
	value float64
	set   bool
}

// UnmarshalJSONFrom reads a number.
func (n *number) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	if dec.PeekKind() != '0' {
		*n = number{}
		return dec.SkipValue()
	}
	t, err := dec.ReadToken()
	if err != nil {
		return err
	}
	value, err := t.Float()
	*n = number{value, err == nil} // one beyond the range counts as not there
	return nil
}
