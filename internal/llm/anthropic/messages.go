package anthropic

import (
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// Texts that stand in a request where the provider accepts nothing else.
const (
	textNoOutput     = "(no tool output)"
	textSeeImage     = "(see attached image)"
	textImageMoved   = "(image attached after the tool results)"
	maxToolCallIDLen = 64
)

type (
	message struct {
		Role    string        `json:"role"`
		Content []block       `json:"content"`
		Output  *outputConfig `json:"output_config,omitzero"`
	}
	// block is a content block of any type; Content is a string or a []block.
	block struct {
		Type      string        `json:"type"`
		Text      string        `json:"text,omitzero"`
		Thinking  *string       `json:"thinking,omitzero"`
		Signature *string       `json:"signature,omitzero"`
		Data      string        `json:"data,omitzero"`
		ID        string        `json:"id,omitzero"`
		Name      string        `json:"name,omitzero"`
		Input     jsonx.Raw     `json:"input,omitzero"`
		Source    *source       `json:"source,omitzero"`
		ToolUseID string        `json:"tool_use_id,omitzero"`
		Content   any           `json:"content,omitzero"`
		IsError   *bool         `json:"is_error,omitzero"`
		Cache     *cacheControl `json:"cache_control,omitzero"`
	}
	source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	}
)

// messages translates the history. The last block of a last user message carries the
// cache marker.
func (c *call) messages() []message {
	history := llm.Replay(c.req.Messages, c.req.Model)
	ids := &callIDs{byID: map[string]string{}, used: map[string]bool{}}
	out := make([]message, 0, len(history))
	for i := 0; i < len(history); i++ {
		m := message{Role: "user"}
		switch msg := history[i].(type) {
		case *llm.UserMessage:
			m.Content = userBlocks(msg.Content)
		case *llm.AssistantMessage:
			m.Role, m.Content = "assistant", c.assistantBlocks(msg, ids)
			if len(m.Content) > 0 {
				out = append(out, c.told(msg)...)
			}
		case *llm.ToolResultMessage:
			// All results of a turn must come in one message.
			end := i + 1
			for end < len(history) && history[end].Role() == llm.RoleToolResult {
				end++
			}
			m.Content = resultBlocks(history[i:end], ids)
			i = end - 1
		}
		if len(m.Content) > 0 {
			out = append(out, m)
		}
	}
	if n := len(out); n > 0 && out[n-1].Role == "user" {
		last := out[n-1].Content
		last[len(last)-1].Cache = c.cache
	}
	if c.effort != "" {
		out = append(out, effortMessage(c.effort))
	}
	return out
}

// told returns the message that tells the effort with which an answer was made; none when
// the request tells no efforts, or the answer is not of this provider.
func (c *call) told(m *llm.AssistantMessage) []message {
	if c.effort == "" || m.API != llm.APIAnthropicMessages || m.Provider != c.req.Model.Provider {
		return nil
	}
	switch m.ProviderThinkingLevel {
	case "low", "medium", "high", "xhigh", "max":
		return []message{effortMessage(m.ProviderThinkingLevel)}
	}
	return nil
}

func effortMessage(effort string) message {
	return message{Role: "system", Content: []block{}, Output: &outputConfig{effort}}
}

func userBlocks(content llm.Content) []block {
	var out []block
	for _, b := range content {
		switch b := b.(type) {
		case *llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, block{Type: "text", Text: b.Text})
			}
		case *llm.Image:
			out = append(out, imageBlock(b))
		}
	}
	return out
}

func imageBlock(i *llm.Image) block {
	return block{Type: "image", Source: &source{Type: "base64", MediaType: i.MimeType, Data: i.Data}}
}

func (c *call) assistantBlocks(m *llm.AssistantMessage, ids *callIDs) []block {
	var out []block
	for _, b := range m.Content {
		switch b := b.(type) {
		case *llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, block{Type: "text", Text: b.Text})
			}
		case *llm.Thinking:
			if t, ok := c.thinkingBlock(b); ok {
				out = append(out, t)
			}
		case *llm.ToolCall:
			input := b.Arguments
			if input.Kind() != '{' {
				input = jsonx.Raw("{}")
			}
			out = append(out, block{Type: "tool_use", ID: ids.of(b.ID), Name: b.Name, Input: input})
		}
	}
	return out
}

// thinkingBlock returns reasoning as it is sent back. Without a signature (from a
// stream that broke off) it can only be text, except for providers that never sign.
func (c *call) thinkingBlock(t *llm.Thinking) (block, bool) {
	blank := strings.TrimSpace(t.Thinking) == ""
	signed := strings.TrimSpace(t.ThinkingSignature) != ""
	switch {
	case t.Redacted:
		return block{Type: "redacted_thinking", Data: t.ThinkingSignature}, signed
	case signed:
		return block{Type: "thinking", Thinking: &t.Thinking, Signature: &t.ThinkingSignature}, true
	case blank:
		return block{}, false
	case c.compat.EmptySignature:
		return block{Type: "thinking", Thinking: &t.Thinking, Signature: new(string)}, true
	}
	return block{Type: "text", Text: t.Thinking}, true
}

// resultBlocks returns the results of one turn. Error results may hold only text:
// their pictures follow behind all results, which must come first.
func resultBlocks(results []llm.Message, ids *callIDs) []block {
	var out, moved []block
	for _, m := range results {
		r, ok := m.(*llm.ToolResultMessage)
		if !ok {
			continue
		}
		id, isError := ids.of(r.ToolCallID), r.IsError
		content := r.Content
		if isError {
			var images []block
			if content, images = withoutImages(content); len(images) > 0 {
				moved = append(moved, block{Type: "text", Text: "Images from the error result of tool call " + id + " (" + r.ToolName + "):"})
				moved = append(moved, images...)
			}
		}
		out = append(out, block{Type: "tool_result", ToolUseID: id, Content: resultContent(content), IsError: &isError})
	}
	return append(out, moved...)
}

// withoutImages replaces runs of pictures by a text and returns them apart.
func withoutImages(content llm.Content) (kept llm.Content, images []block) {
	before := false
	for _, b := range content {
		i, ok := b.(*llm.Image)
		if ok {
			images = append(images, imageBlock(i))
			if !before {
				kept = append(kept, llm.NewText(textImageMoved))
			}
		} else {
			kept = append(kept, b)
		}
		before = ok
	}
	return kept, images
}

// resultContent returns a result's content: a string, or blocks when there are
// pictures. It is never blank, which the provider rejects (field report 113).
func resultContent(content llm.Content) any {
	blocks, text := userBlocks(content), false
	for _, b := range blocks {
		text = text || b.Type == "text"
		if b.Type != "image" {
			continue
		}
		if hasText(blocks) {
			return blocks
		}
		return append([]block{{Type: "text", Text: textSeeImage}}, blocks...)
	}
	if !text {
		return textNoOutput
	}
	return content.PlainText("\n")
}

func hasText(blocks []block) bool {
	for _, b := range blocks {
		if b.Type == "text" {
			return true
		}
	}
	return false
}

// callIDs gives tool calls of any provider ids that this one accepts, one for each.
type callIDs struct {
	byID map[string]string
	used map[string]bool
}

func (c *callIDs) of(id string) string {
	if v, ok := c.byID[id]; ok {
		return v
	}
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
	if base == "" {
		base = "call"
	}
	v := base[:min(len(base), maxToolCallIDLen)]
	for n := 2; c.used[v]; n++ {
		suffix := "_" + strconv.Itoa(n)
		v = base[:min(len(base), maxToolCallIDLen-len(suffix))] + suffix
	}
	c.byID[id], c.used[v] = v, true
	return v
}
