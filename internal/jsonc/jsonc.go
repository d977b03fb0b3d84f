// Package jsonc reads and edits the JSON that people write by hand: with // and
// /* */ comments, trailing commas and a UTF-8 mark. It gives values with their
// place in the text, and changes one value without touching the rest.
//
// It must not know what the text means: settings, models.json and auth.json are
// read by their owners. All functions may be called concurrently; a Doc is
// immutable.
package jsonc

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// maxDepth bounds nesting, so that hostile text cannot exhaust the stack.
const maxDepth = 512

// Kind is the type of a value.
type Kind uint8

// The kinds of value.
const (
	Null Kind = iota + 1
	Bool
	Number
	String
	Object
	Array
)

// String returns the kind as people say it: "an object".
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a string"
	case Object:
		return "an object"
	case Array:
		return "an array"
	}
	return "nothing"
}

// Value is one value of a document. Start and End are byte offsets into the text.
type Value struct {
	Kind       Kind
	Start, End int
	Members    []Member // of an object, in order, duplicates included
	Elems      []*Value // of an array
	Text       string   // the decoded text of a string, the literal of others; "" for object and array
}

// Member is one name and value of an object.
type Member struct {
	Key      string
	KeyStart int
	Value    *Value
}

// Get returns the member of that name, the last one of duplicates; nil when there is
// none or v is no object.
func (v *Value) Get(key string) *Value {
	if v == nil {
		return nil
	}
	for i := len(v.Members) - 1; i >= 0; i-- {
		if v.Members[i].Key == key {
			return v.Members[i].Value
		}
	}
	return nil
}

// Doc is a parsed document.
type Doc struct {
	Root *Value
	src  []byte
}

// SyntaxError says where a text stops being JSON. Line and Column count from 1, the
// column in characters.
type SyntaxError struct {
	Message      string
	Line, Column int
	Offset       int
}

// Error returns the message with its place.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at line %d, column %d", e.Message, e.Line, e.Column)
}

// Parse reads a whole document. The error is a *SyntaxError. A text of white space
// and comments only is an empty object.
func Parse(src []byte) (*Doc, error) {
	p := parser{src: src}
	p.pos = bomLen(src)
	if p.skip(); p.err == nil && p.pos == len(src) {
		return &Doc{Root: &Value{Kind: Object, Start: len(src), End: len(src)}, src: src}, nil
	}
	root := p.value(0)
	p.skip()
	if p.err == nil && p.pos < len(src) {
		p.fail("unexpected " + p.here() + " after the end of the value")
	}
	if p.err != nil {
		return nil, p.err
	}
	return &Doc{Root: root, src: src}, nil
}

// Raw returns the JSON of a value of the document, comments and trailing commas
// removed.
func (d *Doc) Raw(v *Value) jsonx.Raw { return appendRaw(nil, d.src, v) }

// Position returns the line and the column of a byte offset, both from 1.
func (d *Doc) Position(offset int) (line, column int) { return position(d.src, offset) }

func appendRaw(dst, src []byte, v *Value) []byte {
	switch v.Kind {
	case Object:
		dst = append(dst, '{')
		for i, m := range v.Members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, jsonx.String(m.Key)...)
			dst = append(dst, ':')
			dst = appendRaw(dst, src, m.Value)
		}
		return append(dst, '}')
	case Array:
		dst = append(dst, '[')
		for i, e := range v.Elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendRaw(dst, src, e)
		}
		return append(dst, ']')
	}
	return append(dst, src[v.Start:v.End]...)
}

func bomLen(src []byte) int {
	if strings.HasPrefix(string(src[:min(3, len(src))]), "\ufeff") {
		return 3
	}
	return 0
}

func position(src []byte, offset int) (line, column int) {
	offset = min(offset, len(src))
	line, start := 1, bomLen(src)
	for i := range offset {
		if src[i] == '\n' {
			line, start = line+1, i+1
		}
	}
	if start > offset {
		start = offset
	}
	return line, utf8.RuneCount(src[start:offset]) + 1
}

type parser struct {
	src []byte
	pos int
	err *SyntaxError
}

func (p *parser) fail(message string) { p.failAt(p.pos, message) }

func (p *parser) failAt(offset int, message string) {
	if p.err == nil {
		line, column := position(p.src, offset)
		p.err = &SyntaxError{Message: message, Line: line, Column: column, Offset: offset}
	}
}

// here names what stands at the position, for messages. Only one character is
// shown, so that no secret can leak into an error.
func (p *parser) here() string {
	if p.pos >= len(p.src) {
		return "end of file"
	}
	r, _ := utf8.DecodeRune(p.src[p.pos:])
	return fmt.Sprintf("%q", r)
}

func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

// skip passes white space and comments.
func (p *parser) skip() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		case '/':
			if !p.comment() {
				return
			}
		default:
			return
		}
	}
}

func (p *parser) comment() bool {
	rest := string(p.src[p.pos:min(p.pos+2, len(p.src))])
	switch rest {
	case "//":
		for p.pos < len(p.src) && p.src[p.pos] != '\n' {
			p.pos++
		}
		return true
	case "/*":
		for i := p.pos + 2; i+1 < len(p.src); i++ {
			if p.src[i] == '*' && p.src[i+1] == '/' {
				p.pos = i + 2
				return true
			}
		}
		p.fail("comment without end")
		p.pos = len(p.src)
		return false
	}
	p.fail("unexpected '/'")
	return false
}

func (p *parser) value(depth int) *Value {
	p.skip()
	if p.err != nil {
		return nil
	}
	if depth > maxDepth {
		p.fail("nested too deeply")
		return nil
	}
	start := p.pos
	switch c := p.peek(); {
	case c == '{':
		return p.object(depth)
	case c == '[':
		return p.array(depth)
	case c == '"':
		text := p.str()
		return &Value{Kind: String, Start: start, End: p.pos, Text: text}
	case c == '-' || c >= '0' && c <= '9':
		return p.scalar(Number)
	case c == 't' || c == 'f':
		return p.scalar(Bool)
	case c == 'n':
		return p.scalar(Null)
	}
	p.fail("unexpected " + p.here() + " where a value is due")
	return nil
}

// scalar reads a word and checks it whole: numbers by JSON's grammar, else the
// three literals.
func (p *parser) scalar(kind Kind) *Value {
	start := p.pos
	for p.pos < len(p.src) && wordByte(p.src[p.pos]) {
		p.pos++
	}
	word := p.src[start:p.pos]
	if !jsonx.Valid(word) {
		p.failAt(start, "unexpected word where a value is due")
		return nil
	}
	return &Value{Kind: kind, Start: start, End: p.pos, Text: string(word)}
}

func wordByte(c byte) bool {
	return c == '-' || c == '+' || c == '.' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func (p *parser) str() string {
	start := p.pos
	for i := start + 1; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == '\\':
			i++
		case c == '"':
			p.pos = i + 1
			var text string
			if err := jsonx.Unmarshal(p.src[start:p.pos], &text); err != nil {
				p.failAt(start, "string with an invalid escape")
			}
			return text
		case c < 0x20:
			p.failAt(i, "line break or control character in a string")
			return ""
		}
	}
	p.failAt(start, "string without end")
	return ""
}

func (p *parser) object(depth int) *Value {
	v := &Value{Kind: Object, Start: p.pos}
	p.pos++
	for {
		p.skip()
		if p.peek() == '}' && p.err == nil {
			p.pos++
			v.End = p.pos
			return v
		}
		if p.err == nil && p.peek() != '"' {
			p.fail("unexpected " + p.here() + " where a name or '}' is due")
		}
		if p.err != nil {
			return nil
		}
		m := Member{KeyStart: p.pos}
		m.Key = p.str()
		if p.skip(); p.err == nil && p.peek() != ':' {
			p.fail("unexpected " + p.here() + " where ':' is due")
		}
		if p.err != nil {
			return nil
		}
		p.pos++
		if m.Value = p.value(depth + 1); p.err != nil {
			return nil
		}
		v.Members = append(v.Members, m)
		if !p.separator('}') {
			return nil
		}
	}
}

func (p *parser) array(depth int) *Value {
	v := &Value{Kind: Array, Start: p.pos}
	p.pos++
	for {
		p.skip()
		if p.peek() == ']' && p.err == nil {
			p.pos++
			v.End = p.pos
			return v
		}
		e := p.value(depth + 1)
		if p.err != nil {
			return nil
		}
		v.Elems = append(v.Elems, e)
		if !p.separator(']') {
			return nil
		}
	}
}

// separator passes the comma after an element; before the closing bracket it may
// be missing.
func (p *parser) separator(closing byte) bool {
	p.skip()
	if p.err != nil {
		return false
	}
	switch p.peek() {
	case ',':
		p.pos++
		return true
	case closing:
		return true
	}
	p.fail(fmt.Sprintf("unexpected %s where ',' or '%c' is due", p.here(), closing))
	return false
}
