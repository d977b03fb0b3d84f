package js

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// files are the descriptors that scripts have open.
type files struct {
	mu   sync.Mutex
	open map[int]*os.File
	next int
}

func newFiles() *files { return &files{open: map[int]*os.File{}, next: 20} }

func (f *files) add(file *os.File) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	f.open[f.next] = file
	return f.next
}

func (f *files) get(fd int) (*os.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if file := f.open[fd]; file != nil {
		return file, nil
	}
	return nil, syscall.EBADF
}

func (f *files) remove(fd int) (*os.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	file := f.open[fd]
	if file == nil {
		return nil, syscall.EBADF
	}
	delete(f.open, fd)
	return file, nil
}

func (f *files) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for fd, file := range f.open {
		_ = file.Close()
		delete(f.open, fd)
	}
}

// fileArgs are the arguments of all file operations.
type fileArgs struct {
	Path      string  `json:"path"`
	To        string  `json:"to"` // the other path of two
	Text      *string `json:"text"`
	Bin       *bin    `json:"bin"`
	AsText    bool    `json:"asText"` // text in UTF-8 is wanted instead of bytes
	Recursive bool    `json:"recursive"`
	Force     bool    `json:"force"`
	Link      bool    `json:"link"` // a link itself is meant, not what it points to
	Exclusive bool    `json:"exclusive"`
	Dir       bool    `json:"dir"` // a folder is to be removed
	Flag      string  `json:"flag"`
	Mode      *uint32 `json:"mode"`
	UID       int     `json:"uid"`
	GID       int     `json:"gid"`
	Fd        *int    `json:"fd"`
	Length    int64   `json:"length"`
	Position  *int64  `json:"position"`
	ATime     float64 `json:"aTime"` // milliseconds
	MTime     float64 `json:"mTime"`
}

func (a fileArgs) data() []byte {
	switch {
	case a.Text != nil:
		return []byte(*a.Text)
	case a.Bin != nil:
		return a.Bin.bytes()
	}
	return nil
}

func (a fileArgs) mode(def fs.FileMode) fs.FileMode {
	if a.Mode == nil {
		return def
	}
	return fs.FileMode(*a.Mode & 0o7777)
}

// path makes a path of a script absolute.
func (r *Runtime) path(p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(r.cfg.Cwd, p)
}

type fileOp = func(r *Runtime, a fileArgs) (any, error)

// fileOpTable has every file operation, by Node's name.
func fileOpTable() map[string]fileOp {
	return map[string]fileOp{
		"readFile": readFile, "writeFile": writeFile, "stat": stat, "readdir": readdir, "mkdir": mkdir, "mkdtemp": mkdtemp, "rm": remove,
		"rename":   func(r *Runtime, a fileArgs) (any, error) { return nil, os.Rename(r.path(a.Path), r.path(a.To)) },
		"copyFile": copyFile, "cp": copyTree, "access": access,
		"realpath":  func(r *Runtime, a fileArgs) (any, error) { return filepath.EvalSymlinks(r.path(a.Path)) },
		"readlink":  func(r *Runtime, a fileArgs) (any, error) { return os.Readlink(r.path(a.Path)) },
		"symlink":   func(r *Runtime, a fileArgs) (any, error) { return nil, os.Symlink(a.Path, r.path(a.To)) },
		"link":      func(r *Runtime, a fileArgs) (any, error) { return nil, os.Link(r.path(a.Path), r.path(a.To)) },
		"chmod":     func(r *Runtime, a fileArgs) (any, error) { return nil, os.Chmod(r.path(a.Path), a.mode(0o644)) },
		"chown":     func(r *Runtime, a fileArgs) (any, error) { return nil, os.Chown(r.path(a.Path), a.UID, a.GID) },
		"utimes":    utimes,
		"truncate":  func(r *Runtime, a fileArgs) (any, error) { return nil, os.Truncate(r.path(a.Path), a.Length) },
		"open":      openFile,
		"close":     closeFile,
		"read":      readAt,
		"write":     writeAt,
		"fstat":     onFile(func(f *os.File, _ fileArgs) (any, error) { return statOf(f.Stat()) }),
		"ftruncate": onFile(func(f *os.File, a fileArgs) (any, error) { return nil, f.Truncate(a.Length) }),
		"fsync":     onFile(func(f *os.File, _ fileArgs) (any, error) { return nil, f.Sync() }),
	}
}

func fileOps() map[string]syncOp {
	out := map[string]syncOp{}
	for name, f := range fileOpTable() {
		out["fs."+name] = with(f)
	}
	return out
}

func onFile(f func(*os.File, fileArgs) (any, error)) fileOp {
	return func(r *Runtime, a fileArgs) (any, error) {
		if a.Fd == nil {
			return nil, syscall.EBADF
		}
		file, err := r.files.get(*a.Fd)
		if err != nil {
			return nil, err
		}
		return f(file, a)
	}
}

// maxReadFile is the most that one call reads: more does not fit into the engine.
const maxReadFile = 128 << 20

func readFile(r *Runtime, a fileArgs) (any, error) {
	var (
		data []byte
		err  error
	)
	if a.Fd != nil {
		var f *os.File
		if *a.Fd == 0 {
			data = nil // stdin belongs to the protocol
		} else if f, err = r.files.get(*a.Fd); err == nil {
			data, err = io.ReadAll(io.LimitReader(f, maxReadFile))
		}
	} else {
		if st, serr := os.Stat(r.path(a.Path)); serr == nil && st.Size() > maxReadFile {
			return nil, &OpError{Message: "File size is greater than 128 MiB", Code: "ERR_FS_FILE_TOO_LARGE"}
		}
		data, err = os.ReadFile(r.path(a.Path))
	}
	var pe *fs.PathError
	if errors.As(err, &pe) && errors.Is(err, syscall.EISDIR) {
		return nil, &OpError{Message: "EISDIR: illegal operation on a directory, read", Code: "EISDIR", Errno: -21, Syscall: "read"}
	}
	if err != nil {
		return nil, err
	}
	if a.AsText {
		return string(data), nil
	}
	return toBinary(data), nil
}

// openFlags are Node's letters for how to open a file.
func openFlags(s string) (int, error) {
	switch strings.NewReplacer("s", "", "b", "").Replace(s) {
	case "", "r":
		return os.O_RDONLY, nil
	case "r+":
		return os.O_RDWR, nil
	case "w":
		return os.O_WRONLY | os.O_CREATE | os.O_TRUNC, nil
	case "wx", "xw":
		return os.O_WRONLY | os.O_CREATE | os.O_TRUNC | os.O_EXCL, nil
	case "w+":
		return os.O_RDWR | os.O_CREATE | os.O_TRUNC, nil
	case "wx+", "xw+":
		return os.O_RDWR | os.O_CREATE | os.O_TRUNC | os.O_EXCL, nil
	case "a":
		return os.O_WRONLY | os.O_CREATE | os.O_APPEND, nil
	case "ax", "xa":
		return os.O_WRONLY | os.O_CREATE | os.O_APPEND | os.O_EXCL, nil
	case "a+":
		return os.O_RDWR | os.O_CREATE | os.O_APPEND, nil
	}
	return 0, &OpError{Message: "The argument 'flags' is invalid. Received '" + s + "'", Name: "TypeError", Code: "ERR_INVALID_ARG_VALUE"}
}

func writeFile(r *Runtime, a fileArgs) (any, error) {
	if a.Fd != nil {
		return writeAt(r, a)
	}
	flag := a.Flag
	if flag == "" {
		flag = "w"
	}
	bits, err := openFlags(flag)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(r.path(a.Path), bits, a.mode(0o666))
	if err != nil {
		return nil, err
	}
	_, err = f.Write(a.data())
	return nil, errors.Join(err, f.Close())
}

func statOf(fi fs.FileInfo, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	out := map[string]any{"kind": kindOf(fi.Mode()), "size": fi.Size(), "mtimeMs": float64(fi.ModTime().UnixNano()) / 1e6, "mode": uint32(fi.Mode().Perm()) | nodeType(fi.Mode())}
	systemStat(fi, out)
	return out, nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "d"
	case m&fs.ModeSymlink != 0:
		return "l"
	case m&fs.ModeNamedPipe != 0:
		return "p"
	case m&fs.ModeSocket != 0:
		return "s"
	case m&fs.ModeCharDevice != 0:
		return "c"
	case m&fs.ModeDevice != 0:
		return "b"
	}
	return "f"
}

// nodeType is the type's bits in Unix's st_mode.
func nodeType(m fs.FileMode) uint32 {
	switch kindOf(m) {
	case "d":
		return 0o040000
	case "l":
		return 0o120000
	case "p":
		return 0o010000
	case "s":
		return 0o140000
	case "c":
		return 0o020000
	case "b":
		return 0o060000
	}
	return 0o100000
}

func stat(r *Runtime, a fileArgs) (any, error) {
	if a.Link {
		return statOf(os.Lstat(r.path(a.Path)))
	}
	return statOf(os.Stat(r.path(a.Path)))
}

type dirent struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Parent string `json:"parent"`
}

func readdir(r *Runtime, a fileArgs) (any, error) {
	root := r.path(a.Path)
	if !a.Recursive {
		list, err := os.ReadDir(root)
		out := make([]dirent, 0, len(list))
		for _, d := range list {
			out = append(out, dirent{d.Name(), kindOf(d.Type()), root})
		}
		return out, err
	}
	out := []dirent{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		rel, err := filepath.Rel(root, p)
		out = append(out, dirent{rel, kindOf(d.Type()), filepath.Dir(p)})
		return err
	})
	return out, err
}

// mkdir returns the first folder that it made, as Node does.
func mkdir(r *Runtime, a fileArgs) (any, error) {
	p := r.path(a.Path)
	if !a.Recursive {
		return nil, os.Mkdir(p, a.mode(0o777))
	}
	var first any
	for dir := p; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			break
		}
		first = dir
	}
	return first, os.MkdirAll(p, a.mode(0o777))
}

func mkdtemp(r *Runtime, a fileArgs) (any, error) {
	p := r.path(a.Path)
	if strings.HasSuffix(a.Path, "/") {
		return os.MkdirTemp(p, "")
	}
	return os.MkdirTemp(filepath.Dir(p), filepath.Base(p)+"*")
}

func remove(r *Runtime, a fileArgs) (any, error) {
	p := r.path(a.Path)
	st, err := os.Lstat(p)
	if err != nil {
		if a.Force && errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	switch {
	case a.Recursive:
		return nil, os.RemoveAll(p)
	case a.Dir && !st.IsDir():
		return nil, &fs.PathError{Op: "rmdir", Path: p, Err: syscall.ENOTDIR}
	case !a.Dir && st.IsDir():
		return nil, &fs.PathError{Op: "unlink", Path: p, Err: syscall.EISDIR}
	}
	return nil, os.Remove(p)
}

func copyFile(r *Runtime, a fileArgs) (any, error) {
	from, to := r.path(a.Path), r.path(a.To)
	src, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer func() { _ = src.Close() }()
	st, err := src.Stat()
	if err != nil {
		return nil, err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if a.Exclusive {
		flags |= os.O_EXCL
	}
	dst, err := os.OpenFile(to, flags, st.Mode().Perm())
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(dst, src)
	return nil, errors.Join(err, dst.Close())
}

func copyTree(r *Runtime, a fileArgs) (any, error) {
	st, err := os.Stat(r.path(a.Path))
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return copyFile(r, a)
	}
	if !a.Recursive {
		return nil, &OpError{Message: "Recursive option not enabled, cannot copy a directory: " + a.Path, Code: "ERR_FS_EISDIR"}
	}
	root := r.path(a.Path)
	return nil, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		to := filepath.Join(r.path(a.To), rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o777)
		}
		_, err = copyFile(r, fileArgs{Path: p, To: to})
		return err
	})
}

func access(r *Runtime, a fileArgs) (any, error) {
	p := r.path(a.Path)
	st, err := os.Stat(p)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			pe.Op = "access"
		}
		return nil, err
	}
	const write, execute = 2, 1
	want := uint32(0)
	if a.Mode != nil {
		want = *a.Mode
	}
	denied := want&write != 0 && st.Mode().Perm()&0o222 == 0 || want&execute != 0 && runtime.GOOS != "windows" && st.Mode().Perm()&0o111 == 0
	if denied && os.Getuid() != 0 {
		return nil, &fs.PathError{Op: "access", Path: p, Err: syscall.EACCES}
	}
	return nil, nil
}

func utimes(r *Runtime, a fileArgs) (any, error) {
	at := func(ms float64) time.Time { return time.UnixMicro(int64(ms * 1000)) }
	return nil, os.Chtimes(r.path(a.Path), at(a.ATime), at(a.MTime))
}

func openFile(r *Runtime, a fileArgs) (any, error) {
	bits, err := openFlags(a.Flag)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(r.path(a.Path), bits, a.mode(0o666))
	if err != nil {
		return nil, err
	}
	return r.files.add(f), nil
}

func closeFile(r *Runtime, a fileArgs) (any, error) {
	if a.Fd == nil {
		return nil, syscall.EBADF
	}
	f, err := r.files.remove(*a.Fd)
	if err != nil {
		return nil, err
	}
	return nil, f.Close()
}

func readAt(r *Runtime, a fileArgs) (any, error) {
	return onFile(func(f *os.File, a fileArgs) (any, error) {
		buf := make([]byte, min(max(a.Length, 0), maxReadFile))
		var (
			n   int
			err error
		)
		if a.Position != nil {
			n, err = f.ReadAt(buf, *a.Position)
		} else {
			n, err = f.Read(buf)
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return toBinary(buf[:n]), err
	})(r, a)
}

// writeAt writes to a descriptor; 1 and 2 are stderr, because stdout is the protocol's.
func writeAt(r *Runtime, a fileArgs) (any, error) {
	data := a.data()
	if a.Fd != nil && (*a.Fd == 1 || *a.Fd == 2) {
		r.log(strings.TrimSuffix(string(data), "\n"))
		return len(data), nil
	}
	return onFile(func(f *os.File, a fileArgs) (any, error) {
		if a.Position != nil {
			return f.WriteAt(data, *a.Position)
		}
		return f.Write(data)
	})(r, a)
}
