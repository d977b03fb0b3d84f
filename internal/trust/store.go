package trust

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/atomicfile"
	"github.com/isotope-agent/isotope/internal/fslock"
	"github.com/isotope-agent/isotope/internal/jsonc"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// fileName is the name of the file of decisions in an agent directory: an object of
// real paths of folders, each true, false or null.
const fileName = "trust.json"

// Texts about the file.
const (
	errRead   = "%s: decisions of trust are not known: %s"
	errSyntax = "%s:%d:%d: decisions of trust are not known: %s"
	errRoot   = "%s: decisions of trust are not known: the file must hold an object, not %s"
	errValue  = "%s:%d:%d: the decision for %q is ignored: it must be true, false or null, not %s"
	errBroken = "%w: %s is no JSON object: correct it first"
)

// ErrBroken is the class of errors of writes to a file that is no JSON object.
var ErrBroken = errors.New("the file of trust is broken")

const (
	lockWait = 5 * time.Second // for other programs
	// Other programs write the file in place: what is read in that moment is cut off.
	readTries = 5
	readPause = 20 * time.Millisecond
)

// Store reads and writes decisions that were stored.
type Store struct {
	files []string
}

// NewStore returns the store over the trust.json of agent directories, the strongest
// first. It reads nothing.
func NewStore(dirs []string) *Store {
	s := &Store{}
	for _, dir := range dirs {
		s.files = append(s.files, filepath.Join(dir, fileName))
	}
	return s
}

// Found is a stored decision.
type Found struct {
	Decided bool
	Trusted bool
	Path    string // the folder the decision is for: the project's or one above it
	Broken  bool   // a file could not be read
	// Warnings say what is wrong with the files.
	Warnings []string
}

// Lookup returns the decision for the folder, or for the nearest folder above it that
// has one. Of several files the first counts.
func (s *Store) Lookup(folder string) Found {
	var f Found
	var files []map[string]bool
	for _, path := range s.files {
		decisions, broken, warnings := readFile(path)
		files = append(files, decisions)
		f.Broken = f.Broken || broken
		f.Warnings = append(f.Warnings, warnings...)
	}
	for dir := realPath(folder); ; {
		for _, decisions := range files {
			if trusted, ok := decisions[key(dir)]; ok {
				f.Decided, f.Trusted, f.Path = true, trusted, dir
				return f
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return f
		}
		dir = up
	}
}

// key is how a path is compared: without case on Windows.
func key(path string) string {
	path = filepath.Clean(path)
	if runtime.GOOS == "windows" {
		return strings.ToLower(path)
	}
	return path
}

func samePath(a, b string) bool { return key(a) == key(b) }

// readFile returns the decisions of a file. One that is not there has none.
func readFile(path string) (decisions map[string]bool, broken bool, warnings []string) {
	var doc *jsonc.Doc
	for try := 1; ; try++ {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
		if err != nil {
			return nil, true, []string{fmt.Sprintf(errRead, path, reason(err))}
		}
		if doc, err = jsonc.Parse(data); err == nil {
			break
		}
		if syntax, ok := errors.AsType[*jsonc.SyntaxError](err); ok && try == readTries {
			return nil, true, []string{fmt.Sprintf(errSyntax, path, syntax.Line, syntax.Column, syntax.Message)}
		}
		time.Sleep(readPause)
	}
	if doc.Root.Kind != jsonc.Object {
		return nil, true, []string{fmt.Sprintf(errRoot, path, doc.Root.Kind)}
	}
	decisions = make(map[string]bool, len(doc.Root.Members))
	for _, m := range doc.Root.Members {
		switch m.Value.Kind {
		case jsonc.Bool:
			decisions[key(m.Key)] = m.Value.Text == "true"
		case jsonc.Null:
			delete(decisions, key(m.Key))
		default:
			line, column := doc.Position(m.Value.Start)
			warnings = append(warnings, fmt.Sprintf(errValue, path, line, column, m.Key, m.Value.Kind))
		}
	}
	return decisions, false, warnings
}

func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// Set stores a decision for a folder in the first file. The rest of the file is kept.
func (s *Store) Set(ctx context.Context, folder string, trusted bool) error {
	if len(s.files) == 0 {
		return errors.New("storing trust: there is no agent directory")
	}
	raw := jsonx.Raw("false")
	if trusted {
		raw = jsonx.Raw("true")
	}
	path := realPath(folder)
	return edit(ctx, s.files[0], true, func(src []byte) ([]byte, error) {
		src, err := remove(src, path, true)
		if err != nil {
			return nil, err
		}
		return jsonc.Set(src, raw, path)
	})
}

// Forget removes the decision for a folder from every file. Decisions for folders above
// it then count again.
func (s *Store) Forget(ctx context.Context, folder string) error {
	path := realPath(folder)
	var errs []error
	for _, file := range s.files {
		errs = append(errs, edit(ctx, file, false, func(src []byte) ([]byte, error) { return remove(src, path, false) }))
	}
	return errors.Join(errs...)
}

// remove removes the members that mean a path. With others only those that are written
// in another way: what is written the same is about to be replaced in its place.
func remove(src []byte, path string, others bool) ([]byte, error) {
	doc, err := jsonc.Parse(src)
	if err != nil {
		return nil, err
	}
	for _, m := range doc.Root.Members {
		if samePath(m.Key, path) && !(others && m.Key == path) {
			if src, err = jsonc.Delete(src, m.Key); err != nil {
				return nil, err
			}
		}
	}
	return src, nil
}

// edit changes a file under its lock, which the other programs take, too.
func edit(ctx context.Context, path string, create bool, change func([]byte) ([]byte, error)) error {
	if create {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("storing trust: %w", err)
		}
	} else if !exists(path) {
		return nil
	}
	lock, err := fslock.AcquireDir(ctx, path, fslock.DirOptions{Wait: lockWait})
	if err != nil {
		return fmt.Errorf("storing trust: %w", err)
	}
	return errors.Join(editLocked(path, change), lock.Release())
}

func editLocked(path string, change func([]byte) ([]byte, error)) error {
	src, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("storing trust: %w", err)
	}
	if doc, err := jsonc.Parse(src); err != nil || doc.Root.Kind != jsonc.Object {
		return fmt.Errorf(errBroken, ErrBroken, path)
	}
	out, err := change(src)
	if err != nil {
		return fmt.Errorf("storing trust: %w", err)
	}
	if string(out) == string(src) {
		return nil
	}
	if err := atomicfile.WriteFile(path, out, 0o600); err != nil {
		return fmt.Errorf("storing trust: %w", err)
	}
	return nil
}
