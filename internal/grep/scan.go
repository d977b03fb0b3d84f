package grep

import (
	"bytes"
	"context"
	"io"
)

const (
	blockSize  = 64 << 10
	maxLine    = 32 << 20 // of a longer line only the beginning is searched
	maxContext = 5000     // lines
	maxKept    = 8 << 20  // bytes of lines kept for context in front of a match
)

// Line is a line of a file that matches, or that stands near one.
type Line struct {
	Number int
	// Text is the line without its line feed. It is valid during the call only.
	Text  []byte
	Match bool
}

// scan is one pass over a file. buf[keep:start] holds lines that may still be shown
// in front of a match, buf[start:end] what was not looked at yet.
type scan struct {
	m      *Matcher
	finder *finder
	in     io.Reader
	text   bool // take the file for text whatever is in it
	ctx    context.Context

	buf              []byte
	keep, start, end int
	line             int // the number of the line at start
	shown            int // the number of the last line that was shown
	context          int
	after            int // lines that are still to be shown behind a match
	eof, skip        bool
	emit             func(Line) bool
}

// run calls emit for the matching lines of in, and for those around them, until it
// returns false. A block with a zero byte in it ends the search of a file, as the
// file is no text; text turns that off.
func (m *Matcher) run(ctx context.Context, in io.Reader, text bool, around int, emit func(Line) bool) error {
	// Scans are reused: a search opens many small files.
	s, ok := m.scans.Get().(*scan)
	if !ok {
		s = &scan{m: m, finder: m.newFinder(), buf: make([]byte, blockSize)}
	}
	*s = scan{m: m, finder: s.finder, in: in, text: text, ctx: ctx, buf: s.buf, line: 1, context: min(around, maxContext), emit: emit}
	err := s.run()
	if len(s.buf) == blockSize {
		s.in, s.emit, s.ctx = nil, nil, nil
		m.scans.Put(s)
	}
	return err
}

func (s *scan) run() error {
	for first := true; !s.eof; first = false {
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		from := s.end
		if err := s.fill(); err != nil {
			return err
		}
		if first {
			if err := s.passMark(); err != nil {
				return err
			}
			from = s.start
		}
		if !s.text && bytes.IndexByte(s.buf[from:s.end], 0) >= 0 {
			return nil
		}
		limit := s.end
		if !s.eof {
			limit = bytes.LastIndexByte(s.buf[from:s.end], '\n') + 1
			if limit > 0 {
				limit += from
			} else if limit = s.start; s.end-s.start >= maxLine {
				limit = s.end
			}
		}
		cut := limit > s.start && !s.eof && s.buf[limit-1] != '\n'
		if !s.block(limit) {
			return nil
		}
		s.skip = cut
		s.makeRoom()
	}
	return nil
}

// fill reads until the buffer is full or the file ends.
func (s *scan) fill() error {
	for s.end < len(s.buf) {
		n, err := s.in.Read(s.buf[s.end:])
		s.end += n
		if err == io.EOF {
			s.eof = true
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// passMark handles a byte order mark: UTF-8's is passed over, UTF-16 is decoded from
// here on.
func (s *scan) passMark() error {
	b := s.buf[s.start:s.end]
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		s.start += 3
		s.keep = s.start
	case bytes.HasPrefix(b, []byte("\xff\xfe")) || bytes.HasPrefix(b, []byte("\xfe\xff")):
		head := bytes.Clone(b)
		s.in = newUTF16Reader(io.MultiReader(bytes.NewReader(head[2:]), s.in), head[0] == 0xfe)
		s.end, s.eof = s.start, false
		return s.fill()
	}
	return nil
}

// block looks at buf[start:limit], whole lines. It reports whether to go on.
func (s *scan) block(limit int) bool {
	if s.skip { // the rest of a line that was too long
		i := bytes.IndexByte(s.buf[s.start:limit], '\n')
		if i < 0 {
			s.start = limit
			return true
		}
		s.start += i + 1
		s.line++
	}
	s.finder.reset(s.buf[:limit])
	for s.start < limit {
		if s.after > 0 {
			end := s.lineEnd(s.start, limit)
			match := s.m.matches(s.buf[s.start:end], false)
			if !s.show(s.start, end, match) {
				return false
			}
			s.step(end)
			continue
		}
		from, end := s.nextMatch(limit)
		if from < 0 {
			s.line += bytes.Count(s.buf[s.start:limit], []byte{'\n'})
			s.start = limit
			break
		}
		s.line += bytes.Count(s.buf[s.start:from], []byte{'\n'})
		s.start = from
		if !s.showBefore() || !s.show(from, end, true) {
			return false
		}
		s.step(end)
	}
	return true
}

func (s *scan) lineEnd(from, limit int) int {
	if i := bytes.IndexByte(s.buf[from:limit], '\n'); i >= 0 {
		return from + i
	}
	return limit
}

// step goes behind the line that ends at end.
func (s *scan) step(end int) {
	s.start = end
	if end < len(s.buf) && end < s.end && s.buf[end] == '\n' {
		s.start++
		s.line++
	}
}

// show emits a line; a match is followed by its context.
func (s *scan) show(from, end int, match bool) bool {
	if match {
		s.after = s.context
	} else {
		s.after--
	}
	s.shown = s.line
	return s.emit(Line{s.line, s.buf[from:end], match})
}

// showBefore emits the lines in front of the match at start.
func (s *scan) showBefore() bool {
	from, n := s.start, 0
	for n < s.context && s.line-n-1 > s.shown && from > s.keep {
		from = bytes.LastIndexByte(s.buf[s.keep:from-1], '\n') + 1 + s.keep
		n++
	}
	for ; n > 0; n-- {
		end := s.lineEnd(from, s.start)
		if !s.emit(Line{s.line - n, s.buf[from:end], false}) {
			return false
		}
		from = end + 1
	}
	return true
}

// nextMatch returns the next matching line of buf[start:limit], -1 when there is none.
func (s *scan) nextMatch(limit int) (from, end int) {
	at := s.start
	if len(s.m.literals) == 0 {
		for ; at < limit; at = end + 1 {
			end = s.lineEnd(at, limit)
			if s.m.re.Match(s.buf[at:end]) {
				return at, end
			}
		}
		return -1, 0
	}
	for at < limit {
		hit := s.finder.next(at)
		if hit < 0 {
			return -1, 0
		}
		from = bytes.LastIndexByte(s.buf[at:hit], '\n') + 1 + at
		end = s.lineEnd(hit, limit)
		if s.m.matches(s.buf[from:end], true) {
			return from, end
		}
		at = end + 1
	}
	return -1, 0
}

// makeRoom moves what is still needed to the front of the buffer, which grows when a
// line does not fit.
func (s *scan) makeRoom() {
	from := s.start
	for n := 0; n < s.context && from > s.keep && s.line-n-1 > s.shown && s.start-from < maxKept; n++ {
		from = bytes.LastIndexByte(s.buf[s.keep:from-1], '\n') + 1 + s.keep
	}
	old := s.buf
	if s.end-from > len(s.buf)/2 {
		s.buf = make([]byte, 2*len(s.buf))
	}
	s.end = copy(s.buf, old[from:s.end])
	s.start -= from
	s.keep = 0
}
