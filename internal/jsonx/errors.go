package jsonx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	textUnexpectedEnd = "Unexpected end of JSON input"
	snippetLen        = 10
)

// SyntaxError returns in the words of a JavaScript engine what is wrong with a text
// that is not exactly one JSON value, and nil when it is one.
func SyntaxError(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New(textUnexpectedEnd)
	}
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	_, err := dec.ReadValue()
	at := dec.InputOffset()
	if err == nil {
		rest := bytes.TrimLeft(data[at:], " \t\r\n")
		if len(rest) == 0 {
			return nil
		}
		at = int64(len(data) - len(rest))
		return fmt.Errorf("Unexpected non-whitespace character after JSON at position %d", at)
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		at = syntax.ByteOffset
	}
	if at >= int64(len(data)) || errors.Is(err, io.ErrUnexpectedEOF) {
		if inString(data) {
			return fmt.Errorf("Unterminated string in JSON at position %d", len(data))
		}
		return errors.New(textUnexpectedEnd)
	}
	r, _ := utf8.DecodeRune(data[at:])
	if r < 0x20 && inString(data[:at]) {
		return fmt.Errorf("Bad control character in string literal in JSON at position %d", at)
	}
	return fmt.Errorf("Unexpected token '%c', %s is not valid JSON", r, snippet(data, int(at)))
}

// snippet quotes the text around a fault.
func snippet(data []byte, at int) string {
	from, to := max(0, at-snippetLen), min(len(data), at+snippetLen)
	for from > 0 && !utf8.RuneStart(data[from]) {
		from--
	}
	for to < len(data) && !utf8.RuneStart(data[to]) {
		to++
	}
	head, tail := "", ""
	if from > 0 {
		head = "..."
	}
	if to < len(data) {
		tail = "..."
	}
	return fmt.Sprintf("%s\"%s\"%s", head, bytes.ToValidUTF8(data[from:to], []byte("\uFFFD")), tail)
}

// inString reports whether text ends inside a JSON string.
func inString(text []byte) bool {
	in := false
	for i := 0; i < len(text); i++ {
		switch {
		case in && text[i] == '\\':
			i++
		case text[i] == '"':
			in = !in
		}
	}
	return in
}
