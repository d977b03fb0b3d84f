package bedrock

import (
	"bytes"
	"encoding/base64"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Texts that stand in a request where the provider accepts nothing else.
const (
	textNoOutput   = "(no tool output)"
	textImageMoved = "(image attached after the tool results)"
	textNoPicture  = "(image omitted: not a JPEG, PNG, GIF or WebP picture)"
)

// maxID is the longest id of a call, in bytes.
const maxID = 64

type (
	message struct {
		Role    string  `json:"role"`
		Content []block `json:"content"`
	}
	// block is a content block of any kind: one member is set.
	block struct {
		Text      string      `json:"text,omitzero"`
		Image     *image      `json:"image,omitzero"`
		Use       *toolUse    `json:"toolUse,omitzero"`
		Result    *toolResult `json:"toolResult,omitzero"`
		Reasoning *reasoning  `json:"reasoningContent,omitzero"`
		Cache     *cachePoint `json:"cachePoint,omitzero"`
	}
	image struct {
		Format string      `json:"format"`
		Source imageSource `json:"source"`
	}
	imageSource struct {
		Bytes string `json:"bytes"`
	}
	toolUse struct {
		ID    string    `json:"toolUseId"`
		Name  string    `json:"name"`
		Input jsonx.Raw `json:"input"`
	}
	toolResult struct {
		ID      string  `json:"toolUseId"`
		Content []block `json:"content"`
		Status  string  `json:"status"`
	}
	reasoning struct {
		Text     *reasoningText `json:"reasoningText,omitzero"`
		Redacted string         `json:"redactedContent,omitzero"`
	}
	reasoningText struct {
		Text      string `json:"text"`
		Signature string `json:"signature,omitzero"`
	}
)

// converter writes a replayed history as messages.
type converter struct {
	claude bool
	ids    llm.CallIDs
	moved  []block // pictures of error results, behind all results of their turn
	out    []message
}

// messages translates the history. Messages of one role that follow each other are one:
// roles must take turns. A cache point ends the last message of the user.
func messages(req *llm.Request, cache *cachePoint) []message {
	c := converter{claude: isClaude(req.Model), ids: llm.CallIDs{Max: maxID}, out: []message{}}
	for _, msg := range llm.Replay(req.Messages, req.Model) {
		switch msg := msg.(type) {
		case *llm.UserMessage:
			c.add("user", c.blocks(msg.Content))
		case *llm.AssistantMessage:
			c.add("assistant", c.answer(msg))
		case *llm.ToolResultMessage:
			c.result(msg)
		}
	}
	c.add("user", nil)
	if n := len(c.out); n > 0 && cache != nil && c.out[n-1].Role == "user" {
		c.out[n-1].Content = append(c.out[n-1].Content, block{Cache: cache})
	}
	return c.out
}

// add adds blocks behind the pictures that wait for the end of their turn's results.
func (c *converter) add(role string, blocks []block) {
	if moved := c.moved; len(moved) > 0 {
		c.moved = nil
		c.add("user", moved)
	}
	switch n := len(c.out); {
	case len(blocks) == 0:
	case n > 0 && c.out[n-1].Role == role:
		c.out[n-1].Content = append(c.out[n-1].Content, blocks...)
	default:
		c.out = append(c.out, message{role, blocks})
	}
}

// blocks returns texts, which must not be blank, and pictures.
func (c *converter) blocks(content llm.Content) []block {
	var out []block
	for _, b := range content {
		switch b := b.(type) {
		case *llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, block{Text: b.Text})
			}
		case *llm.Image:
			out = append(out, picture(b))
		}
	}
	return out
}

// picture returns a picture, or a text for one of a format that Bedrock does not take.
func picture(i *llm.Image) block {
	format := strings.TrimPrefix(i.MimeType, "image/")
	switch format {
	case "jpg":
		format = "jpeg"
	case "jpeg", "png", "gif", "webp":
	default:
		return block{Text: textNoPicture}
	}
	return block{Image: &image{format, imageSource{i.Data}}}
}

func (c *converter) answer(am *llm.AssistantMessage) []block {
	var out []block
	for _, b := range am.Content {
		switch b := b.(type) {
		case *llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, block{Text: b.Text})
			}
		case *llm.Thinking:
			if t, ok := c.thinking(b); ok {
				out = append(out, t)
			}
		case *llm.ToolCall:
			out = append(out, block{Use: &toolUse{c.ids.Add(b.ID, wire.PlainID(b.ID)), b.Name, document(b.Arguments)}})
		}
	}
	return out
}

// thinking returns reasoning as it is sent back. Claude takes it only with its
// signature: what a stream that broke off left without one is a text; others refuse
// signatures.
func (c *converter) thinking(t *llm.Thinking) (block, bool) {
	blank := strings.TrimSpace(t.Thinking) == ""
	switch {
	case t.Redacted:
		data, err := base64.StdEncoding.DecodeString(t.ThinkingSignature)
		return block{Reasoning: &reasoning{Redacted: t.ThinkingSignature}}, err == nil && len(data) > 0
	case blank:
		return block{}, false
	case !c.claude:
		return block{Reasoning: &reasoning{Text: &reasoningText{Text: t.Thinking}}}, true
	case strings.TrimSpace(t.ThinkingSignature) == "":
		return block{Text: t.Thinking}, true
	}
	return block{Reasoning: &reasoning{Text: &reasoningText{t.Thinking, t.ThinkingSignature}}}, true
}

// result adds a result to those of its turn. Claude's error results may hold only text:
// their pictures follow behind all results.
func (c *converter) result(r *llm.ToolResultMessage) {
	out := &toolResult{ID: c.ids.Of(r.ToolCallID), Status: "success"}
	if r.IsError {
		out.Status = "error"
	}
	var moved []block
	for _, b := range c.blocks(r.Content) {
		if b.Image == nil || !r.IsError || !c.claude {
			out.Content = append(out.Content, b)
			continue
		}
		if len(moved) == 0 {
			out.Content = append(out.Content, block{Text: textImageMoved})
			moved = append(moved, block{Text: "Images from the error result of tool call " + out.ID + " (" + r.ToolName + "):"})
		}
		moved = append(moved, b)
	}
	if len(out.Content) == 0 {
		out.Content = []block{{Text: textNoOutput}}
	}
	waiting := c.moved // results of one turn stand together
	c.moved = nil
	c.add("user", []block{{Result: out}})
	c.moved = append(waiting, moved...)
}

// document returns a call's arguments without members of an empty name, which Bedrock
// refuses.
func document(raw jsonx.Raw) jsonx.Raw {
	if raw.Kind() != '{' {
		return jsonx.Raw("{}")
	}
	if !bytes.Contains(raw, []byte(`"":`)) {
		return raw
	}
	clean, err := named(raw)
	if err != nil {
		return jsonx.Raw("{}")
	}
	return clean
}

func named(raw jsonx.Raw) (jsonx.Raw, error) {
	switch raw.Kind() {
	case '{':
		members, err := jsonx.Members(raw)
		if err != nil {
			return nil, err
		}
		var o jsonx.Object
		for _, m := range members {
			if m.Name == "" {
				continue
			}
			value, err := named(m.Value)
			if err != nil {
				return nil, err
			}
			o.Set(m.Name, value)
		}
		return jsonx.Marshal(&o)
	case '[':
		var elements []jsonx.Raw
		if err := jsonx.Unmarshal(raw, &elements); err != nil {
			return nil, err
		}
		for i := range elements {
			var err error
			if elements[i], err = named(elements[i]); err != nil {
				return nil, err
			}
		}
		return jsonx.Marshal(elements)
	}
	return raw, nil
}
