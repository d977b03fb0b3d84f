package session

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// file is what the store needs of an *os.File; tests put faults in between.
type file interface {
	io.ReaderAt
	io.WriteCloser
	durable
}

type durable interface {
	Truncate(size int64) error
	Sync() error
	Stat() (os.FileInfo, error)
}

type openFunc func(path string, flag int, perm os.FileMode) (file, error)

func openOS(path string, flag int, perm os.FileMode) (file, error) {
	f, err := os.OpenFile(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// A source is the file behind some records. Views may outlive the store that opened
// it: once the store has closed it, a reader opens it anew, if it is still the same
// file. It may be used from any goroutine.
type source struct {
	path string
	open openFunc
	info os.FileInfo // identity of the file

	mu     sync.Mutex // guards the three below
	f      file       // nil while closed and nobody reads
	users  int
	closed bool
}

func newSource(path string, f file, open openFunc) (*source, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &source{path: path, open: open, info: info, f: f}, nil
}

// acquire returns the file; release must follow.
func (s *source) acquire() (file, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		f, err := s.open(s.path, os.O_RDONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("reading a closed session: %w", err)
		}
		if info, err := f.Stat(); err != nil || !os.SameFile(info, s.info) {
			f.Close()
			return nil, fmt.Errorf("reading a closed session: %s is another file by now", s.path)
		}
		s.f = f
	}
	s.users++
	return s.f, nil
}

func (s *source) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	s.drop()
}

func (s *source) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.drop()
}

func (s *source) drop() error {
	if !s.closed || s.users > 0 || s.f == nil {
		return nil
	}
	f := s.f
	s.f = nil
	return f.Close()
}

// Sizes of the window that a reader keeps: it starts small, for single entries, and
// grows while the records follow one another in the file.
const (
	minWindow = 4 << 10
	maxWindow = 512 << 10
)

// A reader hands out the lines of records. Lines of the file are read in windows,
// so that a walk through a session costs one system call for hundreds of entries.
// It belongs to one goroutine and ends with close.
type reader struct {
	src  *source
	mem  []jsonx.Raw
	f    file
	buf  []byte
	off  int64 // of buf in the file
	size int   // of the next window
	last int64 // end of the line that was handed out last
}

func (r *reader) close() {
	if r.f != nil {
		r.src.release()
		r.f = nil
	}
}

// line returns the JSON of a record, valid until the next call.
func (r *reader) line(rec *record) (jsonx.Raw, error) {
	raw, err := r.bytes(rec)
	if err != nil {
		return nil, err
	}
	if rec.flags&flagDirty != 0 {
		return clean(raw), nil
	}
	return raw, nil
}

func (r *reader) bytes(rec *record) (jsonx.Raw, error) {
	if rec.flags&flagMem != 0 {
		return r.mem[rec.off], nil
	}
	n := int(rec.len)
	if start := rec.off - r.off; start >= 0 && start+int64(n) <= int64(len(r.buf)) {
		r.last = rec.off + int64(n)
		return r.buf[start : start+int64(n) : start+int64(n)], nil
	}
	if err := r.fill(rec.off, n); err != nil {
		return nil, err
	}
	r.last = rec.off + int64(n)
	return r.buf[:n:n], nil
}

func (r *reader) fill(off int64, n int) error {
	if err := r.open(); err != nil {
		return err
	}
	if gap := off - r.last; gap >= 0 && gap < maxWindow/4 {
		r.size = min(max(4*r.size, minWindow), maxWindow)
	} else {
		r.size = 0
	}
	want := max(n, r.size)
	if cap(r.buf) < want {
		r.buf = make([]byte, want)
	}
	got, err := r.f.ReadAt(r.buf[:want], off)
	if got < n {
		r.buf = r.buf[:0]
		return r.failed(off, cutShort(err))
	}
	r.buf, r.off = r.buf[:got], off
	return nil
}
