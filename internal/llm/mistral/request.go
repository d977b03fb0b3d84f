package mistral

import (
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// Texts that a model reads in place of what the protocol has no form for.
const (
	textSeeImage     = "(see attached image)"
	textNoToolOutput = "(no tool output)"
	textToolError    = "[tool error] "
)

type (
	requestBody struct {
		Model     string    `json:"model"`
		Stream    bool      `json:"stream"`
		Messages  []message `json:"messages"`
		Tools     []tool    `json:"tools,omitzero"`
		MaxTokens int64     `json:"max_tokens,omitzero"`
		// A model takes one of these two, or neither.
		PromptMode string `json:"prompt_mode,omitzero"`
		Effort     string `json:"reasoning_effort,omitzero"`
		CacheKey   string `json:"prompt_cache_key,omitzero"`
	}
	// message has a string as its content, or parts.
	message struct {
		Role       string     `json:"role"`
		Name       string     `json:"name,omitzero"`
		Content    any        `json:"content,omitzero"`
		ToolCalls  []toolCall `json:"tool_calls,omitzero"`
		ToolCallID string     `json:"tool_call_id,omitzero"`
	}
	part struct {
		Type     string `json:"type"`
		Text     string `json:"text,omitzero"`
		Thinking []part `json:"thinking,omitzero"`
		ImageURL string `json:"image_url,omitzero"`
	}
	toolCall struct {
		ID       string       `json:"id"`
		Type     string       `json:"type"`
		Function functionCall `json:"function"`
	}
	functionCall struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	function struct {
		Name        string    `json:"name"`
		Description string    `json:"description"`
		Parameters  jsonx.Raw `json:"parameters"`
		Strict      bool      `json:"strict"`
	}
)

// compat are the flags of Model.Compat that this protocol knows.
type compat struct {
	Strict bool `json:"supportsStrictMode"`
}

// body returns the request's JSON.
func body(req *llm.Request) (*requestBody, error) {
	r := &requestBody{Model: req.Model.ID, Stream: true, Messages: messages(req), MaxTokens: llm.AnswerBudget(req)}
	if err := r.declare(req); err != nil {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: err.Error(), Err: err}
	}
	r.think(req)
	if !req.NoCache {
		r.CacheKey = req.SessionID
	}
	return r, nil
}

// declare declares the tools.
func (r *requestBody) declare(req *llm.Request) error {
	var c compat
	if len(req.Model.Compat) > 0 {
		if err := jsonx.Unmarshal(req.Model.Compat, &c); err != nil {
			return fmt.Errorf("compat of %s: %w", req.Model.Ref(), err)
		}
	}
	schemas, err := llm.StrictRule{On: c.Strict}.Schemas(req.Tools)
	if err != nil {
		return err
	}
	for i, spec := range req.Tools {
		f := function{spec.Name, spec.Description, spec.Parameters, schemas[i] != nil}
		switch {
		case f.Strict:
			f.Parameters = schemas[i]
		case f.Parameters.Kind() != '{':
			f.Parameters = jsonx.Raw(`{"type":"object","properties":{}}`)
		}
		r.Tools = append(r.Tools, tool{"function", f})
	}
	return nil
}

// think sets how much the model is to reason: models with words for it take an effort,
// others know only on and off.
func (r *requestBody) think(req *llm.Request) {
	m, level := req.Model, req.Thinking
	off := level == "" || level == llm.ThinkingOff
	switch {
	case !m.Reasoning:
	case m.ThinkingLevelMap == nil:
		if !off {
			r.PromptMode = "reasoning"
		}
	case off:
		if word := m.ThinkingLevelMap[llm.ThinkingOff]; word != nil {
			r.Effort = *word
		}
	default:
		r.Effort = "high"
		if word := m.ThinkingLevelMap[level]; word != nil {
			r.Effort = *word
		}
	}
}

// messages returns the system prompt and the history.
func messages(req *llm.Request) []message {
	out := []message{}
	if req.System != "" {
		out = append(out, message{Role: "system", Content: req.System})
	}
	var ids callIDs
	for _, msg := range llm.Replay(req.Messages, req.Model) {
		m := message{}
		switch msg := msg.(type) {
		case *llm.UserMessage:
			if parts := userParts(msg.Content); len(parts) > 0 {
				m = message{Role: "user", Content: parts}
			}
		case *llm.AssistantMessage:
			m = answer(msg, &ids)
		case *llm.ToolResultMessage:
			m = message{Role: "tool", Name: msg.ToolName, Content: resultParts(msg), ToolCallID: ids.of(msg.ToolCallID)}
		}
		if m.Role != "" {
			out = append(out, m)
		}
	}
	return out
}

func textPart(s string) part { return part{Type: "text", Text: s} }

func imagePart(i *llm.Image) part {
	return part{Type: "image_url", ImageURL: "data:" + i.MimeType + ";base64," + i.Data}
}

func userParts(content llm.Content) []part {
	var parts []part
	for _, b := range content {
		switch b := b.(type) {
		case *llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				parts = append(parts, textPart(b.Text))
			}
		case *llm.Image:
			parts = append(parts, imagePart(b))
		}
	}
	return parts
}

// answer returns a message of the model, without a role when nothing of it is left.
func answer(am *llm.AssistantMessage, ids *callIDs) message {
	var parts []part
	var m message
	for _, b := range am.Content {
		switch b := b.(type) {
		case *llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				parts = append(parts, textPart(b.Text))
			}
		case *llm.Thinking:
			if strings.TrimSpace(b.Thinking) != "" {
				parts = append(parts, part{Type: "thinking", Thinking: []part{textPart(b.Thinking)}})
			}
		case *llm.ToolCall:
			args := string(b.Arguments)
			if b.Arguments.Kind() != '{' {
				args = "{}"
			}
			m.ToolCalls = append(m.ToolCalls, toolCall{ids.of(b.ID), "function", functionCall{b.Name, args}})
		}
	}
	if len(parts) > 0 {
		m.Content = parts
	}
	if len(parts) > 0 || len(m.ToolCalls) > 0 {
		m.Role = "assistant"
	}
	return m
}

// resultParts returns a tool's result: always a text, then the pictures. The protocol
// has no other place to say that a tool failed.
func resultParts(r *llm.ToolResultMessage) []part {
	var images []part
	for _, b := range r.Content {
		if i, ok := b.(*llm.Image); ok {
			images = append(images, imagePart(i))
		}
	}
	text := r.Content.PlainText("\n")
	if strings.TrimSpace(text) == "" {
		text = textNoToolOutput
		if len(images) > 0 {
			text = textSeeImage
		}
	}
	if r.IsError {
		text = textToolError + text
	}
	return append([]part{textPart(text)}, images...)
}
