package llm

import (
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// A Block is one piece of a message's content: *Text, *Thinking, *ToolCall,
// *Image, or *UnknownBlock for types of other programs.
type Block interface{ blockType() string }

// Text is visible text. TextSignature is opaque provider data that must be sent
// back with it (openai-responses: {"v":1,"id":…}).
type Text struct {
	Type          textType `json:"type"`
	Text          string   `json:"text"`
	TextSignature string   `json:"textSignature,omitzero"`
}

// Thinking is a model's reasoning. ThinkingSignature is opaque provider data
// (Anthropic: the signature; Chat: the name of the field it came in; Responses:
// the whole reasoning item as JSON). Redacted blocks carry only the signature.
type Thinking struct {
	Type              thinkingType `json:"type"`
	Thinking          string       `json:"thinking"`
	ThinkingSignature string       `json:"thinkingSignature,omitzero"`
	Redacted          bool         `json:"redacted,omitzero"`
}

// ToolCall asks for one tool. Arguments is always a JSON object; when the model
// sent text that is none, Arguments is {} and ArgumentsError says what is wrong and
// what was sent (ArgumentsFault).
type ToolCall struct {
	Type             toolCallType `json:"type"`
	ID               string       `json:"id"`
	Name             string       `json:"name"`
	Arguments        jsonx.Raw    `json:"arguments"`
	ThoughtSignature string       `json:"thoughtSignature,omitzero"`
	Namespace        string       `json:"namespace,omitzero"`
	ArgumentsError   string       `json:"argumentsError,omitzero"`
}

// Image is a picture: Data is base64 without line breaks.
type Image struct {
	Type     imageType `json:"type"`
	Data     string    `json:"data"`
	MimeType string    `json:"mimeType"`
}

// UnknownBlock keeps a block of a type that this program does not know.
type UnknownBlock struct {
	Kind string
	Raw  jsonx.Raw
}

func (*Text) blockType() string           { return "text" }
func (*Thinking) blockType() string       { return "thinking" }
func (*ToolCall) blockType() string       { return "toolCall" }
func (*Image) blockType() string          { return "image" }
func (b *UnknownBlock) blockType() string { return b.Kind }

// The discriminators are types, so that no value can be built without the right
// one and none has to be set by hand.
type (
	textType     struct{}
	thinkingType struct{}
	toolCallType struct{}
	imageType    struct{}
)

func (textType) MarshalText() ([]byte, error)     { return []byte("text"), nil }
func (thinkingType) MarshalText() ([]byte, error) { return []byte("thinking"), nil }
func (toolCallType) MarshalText() ([]byte, error) { return []byte("toolCall"), nil }
func (imageType) MarshalText() ([]byte, error)    { return []byte("image"), nil }
func (*textType) UnmarshalText([]byte) error      { return nil }
func (*thinkingType) UnmarshalText([]byte) error  { return nil }
func (*toolCallType) UnmarshalText([]byte) error  { return nil }
func (*imageType) UnmarshalText([]byte) error     { return nil }

// MarshalJSONTo writes the block as it was read.
func (b *UnknownBlock) MarshalJSONTo(enc *jsonx.Encoder) error { return enc.WriteValue(b.Raw) }

// Content is the ordered content of a message. In JSON it is an array; a bare
// string is accepted on reading and becomes one text block, null becomes none.
type Content []Block

// UnmarshalJSONFrom decodes an array of blocks, a string, or null.
func (c *Content) UnmarshalJSONFrom(dec *jsonx.Decoder) error {
	switch dec.PeekKind() {
	case 'n':
		*c = nil
		return dec.SkipValue()
	case '"':
		var s string
		if err := jsonx.UnmarshalDecode(dec, &s); err != nil {
			return err
		}
		*c = Content{NewText(s)}
		return nil
	}
	var raws []jsonx.Raw
	if err := jsonx.UnmarshalDecode(dec, &raws); err != nil {
		return fmt.Errorf("content must be a string or an array of blocks: %w", err)
	}
	*c = make(Content, 0, len(raws))
	for _, raw := range raws {
		b, err := DecodeBlock(raw)
		if err != nil {
			return err
		}
		*c = append(*c, b)
	}
	return nil
}

// DecodeBlock decodes one content block. A block of an unknown type is kept raw.
func DecodeBlock(raw jsonx.Raw) (Block, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := jsonx.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("content block: %w", err)
	}
	var b Block
	switch head.Type {
	case "text":
		b = &Text{}
	case "thinking":
		b = &Thinking{}
	case "toolCall":
		b = &ToolCall{}
	case "image":
		b = &Image{}
	default:
		return &UnknownBlock{Kind: head.Type, Raw: raw.Clone()}, nil
	}
	if err := jsonx.Unmarshal(raw, b); err != nil {
		return nil, fmt.Errorf("%s block: %w", head.Type, err)
	}
	return b, nil
}

// NewText returns a text block.
func NewText(s string) *Text { return &Text{Text: s} }

// NewImage returns an image block; data is base64.
func NewImage(data, mimeType string) *Image { return &Image{Data: data, MimeType: mimeType} }

// PlainText returns the text blocks joined by sep.
func (c Content) PlainText(sep string) string {
	var s string
	first := true
	for _, b := range c {
		if t, ok := b.(*Text); ok {
			if !first {
				s += sep
			}
			s += t.Text
			first = false
		}
	}
	return s
}

// ToolCalls returns the tool calls in order.
func (c Content) ToolCalls() []*ToolCall {
	var calls []*ToolCall
	for _, b := range c {
		if t, ok := b.(*ToolCall); ok {
			calls = append(calls, t)
		}
	}
	return calls
}

// Texts of arguments that are no JSON object (pi-facts.md section 2).
const (
	textNotAnObject = "Tool arguments must be a JSON object"
	textReceived    = "\n\nReceived arguments:\n"
)

// ArgumentsFault says what is wrong with arguments as a model sent them, and quotes
// them.
func ArgumentsFault(sent string) string {
	fault := jsonx.Fault(sent)
	if fault == "" {
		fault = textNotAnObject
	}
	return fault + textReceived + sent
}

// SentArguments returns the arguments as the model sent them.
func (c *ToolCall) SentArguments() string {
	if _, sent, ok := strings.Cut(c.ArgumentsError, textReceived); ok {
		return sent
	}
	return string(c.Arguments)
}
