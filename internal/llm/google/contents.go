package google

import (
	"encoding/base64"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Texts that a model reads in place of what the protocol has no form for.
const (
	textSeeImage     = "(see attached image)"
	textNoToolOutput = "(no tool output)"
	textToolImage    = "Tool result image:"
)

// maxID is the longest id of a call, in bytes.
const maxID = 64

// noSignature is the documented value for a call of another model: Gemini 3 rejects a
// request whose current turn has a call without any signature. Vertex AI does not know
// it.
const noSignature = "skip_thought_signature_validator"

// converter writes a replayed history as contents.
type converter struct {
	model   *llm.Model
	ids     llm.CallIDs
	numbers bool   // calls carry ids
	current int    // index of the first message behind the last user message
	images  []part // of results, which must not stand between them
	out     []content
}

func contents(req *llm.Request) []content {
	m := req.Model
	history := llm.Replay(req.Messages, m)
	c := converter{model: m, numbers: numbersCalls(m.ID), ids: llm.CallIDs{Max: maxID}, out: []content{}}
	for i, msg := range history {
		if _, ok := msg.(*llm.UserMessage); ok {
			c.current = i + 1
		}
	}
	for i, msg := range history {
		switch msg := msg.(type) {
		case *llm.UserMessage:
			c.add("user", userParts(msg.Content))
		case *llm.AssistantMessage:
			c.add("model", c.answer(msg, i))
		case *llm.ToolResultMessage:
			c.result(msg)
		}
	}
	c.add("user", nil)
	return c.out
}

// add adds a content behind the pictures that wait for the end of their turn's results.
func (c *converter) add(role string, parts []part) {
	if images := c.images; len(images) > 0 {
		c.images = nil
		c.out = append(c.out, content{"user", append([]part{textPart(textToolImage)}, images...)})
	}
	if len(parts) > 0 {
		c.out = append(c.out, content{role, parts})
	}
}

func userParts(blocks llm.Content) []part {
	var parts []part
	for _, b := range blocks {
		switch b := b.(type) {
		case *llm.Text:
			if strings.TrimSpace(b.Text) != "" { // an empty part is rejected
				parts = append(parts, textPart(b.Text))
			}
		case *llm.Image:
			parts = append(parts, imagePart(b))
		}
	}
	return parts
}

func imagePart(i *llm.Image) part { return part{Inline: &blob{i.MimeType, i.Data}} }

// answer returns the parts of an answer; at is its place in the history. Signatures
// come from the same model only: Replay has taken all others away.
func (c *converter) answer(am *llm.AssistantMessage, at int) []part {
	var parts []part
	calls := 0
	for _, b := range am.Content {
		p := part{}
		switch b := b.(type) {
		case *llm.Text:
			p = part{Text: &b.Text, Signature: signature(b.TextSignature)}
		case *llm.Thinking:
			p = part{Text: &b.Thinking, Thought: true, Signature: signature(b.ThinkingSignature)}
		case *llm.ToolCall:
			p = c.call(b)
			// Of calls made at once only the first is signed.
			if calls++; calls == 1 && p.Signature == "" && at >= c.current && c.wantsSignatures() {
				p.Signature = noSignature
			}
		}
		// A text without a visible character counts only for its signature.
		if p.Text != nil && strings.TrimSpace(*p.Text) == "" && p.Signature == "" {
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

func (c *converter) wantsSignatures() bool {
	return c.model.API != llm.APIGoogleVertex && generation(c.model.ID) >= 3
}

func (c *converter) call(t *llm.ToolCall) part {
	f := &functionCall{Name: t.Name, Args: t.Arguments}
	if f.Args.Kind() != '{' {
		f.Args = jsonx.Raw("{}")
	}
	if c.numbers {
		f.ID = c.ids.Add(t.ID, wire.PlainID(t.ID))
	}
	return part{Call: f, Signature: signature(t.ThoughtSignature)}
}

// result adds a result to those of its turn, which must come in one content.
func (c *converter) result(r *llm.ToolResultMessage) {
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
	f := &functionResponse{Name: r.ToolName, Response: response{Output: &text}}
	if r.IsError {
		f.Response = response{Error: &text}
	}
	if c.numbers {
		f.ID = c.ids.Of(r.ToolCallID)
	}
	if last := len(c.out) - 1; last >= 0 && c.out[last].Parts[0].Response != nil {
		c.out[last].Parts = append(c.out[last].Parts, part{Response: f})
	} else {
		c.add("user", []part{{Response: f}})
	}
	if takesImagesInResults(c.model.ID) {
		f.Parts = images
	} else {
		c.images = append(c.images, images...)
	}
}

// signature returns a signature that is base64, as the API's are, else "".
func signature(s string) string {
	if _, err := base64.StdEncoding.DecodeString(s); err != nil {
		return ""
	}
	return s
}
