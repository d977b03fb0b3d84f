package rpc

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/llm"
)

// attachment is the Attachment of seeds/000. Content is base64.
type attachment struct {
	Type          string  `json:"type"`
	FileName      string  `json:"fileName"`
	MimeType      string  `json:"mimeType"`
	Content       string  `json:"content"`
	ExtractedText *string `json:"extractedText"`
}

// attach adds the parameter "attachments" to an input: pictures become images, other
// files contribute their extracted text, or their own text, as a named file.
func attach(r *request, in *engine.Input) error {
	list, _, err := optional[[]attachment](r, "attachments", "an array of attachments")
	if err != nil {
		return err
	}
	for i, a := range list {
		if a.Type == "image" || strings.HasPrefix(a.MimeType, "image/") {
			if a.Content == "" || a.MimeType == "" {
				return fmt.Errorf("attachments[%d] must have content (base64) and mimeType", i)
			}
			in.Images = append(in.Images, llm.NewImage(a.Content, a.MimeType))
			continue
		}
		text, err := a.text()
		if err != nil {
			return fmt.Errorf("attachments[%d].%w", i, err)
		}
		in.Text += fmt.Sprintf("\n\n<file name=%q>\n%s\n</file>", a.FileName, text)
	}
	return nil
}

func (a attachment) text() (string, error) {
	if a.ExtractedText != nil {
		return *a.ExtractedText, nil
	}
	raw, err := base64.StdEncoding.DecodeString(a.Content)
	if err != nil {
		return "", fmt.Errorf("content must be base64: %w", err)
	}
	if !utf8.Valid(raw) {
		return "", fmt.Errorf("content must be text when extractedText is missing")
	}
	return string(raw), nil
}
