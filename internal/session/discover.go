package session

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Folder is a place to look for sessions. With Cwd, only those of that working
// directory count: a folder that the user chose holds sessions of several.
type Folder struct{ Path, Cwd string }

// Folders returns the folders below a sessions root, one for each working directory,
// symbolic links to folders included. A root that is not there has none.
func Folders(root string) []Folder {
	list, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	var out []Folder
	for _, e := range list {
		path := filepath.Join(root, e.Name())
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			out = append(out, Folder{Path: path})
		}
	}
	return out
}

// errStop ends a walk through lines early.
var errStop = errors.New("enough")

// maxHeaderScan is how far into a file a header is looked for.
const maxHeaderScan = 1 << 20

// ReadHeader returns the header of a session file without reading more than its
// beginning.
func ReadHeader(path string) (Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	var h Header
	ok := false
	err = eachEntry(&limited{f, maxHeaderScan}, func(line []byte, hd head) error {
		h, ok = parseHeader(line, hd)
		return errStop
	})
	if err != nil && !errors.Is(err, errStop) {
		return Header{}, err
	}
	if !ok {
		return Header{}, &InvalidFileError{App: "isotope", Path: path}
	}
	return h, nil
}

// limited is io.LimitedReader with small reads: a header is short.
type limited struct {
	r io.Reader
	n int
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.n <= 0 {
		return 0, io.EOF
	}
	n, err := l.r.Read(p[:min(len(p), l.n, 4<<10)])
	l.n -= n
	return n, err
}

// candidate is a session file that was not opened yet.
type candidate struct {
	path  string
	mtime time.Time
	size  int64
	cwd   string // that the header must have
}

// candidates lists the session files of the folders, newest first.
func candidates(folders []Folder) []candidate {
	var out []candidate
	for _, dir := range folders {
		list, err := os.ReadDir(dir.Path)
		if err != nil {
			continue
		}
		for _, e := range list {
			if !strings.HasSuffix(e.Name(), ".jsonl") {
				continue
			}
			path := filepath.Join(dir.Path, e.Name())
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
				out = append(out, candidate{path: path, mtime: st.ModTime(), size: st.Size(), cwd: dir.Cwd})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		return cmp.Or(b.mtime.Compare(a.mtime), cmp.Compare(filepath.Base(b.path), filepath.Base(a.path)))
	})
	return out
}

func (c *candidate) accepts(h *Header) bool {
	return !h.Internal && (c.cwd == "" || sameDir(c.cwd, h.Cwd))
}

func sameDir(a, b string) bool {
	if b == "" {
		return false
	}
	return filepath.Clean(a) == filepath.Clean(b) || realPath(a) == realPath(b)
}

// Latest returns the session file that was changed last, "" when there is none.
// Files that are no sessions, and those of workflows, are passed over.
func Latest(folders ...Folder) string {
	for _, c := range candidates(folders) {
		if h, err := ReadHeader(c.path); err == nil && c.accepts(&h) {
			return c.path
		}
	}
	return ""
}

// A MatchError says that an id or a part of one names no session, or several.
type MatchError struct {
	ID      string
	Matches []string // ids, when there are several
}

// Error lists what the id could mean.
func (e *MatchError) Error() string {
	if len(e.Matches) == 0 {
		return fmt.Sprintf("No session found matching '%s'", e.ID)
	}
	return fmt.Sprintf("'%s' matches %d sessions: %s", e.ID, len(e.Matches), strings.Join(e.Matches, ", "))
}

// Find returns the file of the session with that id; when there is none, that of the
// one session whose id begins so. Of several files with the id itself, the one
// changed last counts. The error is a *MatchError.
func Find(id string, folders ...Folder) (string, error) {
	if id == "" {
		return "", &MatchError{}
	}
	list := candidates(folders)
	for _, c := range list { // the name tells nearly always
		if _, rest, ok := strings.Cut(filepath.Base(c.path), "_"); ok && rest == id+".jsonl" {
			if h, err := ReadHeader(c.path); err == nil && h.ID == id && c.accepts(&h) {
				return c.path, nil
			}
		}
	}
	found := map[string]string{}
	var ids []string
	for _, c := range list {
		h, err := ReadHeader(c.path)
		if err != nil || !c.accepts(&h) {
			continue
		}
		if h.ID == id {
			return c.path, nil
		}
		if strings.HasPrefix(h.ID, id) && found[h.ID] == "" {
			found[h.ID] = c.path
			ids = append(ids, h.ID)
		}
	}
	if len(ids) != 1 {
		return "", &MatchError{ID: id, Matches: ids}
	}
	return found[ids[0]], nil
}

// An Info describes a session file for a list.
type Info struct {
	Path          string
	ID            string
	Cwd           string
	Name          string
	ParentSession string
	Created       time.Time // zero when the header has no time
	Modified      time.Time // of the newest message of user or assistant
	FirstMessage  string    // of the user, NoMessages when there is none
	MessageCount  int       // message entries; -1 when the file was not read as a whole
	Size          int64     // bytes
}

// NoMessages stands for the first message of a session without one.
const NoMessages = "(no messages)"

// Sizes for lists: a file up to wholeFile is read as a whole, of a longer one the
// lines up to the first user message and the last tailWindow bytes.
const (
	wholeFile  = 256 << 10
	tailWindow = 64 << 10
)

// List describes the sessions of the folders, the one with the newest message first.
// Of long files only the beginning and the end are read.
func List(folders ...Folder) []Info {
	var out []Info
	for _, c := range candidates(folders) {
		d := describer{c: c}
		if info, ok := d.describe(c.size <= wholeFile); ok && !d.header.Internal {
			out = append(out, info)
		}
	}
	slices.SortStableFunc(out, func(a, b Info) int { return b.Modified.Compare(a.Modified) })
	return out
}

// Describe reads a whole session file, so that its count is exact.
func Describe(path string) (Info, error) {
	st, err := os.Stat(path)
	if err != nil {
		return Info{}, err
	}
	d := describer{c: candidate{path: path, mtime: st.ModTime(), size: st.Size()}}
	info, ok := d.describe(true)
	if !ok {
		return Info{}, &InvalidFileError{App: "isotope", Path: path}
	}
	return info, nil
}

type describer struct {
	c      candidate
	header Header
	info   Info
	latest int64 // ms of the newest message
	whole  bool
}

func (d *describer) describe(whole bool) (Info, bool) {
	f, err := os.Open(d.c.path)
	if err != nil {
		return Info{}, false
	}
	defer f.Close()
	d.whole = whole
	d.info = Info{Path: d.c.path, Size: d.c.size, FirstMessage: NoMessages}
	if err := eachEntry(f, d.headLine); err != nil && !errors.Is(err, errStop) || d.header.ID == "" || !d.c.accepts(&d.header) {
		return Info{}, false
	}
	if !whole {
		d.tail(f)
		d.info.MessageCount = -1
	}
	h := &d.header
	d.info.ID, d.info.Cwd, d.info.ParentSession = h.ID, h.Cwd, h.ParentSession
	created, _ := parseTime([]byte(h.Timestamp))
	if created != 0 {
		d.info.Created = time.UnixMilli(created)
	}
	switch {
	case d.latest > 0:
		d.info.Modified = time.UnixMilli(d.latest)
	case whole && created != 0:
		d.info.Modified = d.info.Created
	default:
		d.info.Modified = d.c.mtime
	}
	return d.info, true
}

func (d *describer) headLine(line []byte, h head) error {
	if d.header.ID == "" {
		var ok bool
		if d.header, ok = parseHeader(line, h); !ok {
			return errStop
		}
		return nil
	}
	d.entry(line, h)
	if !d.whole && d.info.FirstMessage != NoMessages {
		return errStop
	}
	return nil
}

func (d *describer) tail(f *os.File) {
	start := max(0, d.c.size-tailWindow)
	buf := make([]byte, d.c.size-start)
	n, err := f.ReadAt(buf, start)
	if err != nil && err != io.EOF {
		return
	}
	_, lines, _ := bytes.Cut(buf[:n], []byte{'\n'}) // the first one is cut
	eachEntry(bytes.NewReader(lines), func(line []byte, h head) error {
		d.entry(line, h)
		return nil
	})
}

// entry takes down what a list shows of one entry.
func (d *describer) entry(line []byte, h head) {
	switch string(h.typ) {
	case TypeSessionInfo:
		d.info.Name = CleanName(string(text(member(line, "name"))))
	case TypeMessage:
		d.info.MessageCount++
		r := roleOf(h.role)
		if r != roleUser && r != roleAssistant {
			return
		}
		message := member(line, "message")
		ms := number(member(message, "timestamp"))
		if ms == 0 {
			ms, _ = parseTime(h.ts)
		}
		d.latest = max(d.latest, ms)
		if r == roleUser && d.info.FirstMessage == NoMessages {
			if t := strings.ToValidUTF8(contentText(member(message, "content")), "\uFFFD"); t != "" {
				d.info.FirstMessage = t
			}
		}
	}
}
