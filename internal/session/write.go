package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/isotope-agent/isotope/internal/atomicfile"
	"github.com/isotope-agent/isotope/internal/fslock"
)

func writeAll(f io.Writer, buf []byte) (int, error) {
	n, err := f.Write(buf)
	if err == nil && n < len(buf) {
		err = io.ErrShortWrite
	}
	return n, err
}

// write appends one line to the file, in one call, and indexes it. On an error what
// reached the file is cut off again.
func (s *Store) write(h head, line []byte) (int32, error) {
	if err := s.openForWriting(); err != nil {
		return noParent, err
	}
	s.mendTail()
	buf := make([]byte, 0, len(line)+2)
	if s.needLF {
		buf = append(buf, '\n')
	}
	if s.needHeader {
		buf = append(append(buf, s.header.Raw...), '\n')
	}
	buf = append(append(buf, line...), '\n')
	f, err := s.src.acquire()
	if err != nil {
		return noParent, err
	}
	defer s.src.release()
	n, err := writeAll(f, buf)
	if err == nil && s.cfg.Durability == DurabilityEntry {
		err = f.Sync()
	}
	if err != nil {
		s.undo(f, int64(n))
		return noParent, err
	}
	s.noteWrite()
	s.needHeader = false
	at := s.size + int64(len(buf)-len(line)-1)
	if st, err := f.Stat(); err == nil && st.Size() != s.size+int64(len(buf)) {
		return s.writeRaced(h, line, st.Size())
	}
	s.size += int64(len(buf))
	s.needLF = false
	return s.idx.add(h, at, len(line), 0), nil
}

// writeRaced indexes the lines that another program wrote at the same moment, with
// our own among them.
func (s *Store) writeRaced(h head, line []byte, size int64) (int32, error) {
	before := len(s.idx.recs)
	if err := s.absorb(size); err != nil {
		return noParent, err
	}
	for i := before; i < len(s.idx.recs); i++ {
		if s.idx.recs[i].id == string(h.id) {
			return int32(i), nil
		}
	}
	return noParent, fmt.Errorf("the entry is not in %s after it was written; another program writes to it", s.path)
}

// undo removes the n bytes that a failed write left at the end of the file. Should
// even that fail, the next append treats them as a torn line. When another program
// wrote behind them they stay, and catchUp takes in both.
func (s *Store) undo(f file, n int64) {
	st, err := f.Stat()
	if n == 0 || err != nil || st.Size() != s.size+n {
		return
	}
	if err := s.truncate(s.size); err != nil {
		s.torn, s.size = s.size, s.size+n
	}
}

// truncate cuts the file. It uses a handle of its own: one that appends may not do
// that on Windows.
func (s *Store) truncate(size int64) error {
	f, err := s.cfg.open(s.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(size)
}

// mendTail deals with a last line that is cut short: its bytes go to a file beside
// the session and it is cut off. Where that cannot be done it stays, and the next
// line starts behind it. catchUp has made sure that nobody changed the file.
func (s *Store) mendTail() {
	if s.torn < 0 {
		return
	}
	start := s.torn
	s.torn = -1
	if err := s.saveTorn(start); err != nil {
		s.needLF = true
		s.cfg.Warn(fmt.Sprintf("Session %s: the last line is incomplete and cannot be moved away: %v", s.path, err))
		return
	}
	if err := s.truncate(start); err != nil {
		s.needLF = true
		return
	}
	s.size, s.needLF = start, false
}

func (s *Store) saveTorn(start int64) error {
	f, err := s.src.acquire()
	if err != nil {
		return err
	}
	defer s.src.release()
	t, err := s.cfg.open(s.real+".torn", os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(t, io.NewSectionReader(f, start, s.size-start))
	if err == nil {
		err = t.Sync()
	}
	return errors.Join(err, t.Close())
}

// openForWriting makes up for a file that could only be opened for reading.
func (s *Store) openForWriting() error {
	if !s.rdonly {
		return nil
	}
	f, err := s.cfg.open(s.path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	src, err := newSource(s.path, f, s.cfg.open)
	if err != nil || !os.SameFile(src.info, s.src.info) {
		f.Close()
		return errors.Join(err, fmt.Errorf("%s was replaced", s.path))
	}
	s.old = append(s.old, s.src)
	s.setSource(src)
	s.rdonly = false
	return nil
}

const foreignWarning = "Session %s is being written by another program too. Its entries are kept; this conversation goes on from its own last entry."

func (s *Store) warnForeign() {
	if !s.warned {
		s.warned = true
		s.cfg.Warn(fmt.Sprintf(foreignWarning, s.path))
	}
}

// catchUp compares the file with what is known of it and takes in what other
// programs did. It costs one system call when there is nothing.
func (s *Store) catchUp() error {
	if s.src == nil {
		return nil
	}
	st, err := os.Stat(s.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: %s", ErrRemoved, s.path)
	case err != nil:
		return err
	case !os.SameFile(st, s.src.info) || st.Size() < s.size:
		s.warnForeign()
		return s.reload()
	case st.Size() == s.size:
		return nil
	}
	s.warnForeign()
	return s.absorb(st.Size())
}

// absorb indexes the lines up to size that other programs appended.
func (s *Store) absorb(size int64) error {
	f, err := s.src.acquire()
	if err != nil {
		return err
	}
	defer s.src.release()
	from := s.size
	if s.torn >= 0 {
		from = s.torn // they may have ended the line that seemed cut short
	}
	l := loader{idx: &s.idx, haveHeader: true}
	if err := l.lines(f, from, size); err != nil {
		s.size = math.MaxInt64 // part of it is indexed: the next call reads the file anew
		return err
	}
	s.idx.resolve()
	s.size, s.torn, s.needLF = size, -1, l.needLF || l.torn >= 0
	return s.readName(l.info)
}

// reload indexes a file that was replaced or shortened, and keeps the position when
// its entry is still there.
func (s *Store) reload() error {
	leaf := s.LeafID()
	f, rdonly, err := s.openFile(s.path)
	if err != nil {
		return err
	}
	src, err := newSource(s.path, f, s.cfg.open)
	if err != nil {
		f.Close()
		return err
	}
	l := loader{}
	idx := newIndex()
	l.idx = &idx
	if err = l.lines(f, 0, src.info.Size()); err == nil && (!l.haveHeader || l.header.Version < currentVersion) {
		err = &InvalidFileError{App: s.cfg.AppName, Path: s.path}
	}
	if err != nil {
		f.Close()
		return err
	}
	idx.resolve()
	s.old = append(s.old, s.src)
	s.setSource(src)
	s.rdonly = rdonly
	s.idx, s.cache, s.header = idx, &cache{}, l.header
	s.size, s.torn, s.needLF = src.info.Size(), l.torn, l.needLF
	s.leaf = s.idx.find(leaf)
	if s.leaf == noParent && leaf != "" {
		s.leaf = int32(len(s.idx.recs) - 1)
	}
	s.name = ""
	return s.readName(l.info)
}

// takeLock makes this store the one writer among Isotope processes. Where no lock
// can be made the session is written all the same: catchUp still sees others.
func (s *Store) takeLock() error {
	if s.lock != nil {
		return nil
	}
	l, err := fslock.Acquire(context.Background(), s.real+".lock", s.cfg.LockWait)
	var held *fslock.HeldError
	switch {
	case errors.As(err, &held):
		return &InUseError{Path: s.path, PID: held.PID}
	case err != nil:
		s.cfg.Warn(fmt.Sprintf("Session %s cannot be locked against other writers: %v", s.path, err))
	}
	s.lock = l
	return nil
}

func (s *Store) dropLock() {
	if s.lock != nil {
		s.lock.Release()
		s.lock = nil
	}
}

// Sync forces what was appended so far to the disk, unless the durability is none.
// Calls that overlap share the work. It may be called from any goroutine.
func (s *Store) Sync() error {
	s.syncMu.Lock()
	defer s.syncMu.Unlock()
	s.mu.Lock()
	src, written, newFile := s.syncSrc, s.written, s.newFile
	s.mu.Unlock()
	if s.cfg.Durability == DurabilityNone || src == nil || written == s.synced {
		return nil
	}
	f, err := src.acquire()
	if err != nil {
		return fmt.Errorf("syncing the session: %w", err)
	}
	err = f.Sync()
	src.release()
	if err != nil {
		return fmt.Errorf("syncing the session: %w", err)
	}
	if newFile {
		if err := atomicfile.SyncDir(filepath.Dir(s.real)); err != nil {
			return fmt.Errorf("syncing the folder of the session: %w", err)
		}
		s.mu.Lock()
		s.newFile = s.syncSrc != src
		s.mu.Unlock()
	}
	s.synced = written
	return nil
}
