package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Open opens a session file and indexes it. The current entry is the last one of the
// file. With cfg.Registry, a file that this process has open for writing gives the
// same Store, with one more reference.
//
// The errors are ErrNotFound, ErrDirectory, *InvalidFileError, *InUseError, and
// those of the system; none of them leaves anything changed.
func Open(path string, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening a session: %w", err)
	}
	st, err := os.Stat(abs)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w: %s", ErrNotFound, abs)
	case err != nil:
		return nil, fmt.Errorf("opening a session: %w", err)
	case st.IsDir():
		return nil, ErrDirectory
	case !st.Mode().IsRegular():
		return nil, &InvalidFileError{App: cfg.AppName, Path: abs}
	}
	cfg.MemoryOnly = false
	s := newStore(cfg, Header{})
	s.path, s.real = abs, realPath(abs)
	if s.dir == "" {
		s.dir = filepath.Dir(abs)
	}
	if !cfg.ReadOnly {
		if other := cfg.Registry.retain(s.real); other != nil {
			return other, nil
		}
		if err := s.takeLock(); err != nil {
			return nil, err
		}
	}
	if err := s.load(); err != nil {
		if s.src != nil {
			s.src.close()
		}
		s.dropLock()
		return nil, err
	}
	if !cfg.ReadOnly {
		cfg.Registry.put(s.real, s)
	}
	return s, nil
}

// openFile opens a session file to read and append; only to read when the store or
// the file allows nothing else.
func (s *Store) openFile(path string) (f file, rdonly bool, err error) {
	if !s.cfg.ReadOnly {
		f, err = s.cfg.open(path, os.O_RDWR|os.O_APPEND, 0)
		if err == nil {
			return f, false, nil
		}
	}
	f, err2 := s.cfg.open(path, os.O_RDONLY, 0)
	if err2 != nil {
		return nil, false, fmt.Errorf("opening the session: %w", err2)
	}
	return f, true, nil
}

// load reads the file for the first time.
func (s *Store) load() error {
	l, err := s.indexFile()
	if err != nil {
		return err
	}
	switch {
	case l.haveHeader:
		s.header = l.header
	case s.src.info.Size() == 0 || l.tornHeader:
		if err := s.freshHeader(l.tornHeader); err != nil {
			return err
		}
	default:
		return &InvalidFileError{App: s.cfg.AppName, Path: s.path}
	}
	if s.header.Version < currentVersion && l.haveHeader {
		if l, err = s.migrate(); err != nil {
			return err
		}
	}
	s.idx.resolve()
	s.leaf = int32(len(s.idx.recs) - 1)
	return s.readName(l.info)
}

// indexFile opens the file and indexes its lines.
func (s *Store) indexFile() (*loader, error) {
	f, rdonly, err := s.openFile(s.path)
	if err != nil {
		return nil, err
	}
	src, err := newSource(s.path, f, s.cfg.open)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("opening the session: %w", err)
	}
	s.src, s.syncSrc, s.rdonly = src, src, rdonly
	l := &loader{idx: &s.idx}
	if err := l.lines(f, 0, src.info.Size()); err != nil {
		return nil, fmt.Errorf("opening the session: %w", err)
	}
	s.size, s.needLF, s.torn = src.info.Size(), l.needLF, l.torn
	return l, nil
}

// freshHeader gives an empty file its header. A file that holds the beginning of a
// header and nothing else (the first write was cut short) gets it with the first
// append, when the beginning is moved away.
func (s *Store) freshHeader(torn bool) error {
	if s.cfg.ID == "" {
		base := strings.TrimSuffix(filepath.Base(s.path), ".jsonl")
		if _, id, ok := strings.Cut(base, "_"); ok && ValidateID(id) == nil {
			s.cfg.ID = id
		}
	}
	h, err := newHeader(&s.cfg)
	if err != nil {
		return err
	}
	s.header = h
	if s.cfg.ReadOnly || torn {
		s.needHeader = torn
		return nil
	}
	f, err := s.src.acquire()
	if err != nil {
		return err
	}
	defer s.src.release()
	buf := append(append([]byte{}, h.Raw...), '\n')
	if n, err := writeAll(f, buf); err != nil {
		s.undo(f, int64(n))
		return fmt.Errorf("writing the session header: %w", err)
	}
	s.size += int64(len(buf))
	s.noteWrite()
	return nil
}

// readName sets the name from the session_info entry with number info-1; 0 leaves it.
func (s *Store) readName(info int32) error {
	if info == 0 {
		return nil
	}
	r := reader{src: s.src, mem: s.mem}
	defer r.close()
	raw, err := r.line(&s.idx.recs[info-1])
	if err != nil {
		return err
	}
	name, err := jsonx.DecodeStr(member(raw, "name"))
	if err == nil { // anything else is no name
		s.name = CleanName(string(name))
	}
	return nil
}

// loader indexes lines of a file.
type loader struct {
	idx        *index
	header     Header
	haveHeader bool
	notSession bool  // the first entry of the file is no header
	tornHeader bool  // the file holds the beginning of a header and nothing else
	info       int32 // number of the last session_info entry, plus one
	needLF     bool  // the last line has no end
	torn       int64 // start of a last line that is cut short, or -1

	f    io.ReaderAt
	long *outliner // of a line longer than the window that has been begun; nil: there is none
}

// loadWindow is how much of a file is read at once.
const loadWindow = 256 << 10

// lines indexes the lines of f from one offset to another. It holds no more of them
// than a window and the outline of a line that is longer.
func (l *loader) lines(f io.ReaderAt, from, to int64) error {
	l.f, l.torn = f, -1
	buf := make([]byte, 0, min(loadWindow, to-from+1))
	off, scanned := from, 0 // offset of buf in the file; bytes of it without a line end
	for !l.notSession {
		if len(buf) == cap(buf) {
			n := l.begin(buf)
			off += int64(n)
			buf = buf[:copy(buf, buf[n:])]
			scanned = len(buf)
		}
		n := min(int64(cap(buf)-len(buf)), to-off-int64(len(buf)))
		if n == 0 {
			return l.tail(buf, off)
		}
		if err := readAll(f, buf[len(buf):len(buf)+int(n)], off+int64(len(buf))); err != nil {
			return err
		}
		buf = buf[:len(buf)+int(n)]
		start := 0
		for !l.notSession {
			end := bytes.IndexByte(buf[scanned:], '\n')
			if end < 0 {
				break
			}
			end += scanned
			if _, err := l.end(buf[start:end], off+int64(start)); err != nil {
				return err
			}
			start, scanned = end+1, end+1
		}
		l.estimate(int(off-from)+start, to-from)
		buf = buf[:copy(buf, buf[start:])]
		off += int64(start)
		scanned = len(buf)
	}
	return nil
}

// begin takes a part of a line that is longer than a window and returns its length.
func (l *loader) begin(part []byte) int {
	if l.long == nil {
		l.long = &outliner{}
	}
	n := wholeRunes(part)
	l.long.feed(part[:n])
	return n
}

// end indexes a line of which rest, at off, is all that was not yet taken.
func (l *loader) end(rest []byte, off int64) (ok bool, err error) {
	if l.long == nil {
		return l.line(rest, off), nil
	}
	o := l.long
	l.long = nil
	o.feed(rest)
	off += int64(len(rest) - o.size)
	if !l.haveHeader { // a header is kept as it is
		line := make([]byte, o.size)
		if err := readAll(l.f, line, off); err != nil {
			return false, err
		}
		return l.line(line, off), nil
	}
	line, n := o.out, o.size
	if len(line) > 0 && line[len(line)-1] == '\r' {
		line, n = line[:len(line)-1], n-1
	}
	if o.bad || int64(n) > 1<<32-1 {
		return false, nil
	}
	h, ok := scanLine(line)
	if !ok {
		return false, nil
	}
	h.dirty, h.message = h.dirty || o.dirty, 0
	return l.entry(h, off, n), nil
}

// estimate makes room for all records at once, by the length of the first lines, so
// that the index is not copied while it grows.
func (l *loader) estimate(done int, total int64) {
	n := len(l.idx.recs)
	if n == 0 || n < cap(l.idx.recs)/2 || int64(done)*2 > total {
		return
	}
	if want := int(float64(n) / float64(done) * float64(total) * 1.02); want > cap(l.idx.recs) {
		l.idx.recs = slices.Grow(l.idx.recs, want-n)
	}
}

// line indexes one line. It reports false for one that is no JSON object.
func (l *loader) line(line []byte, off int64) bool {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if len(line) == 0 || int64(len(line)) > 1<<32-1 {
		return false
	}
	h, ok := scanLine(line)
	if !ok {
		return false
	}
	if !l.haveHeader {
		l.header, l.haveHeader = parseHeader(line, h)
		l.notSession = !l.haveHeader
		return true
	}
	return l.entry(h, off, len(line))
}

// entry adds an entry to the index.
func (l *loader) entry(h head, off int64, n int) bool {
	if string(h.typ) == typeHeader {
		return true // a second header is no entry
	}
	i := l.idx.add(h, off, n, 0)
	if l.idx.recs[i].typ == typInfo {
		l.info = i + 1
	}
	return true
}

// tail looks at what stands behind the last line end.
func (l *loader) tail(rest []byte, off int64) error {
	if l.long == nil && len(bytes.TrimLeft(rest, " \t\r")) == 0 {
		return nil
	}
	start := off
	if l.long != nil {
		start -= int64(l.long.size)
	}
	isLine, err := l.end(rest, off)
	if err != nil {
		return err
	}
	switch {
	case isLine:
		l.needLF = true
	case l.haveHeader:
		l.torn = start
	case start == 0:
		first := make([]byte, min(off+int64(len(rest)), longLine))
		if err := readAll(l.f, first, 0); err != nil {
			return err
		}
		if beginsHeader(first) {
			l.tornHeader, l.torn = true, 0
		}
	}
	return nil
}

// beginsHeader reports whether a file that holds nothing else was cut short within
// its header.
func beginsHeader(b []byte) bool {
	const start = `{"type":"session"`
	return strings.HasPrefix(start, string(b)) || bytes.HasPrefix(b, []byte(start))
}
