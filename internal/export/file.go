package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/isotope-agent/isotope/internal/atomicfile"
	"github.com/isotope-agent/isotope/internal/session"
)

// Errors of an export that has nothing to read (spec/atomic-facts.md 1.3), with the
// texts that clients see.
var (
	// ErrInMemory is the error for a session that has no file by intention.
	ErrInMemory = errors.New("Cannot export in-memory session to HTML")
	// ErrNothing is the error for a session whose file is not there yet.
	ErrNothing = errors.New("Nothing to export yet - start a conversation first")
)

// DefaultName returns the name of the page of a session file when the caller gives
// none: "<dialect>-session-<name of the file>.html", in the working directory.
func DefaultName(dialect, sessionPath string) string {
	base := strings.TrimSuffix(filepath.Base(sessionPath), ".jsonl")
	return dialect + "-session-" + base + ".html"
}

// Exportable says whether there is something to export: ErrInMemory, ErrNothing or nil.
func Exportable(v *session.View) error {
	if v.Path() == "" {
		return ErrInMemory
	}
	if _, err := os.Stat(v.Path()); err != nil {
		return ErrNothing
	}
	return nil
}

// HTMLFile writes the page of a session to a file. The file appears, or changes, only
// when the page is complete; one that was there keeps its mode, a new one is for its
// owner alone (a page holds what the session holds). The directory must exist. Errors
// are those of Exportable, *PathError, and those of HTML.
func HTMLFile(path string, v *session.View, opt Options) error {
	return toFile(path, v, func(w io.Writer) error { return HTML(w, v, opt) })
}

// JSONLFile writes the session to a file, as JSONL does, under the rules of HTMLFile.
func JSONLFile(path string, v *session.View) error {
	return toFile(path, v, func(w io.Writer) error { return JSONL(w, v) })
}

// File writes a session to a file in the form that its name asks for: JSON Lines for
// one that ends in ".jsonl", else a page.
func File(path string, v *session.View, opt Options) error {
	if strings.EqualFold(filepath.Ext(path), ".jsonl") {
		return JSONLFile(path, v)
	}
	return HTMLFile(path, v, opt)
}

// JSONL writes the header and all entries, every branch, in the order of the file, a
// line each: byte for byte as they stand there, except that invalid UTF-8 is replaced.
func JSONL(w io.Writer, v *session.View) error {
	if _, err := w.Write(append(bytes.Clone(v.Header().Raw), '\n')); err != nil {
		return err
	}
	var lines []byte
	for _, s := range spans(v, pieceBytes) {
		if s.long {
			if err := longLine(w, v, s.from); err != nil {
				return err
			}
			continue
		}
		var err error
		if lines, err = v.AppendLines(lines[:0], s.from, s.to); err != nil {
			return fmt.Errorf("exporting a session: %w", err)
		}
		if _, err := w.Write(lines); err != nil {
			return err
		}
	}
	return nil
}

// longLine writes one long entry and its line end.
func longLine(w io.Writer, v *session.View, i int) error {
	for raw, err := range v.Chunks(i) {
		if err != nil {
			return fmt.Errorf("exporting a session: %w", err)
		}
		if _, err := w.Write(raw); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func toFile(path string, v *session.View, write func(io.Writer) error) error {
	if err := Exportable(v); err != nil {
		return err
	}
	same, err := isSession(path, v)
	if err != nil {
		return err
	}
	if same {
		return &PathError{Path: path, Code: "EBUSY", Text: "it is the session itself", Err: fs.ErrExist}
	}
	// A pipe or a device cannot be replaced, only written to.
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return pathError(path, err)
		}
		if err := write(f); err != nil {
			f.Close()
			return err
		}
		return f.Close()
	}
	// No sync: after a power cut the page can be made anew.
	f, err := atomicfile.Create(path, atomicfile.Options{NoSync: true})
	if err != nil {
		return pathError(path, err)
	}
	defer f.Abort()
	t := target{w: f}
	if err := write(&t); t.err != nil {
		return pathError(path, t.err)
	} else if err != nil {
		return err
	}
	return pathError(path, f.Commit())
}

// target keeps the error of a write apart from those of reading the session.
type target struct {
	w   io.Writer
	err error
}

func (t *target) Write(p []byte) (int, error) {
	n, err := t.w.Write(p)
	t.err = err
	return n, err
}

// isSession reports whether path is the file of the session.
func isSession(path string, v *session.View) (bool, error) {
	target, err := os.Stat(path)
	if err != nil {
		return false, nil //nolint:nilerr // not there: it cannot be the session
	}
	if target.IsDir() {
		return false, pathError(path, syscall.EISDIR)
	}
	st, err := os.Stat(v.Path())
	return err == nil && os.SameFile(st, target), nil
}

// PathError says that the file of an export cannot be written, in the words that
// clients of the reference know: "ENOENT: no such file or directory, open 'a/b.html'".
type PathError struct {
	Path       string // as it was given
	Code, Text string
	Err        error
}

// Error returns the text for clients.
func (e *PathError) Error() string { return fmt.Sprintf("%s: %s, open '%s'", e.Code, e.Text, e.Path) }

// Unwrap returns the cause.
func (e *PathError) Unwrap() error { return e.Err }

// pathError gives an error of the system its client text; others stay as they are.
func pathError(path string, err error) error {
	if err == nil {
		return nil
	}
	for _, known := range []struct {
		err        error
		code, text string
	}{
		{syscall.EISDIR, "EISDIR", "illegal operation on a directory"},
		{syscall.ENOTDIR, "ENOTDIR", "not a directory"},
		{syscall.ELOOP, "ELOOP", "too many symbolic links encountered"},
		{syscall.ENAMETOOLONG, "ENAMETOOLONG", "name too long"},
		{syscall.ENOSPC, "ENOSPC", "no space left on device"},
		{syscall.EROFS, "EROFS", "read-only file system"},
		{syscall.EPERM, "EPERM", "operation not permitted"},
		{syscall.EMFILE, "EMFILE", "too many open files"},
		{syscall.EIO, "EIO", "i/o error"},
		{fs.ErrNotExist, "ENOENT", "no such file or directory"},
		{fs.ErrPermission, "EACCES", "permission denied"},
	} {
		if errors.Is(err, known.err) {
			return &PathError{Path: path, Code: known.code, Text: known.text, Err: err}
		}
	}
	return err
}
