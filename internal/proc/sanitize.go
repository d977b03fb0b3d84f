package proc

import (
	"bytes"
	"unicode/utf8"
)

const (
	esc = 0x1B
	bel = 0x07
	// maxEscape bounds what is held back as an unfinished escape sequence; a longer
	// one is taken for text.
	maxEscape = 4096
)

// Sanitizer turns the raw output of one channel into text that is safe to show:
// escape sequences, carriage returns, control characters other than tab and line
// feed, and the interlinear marks U+FFF9 to U+FFFB are removed, and bytes that are
// no UTF-8 become U+FFFD. Characters and sequences may be split over chunks
// (atomic-facts.md 11.9, field report 127).
type Sanitizer struct {
	hold []byte
	out  []byte
}

// Clean returns the text of what was held back and p, without an unfinished
// sequence at the end. It may be empty, may be p itself, and is valid until the
// next call.
func (s *Sanitizer) Clean(p []byte) []byte { return s.run(p, false) }

// Flush returns the rest, at the end of the stream.
func (s *Sanitizer) Flush() []byte { return s.run(nil, true) }

func (s *Sanitizer) run(b []byte, last bool) []byte {
	if len(s.hold) == 0 && plainLen(b) == len(b) {
		return b
	}
	if len(s.hold) > 0 {
		b = append(s.hold, b...)
		s.hold = nil
	}
	out := s.out[:0]
	for len(b) > 0 {
		n := plainLen(b)
		out = append(out, b[:n]...)
		if b = b[n:]; len(b) == 0 {
			break
		}
		if !last && (escapeOpen(b) || !utf8.FullRune(b)) {
			s.hold = bytes.Clone(b)
			break
		}
		skip, keep := special(b)
		out = append(out, keep...)
		b = b[skip:]
	}
	s.out = out
	return out
}

// plainLen returns the length of the text at the head of b that needs no work.
func plainLen(b []byte) int {
	for i := 0; i < len(b); {
		c := b[i]
		if c < utf8.RuneSelf {
			if c < 0x20 && c != '\n' && c != '\t' {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 || r == 0x9B || r >= 0xFFF9 && r <= 0xFFFB {
			return i
		}
		i += n
	}
	return len(b)
}

// special deals with the byte or sequence at the head of b that is not plain: how
// much to skip, and what stays of it.
func special(b []byte) (skip int, keep []byte) {
	if n := escapeLen(b); n > 0 {
		return n, nil
	}
	if b[0] < utf8.RuneSelf {
		return 1, nil
	}
	n, ok := runeLen(b)
	if !ok {
		return n, []byte(replacement)
	}
	if n == 3 && b[0] == 0xEF && b[1] == 0xBF && b[2] >= 0xB9 && b[2] <= 0xBB {
		return n, nil
	}
	return n, b[:n]
}

// escapeOpen reports whether b is the beginning of an escape sequence that may
// still be finished.
func escapeOpen(b []byte) bool { return len(b) < maxEscape && escapeLen(b) == unfinished }

const unfinished = -1

// escapeLen returns the length of the escape sequence at the head of b, 0 when
// there is none, unfinished when b ends inside of one.
func escapeLen(b []byte) int {
	switch {
	case b[0] == 0xC2 && len(b) > 1 && b[1] == 0x9B: // one-character CSI
		return csiLen(b, 2)
	case b[0] != esc:
		return 0
	case len(b) == 1:
		return unfinished
	}
	switch c := b[1]; {
	case c == '[':
		return csiLen(b, 2)
	case c == ']':
		return stringLen(b, true)
	case c == 'P' || c == 'X' || c == '^' || c == '_':
		return stringLen(b, false)
	case c >= 0x20 && c <= 0x2F:
		return finalLen(b, 2, 0x30)
	case c >= 0x30 && c <= 0x7E:
		return 2
	}
	return 0
}

// csiLen measures a control sequence whose introducer has n bytes. The Linux
// console's function keys (ESC [ [ A) have one more byte.
func csiLen(b []byte, n int) int {
	i := n
	if i < len(b) && b[i] == '[' {
		i++
	}
	for i < len(b) && b[i] >= 0x30 && b[i] <= 0x3F {
		i++
	}
	return finalLen(b, i, 0x40)
}

// finalLen measures from i: intermediate bytes, then a final byte of at least low.
func finalLen(b []byte, i int, low byte) int {
	for i < len(b) && b[i] >= 0x20 && b[i] <= 0x2F {
		i++
	}
	switch {
	case i == len(b):
		return unfinished
	case b[i] >= low && b[i] <= 0x7E:
		return i + 1
	}
	return 0
}

// stringLen measures a control string (window titles, links, device strings): it
// ends with ESC \ or U+009C, an operating system command also with BEL. Another
// escape ends the attempt.
func stringLen(b []byte, command bool) int {
	for i := 2; i < len(b) && i < maxEscape; i++ {
		switch {
		case b[i] == bel && command:
			return i + 1
		case b[i] == esc:
			if i+1 == len(b) {
				return unfinished
			}
			if b[i+1] == '\\' {
				return i + 2
			}
			return 0
		case b[i] == 0xC2 && i+1 < len(b) && b[i+1] == 0x9C:
			return i + 2
		}
	}
	if len(b) >= maxEscape {
		return 0
	}
	return unfinished
}
