package proc

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// MaxSpill is the most that a spill file holds, in bytes.
const MaxSpill = 64 << 20

// spillMark ends a file that would have become larger (atomic-facts.md 11.13).
const spillMark = "\n[Output truncated: persisted-output cap of 67108864 bytes reached]\n"

// Spill says where output goes that is too long to be shown:
//
//	TempDir/<dialect>-<owner>/<session>/<dialect>-bash-<16 hex>.log
//
// Directories are private to the user, also when they were there before; one that
// is a symbolic link or somebody else's is refused. The zero value writes nothing.
type Spill struct {
	TempDir string // absolute
	Dialect string
	Owner   string // the user id
	Session string // the session id

	limit int64 // of a file, MaxSpill when 0
}

// NewSpill returns the place for a session's output in the system's directory for
// temporary files.
func NewSpill(dialect, session string) Spill {
	return Spill{TempDir: os.TempDir(), Dialect: dialect, Owner: ownerName(), Session: session}
}

// Root returns the directory of all sessions of the user; "" when nothing is written.
func (s Spill) Root() string {
	if s.TempDir == "" || s.Dialect == "" {
		return ""
	}
	return filepath.Join(s.TempDir, s.Dialect+"-"+s.Owner)
}

// Dir returns the session's directory; "" when nothing is written.
func (s Spill) Dir() string {
	root := s.Root()
	if root == "" {
		return ""
	}
	return filepath.Join(root, safeName(s.Session))
}

// safeName returns a session id as a file name: at most 64 of [A-Za-z0-9._-], no
// dot or underscore at either end.
func safeName(id string) string {
	var b strings.Builder
	bad := false
	for _, r := range id {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-':
			b.WriteRune(r)
			bad = false
		case !bad:
			b.WriteByte('_')
			bad = true
		}
	}
	name := strings.Trim(b.String(), "._")
	if len(name) > 64 {
		name = strings.TrimRight(name[:64], "._")
	}
	if name == "" {
		name = "session"
	}
	return name
}

// privateDir makes sure that path is a directory of the user's that nobody else can
// enter, and makes it when create is set.
func privateDir(path string, create bool) error {
	if create {
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() || !owned(info) {
		return fmt.Errorf("%s is not a directory of this user", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(path, 0o700)
	}
	return nil
}

// create opens a new file; nil when that is not possible.
func (s Spill) create() *spillFile {
	dir := s.Dir()
	if dir == "" || privateDir(s.Root(), true) != nil || privateDir(dir, true) != nil {
		return nil
	}
	var id [8]byte
	_, _ = rand.Read(id[:])
	path := filepath.Join(dir, s.Dialect+"-bash-"+hex.EncodeToString(id[:])+".log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil
	}
	return &spillFile{path: path, f: f, limit: cmp.Or(s.limit, MaxSpill)}
}

type spillFile struct {
	path  string
	f     *os.File
	size  int64
	limit int64
	full  bool // the mark has been written
}

// write appends p; false when the file is lost.
func (f *spillFile) write(p []byte) bool {
	if f.full {
		return true
	}
	if f.size+int64(len(p)) > f.limit {
		f.full = true
		return f.finish(p)
	}
	return f.append(p)
}

func (f *spillFile) append(p []byte) bool {
	n, err := f.f.Write(p)
	f.size += int64(n)
	if err != nil {
		f.f.Close()
		os.Remove(f.path)
		return false
	}
	return true
}

// finish fills the file up with what fits of p and the mark: at most its limit in
// all, cut between characters.
func (f *spillFile) finish(p []byte) bool {
	room := f.limit - int64(len(spillMark))
	if f.size < room {
		p = p[:min(int64(len(p)), room-f.size)]
		if !f.append(p) {
			return false
		}
	}
	// What was written so far may reach beyond room, or end in half a character.
	end := min(f.size, room)
	var last [utf8.UTFMax - 1]byte
	if n, err := f.f.ReadAt(last[:], end-int64(len(last))); err == nil {
		end -= int64(openRune(last[:n]))
	}
	if f.f.Truncate(end) == nil {
		if _, err := f.f.Seek(end, 0); err == nil {
			f.size = end
		}
	}
	return f.append([]byte(spillMark))
}

func (f *spillFile) close() bool { return f.f.Close() == nil }
