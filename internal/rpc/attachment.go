package rpc

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// AttachmentParam is the Attachment of seeds/000. Content is base64.
type AttachmentParam struct {
	ID            string  `json:"id,omitzero"`
	Type          string  `json:"type"`
	FileName      string  `json:"fileName"`
	MimeType      string  `json:"mimeType"`
	Size          float64 `json:"size,omitzero"`
	Content       string  `json:"content"`
	ExtractedText *string `json:"extractedText,omitzero"`
	Preview       *string `json:"preview,omitzero"`
}

// attachment is one that was checked: a picture, or a named text.
type attachment struct {
	image      *llm.Image
	name, text string
}

func decodeAttachments(name string, raw jsonx.Raw, wrong error) (any, error) {
	var list []AttachmentParam
	if raw.Kind() != '[' || jsonx.Unmarshal(raw, &list) != nil {
		return nil, wrong
	}
	out := make([]attachment, len(list))
	for i, a := range list {
		if a.Type == "image" || strings.HasPrefix(a.MimeType, "image/") {
			if a.Content == "" || a.MimeType == "" {
				return nil, fmt.Errorf("%s[%d] must have content (base64) and mimeType", name, i)
			}
			out[i].image = llm.NewImage(a.Content, a.MimeType)
			continue
		}
		text, err := a.text()
		if err != nil {
			return nil, fmt.Errorf("%s[%d].%w", name, i, err)
		}
		out[i].name, out[i].text = a.FileName, text
	}
	return out, nil
}

// attach adds attachments to an input: pictures become images, other files contribute
// their extracted text, or their own text, as a named file.
func attach(list []attachment, in *engine.Input) {
	for _, a := range list {
		if a.image != nil {
			in.Images = append(in.Images, a.image)
		} else {
			in.Text += fmt.Sprintf("\n\n<file name=%q>\n%s\n</file>", a.name, a.text)
		}
	}
}

func (a AttachmentParam) text() (string, error) {
	if a.ExtractedText != nil {
		return *a.ExtractedText, nil
	}
	raw, err := base64.StdEncoding.DecodeString(a.Content)
	if err != nil {
		return "", fmt.Errorf("content must be base64: %w", err)
	}
	if !utf8.Valid(raw) {
		return "", errors.New("content must be text when extractedText is missing")
	}
	return string(raw), nil
}
