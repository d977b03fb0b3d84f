package session

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/isotope-agent/isotope/internal/atomicfile"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// migrate brings a file of version 1 or 2 to the current one: version 1 gets ids and
// parents in file order, both lose the message role hookMessage. The file is
// replaced atomically and the original kept beside it as "<file>.v1.bak" or
// "<file>.v2.bak"; with ReadOnly the new lines stay in memory. The result is
// indexed.
func (s *Store) migrate() (*loader, error) {
	m := &migration{version: s.header.Version, newID: s.cfg.NewID, ids: map[string]bool{}}
	l, err := s.rewrite(m)
	if err != nil {
		return nil, fmt.Errorf("migrating %s from version %d: %w", s.path, m.version, err)
	}
	s.header = l.header
	return l, nil
}

func (s *Store) rewrite(m *migration) (*loader, error) {
	if s.cfg.ReadOnly {
		return s.migrateInMemory(m)
	}
	if err := s.backup(m.version); err != nil {
		return nil, err
	}
	out, err := atomicfile.Create(s.real, atomicfile.Options{Perm: 0o600, NoSync: s.cfg.Durability == DurabilityNone})
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(out, 64<<10)
	if err = s.convert(m, w); err == nil {
		err = w.Flush()
	}
	if err != nil {
		out.Abort()
		return nil, err
	}
	s.src.close() // Windows replaces no open file
	if err := out.Commit(); err != nil {
		return nil, err
	}
	s.idx = newIndex()
	return s.indexFile()
}

// convert writes the migrated lines of the file.
func (s *Store) convert(m *migration, w io.Writer) error {
	f, err := s.src.acquire()
	if err != nil {
		return err
	}
	defer s.src.release()
	in := io.NewSectionReader(f, 0, s.size)
	if m.version < 2 {
		if err := m.assignIDs(in); err != nil {
			return err
		}
		if _, err := in.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	return m.copy(w, in)
}

func (s *Store) migrateInMemory(m *migration) (*loader, error) {
	var out bytes.Buffer
	if err := s.convert(m, &out); err != nil {
		return nil, err
	}
	s.idx = newIndex()
	l := &loader{idx: &s.idx}
	if err := l.lines(bytes.NewReader(out.Bytes()), 0, int64(out.Len())); err != nil {
		return nil, err
	}
	for i := range s.idx.recs {
		r := &s.idx.recs[i]
		s.mem = append(s.mem, out.Bytes()[r.off:r.off+int64(r.len):r.off+int64(r.len)])
		r.off, r.flags = int64(i), r.flags|flagMem
	}
	return l, nil
}

// backup keeps the file as it is under another name; an older backup is left alone
// and another number taken.
func (s *Store) backup(version int) error {
	for i := 0; i < 100; i++ {
		name := fmt.Sprintf("%s.v%d.bak", s.real, version)
		if i > 0 {
			name += strconv.Itoa(i)
		}
		if _, err := os.Lstat(name); err == nil {
			continue
		}
		if os.Link(s.real, name) == nil { // the migration replaces the name, not the file
			return nil
		}
		return copyFile(s.real, name)
	}
	return fmt.Errorf("too many backups beside %s", filepath.Base(s.real))
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		os.Remove(to)
	}
	return err
}

// migration rewrites the lines of one file.
type migration struct {
	version int
	newID   func() string
	ids     map[string]bool
	order   []string // version 1: new id by entry number; 0 is the header
	at      int      // entry number of the line that is being copied
	prev    string
}

// assignIDs draws the ids of a version 1 file beforehand: a compaction may name an
// entry by its number.
func (m *migration) assignIDs(in io.Reader) error {
	return eachEntry(in, func(_ []byte, h head) error {
		if string(h.typ) == typeHeader {
			m.order = append(m.order, "")
			return nil
		}
		id := m.newID()
		for i := 0; m.ids[id] && i < 100; i++ {
			id = m.newID()
		}
		if m.ids[id] {
			id = fmt.Sprintf("%s-%d", id, len(m.order)) // a source that repeats itself
		}
		m.ids[id] = true
		m.order = append(m.order, id)
		return nil
	})
}

func (m *migration) copy(w io.Writer, in io.Reader) error {
	return eachEntry(in, func(line []byte, h head) error {
		if h.dirty {
			line = clean(line)
		}
		if string(h.typ) == typeHeader {
			line = replaceMember(line, "version", []byte(strconv.Itoa(currentVersion)))
		} else {
			line = m.entry(line, h)
		}
		m.at++
		if _, err := w.Write(line); err != nil {
			return err
		}
		_, err := w.Write([]byte{'\n'})
		return err
	})
}

func (m *migration) entry(line []byte, h head) []byte {
	if m.version < 2 {
		line = m.link(line, string(h.typ))
	}
	if string(h.typ) == TypeMessage && string(h.role) == "hookMessage" {
		message := replaceMember(member(line, "message"), "role", []byte(`"custom"`))
		line = replaceMember(line, "message", message)
	}
	return line
}

// link gives a version 1 entry its id and parent, behind the type as in new files,
// so that the line's own text stays as it was.
func (m *migration) link(line []byte, typ string) []byte {
	id := m.order[m.at]
	parent := []byte("null")
	if m.prev != "" {
		parent = jsonx.String(m.prev)
	}
	m.prev = id
	if typ == TypeCompaction {
		line = m.keptByID(line)
	}
	if member(line, "id") != nil || member(line, "parentId") != nil {
		line = replaceMember(line, "id", jsonx.String(id))
		return replaceMember(line, "parentId", parent)
	}
	add := appendMember(nil, "id", jsonx.String(id))
	add = appendMember(add, "parentId", parent)
	for name, value := range members(line) {
		if is(name, "type") {
			end := cap(line) - cap(value) + len(value) // value is a part of line
			out := append([]byte{}, line[:end]...)
			out = append(append(out, ','), add...)
			return append(out, line[end:]...)
		}
		break
	}
	return spliceMembers(line, add)
}

// keptByID replaces the number of the first kept entry by its id.
func (m *migration) keptByID(line []byte) []byte {
	n, err := strconv.Atoi(string(member(line, "firstKeptEntryIndex")))
	if err != nil {
		return line
	}
	id := []byte("null")
	if n > 0 && n < len(m.order) && m.order[n] != "" {
		id = jsonx.String(m.order[n])
	}
	var out []byte
	for name, value := range members(line) {
		if is(name, "firstKeptEntryIndex") {
			out = appendMember(out, "firstKeptEntryId", id)
			continue
		}
		out = appendMember(out, string(text(name)), value)
	}
	return append(append([]byte{'{'}, out...), '}')
}

// eachEntry calls fn for every line that is a JSON object, from the header on.
func eachEntry(in io.Reader, fn func(line []byte, h head) error) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			long = append(long, part...)
			continue
		}
		if err != nil && err != io.EOF {
			return err
		}
		line := part
		if len(long) > 0 {
			long = append(long, part...)
			line = long
		}
		line = bytes.TrimRight(line, "\r\n")
		if h, ok := scanLine(line); ok {
			if err := fn(line[:len(line):len(line)], h); err != nil {
				return err
			}
		}
		long = long[:0]
		if err == io.EOF {
			return nil
		}
	}
}
