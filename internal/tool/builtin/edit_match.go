package builtin

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// match is where an edit's old text is in the source: [start, end) is replaced by
// head, the new text, and tail. Head and tail are what a loose match cuts off from a
// character.
type match struct {
	start, end int64
	head, tail string
	eol        string // the line end of the line where it starts
}

// findExact looks for the text as it is, whatever line ends the source has. n is the
// number of occurrences.
func (s *source) findExact(text string) (m match, n int) {
	if s.mixed {
		return s.findLines(strings.Split(text, "\n"), exactly)
	}
	pattern := strings.ReplaceAll(text, "\n", s.eol)
	m.start, n = s.find([]byte(pattern))
	m.end, m.eol = m.start+int64(len(pattern)), s.eol
	return m, n
}

// findLoose looks for a text that differs only in what models get wrong: compatibility
// forms of characters, quotes, dashes, kinds of spaces, blanks at the ends of lines.
func (s *source) findLoose(text string) (m match, n int) {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = string(loosely([]byte(lines[i])))
	}
	if len(lines) == 1 && lines[0] == "" {
		return m, 0
	}
	return s.findLines(lines, loosely)
}

// A view shows a line in the form in which it is compared.
type view func(line []byte) []byte

func exactly(line []byte) []byte { return line }

// loosely leaves a line of ASCII without trailing blanks as it is.
func loosely(line []byte) []byte {
	ascii := true
	for _, c := range line {
		if c >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return bytes.TrimRightFunc(line, isBlank)
	}
	line = bytes.TrimRightFunc(norm.NFKC.Bytes(line), isBlank)
	return bytes.Map(plainRune, line)
}

// isBlank knows the white space of JavaScript.
func isBlank(r rune) bool { return r == '\ufeff' || r != 0x85 && unicode.IsSpace(r) }

func plainRune(r rune) rune {
	switch {
	case r >= 0x2018 && r <= 0x201b:
		return '\''
	case r >= 0x201c && r <= 0x201f:
		return '"'
	case r >= 0x2010 && r <= 0x2015, r == 0x2212:
		return '-'
	}
	return plainSpace(r)
}

// spot is where a match was seen: columns in the views of its first and last line.
type spot struct {
	from, to       int64 // where the lines begin
	fromCol, toCol int
	toLen          int // of the last line's view
	eol            string
}

// seenLine is a line that may be part of a match.
type seenLine struct {
	at   int64
	text []byte // its view
	eol  string
}

// lineSearch looks for lines in a row: the first one may be the end of a line, the
// last one the beginning of one.
type lineSearch struct {
	want   []string
	recent []seenLine // as many lines before the current one as can be part of a match
	first  spot
	n      int // matches that do not overlap
	freeAt int64
	free   int // the column from which a match may begin in the line at freeAt
}

func (s *source) findLines(want []string, see view) (match, int) {
	f := lineSearch{want: want, freeAt: -1}
	eol := s.eol
	for off := s.lo; ; {
		raw, end := s.lineAt(off)
		if s.mixed && end > 0 {
			eol = "\r\n"[2-end:]
		}
		f.line(seenLine{off, see(raw), eol})
		off += int64(len(raw) + end)
		if end == 0 || s.err != nil {
			break
		}
	}
	if f.n != 1 {
		return match{}, f.n
	}
	return s.locate(f.first, see), 1
}

// line takes the next line.
func (f *lineSearch) line(l seenLine) {
	last := len(f.want) - 1
	if last == 0 {
		for col := 0; ; {
			i := bytes.Index(l.text[col:], []byte(f.want[0]))
			if i < 0 {
				return
			}
			f.found(spot{l.at, l.at, col + i, col + i + len(f.want[0]), len(l.text), l.eol})
			col += i + len(f.want[0])
		}
	}
	if len(f.recent) == last && bytes.HasPrefix(l.text, []byte(f.want[last])) {
		from := f.recent[0]
		if col := f.endsLike(); col >= 0 && (from.at > f.freeAt || from.at == f.freeAt && col >= f.free) {
			f.found(spot{from.at, l.at, col, len(f.want[last]), len(l.text), from.eol})
			f.freeAt, f.free = l.at, len(f.want[last])
		}
	}
	// The oldest line makes room for the newest, and leaves its memory to it.
	var spare []byte
	if len(f.recent) == last {
		spare = f.recent[0].text
		copy(f.recent, f.recent[1:])
		f.recent = f.recent[:last-1]
	}
	l.text = append(spare[:0], l.text...)
	f.recent = append(f.recent, l)
}

func (f *lineSearch) found(at spot) {
	if f.n++; f.n == 1 {
		f.first = at
	}
}

// endsLike reports where in the first of the recent lines a match begins, -1 when they
// are not the wanted ones.
func (f *lineSearch) endsLike() int {
	for i := len(f.recent) - 1; i > 0; i-- {
		if string(f.recent[i].text) != f.want[i] {
			return -1
		}
	}
	if !bytes.HasSuffix(f.recent[0].text, []byte(f.want[0])) {
		return -1
	}
	return len(f.recent[0].text) - len(f.want[0])
}

// locate turns a spot into offsets. When a line is matched to the end of its view, the
// blanks behind it, which the view leaves out, belong to the match.
func (s *source) locate(at spot, see view) match {
	m := match{eol: at.eol}
	raw, _ := s.lineAt(at.from)
	col, over := rawColumn(raw, at.fromCol, see)
	m.start = at.from + int64(col)
	if over > 0 {
		m.head = string(see(raw)[at.fromCol-over : at.fromCol])
	}
	raw, _ = s.lineAt(at.to)
	if at.toCol == at.toLen && at.toCol > 0 {
		m.end = at.to + int64(len(raw))
		return m
	}
	col, over = rawColumn(raw, at.toCol, see)
	if over > 0 {
		next, seen := nextColumn(raw, col)
		m.tail = seen[over:]
		col = next
	}
	m.end = at.to + int64(col)
	return m
}

// rawColumn returns the place in a line for a place in its view. When that lies inside
// of what some characters stand for together, it is the place in front of them, and
// over says how far inside.
func rawColumn(raw []byte, col int, see view) (rawCol, over int) {
	if bytes.HasPrefix(raw, see(raw)) {
		return col, 0
	}
	for seenCol := 0; rawCol < len(raw) && seenCol < col; {
		next, seen := nextColumn(raw, rawCol)
		if seenCol+len(seen) > col {
			return rawCol, col - seenCol
		}
		seenCol += len(seen)
		rawCol = next
	}
	return rawCol, 0
}

// nextColumn returns the place behind the characters at col that stand together, and
// what they are loosely seen as.
func nextColumn(raw []byte, col int) (next int, seen string) {
	n := norm.NFKC.NextBoundary(raw[col:], true)
	part := raw[col : col+n]
	return col + n, string(bytes.Map(plainRune, norm.NFKC.Bytes(part)))
}
