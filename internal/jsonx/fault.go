package jsonx

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Fault says what is wrong with text as JSON, in the words of JavaScript's JSON.parse,
// which models and clients know; "" when it is exactly one value.
func Fault(text string) string {
	s := &faultScanner{text: text}
	s.value()
	if s.fault == "" {
		if s.space(); s.pos < len(text) {
			s.failAt(s.pos, "Unexpected non-whitespace character after JSON")
		}
	}
	return s.fault
}

// faultScanner walks over JSON text until its first fault.
type faultScanner struct {
	text  string
	pos   int
	deep  int
	fault string
}

func (s *faultScanner) failAt(pos int, what string) bool {
	line, column := 1, 1
	if i := strings.LastIndexByte(s.text[:pos], '\n'); i >= 0 {
		line += strings.Count(s.text[:pos], "\n")
		column += utf16Len(s.text[i+1 : pos])
	} else {
		column += utf16Len(s.text[:pos])
	}
	s.fault = fmt.Sprintf("%s in JSON at position %d (line %d column %d)", what, utf16Len(s.text[:pos]), line, column)
	if strings.HasSuffix(what, "after JSON") {
		s.fault = strings.Replace(s.fault, "after JSON in JSON", "after JSON", 1)
	}
	return false
}

// unexpected reports the token at pos, with up to ten characters around it.
func (s *faultScanner) unexpected() bool {
	const around, whole = 10, 20
	if s.pos >= len(s.text) {
		s.fault = "Unexpected end of JSON input"
		return false
	}
	r, _ := utf8.DecodeRuneInString(s.text[s.pos:])
	if s.text == "undefined" {
		s.fault = `"undefined" is not valid JSON`
		return false
	}
	units, at := utf16.Encode([]rune(s.text)), utf16Len(s.text[:s.pos])
	before, after, from, to := "", "", 0, len(units)
	if len(units) > whole {
		if at >= around {
			before, from = "...", at-around
		}
		if at+around < len(units) {
			after, to = "...", at+around
		}
	}
	s.fault = fmt.Sprintf("Unexpected token '%c', %s\"%s\"%s is not valid JSON", r, before, string(utf16.Decode(units[from:to])), after)
	return false
}

func (s *faultScanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *faultScanner) space() {
	for s.pos < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.pos]) >= 0 {
		s.pos++
	}
}

func (s *faultScanner) value() bool {
	const maxDepth = 10000
	if s.deep++; s.deep > maxDepth {
		s.fault = "JSON is nested too deeply"
		return false
	}
	defer func() { s.deep-- }()
	s.space()
	switch c := s.peek(); {
	case c == '{':
		return s.object()
	case c == '[':
		return s.array()
	case c == '"':
		return s.str()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return s.unexpected()
}

func (s *faultScanner) word(w string) bool {
	for i := range len(w) {
		if s.peek() != w[i] {
			return s.unexpected()
		}
		s.pos++
	}
	return true
}

func (s *faultScanner) object() bool {
	s.pos++
	s.space()
	if s.peek() == '}' {
		s.pos++
		return true
	}
	missing := "Expected property name or '}'"
	for {
		if s.space(); s.peek() != '"' {
			return s.failAt(s.pos, missing)
		}
		if !s.str() {
			return false
		}
		if s.space(); s.peek() != ':' {
			return s.failAt(s.pos, "Expected ':' after property name")
		}
		s.pos++
		if !s.value() {
			return false
		}
		s.space()
		switch s.peek() {
		case '}':
			s.pos++
			return true
		case ',':
			s.pos++
		default:
			return s.failAt(s.pos, "Expected ',' or '}' after property value")
		}
		missing = "Expected double-quoted property name"
	}
}

func (s *faultScanner) array() bool {
	s.pos++
	s.space()
	if s.peek() == ']' {
		s.pos++
		return true
	}
	for {
		if !s.value() {
			return false
		}
		s.space()
		switch s.peek() {
		case ']':
			s.pos++
			return true
		case ',':
			s.pos++
		default:
			return s.failAt(s.pos, "Expected ',' or ']' after array element")
		}
	}
}

func (s *faultScanner) str() bool {
	for s.pos++; s.pos < len(s.text); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '"':
			s.pos++
			return true
		case c < ' ':
			return s.failAt(s.pos, "Bad control character in string literal")
		case c == '\\':
			if !s.escape() {
				return false
			}
		}
	}
	return s.failAt(s.pos, "Unterminated string")
}

// escape steps onto the last character of an escape sequence.
func (s *faultScanner) escape() bool {
	s.pos++
	switch c := s.peek(); {
	case s.pos >= len(s.text):
		return s.unexpected()
	case strings.IndexByte(`"\/bfnrt`, c) >= 0:
		return true
	case c != 'u':
		return s.failAt(s.pos, "Bad escaped character")
	}
	for range 4 {
		s.pos++
		if c := s.peek(); strings.IndexByte("0123456789abcdefABCDEF", c) < 0 {
			return s.failAt(min(s.pos, len(s.text)), "Bad Unicode escape")
		}
	}
	return true
}

func (s *faultScanner) digits() bool {
	start := s.pos
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > start
}

func (s *faultScanner) number() bool {
	if s.peek() == '-' {
		s.pos++
	}
	zero := s.peek() == '0'
	start := s.pos
	switch {
	case !s.digits():
		return s.failAt(s.pos, "No number after minus sign")
	case zero && s.pos > start+1:
		return s.failAt(start+1, "Unexpected number")
	}
	if s.peek() == '.' {
		if s.pos++; !s.digits() {
			return s.failAt(s.pos, "Unterminated fractional number")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.failAt(s.pos, "Exponent part is missing a number")
		}
	}
	return true
}

func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}
