package bedrock

import (
	"strconv"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// event is the payload of any message; which fields are set depends on its name. Its
// raw fields keep their memory from event to event, and none has a type that a server's
// oddity could fail to decode into.
type event struct {
	Index      jsonx.Raw `json:"contentBlockIndex"`
	Start      jsonx.Raw `json:"start"`
	Delta      jsonx.Raw `json:"delta"`
	StopReason jsonx.Raw `json:"stopReason"`
	Usage      jsonx.Raw `json:"usage"`
	Message    jsonx.Raw `json:"message"`
}

func (e *event) reset() {
	for _, raw := range []*jsonx.Raw{&e.Index, &e.Start, &e.Delta, &e.StopReason, &e.Usage, &e.Message} {
		*raw = (*raw)[:0]
	}
}

func (e *event) index() int {
	n, err := strconv.Atoi(string(e.Index))
	if err != nil {
		return -1
	}
	return n
}

type (
	blockStart struct {
		Use jsonx.Raw `json:"toolUse"`
	}
	startedUse struct {
		ID   jsonx.Raw `json:"toolUseId"`
		Name jsonx.Raw `json:"name"`
		Type jsonx.Raw `json:"type"`
	}
	blockDelta struct {
		Text      jsonx.Raw `json:"text"`
		Use       jsonx.Raw `json:"toolUse"`
		Reasoning jsonx.Raw `json:"reasoningContent"`
	}
	useDelta struct {
		Input jsonx.Raw `json:"input"`
	}
	reasoningDelta struct {
		Text      jsonx.Raw `json:"text"`
		Signature jsonx.Raw `json:"signature"`
		Redacted  jsonx.Raw `json:"redactedContent"`
	}
)

// object decodes raw when it is an object.
func object(raw jsonx.Raw, v any) bool {
	return len(raw) > 0 && raw[0] == '{' && jsonx.Unmarshal(raw, v) == nil
}

// usageOf returns the tokens of an answer, nil when there are none.
func usageOf(raw jsonx.Raw) *llm.Usage {
	var u struct {
		Input      jsonx.Raw `json:"inputTokens"`
		Output     jsonx.Raw `json:"outputTokens"`
		CacheRead  jsonx.Raw `json:"cacheReadInputTokens"`
		CacheWrite jsonx.Raw `json:"cacheWriteInputTokens"`
		Details    jsonx.Raw `json:"cacheDetails"`
	}
	if !object(raw, &u) {
		return nil
	}
	out := &llm.Usage{Input: tokens(u.Input), Output: tokens(u.Output), CacheRead: tokens(u.CacheRead), CacheWrite: tokens(u.CacheWrite)}
	var details []jsonx.Raw
	if len(u.Details) == 0 || u.Details[0] != '[' || jsonx.Unmarshal(u.Details, &details) != nil {
		return out
	}
	hour := int64(0)
	for _, raw := range details {
		var d struct {
			TTL   jsonx.Raw `json:"ttl"`
			Input jsonx.Raw `json:"inputTokens"`
		}
		if object(raw, &d) && text(d.TTL) == "1h" {
			hour += tokens(d.Input)
		}
	}
	out.CacheWrite1h = &hour
	return out
}

// tokens returns a count, 0 for what is none.
func tokens(raw jsonx.Raw) int64 {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(n >= 0 && n < 1e15) {
		return 0
	}
	return int64(n)
}
