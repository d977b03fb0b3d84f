package proc

import (
	"unicode/utf8"
)

const replacement = "\uFFFD"

// Joiner cuts a stream of bytes so that no character is halved: the beginning of
// one that a chunk ends in is held back until the rest arrives.
type Joiner struct {
	hold []byte // at most three bytes
	buf  []byte
}

// Join returns the whole characters of what was held and p; bytes that are no UTF-8
// pass as they are. The result is valid until the next call.
func (j *Joiner) Join(p []byte) []byte {
	if len(j.hold) > 0 {
		j.buf = append(append(j.buf[:0], j.hold...), p...)
		p = j.buf
		j.hold = j.hold[:0]
	}
	n := len(p) - openRune(p)
	j.hold = append(j.hold, p[n:]...)
	return p[:n]
}

// Flush returns what is still held, at the end of the stream.
func (j *Joiner) Flush() []byte {
	p := j.hold
	j.hold = nil
	return p
}

// openRune returns the length of the unfinished character that b ends in.
func openRune(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		tail := b[len(b)-i:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return i
		}
	}
	return 0
}

// text returns b as text. As in a browser, every maximal beginning of a character
// that does not go on becomes one U+FFFD.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b)+len(b)/8+8)
	for len(b) > 0 {
		n, ok := runeLen(b)
		if ok {
			out = append(out, b[:n]...)
		} else {
			out = append(out, replacement...)
		}
		b = b[n:]
	}
	return string(out)
}

// textLen returns the length of text(b).
func textLen(b []byte) int {
	if utf8.Valid(b) {
		return len(b)
	}
	total := 0
	for len(b) > 0 {
		n, ok := runeLen(b)
		if ok {
			total += n
		} else {
			total += len(replacement)
		}
		b = b[n:]
	}
	return total
}

// runeLen returns the length of the first character of b, or of the bytes that one
// U+FFFD stands for.
func runeLen(b []byte) (n int, ok bool) {
	if b[0] < utf8.RuneSelf {
		return 1, true
	}
	if r, n := utf8.DecodeRune(b); r != utf8.RuneError || n > 1 {
		return n, true
	}
	// A prefix that is not yet a whole character belongs to the same mark.
	n = 1
	for n < len(b) && n < utf8.UTFMax && !utf8.FullRune(b[:n]) && !utf8.RuneStart(b[n]) && plausible(b[:n+1]) {
		n++
	}
	return n, false
}

// plausible reports whether b may be the beginning of a character.
func plausible(b []byte) bool {
	if !utf8.FullRune(b) {
		return true
	}
	r, n := utf8.DecodeRune(b)
	return r != utf8.RuneError || n > 1
}
