package responses

import (
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// event is one event of a stream. Its raw fields keep their memory from event to
// event, and none has a type that a server's oddity could fail to decode into.
type event struct {
	Type        jsonx.Raw `json:"type"`
	OutputIndex jsonx.Raw `json:"output_index"`
	ItemID      jsonx.Raw `json:"item_id"`
	Delta       jsonx.Raw `json:"delta"`
	Text        jsonx.Raw `json:"text"`
	Refusal     jsonx.Raw `json:"refusal"`
	Arguments   jsonx.Raw `json:"arguments"`
	Input       jsonx.Raw `json:"input"`
	Part        jsonx.Raw `json:"part"`
	Item        jsonx.Raw `json:"item"`
	Response    jsonx.Raw `json:"response"`
	Error       jsonx.Raw `json:"error"`
}

func (e *event) reset() {
	for _, raw := range []*jsonx.Raw{
		&e.Type, &e.OutputIndex, &e.ItemID, &e.Delta, &e.Text, &e.Refusal, &e.Arguments, &e.Input, &e.Part, &e.Item,
		&e.Response, &e.Error,
	} {
		*raw = (*raw)[:0]
	}
}

// item is an output item, as it is added and when it is done.
type item struct {
	Type             jsonx.Raw `json:"type"`
	ID               jsonx.Raw `json:"id"`
	CallID           jsonx.Raw `json:"call_id"`
	Name             jsonx.Raw `json:"name"`
	Arguments        jsonx.Raw `json:"arguments"`
	Input            jsonx.Raw `json:"input"`
	Phase            jsonx.Raw `json:"phase"`
	EncryptedContent jsonx.Raw `json:"encrypted_content"`
	Content          jsonx.Raw `json:"content"`
	Summary          jsonx.Raw `json:"summary"`

	raw jsonx.Raw
}

func decodeItem(raw jsonx.Raw) (*item, bool) {
	it := &item{raw: raw}
	if len(raw) == 0 || raw[0] != '{' || jsonx.Unmarshal(raw, it) != nil {
		return nil, false
	}
	return it, true
}

// texts returns the texts of a list of parts, joined by sep: of content, a summary,
// or a message, where a refusal is text.
func texts(raw jsonx.Raw, sep string) string {
	var parts []struct {
		Text    jsonx.Raw `json:"text"`
		Refusal jsonx.Raw `json:"refusal"`
	}
	if len(raw) == 0 || raw[0] != '[' || jsonx.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var all []string
	for _, p := range parts {
		if present(p.Text) {
			all = append(all, text(p.Text))
		} else if present(p.Refusal) {
			all = append(all, text(p.Refusal))
		}
	}
	return strings.Join(all, sep)
}

// kind is what an item is to this program.
type kind uint8

const (
	kindOther kind = iota // searches, shell calls and whatever else the server runs itself
	kindThinking
	kindText
	kindCall
	kindCustom
)

func (it *item) kind() kind {
	switch text(it.Type) {
	case "reasoning":
		return kindThinking
	case "message":
		return kindText
	case "function_call":
		return kindCall
	case "custom_tool_call":
		return kindCustom
	}
	return kindOther
}

// toolCallID returns the id of a call in the form call_id|item_id.
func (it *item) toolCallID() string {
	callID, id := text(it.CallID), text(it.ID)
	switch {
	case callID == "":
		return id
	case id == "":
		return callID
	}
	return callID + "|" + id
}

// textSignature returns the signature of a message's text.
func (it *item) textSignature() string {
	sig := signature{V: 1, ID: text(it.ID), Phase: text(it.Phase)}
	if sig.ID == "" {
		return ""
	}
	raw, err := jsonx.Marshal(sig)
	if err != nil {
		return ""
	}
	return string(raw)
}

// thinkingSignature returns a reasoning item as it goes back, with the encrypted
// content that another copy of it may have.
func thinkingSignature(raw, encrypted jsonx.Raw) string {
	if present(encrypted) {
		var o jsonx.Object
		if o.Merge(raw) == nil {
			o.Set("encrypted_content", encrypted)
			if full, err := jsonx.Marshal(&o); err == nil {
				return string(full)
			}
		}
	}
	compact, err := jsonx.Compact(raw)
	if err != nil {
		return ""
	}
	return string(compact)
}

// response is a whole response, as terminal events carry it.
type response struct {
	ID                jsonx.Raw `json:"id"`
	Status            jsonx.Raw `json:"status"`
	Error             jsonx.Raw `json:"error"`
	IncompleteDetails struct {
		Reason jsonx.Raw `json:"reason"`
	} `json:"incomplete_details"`
	Output jsonx.Raw `json:"output"`
	Usage  jsonx.Raw `json:"usage"`
	// ServiceTier is how fast and at which price the request was served.
	ServiceTier jsonx.Raw `json:"service_tier"`
	EndTurn     jsonx.Raw `json:"end_turn"`
}

func decodeResponse(raw jsonx.Raw) *response {
	r := &response{}
	if jsonx.Unmarshal(raw, r) != nil {
		return &response{}
	}
	return r
}

func (r *response) reason() string { return text(r.IncompleteDetails.Reason) }

// rawStop returns the status with its reason, in one word.
func (r *response) rawStop(status string) string {
	if reason := r.reason(); reason != "" {
		return status + "." + reason
	}
	return status
}

// items returns the output items.
func (r *response) items() []*item {
	var raws []jsonx.Raw
	if len(r.Output) == 0 || r.Output[0] != '[' || jsonx.Unmarshal(r.Output, &raws) != nil {
		return nil
	}
	items := make([]*item, 0, len(raws))
	for _, raw := range raws {
		it, ok := decodeItem(raw)
		if !ok {
			it = &item{}
		}
		items = append(items, it)
	}
	return items
}

// usage returns the tokens of a response, nil when it does not say. Input leaves out
// what was read from and written to the cache.
func (r *response) usage() *llm.Usage {
	var u struct {
		Input        float64 `json:"input_tokens"`
		Output       float64 `json:"output_tokens"`
		InputDetails struct {
			Cached     float64 `json:"cached_tokens"`
			CacheWrite float64 `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning float64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	}
	if len(r.Usage) == 0 || r.Usage[0] != '{' || jsonx.Unmarshal(r.Usage, &u) != nil {
		return nil
	}
	reasoning := int64(u.OutputDetails.Reasoning)
	return &llm.Usage{
		Input:     max(0, int64(u.Input-u.InputDetails.Cached-u.InputDetails.CacheWrite)),
		Output:    int64(u.Output),
		CacheRead: int64(u.InputDetails.Cached), CacheWrite: int64(u.InputDetails.CacheWrite),
		Reasoning: &reasoning,
	}
}

// prices returns those of an answer that was served in a tier of OpenAI's own, nil when
// they are the model's.
func (s *stream) prices(tier string) *llm.ModelCost {
	factor := 2.0
	switch {
	case s.model.API == llm.APIAzureResponses:
		return nil
	case tier == "flex":
		factor = 0.5
	case tier != "priority" && (tier != "fast" || s.model.API == llm.APICodexResponses):
		return nil
	case s.model.ID == "gpt-5.5":
		factor = 2.5
	}
	prices := s.model.Cost.Times(factor)
	return &prices
}
