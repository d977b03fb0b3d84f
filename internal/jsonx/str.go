package jsonx

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Str is text that must come out as it went in, also where JavaScript allows what
// UTF-8 does not: half of a surrogate pair, written \ud800. In memory it is the three
// bytes that UTF-8 would use for that number. As a plain string it would be U+FFFD.
type Str string

// MarshalJSONTo writes halves of surrogate pairs as escapes.
func (s Str) MarshalJSONTo(enc *Encoder) error {
	if utf8.ValidString(string(s)) {
		return enc.WriteToken(jsontext.String(string(s)))
	}
	raw := []byte{'"'}
	for rest := string(s); rest != ""; {
		if half, ok := surrogate(rest); ok {
			raw = append(raw, `\u`+strconv.FormatUint(uint64(half), 16)...)
			rest = rest[3:]
			continue
		}
		n := 1
		for n < len(rest) {
			if _, ok := surrogate(rest[n:]); ok {
				break
			}
			n++
		}
		quoted := String(rest[:n])
		raw = append(raw, quoted[1:len(quoted)-1]...)
		rest = rest[n:]
	}
	return enc.WriteValue(append(raw, '"'))
}

// UnmarshalJSONFrom reads a string; halves of surrogate pairs are kept.
func (s *Str) UnmarshalJSONFrom(dec *Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*s, err = DecodeStr(raw)
	return err
}

// DecodeStr returns the text of a raw JSON string.
func DecodeStr(raw Raw) (Str, error) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", fmt.Errorf("not a string: %.20s", raw)
	}
	var out strings.Builder
	plain := 0 // start of what has no half in it
	body := raw[1 : len(raw)-1]
	flush := func(end int) error {
		var s string
		quoted := append(append([]byte{'"'}, body[plain:end]...), '"')
		if err := Unmarshal(quoted, &s); err != nil {
			return err
		}
		out.WriteString(s)
		return nil
	}
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		r, n := escapeAt(body[i:])
		if n == 2*escapeLen || !utf16.IsSurrogate(r) {
			i += n - 1
			continue
		}
		if err := flush(i); err != nil {
			return "", err
		}
		out.Write([]byte{0xE0 | byte(r>>12), 0x80 | byte(r>>6)&0x3F, 0x80 | byte(r)&0x3F})
		i += n - 1
		plain = i + 1
	}
	if err := flush(len(body)); err != nil {
		return "", err
	}
	return Str(out.String()), nil
}

// escapeAt returns the number of the escape that b begins with and its length in
// bytes; two escapes that make one character are one.
func escapeAt(b []byte) (rune, int) {
	unit := func(b []byte) (rune, bool) {
		if len(b) < escapeLen || !bytes.HasPrefix(b, []byte(`\u`)) {
			return 0, false
		}
		n, err := strconv.ParseUint(string(b[2:escapeLen]), 16, 16)
		return rune(n), err == nil
	}
	first, ok := unit(b)
	if !ok {
		return 0, min(2, len(b))
	}
	if second, ok := unit(b[escapeLen:]); ok && utf16.DecodeRune(first, second) != utf8.RuneError {
		return first, 2 * escapeLen
	}
	return first, escapeLen
}

// surrogate reports whether s begins with the three bytes of half a pair.
func surrogate(s string) (half uint32, ok bool) {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 || s[1] > 0xBF || s[2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | uint32(s[1]&0x3F)<<6 | uint32(s[2]&0x3F), true
}
