package session

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/google/uuid"

	"github.com/isotope-agent/isotope/internal/fslock"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// A Store is an open session. Its owner goroutine alone may call the methods that
// change it; see the package comment.
type Store struct {
	cfg    Config
	header Header
	path   string // "" for a session in memory
	dir    string // of forks

	idx   index
	mem   []jsonx.Raw // lines that are not in a file
	leaf  int32       // current position, or noParent
	name  string
	cache *cache // what views of this index have computed

	src        *source
	old        []*source // of files that were replaced under us
	rdonly     bool      // src could not be opened for writing
	size       int64     // bytes of the file that are accounted for
	needLF     bool      // the last line has no end yet
	torn       int64     // start of a last line that is cut short, or -1
	needHeader bool      // the file has none yet: the first append writes it
	warned     bool      // about lines of others
	lock       *fslock.Lock
	real       string // path without links: names the lock and the registry entry

	mu      sync.Mutex // guards the fields below, which other goroutines use
	refs    int
	syncSrc *source
	written int64 // appends so far
	newFile bool  // the directory must be synced too
	syncMu  sync.Mutex
	synced  int64 // appends that are on the disk; guarded by syncMu
}

// Create starts a new session. Its file is made with its first user or assistant
// message; Path is known at once. The caller owns the store and must Close it.
func Create(cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	h, err := newHeader(&cfg)
	if err != nil {
		return nil, err
	}
	s := newStore(cfg, h)
	if !cfg.MemoryOnly {
		if err := s.place(); err != nil {
			return nil, err
		}
	}
	if name := CleanName(cfg.Name); name != "" {
		if _, err := s.Append(SessionInfo{Name: jsonx.Str(name)}); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func newStore(cfg Config, h Header) *Store {
	return &Store{cfg: cfg, header: h, dir: cfg.Dir, idx: newIndex(), leaf: noParent, cache: &cache{}, torn: -1, refs: 1}
}

// place gives a new session the path of its file.
func (s *Store) place() error {
	path := s.cfg.Path
	if path == "" {
		if s.cfg.Dir == "" {
			return fmt.Errorf("creating a session: no folder for its file")
		}
		path = filepath.Join(s.cfg.Dir, FileName(s.header.Timestamp, s.header.ID))
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("creating a session: %w", err)
	}
	s.path, s.real = abs, realPath(abs)
	if s.dir == "" {
		s.dir = filepath.Dir(abs)
	}
	return nil
}

// Header returns the first line of the file.
func (s *Store) Header() Header { return s.header }

// ID returns the id of the session.
func (s *Store) ID() string { return s.header.ID }

// Cwd returns the working directory of the session, "" when the file has none.
func (s *Store) Cwd() string { return s.header.Cwd }

// Path returns the absolute path of the session file, also before it exists; "" for
// a session in memory.
func (s *Store) Path() string { return s.path }

// Dir returns the folder in which forks of the session are made.
func (s *Store) Dir() string { return s.dir }

// Saved reports whether the session has a file.
func (s *Store) Saved() bool { return s.src != nil }

// Persistent reports whether the session is meant to have a file.
func (s *Store) Persistent() bool { return !s.cfg.MemoryOnly }

// ReadOnly reports whether the session was opened to look: every Append fails.
func (s *Store) ReadOnly() bool { return s.cfg.ReadOnly }

// Name returns the name that the session was given last, "" for none.
func (s *Store) Name() string { return s.name }

// Len returns the number of entries.
func (s *Store) Len() int { return len(s.idx.recs) }

// LeafID returns the id of the current entry, "" before every entry.
func (s *Store) LeafID() string {
	if s.leaf == noParent {
		return ""
	}
	return s.idx.recs[s.leaf].id
}

// Has reports whether the session has an entry of that id.
func (s *Store) Has(id string) bool { return s.idx.find(id) != noParent }

// SetLeaf moves to an entry, so that the next append becomes its child; "" moves
// before every entry. Nothing is written: the move itself does not outlast the
// process.
func (s *Store) SetLeaf(id string) error {
	if id == "" {
		s.leaf = noParent
		return nil
	}
	i := s.idx.find(id)
	if i == noParent {
		return &EntryNotFoundError{ID: id}
	}
	s.leaf = i
	return nil
}

// Retain adds an owner, for work that goes on after the session was replaced (a
// running command). Each Retain is ended by a Close. It may be called from any
// goroutine that knows the store to be open.
func (s *Store) Retain() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refs++
	return s
}

func (s *Store) tryRetain() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs == 0 {
		return false
	}
	s.refs++
	return true
}

// Close gives up one reference. With the last one, what was written is synced, the
// lock is released and the file closed; views stay readable as long as the file is
// there.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.refs == 0 {
		s.mu.Unlock()
		return nil
	}
	s.refs--
	last := s.refs == 0
	s.mu.Unlock()
	if !last {
		return nil
	}
	s.cfg.Registry.remove(s.real, s)
	err := s.Sync()
	for _, src := range append(s.old, s.src) {
		if src != nil {
			src.close()
		}
	}
	if s.lock != nil {
		s.lock.Release()
	}
	return err
}

func (s *Store) closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refs == 0
}

// Append adds an entry below the current one and moves to it. It returns the new
// id. After an error neither the file nor the store has changed; the same append
// may be tried again.
func (s *Store) Append(b Body) (id string, err error) {
	switch {
	case s.cfg.ReadOnly:
		return "", ErrReadOnly
	case s.closed():
		return "", ErrClosed
	}
	if err := s.catchUp(); err != nil {
		return "", fmt.Errorf("saving the session: %w", err)
	}
	if id, err = s.newID(); err != nil {
		return "", err
	}
	if b, err = s.finish(b, id); err != nil {
		return "", err
	}
	line, err := encodeEntry(id, s.LeafID(), formatTime(s.cfg.Now().UnixMilli()), b)
	if err != nil {
		return "", err
	}
	h, line, err := s.checkLine(line)
	if err != nil {
		return "", err
	}
	i, err := s.store(h, line)
	if err != nil {
		return "", fmt.Errorf("saving the session: %w", err)
	}
	s.leaf = i
	if info, ok := b.(SessionInfo); ok {
		s.name = string(info.Name)
	}
	return id, nil
}

// checkLine makes sure that what is written can be read again.
func (s *Store) checkLine(line []byte) (head, []byte, error) {
	h, ok := scanLine(line)
	if ok && h.dirty {
		line = clean(line)
		h, ok = scanLine(line)
	}
	if !ok {
		return h, nil, fmt.Errorf("saving the session: the entry is no valid JSON")
	}
	return h, line, nil
}

// newID draws an id that the session does not have.
func (s *Store) newID() (string, error) {
	for range 100 {
		if id := s.cfg.NewID(); id != "" && !s.Has(id) {
			return id, nil
		}
	}
	id, err := uuid.NewRandom()
	return id.String(), err
}

// finish checks what a body refers to and settles what depends on the entry's id.
func (s *Store) finish(b Body, id string) (Body, error) {
	known := func(id string) error {
		if !s.Has(id) {
			return &EntryNotFoundError{ID: id}
		}
		return nil
	}
	switch b := b.(type) {
	case Message:
		if b.Message == nil {
			return nil, fmt.Errorf("saving the session: a message entry without a message")
		}
	case Label:
		return b, known(b.TargetID)
	case ContextEdit:
		if len(b.Replacement) == 0 {
			b.Replacement = jsonx.Raw("null")
		}
		return b, known(b.TargetID)
	case SessionInfo:
		b.Name = jsonx.Str(CleanName(string(b.Name)))
		return b, nil
	case Compaction:
		if b.FirstKeptEntryID != nil {
			return b, known(*b.FirstKeptEntryID)
		}
		if !isVerbatim(b.Details) {
			b.FirstKeptEntryID = &id
		}
		return b, nil
	}
	return b, nil
}

// store puts a line where it belongs and into the index.
func (s *Store) store(h head, line []byte) (int32, error) {
	if s.src != nil {
		return s.write(h, line)
	}
	if r := roleOf(h.role); s.cfg.MemoryOnly || string(h.typ) != TypeMessage || r != roleUser && r != roleAssistant {
		return s.keep(h, line), nil
	}
	if err := s.createFile(line); err != nil {
		return noParent, err
	}
	i := s.idx.add(h, s.size-int64(len(line))-1, len(line), 0)
	s.noteWrite()
	return i, nil
}

// keep holds a line in memory.
func (s *Store) keep(h head, line []byte) int32 {
	s.mem = append(s.mem, line)
	return s.idx.add(h, int64(len(s.mem)-1), len(line), flagMem)
}

// createFile writes the header, everything that waits in memory and line.
func (s *Store) createFile(line []byte) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	s.real = realPath(s.path)
	if err := s.takeLock(); err != nil {
		return err
	}
	buf := append(append([]byte{}, s.header.Raw...), '\n')
	recs := append(make([]record, 0, len(s.idx.recs)+8), s.idx.recs...)
	for i := range recs {
		recs[i].off, recs[i].flags = int64(len(buf)), recs[i].flags&^flagMem
		buf = append(append(buf, s.mem[s.idx.recs[i].off]...), '\n')
	}
	buf = append(append(buf, line...), '\n')
	src, err := s.writeNew(buf)
	if err != nil {
		s.dropLock()
		return err
	}
	s.idx.recs, s.mem = recs, nil
	s.setSource(src)
	s.size = int64(len(buf))
	s.cfg.Registry.put(s.real, s)
	return nil
}

// writeNew makes the file with its first content, or none at all.
func (s *Store) writeNew(buf []byte) (*source, error) {
	const flags = os.O_RDWR | os.O_APPEND
	f, err := s.cfg.open(s.path, flags|os.O_CREATE|os.O_EXCL, 0o600)
	if os.IsExist(err) {
		// An empty file may be filled: it is what a failed attempt leaves when it cannot
		// be removed.
		if st, err2 := os.Stat(s.path); err2 == nil && st.Mode().IsRegular() && st.Size() == 0 {
			f, err = s.cfg.open(s.path, flags, 0o600)
		}
	}
	if err != nil {
		return nil, err
	}
	var src *source
	if _, err = writeAll(f, buf); err == nil && s.cfg.Durability == DurabilityEntry {
		err = f.Sync()
	}
	if err == nil {
		src, err = newSource(s.path, f, s.cfg.open)
	}
	if err != nil {
		f.Truncate(0)
		f.Close()
		os.Remove(s.path)
		return nil, err
	}
	return src, nil
}

func (s *Store) setSource(src *source) {
	s.src = src
	s.mu.Lock()
	defer s.mu.Unlock()
	s.syncSrc = src
	s.newFile = true
}

func (s *Store) noteWrite() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written++
}
