package openai

import (
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Texts that a model reads in place of what the protocol has no form for.
const (
	textSeeImage       = "(see attached image)"
	textNoToolOutput   = "(no tool output)"
	textToolImages     = "Attached image(s) from tool result:"
	textResultsHandled = "I have processed the tool results."
)

// Fields in which servers send reasoning and want it back; the name of the field is
// the thinkingSignature of the block.
const (
	fieldReasoningContent = "reasoning_content"
	fieldReasoning        = "reasoning"
	fieldReasoningText    = "reasoning_text"
)

// message is one message of a request. Content is a string, []*part, or nil for null.
type message struct {
	Role             string     `json:"role"`
	Content          any        `json:"content"`
	ReasoningContent *string    `json:"reasoning_content,omitzero"`
	Reasoning        *string    `json:"reasoning,omitzero"`
	ReasoningText    *string    `json:"reasoning_text,omitzero"`
	ToolCalls        []toolCall `json:"tool_calls,omitempty"`
	ReasoningDetails jsonx.Raw  `json:"reasoning_details,omitzero"`
	ToolCallID       string     `json:"tool_call_id,omitzero"`
	Name             string     `json:"name,omitzero"`
}

type part struct {
	Type         string        `json:"type"`
	Text         string        `json:"text,omitzero"`
	ImageURL     *imageURL     `json:"image_url,omitzero"`
	CacheControl *cacheControl `json:"cache_control,omitzero"`
}

type imageURL struct {
	URL string `json:"url"`
}

type toolCall struct {
	ID           string       `json:"id"`
	Type         string       `json:"type"`
	Function     callFunction `json:"function"`
	ExtraContent jsonx.Raw    `json:"extra_content,omitzero"`
}

type callFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func textPart(s string) *part { return &part{Type: "text", Text: s} }

func imagePart(i *llm.Image) *part {
	return &part{Type: "image_url", ImageURL: &imageURL{URL: "data:" + i.MimeType + ";base64," + i.Data}}
}

// converter writes a replayed history as messages.
type converter struct {
	model   *llm.Model
	compat  *compat
	ids     llm.CallIDs
	out     []*message
	results bool    // the last message is a tool result
	images  []*part // of the tool results since the last other message
}

// messages returns the system prompt and the history as the server wants them.
func messages(system string, history []llm.Message, m *llm.Model, c *compat) []*message {
	conv := converter{model: m, compat: c}
	if system != "" {
		role := "system"
		if m.Reasoning && c.developerRole {
			role = "developer"
		}
		conv.add(&message{Role: role, Content: system})
	}
	for _, msg := range history {
		switch msg := msg.(type) {
		case *llm.ToolResultMessage:
			conv.result(msg)
		case *llm.UserMessage:
			conv.flushImages()
			conv.user(msg)
		case *llm.AssistantMessage:
			conv.flushImages()
			conv.assistant(msg)
		}
	}
	conv.flushImages()
	return conv.out
}

func (c *converter) add(m *message) {
	if m.Role == "user" && c.results && c.compat.assistantAfterResult {
		c.out = append(c.out, &message{Role: "assistant", Content: textResultsHandled})
	}
	c.out = append(c.out, m)
	c.results = m.Role == "tool"
}

func (c *converter) user(u *llm.UserMessage) {
	parts := make([]*part, 0, len(u.Content))
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
		c.add(&message{Role: "user", Content: parts})
	}
}

// result adds a tool result: text only, so its pictures follow the results of the
// turn in a user message.
func (c *converter) result(r *llm.ToolResultMessage) {
	hasImage := false
	for _, b := range r.Content {
		if img, ok := b.(*llm.Image); ok {
			c.images = append(c.images, imagePart(img))
			hasImage = true
		}
	}
	text := r.Content.PlainText("\n")
	if strings.TrimSpace(text) == "" {
		text = textNoToolOutput
		if hasImage {
			text = textSeeImage
		}
	}
	m := &message{Role: "tool", Content: text, ToolCallID: c.ids.Of(r.ToolCallID)}
	if c.compat.toolResultName {
		m.Name = r.ToolName
	}
	c.add(m)
}

func (c *converter) flushImages() {
	if len(c.images) == 0 {
		return
	}
	c.add(&message{Role: "user", Content: append([]*part{textPart(textToolImages)}, c.images...)})
	c.images = nil
}

func (c *converter) assistant(am *llm.AssistantMessage) {
	m := &message{Role: "assistant"}
	if c.compat.nonNullContent {
		m.Content = ""
	}
	var texts []*part
	var thoughts []*llm.Thinking
	same := c.model.Made(am)
	for _, b := range am.Content {
		switch b := b.(type) {
		case *llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				texts = append(texts, textPart(b.Text))
			}
		case *llm.Thinking:
			thoughts = append(thoughts, b)
		case *llm.ToolCall:
			m.ToolCalls = append(m.ToolCalls, c.call(b, same))
		}
	}
	m.ReasoningDetails = reasoningDetails(thoughts, am.Content.ToolCalls())
	c.reasoning(m, thoughts, texts)
	if s, ok := m.Content.(string); len(m.ToolCalls) == 0 && (m.Content == nil || ok && s == "") {
		return // neither text nor calls: servers reject it
	}
	c.add(m)
}

// reasoning sets a message's content and reasoning fields.
func (c *converter) reasoning(m *message, thoughts []*llm.Thinking, texts []*part) {
	var words []string
	signature := ""
	for _, t := range thoughts {
		if strings.TrimSpace(t.Thinking) == "" {
			continue
		}
		if len(words) == 0 {
			signature = t.ThinkingSignature
		}
		words = append(words, t.Thinking)
	}
	if len(words) > 0 && c.compat.thinkingAsText {
		m.Content = append([]*part{textPart(strings.Join(words, "\n\n"))}, texts...)
		words = nil
	} else if len(texts) > 0 {
		// One string: models are known to imitate an array of parts literally.
		var s strings.Builder
		for _, t := range texts {
			s.WriteString(t.Text)
		}
		m.Content = s.String()
	}
	if len(words) > 0 && m.ReasoningDetails == nil {
		m.setReasoning(reasoningField(c.model, signature), strings.Join(words, "\n"))
	}
	if c.compat.reasoningContent && c.model.Reasoning && m.ReasoningContent == nil {
		m.setReasoning(fieldReasoningContent, "")
	}
}

func (m *message) setReasoning(field, text string) {
	switch field {
	case fieldReasoningContent:
		m.ReasoningContent = &text
	case fieldReasoning:
		m.Reasoning = &text
	case fieldReasoningText:
		m.ReasoningText = &text
	}
}

// reasoningField returns the field in which m wants reasoning that came in field.
func reasoningField(m *llm.Model, field string) string {
	if m.Provider == "opencode-go" && field == fieldReasoning {
		return fieldReasoningContent
	}
	return field
}

func (c *converter) call(t *llm.ToolCall, same bool) toolCall {
	id := t.ID
	if !same {
		id = c.foreignID(t.ID)
	}
	args := string(t.Arguments)
	if args == "" {
		args = "{}"
	}
	return toolCall{
		ID: c.ids.Add(t.ID, id), Type: "function",
		Function:     callFunction{Name: t.Name, Arguments: args},
		ExtraContent: extraContent(t.ThoughtSignature),
	}
}

// maxCallID is the longest tool call id that OpenAI accepts.
const maxCallID = 40

// foreignID returns the id of another model's call in a form that servers accept:
// call_id|item_id of the Responses protocol becomes call_id_item_id, or call_id with
// a hash when that is too long.
func (c *converter) foreignID(id string) string {
	callID, itemID, piped := strings.Cut(id, "|")
	if !piped {
		if c.model.Provider == "openai" && len(id) > maxCallID {
			return id[:maxCallID]
		}
		return id
	}
	callID, itemID = wire.PlainID(callID), wire.PlainID(itemID)
	joined := callID
	if itemID != "" {
		joined += "_" + itemID
	}
	if len(joined) <= maxCallID {
		return joined
	}
	h := fnv.New32a()
	h.Write([]byte(id)) //nolint:errcheck // never fails
	hash := strconv.FormatUint(uint64(h.Sum32()), 36)
	return callID[:min(len(callID), maxCallID-len(hash)-1)] + "_" + hash
}
