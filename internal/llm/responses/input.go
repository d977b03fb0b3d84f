package responses

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// Texts that a model reads in place of what the protocol has no form for.
const (
	textSeeImage     = "(see attached image)"
	textNoToolOutput = "(no tool output)"
)

// maxID is the longest id of an item, in bytes.
const maxID = 64

// The items of a request's input; reasoning items are sent raw.
type (
	instruction struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	userItem struct {
		Role    string `json:"role"`
		Content []part `json:"content"`
	}
	messageItem struct {
		Type    string       `json:"type"`
		Role    string       `json:"role"`
		Content []outputText `json:"content"`
		Status  string       `json:"status"`
		ID      string       `json:"id"`
		Phase   string       `json:"phase,omitzero"`
	}
	callItem struct {
		Type      string `json:"type"`
		ID        string `json:"id,omitzero"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
		Namespace string `json:"namespace,omitzero"`
	}
	resultItem struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output any    `json:"output"` // string or []part
	}
	part struct {
		Type     string `json:"type"`
		Text     string `json:"text,omitzero"`
		Detail   string `json:"detail,omitzero"`
		ImageURL string `json:"image_url,omitzero"`
	}
	outputText struct {
		Type        string     `json:"type"`
		Text        string     `json:"text"`
		Annotations []struct{} `json:"annotations"`
	}
	// updateItem tells how much to reason from here on.
	updateItem struct {
		Type      string    `json:"type"`
		Reasoning reasoning `json:"reasoning"`
	}
)

func textPart(s string) part { return part{Type: "input_text", Text: s} }

func imagePart(i *llm.Image) part {
	return part{Type: "input_image", Detail: "auto", ImageURL: "data:" + i.MimeType + ";base64," + i.Data}
}

// converter writes a replayed history as input items.
type converter struct {
	model *llm.Model
	ids   llm.CallIDs // tool call id -> call_id
	tell  bool        // efforts are told by items
	out   []any
}

// input returns the system prompt and the history as input items. Where update is not
// empty, items before the model's answers tell with which effort they were made, and a
// last one that the next is to be made with update.
func input(req *llm.Request, c *compat, update string) []any {
	conv := converter{model: req.Model, out: []any{}, tell: update != ""}
	if req.System != "" {
		role := "system"
		if req.Model.Reasoning && allowed(c.SupportsDeveloperRole) {
			role = "developer"
		}
		conv.add(instruction{role, req.System})
	}
	for i, msg := range llm.Replay(req.Messages, req.Model) {
		switch msg := msg.(type) {
		case *llm.UserMessage:
			conv.user(msg)
		case *llm.AssistantMessage:
			conv.assistant(msg, i)
		case *llm.ToolResultMessage:
			conv.result(msg)
		}
	}
	conv.update(update)
	return conv.out
}

func (c *converter) update(effort string) {
	if c.tell && effort != "" {
		c.add(updateItem{"configuration_update", reasoning{Effort: effort}})
	}
}

func (c *converter) add(items ...any) { c.out = append(c.out, items...) }

func (c *converter) user(u *llm.UserMessage) {
	parts := make([]part, 0, len(u.Content))
	for _, b := range u.Content {
		switch b := b.(type) {
		case *llm.Text:
			if b.Text != "" {
				parts = append(parts, textPart(b.Text))
			}
		case *llm.Image:
			parts = append(parts, imagePart(b))
		}
	}
	if len(parts) > 0 {
		c.add(userItem{"user", parts})
	}
}

func (c *converter) result(r *llm.ToolResultMessage) {
	text := r.Content.PlainText("\n")
	blank := strings.TrimSpace(text) == ""
	var parts []part
	for _, b := range r.Content {
		if img, ok := b.(*llm.Image); ok {
			parts = append(parts, imagePart(img))
		}
	}
	var output any = text
	switch {
	case len(parts) > 0 && blank:
		output = parts
	case len(parts) > 0:
		output = append([]part{textPart(text)}, parts...)
	case blank:
		output = textNoToolOutput
	}
	c.add(resultItem{"function_call_output", c.ids.Of(r.ToolCallID), output})
}

// assistant adds the items of an answer; index is the message's place in the history,
// for the ids of texts that have none. Reasoning is sent only before an item of the
// same answer: OpenAI rejects a reasoning item that nothing follows.
func (c *converter) assistant(am *llm.AssistantMessage, index int) {
	same := c.model.Made(am)
	var items, thoughts []any
	texts := 0
	for _, b := range am.Content {
		switch b := b.(type) {
		case *llm.Thinking:
			if item := reasoningItem(b.ThinkingSignature); item != nil {
				thoughts = append(thoughts, item)
			}
			continue
		case *llm.Text:
			items = append(append(items, thoughts...), textItem(b, index, texts))
			texts++
		case *llm.ToolCall:
			items = append(append(items, thoughts...), c.call(b, same))
		}
		thoughts = nil
	}
	if len(items) > 0 && same {
		c.update(am.ProviderThinkingLevel)
	}
	c.add(items...)
}

// reasoningItem returns the item that a thinking signature holds, nil for none.
func reasoningItem(signature string) any {
	raw := jsonx.Raw(signature)
	var head struct {
		Type string `json:"type"`
	}
	if signature == "" || jsonx.Unmarshal(raw, &head) != nil || head.Type != "reasoning" {
		return nil
	}
	return raw
}

func textItem(t *llm.Text, message, text int) messageItem {
	sig := parseSignature(t.TextSignature)
	switch {
	case sig.ID == "" && text == 0:
		sig.ID = "msg_pi_" + strconv.Itoa(message)
	case sig.ID == "":
		sig.ID = "msg_pi_" + strconv.Itoa(message) + "_" + strconv.Itoa(text)
	case len(sig.ID) > maxID:
		sig.ID = "msg_" + hash(sig.ID)
	}
	return messageItem{
		Type: "message", Role: "assistant", Status: "completed", ID: sig.ID, Phase: sig.Phase,
		Content: []outputText{{Type: "output_text", Text: t.Text, Annotations: []struct{}{}}},
	}
}

// signature is a text signature: the id and phase of a message item.
type signature struct {
	V     int    `json:"v"`
	ID    string `json:"id"`
	Phase string `json:"phase,omitzero"`
}

// parseSignature decodes a text signature; old ones are the bare id.
func parseSignature(s string) signature {
	if !strings.HasPrefix(s, "{") {
		return signature{ID: s}
	}
	var sig signature
	if jsonx.Unmarshal([]byte(s), &sig) != nil || sig.V != 1 {
		return signature{ID: s}
	}
	if sig.Phase != phaseCommentary && sig.Phase != phaseFinal {
		sig.Phase = ""
	}
	return sig
}

// The phases of a message item.
const (
	phaseCommentary = "commentary"
	phaseFinal      = "final_answer"
)

func (c *converter) call(t *llm.ToolCall, same bool) callItem {
	callID, itemID, _ := strings.Cut(t.ID, "|")
	if !same || !strings.HasPrefix(itemID, "fc_") {
		// OpenAI pairs item ids with reasoning items: an id of another model, or of
		// another kind of item, is refused.
		itemID = ""
	}
	if !same {
		callID = c.foreignID(t.ID)
	}
	args := string(t.Arguments)
	if args == "" {
		args = "{}"
	}
	return callItem{
		Type: "function_call", ID: itemID, CallID: c.ids.Add(t.ID, callID),
		Name: t.Name, Arguments: args, Namespace: t.Namespace,
	}
}

// foreignID returns the call_id for a call of another model. OpenAI's own servers
// know their call_ids again; to others the whole id is only a name.
func (c *converter) foreignID(id string) string {
	switch c.model.Provider {
	case "openai", "openai-codex", "opencode", "azure", "azure-openai", "azure-openai-responses":
		id, _, _ = strings.Cut(id, "|")
	}
	id = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, id)
	return strings.TrimRight(id[:min(len(id), maxID)], "_")
}

// hash returns a short name for a long id.
func hash(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s)) //nolint:errcheck // never fails
	return strconv.FormatUint(h.Sum64(), 36)
}
