package jsonx

import (
	"bytes"
	"unicode/utf8"
)

// Pieces decodes JSON strings that are consecutive pieces of one text, and puts a
// character together that was cut in the middle of its two \u escapes (servers that
// count in UTF-16 do that). The zero value is ready. Not safe for concurrent use.
type Pieces struct{ high []byte }

// Next returns the text of a raw JSON string; "" for any other value. The first half
// of a cut character is held back until its second half comes.
func (p *Pieces) Next(raw Raw) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if len(p.high) == 0 && bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw[1 : len(raw)-1])
	}
	if len(p.high) > 0 {
		joined := make(Raw, 0, len(raw)+len(p.high))
		joined = append(append(append(joined, '"'), p.high...), raw[1:]...)
		raw, p.high = joined, nil
	}
	if n := cutPair(raw); n > 0 {
		p.high = bytes.Clone(raw[len(raw)-1-n : len(raw)-1])
		raw = append(bytes.Clone(raw[:len(raw)-1-n]), '"')
	}
	var s string
	if Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// escapeLen is the length of \uXXXX.
const escapeLen = 6

// cutPair returns the length of the escape at the end of a raw string when it is the
// first half of a surrogate pair, else 0.
func cutPair(raw Raw) int {
	body := raw[1 : len(raw)-1]
	if len(body) < escapeLen {
		return 0
	}
	esc := body[len(body)-escapeLen:]
	if esc[0] != '\\' || esc[1] != 'u' || esc[2]|0x20 != 'd' || bytes.IndexByte([]byte("89abAB"), esc[3]) < 0 {
		return 0
	}
	slashes := 0
	for i := len(body) - escapeLen; i >= 0 && body[i] == '\\'; i-- {
		slashes++
	}
	if slashes%2 == 0 {
		return 0
	}
	return escapeLen
}
