package session

import (
	"bytes"
	"iter"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// The functions of this file walk JSON that scanLine has validated; on other input
// they stop early, but do not fail. They are what keeps the store from decoding
// bodies of which it needs one member.

// members yields the members of an object: the name with its quotes and the value.
func members(obj []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		i := blank(obj, 0)
		if i >= len(obj) || obj[i] != '{' {
			return
		}
		i = blank(obj, i+1)
		for i < len(obj) && obj[i] == '"' {
			end := skip(obj, i)
			name := obj[i:end]
			i = blank(obj, end)
			if i >= len(obj) {
				return
			}
			i = blank(obj, i+1) // the colon
			end = skip(obj, i)
			if !yield(name, obj[i:end]) {
				return
			}
			i = blank(obj, end)
			if i >= len(obj) || obj[i] != ',' {
				return
			}
			i = blank(obj, i+1)
		}
	}
}

// elements yields the elements of an array.
func elements(arr []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := blank(arr, 0)
		if i >= len(arr) || arr[i] != '[' {
			return
		}
		i = blank(arr, i+1)
		for i < len(arr) && arr[i] != ']' {
			end := skip(arr, i)
			if !yield(arr[i:end]) {
				return
			}
			i = blank(arr, end)
			if i >= len(arr) || arr[i] != ',' {
				return
			}
			i = blank(arr, i+1)
		}
	}
}

// member returns the value of a member, the last one of that name, or nil.
func member(obj []byte, name string) []byte {
	var found []byte
	for n, v := range members(obj) {
		if is(n, name) {
			found = v
		}
	}
	return found
}

// is compares a quoted name of a member.
func is(quoted []byte, name string) bool {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		return string(text(quoted)) == name
	}
	return len(quoted) == len(name)+2 && string(quoted[1:len(quoted)-1]) == name
}

// text returns the text of a JSON string, nil for any other value.
func text(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var s string
	if err := jsonx.Unmarshal(value, &s); err != nil {
		return nil
	}
	return []byte(s)
}

func isNull(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

func blank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skip returns the offset behind the value at i.
func skip(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(b)
}

func skipString(b []byte, i int) int {
	i++
	for i < len(b) {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n + 1
		slashes := 0
		for k := i - 2; b[k] == '\\'; k-- {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
	}
	return len(b)
}

// replaceMember returns obj with every member of that name given a new value; the
// member is added at the end when there is none. obj is not changed.
func replaceMember(obj []byte, name string, value []byte) []byte {
	out := make([]byte, 0, len(obj)+len(name)+len(value)+4)
	at, found := 0, false
	for n, v := range members(obj) {
		if !is(n, name) {
			continue
		}
		start := cap(obj) - cap(v) // v is a part of obj
		out = append(out, obj[at:start]...)
		out = append(out, value...)
		at, found = start+len(v), true
	}
	out = append(out, obj[at:]...)
	if found {
		return out
	}
	return spliceMembers(out, appendMember(nil, name, value))
}

// spliceMembers adds members (comma-separated, without braces) at the end of an
// object.
func spliceMembers(obj, more []byte) []byte {
	end := bytes.LastIndexByte(obj, '}')
	if end < 0 || len(more) == 0 {
		return obj
	}
	empty := true
	for range members(obj) {
		empty = false
		break
	}
	out := append([]byte{}, obj[:end]...)
	if !empty {
		out = append(out, ',')
	}
	out = append(out, more...)
	return append(out, '}')
}

// appendMember appends "name":value to a list of members.
func appendMember(dst []byte, name string, value []byte) []byte {
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	dst = append(dst, jsonx.String(name)...)
	dst = append(dst, ':')
	return append(dst, value...)
}

// clean re-encodes a line that cannot go out as it is.
func clean(raw []byte) []byte {
	out, err := jsonx.Compact([]byte(string([]rune(string(raw))))) // each bad byte becomes U+FFFD
	if err != nil {
		return raw
	}
	return out
}
