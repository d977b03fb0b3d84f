package export

import (
	"bytes"
	"iter"
	"unicode/utf8"
)

// The functions here walk JSON that is known to be valid (a session only hands out
// such) without decoding it: the first words of 200,000 entries are wanted, not their
// values. They never read outside of what they are given, whatever it holds.

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the place behind the string that begins at i.
func skipString(b []byte, i int) int {
	i++
	for end := min(len(b), i+16); i < end; i++ { // most strings are names
		if b[i] == '"' {
			return i + 1
		}
		if b[i] == '\\' {
			break
		}
	}
	for ; i < len(b); i++ {
		j := bytes.IndexByte(b[i:], '"')
		if j < 0 {
			return len(b)
		}
		i += j
		k := i
		for k > 0 && b[k-1] == '\\' {
			k--
		}
		if (i-k)%2 == 0 {
			return i + 1
		}
	}
	return len(b)
}

// skipValue returns the place behind the value that begins at i.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
	default:
		for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
			i++
		}
		return i
	}
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

// members yields the members of an object: the name as it is written, without its
// quotes, and the value. It yields nothing for any other value.
func members(raw []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		i := skipSpace(raw, 0)
		if i >= len(raw) || raw[i] != '{' {
			return
		}
		for i = skipSpace(raw, i+1); i < len(raw) && raw[i] == '"'; {
			name := i + 1
			i = skipString(raw, i)
			key := raw[name:max(name, i-1)]
			i = skipSpace(raw, i)
			if i >= len(raw) || raw[i] != ':' {
				return
			}
			start := skipSpace(raw, i+1)
			i = skipValue(raw, start)
			if start >= i || !yield(key, raw[start:i]) {
				return
			}
			if i = skipSpace(raw, i); i >= len(raw) || raw[i] != ',' {
				return
			}
			i = skipSpace(raw, i+1)
		}
	}
}

// elements yields the elements of an array, nothing for any other value.
func elements(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := skipSpace(raw, 0)
		if i >= len(raw) || raw[i] != '[' {
			return
		}
		for i = skipSpace(raw, i+1); i < len(raw) && raw[i] != ']'; {
			start := i
			i = skipValue(raw, start)
			if start >= i || !yield(raw[start:i]) {
				return
			}
			if i = skipSpace(raw, i); i >= len(raw) || raw[i] != ',' {
				return
			}
			i = skipSpace(raw, i+1)
		}
	}
}

// member returns the first member of that name, nil when there is none.
func member(raw []byte, name string) []byte {
	for key, value := range members(raw) {
		if string(key) == name {
			return value
		}
	}
	return nil
}

// runes yields the characters of a raw JSON string, nothing for any other value. Halves
// of surrogate pairs are U+FFFD.
func runes(raw []byte) iter.Seq[rune] {
	return func(yield func(rune) bool) {
		if len(raw) < 2 || raw[0] != '"' {
			return
		}
		for b := raw[1 : len(raw)-1]; len(b) > 0; {
			r, n := utf8.DecodeRune(b)
			if r == '\\' {
				r, n = escaped(b)
			}
			if !yield(r) {
				return
			}
			b = b[n:]
		}
	}
}

// escaped decodes the escape that b begins with and returns its length.
func escaped(b []byte) (rune, int) {
	if len(b) < 2 {
		return utf8.RuneError, len(b)
	}
	switch b[1] {
	case 'n', 'r', 't', 'b', 'f':
		return ' ', 2
	case 'u':
		r, ok := hex4(b)
		if !ok {
			return utf8.RuneError, 2
		}
		if r >= 0xd800 && r < 0xdc00 {
			if low, ok := hex4(b[6:]); ok && low >= 0xdc00 && low < 0xe000 {
				return (r-0xd800)<<10 | (low - 0xdc00) + 0x10000, 12
			}
		}
		if r >= 0xd800 && r < 0xe000 {
			return utf8.RuneError, 6
		}
		return r, 6
	}
	return rune(b[1]), 2
}

// hex4 reads \uXXXX.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
