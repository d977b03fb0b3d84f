package builtin

import (
	"bytes"
	"context"
	"io"
)

// source is a file that is edited: small ones are in memory, of large ones a block is.
// It belongs to one goroutine.
type source struct {
	ctx   context.Context
	in    io.ReaderAt
	size  int64
	lo    int64 // where the text begins, behind a byte order mark
	all   []byte
	block int    // how much of a large file is read at once
	buf   []byte // a block of a large file
	at    int64  // where it is from
	err   error  // the first error of reading; later reads give nothing

	eol   string // how lines end: "\n", "\r\n" or "\r"
	mixed bool   // both "\n" and "\r\n" occur
	feeds int    // line ends in all
}

const (
	wholeInMemory = 1 << 20
	sourceBlock   = 1 << 20
)

// newSource looks through the file once: where its text begins and how its lines end.
func newSource(ctx context.Context, in io.ReaderAt, size int64) *source {
	return newSourceOf(ctx, in, size, wholeInMemory, sourceBlock)
}

// newSourceOf is newSource with other limits.
func newSourceOf(ctx context.Context, in io.ReaderAt, size, whole int64, block int) *source {
	s := &source{ctx: ctx, in: in, size: size, block: block, eol: "\n"}
	if size <= whole {
		s.all = make([]byte, size)
		if n, err := in.ReadAt(s.all, 0); int64(n) < size {
			s.fail(err)
		}
	}
	if bytes.HasPrefix(s.window(0, 3), []byte("\xef\xbb\xbf")) {
		s.lo = 3
	}
	feeds, returns, pairs := 0, 0, 0
	last := byte(0)
	s.blocks(s.lo, s.size, func(b []byte) {
		feeds += bytes.Count(b, []byte("\n"))
		returns += bytes.Count(b, []byte("\r"))
		pairs += bytes.Count(b, []byte("\r\n"))
		if last == '\r' && b[0] == '\n' {
			pairs++
		}
		last = b[len(b)-1]
	})
	s.feeds = feeds
	switch {
	case feeds == 0 && returns > 0:
		s.eol, s.feeds = "\r", returns
	case pairs > 0:
		s.eol = "\r\n"
		s.mixed = pairs < feeds
	}
	return s
}

func (s *source) fail(err error) {
	if s.err == nil {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		s.err = err
	}
}

// window returns the text from off on, at least need bytes of it unless it ends, and
// as much more as is at hand. It is valid until the next call.
func (s *source) window(off int64, need int) []byte {
	switch {
	case s.err != nil || off >= s.size:
		return nil
	case s.all != nil:
		return s.all[off:]
	}
	end := min(off+int64(need), s.size)
	if off >= s.at && end <= s.at+int64(len(s.buf)) {
		return s.buf[off-s.at:]
	}
	if err := aborted(s.ctx); err != nil {
		s.fail(err)
		return nil
	}
	if n := max(need, s.block); n > cap(s.buf) {
		s.buf = make([]byte, n)
	}
	s.buf = s.buf[:min(int64(cap(s.buf)), s.size-off)]
	s.at = off
	if n, err := s.in.ReadAt(s.buf, off); n < len(s.buf) {
		s.buf = s.buf[:0]
		s.fail(err)
		return nil
	}
	return s.buf
}

// blocks calls fn with the text from start to end, piece by piece.
func (s *source) blocks(start, end int64, fn func(b []byte)) {
	for start < end {
		b := s.window(start, 1)
		if len(b) == 0 {
			return
		}
		b = b[:min(int64(len(b)), end-start)]
		fn(b)
		start += int64(len(b))
	}
}

// slice returns a copy of a small part.
func (s *source) slice(start, end int64) []byte {
	b := s.window(start, int(end-start))
	return bytes.Clone(b[:min(int64(len(b)), end-start)])
}

// find returns the first occurrence of pattern and the number of all that do not
// overlap.
func (s *source) find(pattern []byte) (first int64, n int) {
	off := s.lo
	for off+int64(len(pattern)) <= s.size {
		b := s.window(off, len(pattern))
		if len(b) == 0 {
			break
		}
		i := bytes.Index(b, pattern)
		if i < 0 {
			off += int64(len(b) - len(pattern) + 1)
			continue
		}
		if n++; n == 1 {
			first = off + int64(i)
		}
		off += int64(i + len(pattern))
	}
	return first, n
}

// lineAt returns the line that starts at off without its end, and the length of that
// end. The text is valid until the next call.
func (s *source) lineAt(off int64) (text []byte, end int) {
	sep := s.eol[len(s.eol)-1]
	for need := 1; ; {
		b := s.window(off, need)
		i := bytes.IndexByte(b, sep)
		if i < 0 {
			if off+int64(len(b)) >= s.size || len(b) < need {
				return b, 0
			}
			need = 2*len(b) + 1
			continue
		}
		if i > 0 && sep == '\n' && b[i-1] == '\r' && (s.eol == "\r\n") {
			return b[:i-1], 2
		}
		return b[:i], 1
	}
}

// lineStart returns the start of the line that holds off.
func (s *source) lineStart(off int64) int64 {
	sep := s.eol[len(s.eol)-1]
	if s.all != nil {
		return max(s.lo, int64(bytes.LastIndexByte(s.all[:off], sep)+1))
	}
	const step = 64 << 10
	b := make([]byte, step)
	for off > s.lo {
		start := max(s.lo, off-step)
		part := b[:off-start]
		if n, err := s.in.ReadAt(part, start); n < len(part) {
			s.fail(err)
			return start
		}
		if i := bytes.LastIndexByte(part, sep); i >= 0 {
			return start + int64(i) + 1
		}
		off = start
	}
	return s.lo
}

// nextLine returns the start of the line behind the one that holds off.
func (s *source) nextLine(off int64) int64 {
	sep := s.eol[len(s.eol)-1]
	for off < s.size {
		b := s.window(off, 1)
		if len(b) == 0 {
			break
		}
		if i := bytes.IndexByte(b, sep); i >= 0 {
			return off + int64(i) + 1
		}
		off += int64(len(b))
	}
	return s.size
}

// countFeeds counts the line ends between two offsets.
func (s *source) countFeeds(start, end int64) int {
	n := 0
	sep := []byte{s.eol[len(s.eol)-1]}
	s.blocks(start, end, func(b []byte) { n += bytes.Count(b, sep) })
	return n
}
