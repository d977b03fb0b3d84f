package jsonc

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

var (
	errNoPath    = errors.New("empty path")
	errNotObject = errors.New("the document is not an object")
	errEdit      = errors.New("the edit did not take")
)

// Set returns src with the value at path replaced or added. path names members from
// the root object; missing objects on the way are made, and what stands in the way
// and is no object is replaced. Everything else keeps its bytes: comments, order,
// formatting, duplicate names (the last one counts and is changed).
func Set(src []byte, value jsonx.Raw, path ...string) ([]byte, error) {
	if len(path) == 0 {
		return nil, errNoPath
	}
	value, err := jsonx.Compact(value)
	if err != nil {
		return nil, err
	}
	doc, err := Parse(src)
	if err != nil {
		return nil, err
	}
	if doc.Root.Kind != Object {
		return nil, errNotObject
	}
	e := editor{src: src, newline: "\n", unit: "  "}
	e.detect(doc.Root)
	out := e.set(doc.Root, value, path)
	return out, check(out, value, path)
}

// Delete returns src without the member at path, or src itself when there is none.
func Delete(src []byte, path ...string) ([]byte, error) {
	doc, err := Parse(src)
	if err != nil {
		return nil, err
	}
	if len(path) == 0 {
		return nil, errNoPath
	}
	parent := doc.Root
	for _, key := range path[:len(path)-1] {
		parent = parent.Get(key)
	}
	key := path[len(path)-1]
	if parent.Get(key) == nil {
		return src, nil
	}
	out := src
	for i := len(parent.Members) - 1; i >= 0; i-- { // from the end, so that offsets before stay right
		if parent.Members[i].Key == key {
			out = cut(out, parent, i)
			parent = reparsed(out, path[:len(path)-1])
			if parent == nil {
				return nil, errEdit
			}
		}
	}
	if parent.Get(key) != nil {
		return nil, errEdit
	}
	return out, nil
}

func reparsed(src []byte, path []string) *Value {
	doc, err := Parse(src)
	if err != nil {
		return nil
	}
	v := doc.Root
	for _, key := range path {
		v = v.Get(key)
	}
	return v
}

// cut removes member i with its comma and, when it has its line for itself, the line.
func cut(src []byte, parent *Value, i int) []byte {
	m := parent.Members[i]
	start, end := m.KeyStart, m.Value.End
	if comma := commaAfter(src, end); comma >= 0 {
		end = comma + 1
	} else if i > 0 {
		prev := parent.Members[i-1].Value.End
		if comma := commaAfter(src, prev); comma >= 0 {
			src = slices.Delete(bytes.Clone(src), comma, comma+1)
			start, end = start-1, end-1
		}
	}
	if before := lineStart(src, start); blank(src[before:start]) {
		if after := lineEnd(src, end); blank(src[end:after]) {
			start = max(before-1, 0) // the line break before it
			if start > 0 && src[start-1] == '\r' {
				start--
			}
			end = after
			if end > start && end > 0 && src[end-1] == '\r' {
				end--
			}
		}
	}
	return slices.Delete(bytes.Clone(src), start, end)
}

type editor struct {
	src     []byte
	newline string
	unit    string // one level of indentation
}

// detect takes over the document's line ends and indentation.
func (e *editor) detect(root *Value) {
	if bytes.Contains(e.src, []byte("\r\n")) {
		e.newline = "\r\n"
	}
	if len(root.Members) > 0 {
		outer, _ := e.indent(root.Start)
		indent, alone := e.indent(root.Members[0].KeyStart)
		if inner, deeper := strings.CutPrefix(indent, outer); alone && deeper && inner != "" {
			e.unit = inner
		}
	}
}

// indent returns the white space at the start of the line of offset, and whether
// nothing else stands before it.
func (e *editor) indent(offset int) (string, bool) {
	start := lineStart(e.src, offset)
	line := e.src[start:offset]
	rest := bytes.TrimLeft(line, " \t")
	if start < 3 {
		rest = bytes.TrimPrefix(rest, []byte("\ufeff"))
	}
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))]), len(rest) == 0
}

func (e *editor) set(root *Value, value jsonx.Raw, path []string) []byte {
	if root.Start == root.End { // no object in the text yet
		text := e.src
		if n := len(text); n > bomLen(text) && text[n-1] != '\n' {
			text = append(bytes.Clone(text), e.newline...)
		}
		return slices.Concat(text, e.format(nest(value, path), ""), []byte(e.newline))
	}
	at := root
	for i, key := range path {
		next := at.Get(key)
		if next == nil {
			return e.add(at, key, nest(value, path[i+1:]))
		}
		if i == len(path)-1 || next.Kind != Object {
			return e.replace(next, nest(value, path[i+1:]))
		}
		at = next
	}
	return e.src
}

// replace puts a value in the place of an old one; an equal one keeps its formatting.
func (e *editor) replace(old *Value, value jsonx.Raw) []byte {
	if bytes.Equal(appendRaw(nil, e.src, old), value) {
		return e.src
	}
	indent, _ := e.indent(old.Start)
	return slices.Concat(e.src[:old.Start], e.format(value, indent), e.src[old.End:])
}

// add appends a member to the object at.
func (e *editor) add(at *Value, key string, value jsonx.Raw) []byte {
	outer, _ := e.indent(at.Start)
	closing := at.End - 1
	if len(at.Members) == 0 {
		inner := outer + e.unit
		body := e.member(key, value, inner)
		// What stands between the brackets (comments) is kept before the member.
		kept := bytes.TrimRight(e.src[at.Start+1:closing], " \t\r\n")
		return slices.Concat(e.src[:at.Start+1], kept, []byte(e.newline+inner), body, []byte(e.newline+outer), e.src[closing:])
	}
	last := at.Members[len(at.Members)-1]
	text, comma := e.src, commaAfter(e.src, last.Value.End)
	if comma < 0 {
		text = slices.Insert(bytes.Clone(text), last.Value.End, ',')
		closing++
	}
	inner, alone := e.indent(last.KeyStart)
	if !alone && !bytes.ContainsRune(text[at.Start:closing], '\n') {
		body := slices.Concat([]byte(" "+string(jsonx.String(key))+": "), value)
		end := len(bytes.TrimRight(text[:closing], " \t"))
		return slices.Concat(text[:end], body, text[end:])
	}
	if !alone {
		inner = outer + e.unit
	}
	end := len(bytes.TrimRight(text[:closing], " \t\r\n"))
	tail := []byte(nil)
	if !bytes.ContainsRune(text[end:closing], '\n') {
		tail = []byte(e.newline + outer)
	}
	return slices.Concat(text[:end], []byte(e.newline+inner), e.member(key, value, inner), tail, text[end:])
}

func (e *editor) member(key string, value jsonx.Raw, indent string) []byte {
	return slices.Concat(jsonx.String(key), []byte(": "), e.format(value, indent))
}

// format lays a compact value out as its surroundings are: lines after the first get
// indent, levels the document's unit.
func (e *editor) format(value jsonx.Raw, indent string) []byte {
	lines := strings.Split(string(jsonx.Indent(value)), "\n")
	for i, line := range lines {
		if i == 0 {
			continue
		}
		text := strings.TrimLeft(line, " ")
		lines[i] = indent + strings.Repeat(e.unit, (len(line)-len(text))/2) + text
	}
	return []byte(strings.Join(lines, e.newline))
}

// nest wraps value in objects: nest(1, [a b]) is {"a":{"b":1}}.
func nest(value jsonx.Raw, path []string) jsonx.Raw {
	for i := len(path) - 1; i >= 0; i-- {
		value = slices.Concat([]byte("{"), jsonx.String(path[i]), []byte(":"), value, []byte("}"))
	}
	return value
}

// commaAfter returns the offset of the comma that follows a value, comments passed;
// -1 when none does.
func commaAfter(src []byte, end int) int {
	p := parser{src: src, pos: end}
	p.skip()
	if p.peek() == ',' && p.err == nil {
		return p.pos
	}
	return -1
}

func lineStart(src []byte, offset int) int { return bytes.LastIndexByte(src[:offset], '\n') + 1 }

func lineEnd(src []byte, offset int) int {
	if i := bytes.IndexByte(src[offset:], '\n'); i >= 0 {
		return offset + i
	}
	return len(src)
}

func blank(b []byte) bool { return len(bytes.TrimSpace(b)) == 0 }

// check makes sure that an edit did what it should, whatever the text looked like.
func check(out []byte, value jsonx.Raw, path []string) error {
	doc, err := Parse(out)
	if err != nil {
		return errEdit
	}
	v := doc.Root
	for _, key := range path {
		v = v.Get(key)
	}
	if v == nil {
		return errEdit
	}
	got, err := jsonx.Compact(doc.Raw(v))
	if err != nil || !bytes.Equal(got, value) {
		return errEdit
	}
	return nil
}
