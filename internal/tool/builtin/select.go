package builtin

import (
	"bytes"
	"math"
	"unicode/utf8"
)

// selector picks lines from a text that comes in pieces. It keeps no more than can be
// shown and counts the rest.
type selector struct {
	start, end int // the wanted lines, from 0; end is exclusive
	line       int // the number of the current line

	kept       []byte // the wanted lines, joined by line feeds, until they are too many
	keptLines  int
	full       bool
	lineBytes  int // bytes of the current line that were kept
	firstSize  textSize
	total      textSize // of the wanted lines, joined
	emptyTail  bool     // the current line has no text
	firstBytes int
}

const noEnd = math.MaxInt

func newSelector(start int) *selector { return &selector{start: start, end: noEnd, emptyTail: true} }

// limit sets how many lines are wanted.
func (s *selector) limit(n int) {
	if s.end = noEnd; n < noEnd-s.start {
		s.end = s.start + n
	}
}

// add takes the next piece of the text.
func (s *selector) add(b []byte) {
	feed := []byte{'\n'}
	for len(b) > 0 {
		switch {
		case s.line < s.start:
			b = s.pass(b)
		case s.line >= s.end:
			s.line += bytes.Count(b, feed)
			return
		case s.full && s.end == noEnd:
			s.line += bytes.Count(b, feed)
			s.total.add(b)
			s.emptyTail = b[len(b)-1] == '\n'
			return
		default:
			i := bytes.IndexByte(b, '\n')
			if i < 0 {
				s.piece(b)
				return
			}
			s.piece(b[:i])
			s.endLine()
			b = b[i+1:]
		}
	}
}

// pass goes to the first wanted line, or as far as b reaches.
func (s *selector) pass(b []byte) []byte {
	if n := bytes.Count(b, []byte{'\n'}); s.line+n < s.start {
		s.line += n
		return nil
	}
	for s.line < s.start {
		b = b[bytes.IndexByte(b, '\n')+1:]
		s.line++
	}
	return b
}

// piece adds to the current line.
func (s *selector) piece(b []byte) {
	if len(b) == 0 {
		return
	}
	s.emptyTail = false
	s.total.add(b)
	if s.line == s.start {
		s.firstSize.add(b)
	}
	if !s.full {
		// One byte more than fits shows that the line is too long.
		n := min(len(b), maxBytes+1-s.lineBytes)
		s.kept = append(s.kept, b[:max(n, 0)]...)
		s.lineBytes += max(n, 0)
	}
}

// endLine ends the current line by a line feed.
func (s *selector) endLine() {
	s.line++
	s.keptLines++
	s.full = s.full || s.keptLines > maxLines || len(s.kept) > maxBytes
	s.lineBytes = 0
	if s.line >= s.end {
		return
	}
	s.emptyTail = true
	s.total.add([]byte{'\n'})
	if !s.full {
		s.kept = append(s.kept, '\n')
	}
}

// finish returns the number of lines of the whole text (an end without a line feed
// counts, and so does the empty one behind it) and what is shown of the wanted ones.
func (s *selector) finish() (lines int, t *Truncation) {
	s.firstBytes = s.firstSize.finish()
	t = truncateHead(validText(s.kept), maxLines)
	t.TotalBytes = s.total.finish()
	t.TotalLines = min(s.line+1, s.end) - s.start
	if s.emptyTail {
		t.TotalLines--
	}
	if t.TotalBytes == 0 {
		t.TotalLines = 0
	}
	return s.line + 1, t
}

// textSize counts the bytes that text has as valid UTF-8, piece by piece.
type textSize struct {
	n    int
	tail []byte // the beginning of a character
}

func (t *textSize) add(b []byte) {
	if len(t.tail) > 0 {
		b = append(t.tail, b...)
		t.tail = nil
	}
	for i := len(b) - 1; i >= 0 && i > len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				t.tail = bytes.Clone(b[i:])
				b = b[:i]
			}
			break
		}
	}
	if utf8.Valid(b) {
		t.n += len(b)
		return
	}
	for len(b) > 0 {
		size, width := runeSize(b)
		t.n += size
		b = b[width:]
	}
}

func (t *textSize) finish() int {
	if len(t.tail) > 0 {
		t.n += len(string(utf8.RuneError))
		t.tail = nil
	}
	return t.n
}

// runeSize returns the size of the first character of b as valid UTF-8 and in b.
func runeSize(b []byte) (size, width int) {
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		return len(string(r)), brokenPrefix(b)
	}
	return n, n
}
