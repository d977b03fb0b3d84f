package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	"github.com/isotope-agent/isotope/internal/atomicfile"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Cache keeps what is dear to make in a private folder, named by the hash of what it
// was made from. It only ever saves time: whatever cannot be read or written is made
// anew. A nil or empty cache keeps nothing. It may be used by several processes.
type Cache struct{ dir string }

// NewCache returns the cache in a folder, which is made when something is kept;
// "" keeps nothing.
func NewCache(dir string) *Cache { return &Cache{dir: dir} }

// Dir returns the folder, "" for a cache that keeps nothing.
func (c *Cache) Dir() string {
	if c == nil {
		return ""
	}
	return c.dir
}

// Get returns what was kept under a name. Data that changed on the disk is not
// returned.
func (c *Cache) Get(name string) ([]byte, bool) {
	if c.dir == "" {
		return nil, false
	}
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil || len(data) < sha256.Size {
		return nil, false
	}
	body := data[sha256.Size:]
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], data[:sha256.Size]) {
		return nil, false
	}
	return body, true
}

// Put keeps data under a name, a file name that is a hash.
func (c *Cache) Put(name string, data []byte) error {
	if c.dir == "" {
		return nil
	}
	if err := privateDir(c.dir); err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	return atomicfile.WriteFile(filepath.Join(c.dir, name), append(sum[:], data...), 0o600)
}

// privateDir makes the folder, or takes it only when it is the user's own: what is in
// it will be executed.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return errors.New("the cache folder is not a folder: " + dir)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// Input is a file or folder as it was. Hash is of a file's content; Size is -1 for
// what was not there.
type Input struct {
	Path  string `json:"path"`
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime"` // nanoseconds since 1970
	Hash  string `json:"hash,omitzero"`
}

// stamp describes a file as it is now.
func stamp(path string) Input {
	in := place(path)
	if data, err := os.ReadFile(path); err == nil {
		in.Hash = hash(string(data))
	}
	return in
}

// place describes a file or folder without reading it.
func place(path string) Input {
	st, err := os.Stat(path)
	if err != nil {
		return Input{Path: path, Size: -1}
	}
	return Input{Path: path, Size: st.Size(), MTime: st.ModTime().UnixNano()}
}

// same reports whether a file is what it was: untouched, or touched with the same
// content.
func (in Input) same() bool {
	now := place(in.Path)
	if now.Size != in.Size {
		return false
	}
	if now.MTime == in.MTime {
		return true
	}
	return in.Hash != "" && stamp(in.Path).Hash == in.Hash
}

// packageFolders are the places where packages are looked for from dir: a new one
// there may change what an import means.
func packageFolders(dir string) []Input {
	var out []Input
	for {
		in := place(filepath.Join(dir, "node_modules"))
		if in.Size >= 0 {
			in.Size = 0 // of a folder it means nothing
		}
		out = append(out, in)
		parent := filepath.Dir(dir)
		if parent == dir {
			return out
		}
		dir = parent
	}
}

// script returns a kept script whose files are all as they were.
func (c *Cache) script(key string) (*Script, bool) {
	data, ok := c.Get(key)
	if !ok {
		return nil, false
	}
	head, rest, ok := bytes.Cut(data, []byte{'\n'})
	if !ok {
		return nil, false
	}
	var kept struct {
		Script
		CodeSize int    `json:"codeSize"`
		Dir      string `json:"dir"`
	}
	if jsonx.Unmarshal(head, &kept) != nil || kept.CodeSize > len(rest) {
		return nil, false
	}
	s := kept.Script
	s.Code, s.Map = string(rest[:kept.CodeSize]), SourceMap{Dir: kept.Dir, Raw: rest[kept.CodeSize:]}
	for _, in := range s.Inputs {
		if !in.same() {
			return nil, false
		}
	}
	now := packageFolders(kept.Dir)
	if len(now) != len(s.Folders) {
		return nil, false
	}
	for i, in := range s.Folders {
		if in != now[i] {
			return nil, false
		}
	}
	return &s, true
}

func (c *Cache) putScript(key string, s *Script) {
	if c.dir == "" {
		return
	}
	head, err := jsonx.Marshal(struct {
		*Script
		CodeSize int    `json:"codeSize"`
		Dir      string `json:"dir"`
	}{s, len(s.Code), s.Map.Dir})
	if err != nil {
		return
	}
	data := append(head, '\n')
	data = append(data, s.Code...)
	data = append(data, s.Map.Raw...)
	_ = c.Put(key, data) // a cache that cannot be written costs time only
}

// hash returns the hash of texts, each told apart from the next.
func hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		sum := sha256.Sum256([]byte(p))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Key returns the name under which something made from parts is kept.
func Key(parts ...string) string { return hash(parts...) }

func shortHash(s string) string { return hash(s)[:8] }
