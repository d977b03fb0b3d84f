package session

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/atomicfile"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Fork starts a new session with the branch that ends before a user message, and
// returns the text of that message. Entries keep their ids; labels are written anew
// at the end and the entries behind the old ones are linked to what stood before.
// The new session names this one as its parent. Its file is written at once when it
// holds a user or assistant message, else with its first one.
//
// The errors are ErrInvalidFork, ErrNotSaved, and those of the system; nothing is
// left behind by a fork that fails. The caller owns the new store; this one stays
// open and as it was.
func (s *Store) Fork(entryID string) (text string, forked *Store, err error) {
	text, run, err := s.BeginFork(entryID)
	if err != nil {
		return "", nil, err
	}
	forked, err = run()
	return text, forked, err
}

// BeginFork is Fork in two steps: it checks and takes down what is to be copied, run
// copies. The owner of the store calls BeginFork; run may be called on any goroutine
// while the owner goes on, once or not at all.
func (s *Store) BeginFork(entryID string) (text string, run func() (*Store, error), err error) {
	i := s.idx.find(entryID)
	if i == noParent || s.idx.recs[i].role != roleUser {
		return "", nil, ErrInvalidFork
	}
	raw, err := s.View().Raw(int(i))
	if err != nil {
		return "", nil, err
	}
	text = contentText(member(s.idx.recs[i].message(raw), "content"))
	parent := s.idx.recs[i].parent
	if parent != noParent {
		if err := s.mustBeSaved(); err != nil {
			return "", nil, err
		}
	}
	return text, s.branchOff(parent), nil
}

// Clone starts a new session with the whole current branch; see Fork.
func (s *Store) Clone() (*Store, error) {
	run, err := s.BeginClone()
	if err != nil {
		return nil, err
	}
	return run()
}

// BeginClone is Clone in two steps; see BeginFork.
func (s *Store) BeginClone() (run func() (*Store, error), err error) {
	if s.leaf == noParent {
		return nil, ErrNothingToClone
	}
	if err := s.mustBeSaved(); err != nil {
		return nil, err
	}
	return s.branchOff(s.leaf), nil
}

func (s *Store) mustBeSaved() error {
	if s.cfg.MemoryOnly {
		return nil
	}
	if s.src == nil {
		return ErrNotSaved
	}
	if _, err := os.Stat(s.path); err != nil {
		return ErrNotSaved
	}
	return nil
}

// branchOff returns what makes the new session from the branch that ends with leaf, as
// it is now.
func (s *Store) branchOff(leaf int32) func() (*Store, error) {
	cfg := s.cfg
	cfg.ReadOnly = false
	cfg.Cwd, cfg.Dir, cfg.Path, cfg.ID, cfg.Name = s.header.Cwd, s.dir, "", "", ""
	cfg.ParentSession = s.path
	from := s.View()
	return func() (*Store, error) {
		path := branchOf(from.recs, leaf)
		conversation := false
		for _, i := range path {
			role := from.recs[i].role
			conversation = conversation || role == roleUser || role == roleAssistant
		}
		c := copier{from: from, relink: true}
		return c.run(cfg, path, conversation && !cfg.MemoryOnly)
	}
}

// ForkFile starts a session with every entry of a file, for another working
// directory: cfg.Cwd, in cfg.Dir. The new file is written at once; the source is only
// read.
func ForkFile(path string, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	look := cfg
	look.ReadOnly, look.ID, look.Dir = true, "", ""
	src, err := Open(path, look)
	if err != nil {
		return nil, fmt.Errorf("cannot fork: %w", err)
	}
	defer src.Close()
	cfg.Path, cfg.ReadOnly, cfg.ParentSession, cfg.Name = "", false, src.path, ""
	all := make([]int32, src.Len())
	for i := range all {
		all[i] = int32(i)
	}
	c := copier{from: src.View()}
	return c.run(cfg, all, !cfg.MemoryOnly)
}

// Import copies a session file into cfg.Dir, under its own name or one like it when
// that is taken, and opens the copy. A file that lies there already is opened where
// it is. The source is only read; nothing is left behind when it is no session.
func Import(path string, cfg Config) (*Store, error) {
	cfg = cfg.withDefaults()
	look := cfg
	look.ReadOnly = true
	src, err := Open(path, look)
	if err != nil {
		return nil, err
	}
	src.Close()
	if realPath(filepath.Dir(src.path)) == realPath(cfg.Dir) {
		return Open(path, cfg)
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("importing the session: %w", err)
	}
	base := strings.TrimSuffix(filepath.Base(src.path), ".jsonl")
	target := filepath.Join(cfg.Dir, base+".jsonl")
	for i := 2; ; i++ {
		err = copyFile(src.path, target)
		if !errors.Is(err, os.ErrExist) || i > 1000 {
			break
		}
		target = filepath.Join(cfg.Dir, fmt.Sprintf("%s-%d.jsonl", base, i))
	}
	if err != nil {
		return nil, fmt.Errorf("importing the session: %w", err)
	}
	s, err := Open(target, cfg)
	if err != nil {
		os.Remove(target)
		return nil, err
	}
	return s, nil
}

// copier writes entries of one session into a new one, as bytes.
type copier struct {
	from   *View
	relink bool // leave labels out and write them anew at the end

	to  *Store
	w   *bufio.Writer // nil while the new session has no file
	off int64
}

// run copies the entries with the given numbers. With write the file is made at once.
func (c *copier) run(cfg Config, list []int32, write bool) (*Store, error) {
	h, err := newHeader(&cfg)
	if err != nil {
		return nil, err
	}
	c.to = newStore(cfg, h)
	if !cfg.MemoryOnly {
		if err := c.to.place(); err != nil {
			return nil, err
		}
	}
	c.to.idx.types = slices.Clip(c.from.types) // the numbers of types stay the same
	if !write {
		err = c.entries(list)
	} else {
		err = c.writeFile(list)
	}
	if err != nil {
		c.to.dropLock()
		return nil, fmt.Errorf("copying the session: %w", err)
	}
	c.to.leaf = int32(len(c.to.idx.recs) - 1)
	return c.to, nil
}

// writeFile publishes the new file only when it is whole.
func (c *copier) writeFile(list []int32) error {
	s := c.to
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	s.real = realPath(s.path)
	if _, err := os.Lstat(s.real); err == nil {
		return &os.PathError{Op: "create", Path: s.path, Err: os.ErrExist}
	}
	if err := s.takeLock(); err != nil {
		return err
	}
	out, err := atomicfile.Create(s.real, atomicfile.Options{Perm: 0o600, NoSync: s.cfg.Durability != DurabilityEntry})
	if err != nil {
		return err
	}
	c.w = bufio.NewWriterSize(faultable{s.cfg, out}, 256<<10)
	c.w.Write(append(append([]byte{}, s.header.Raw...), '\n'))
	c.off = int64(len(s.header.Raw)) + 1
	if err = c.entries(list); err == nil {
		err = c.w.Flush()
	}
	if err != nil {
		out.Abort()
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	f, err := s.cfg.open(s.path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		os.Remove(s.path)
		return err
	}
	src, err := newSource(s.path, f, s.cfg.open)
	if err != nil {
		f.Close()
		os.Remove(s.path)
		return err
	}
	s.setSource(src)
	s.size = c.off
	s.noteWrite()
	s.cfg.Registry.put(s.real, s)
	return nil
}

func (c *copier) entries(list []int32) error {
	r := c.from.reader()
	defer r.close()
	c.to.idx.recs = make([]record, 0, len(list)+16)
	var err error
	replaced := map[string]string{} // label: the entry that stands in its place
	var dropped []string
	for _, i := range list {
		rec := &c.from.recs[i]
		if c.relink && rec.typ == typLabel {
			dropped = append(dropped, rec.id)
			continue
		}
		for _, id := range dropped {
			replaced[id] = rec.id
		}
		dropped = dropped[:0]
		if err = c.entry(i, rec, r, replaced); err != nil {
			return err
		}
	}
	if c.relink {
		return c.marks(r)
	}
	return nil
}

// entry copies one entry; the store of the copy gets its record without the line
// being read again.
func (c *copier) entry(i int32, rec *record, r *reader, replaced map[string]string) error {
	line, err := r.line(rec)
	if err != nil {
		return err
	}
	to := *rec
	to.flags &^= flagDirty | flagMem
	to.parent = c.parent(rec)
	if c.relink && (c.parentID(rec) != c.idOf(to.parent) || rec.flags&flagOdd != 0 && c.from.odd[i].parent != "") {
		line = replaceMember(line, "parentId", quotedOrNull(c.idOf(to.parent)))
		to.msg = 0 // the message moved
	}
	if c.relink && rec.typ == typCompaction && len(replaced) > 0 {
		if id, ok := replaced[string(text(member(line, "firstKeptEntryId")))]; ok {
			line = replaceMember(line, "firstKeptEntryId", jsonx.String(id))
		}
	}
	if rec.typ == typInfo {
		c.to.name = CleanName(string(text(member(line, "name"))))
	}
	n := int32(len(c.to.idx.recs))
	if rec.flags&flagOdd != 0 {
		o := c.from.odd[i]
		if c.relink {
			o.parent = ""
		}
		c.to.idx.setOdd(n, o)
	}
	return c.put(to, line)
}

// parent returns the number of an entry's parent in the new session.
func (c *copier) parent(rec *record) int32 {
	if c.relink {
		return int32(len(c.to.idx.recs) - 1)
	}
	return rec.parent // every entry is copied: the numbers are the same
}

func (c *copier) parentID(rec *record) string {
	if rec.parent == noParent {
		return ""
	}
	return c.from.recs[rec.parent].id
}

func (c *copier) idOf(i int32) string {
	if i == noParent {
		return ""
	}
	return c.to.idx.recs[i].id
}

func quotedOrNull(id string) []byte {
	if id == "" {
		return []byte("null")
	}
	return jsonx.String(id)
}

// put adds a line to the new session and its record to the index.
func (c *copier) put(rec record, line []byte) error {
	rec.len = uint32(len(line))
	idx := &c.to.idx
	if c.w == nil {
		c.to.mem = append(c.to.mem, jsonx.Raw(line).Clone())
		rec.off, rec.flags = int64(len(c.to.mem)-1), rec.flags|flagMem
	} else {
		rec.off = c.off
		c.off += int64(len(line)) + 1
		c.w.Write(line)
		if err := c.w.WriteByte('\n'); err != nil {
			return err
		}
	}
	idx.recs = append(idx.recs, rec)
	return nil
}

// marks writes the labels of copied entries anew, one behind the other, with the
// times they were set.
func (c *copier) marks(r *reader) error {
	all, err := labels(c.from.recs, c.from.types, r)
	if err != nil {
		return err
	}
	targets := make([]string, 0, len(all))
	for id := range all {
		if c.to.Has(id) {
			targets = append(targets, id)
		}
	}
	slices.SortFunc(targets, func(a, b string) int { return cmp.Compare(all[a].order, all[b].order) })
	for _, target := range targets {
		id, err := c.to.newID()
		if err != nil {
			return err
		}
		parent := int32(len(c.to.idx.recs) - 1)
		line, err := encodeEntry(id, c.idOf(parent), all[target].ts, Label{TargetID: target, Label: all[target].text})
		if err != nil {
			return err
		}
		h, _ := scanLine(line)
		n := c.to.idx.add(h, 0, 0, 0)
		rec := c.to.idx.recs[n]
		c.to.idx.recs = c.to.idx.recs[:n] // put adds it, with its place
		if err := c.put(rec, line); err != nil {
			return err
		}
	}
	return nil
}

// faultable lets tests fail the writes of a copy.
type faultable struct {
	cfg Config
	w   io.Writer
}

// Write implements io.Writer.
func (f faultable) Write(p []byte) (int, error) {
	if f.cfg.beforeCopy != nil {
		if err := f.cfg.beforeCopy(p); err != nil {
			return 0, err
		}
	}
	return f.w.Write(p)
}
