// Package frontmatter owns the YAML head of a Markdown file: finding it, reading it,
// and the text that follows.
//
// It must not know what the keys mean. All functions may be called concurrently.
package frontmatter

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Head is the head of a file by key. A file without one has a nil Head.
type Head map[string]any

// Text returns the value of a key when it is a string, else "".
func (h Head) Text(key string) string {
	s, _ := h[key].(string)
	return s
}

// Flag reports whether the value of a key is true.
func (h Head) Flag(key string) bool {
	b, _ := h[key].(bool)
	return b
}

// Parse splits a file into its head and its body. Line ends become LF and a UTF-8
// mark is dropped. With a head the body is trimmed, without one it is the whole
// text. The error is that the head is no YAML; it names a line near the fault.
func Parse(text string) (Head, string, error) {
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.Contains(text, "\r") {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	source, body, ok := split(text)
	if !ok {
		return nil, text, nil
	}
	body = strings.TrimSpace(body)
	// The empty line stands for the dashes, so that line numbers are those of the file.
	var value any
	if err := yaml.Unmarshal([]byte("\n"+source), &value); err != nil {
		return nil, body, fmt.Errorf("front matter: %w", err)
	}
	head, _ := value.(map[string]any)
	return head, body, nil
}

// split cuts at the first line of three dashes after the one that opens the head.
func split(text string) (source, body string, ok bool) {
	first, rest, found := strings.Cut(text, "\n")
	if !found || strings.TrimRight(first, " \t") != "---" {
		return "", text, false
	}
	for at := 0; at < len(rest); {
		line, _, _ := strings.Cut(rest[at:], "\n")
		if strings.TrimRight(line, " \t") == "---" {
			return rest[:at], rest[at+len(line):], true
		}
		at += len(line) + 1
	}
	return "", text, false
}
