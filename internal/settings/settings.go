// Package settings owns the settings.json files: reading and merging their layers,
// typed values with defaults, and writing one value back.
//
// It must not know what a setting does. Nothing is read before the first question;
// all methods may be called concurrently. A file that is no JSON is left out, said
// so, and never written; a value of the wrong type or range counts as unset, with a
// warning that names the file, the line and the column.
package settings

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/isotope-agent/isotope/internal/atomicfile"
	"github.com/isotope-agent/isotope/internal/fslock"
	"github.com/isotope-agent/isotope/internal/jsonc"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Texts about settings files.
const (
	errRead   = "%s: settings could not be read: %s"
	errSyntax = "%s:%d:%d: settings are ignored: %s"
	errRoot   = "%s:%d:%d: settings are ignored: the file must hold an object, not %s"
	errBroken = "%w: %s:%d:%d: %s; correct the file first"
)

// ErrBroken is the class of errors of Set when the file is no JSON object.
var ErrBroken = errors.New("settings file is broken")

// lockWait is how long a writer waits for other programs.
const lockWait = 5 * time.Second

// Options of Settings.
type Options struct {
	// User are the user's files, the one that wins and is written to first.
	User []string
	// Project are the project's files, the one that wins first; they win over the
	// user's. They are read only when Trusted.
	Project []string
	Trusted bool
	// Home replaces a leading ~ in paths.
	Home string
	// ReadFile is os.ReadFile when nil.
	ReadFile func(path string) ([]byte, error)
}

// Settings are the merged settings. See the package comment.
type Settings struct {
	opt Options

	mu     sync.Mutex
	layers []*layer // by precedence, the strongest first; nil until loaded
	merged *node
	user   *node                 // the user's layers alone
	good   map[string]*jsonc.Doc // by path: what could be read last
	warned map[string]bool
	faults []string // warnings about values, in the order of their discovery
}

// layer is one file. doc is the last state that could be read, nil for none.
type layer struct {
	path    string
	project bool
	doc     *jsonc.Doc
	fault   string
}

// node is a merged value and the file it comes from. Objects of several files have
// members of each.
type node struct {
	value   *jsonc.Value
	from    *layer
	members map[string]*node
}

// Open returns Settings. It reads nothing yet.
func Open(opt Options) *Settings {
	if opt.ReadFile == nil {
		opt.ReadFile = os.ReadFile
	}
	return &Settings{opt: opt, good: map[string]*jsonc.Doc{}, warned: map[string]bool{}}
}

// Reload reads the files again. A file that has become unreadable keeps its last
// good state.
func (s *Settings) Reload() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.warned, s.faults = map[string]bool{}, nil
	s.read()
}

// SetProject replaces the project's files, those of another folder, and says whether
// they count.
func (s *Settings) SetProject(files []string, trusted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if trusted || s.opt.Trusted {
		s.layers = nil
	}
	s.opt.Project, s.opt.Trusted = files, trusted
}

// load reads the files when that was not done. The caller holds s.mu.
func (s *Settings) load() {
	if s.layers == nil {
		s.read()
	}
}

func (s *Settings) read() {
	s.layers = []*layer{}
	if s.opt.Trusted {
		for _, path := range s.opt.Project {
			s.layers = append(s.layers, &layer{path: path, project: true})
		}
	}
	for _, path := range s.opt.User {
		s.layers = append(s.layers, &layer{path: path})
	}
	for _, l := range s.layers {
		l.read(s.opt.ReadFile)
		if l.fault != "" {
			l.doc = s.good[l.path]
		}
		s.good[l.path] = l.doc
	}
	s.merge()
}

func (l *layer) read(read func(string) ([]byte, error)) {
	data, err := read(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		l.fault = fmt.Sprintf(errRead, l.path, reason(err))
		return
	}
	doc, err := jsonc.Parse(data)
	if syntax, ok := errors.AsType[*jsonc.SyntaxError](err); ok {
		l.fault = fmt.Sprintf(errSyntax, l.path, syntax.Line, syntax.Column, syntax.Message)
		return
	}
	if doc.Root.Kind != jsonc.Object {
		line, column := doc.Position(doc.Root.Start)
		l.fault = fmt.Sprintf(errRoot, l.path, line, column, doc.Root.Kind)
		return
	}
	l.doc = doc
}

func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// merge builds the trees from the weakest layer up: objects member by member, other
// values replaced.
func (s *Settings) merge() {
	s.merged, s.user = nil, nil
	for _, l := range slices.Backward(s.layers) {
		if l.doc == nil {
			continue
		}
		s.merged = over(s.merged, l.doc.Root, l)
		if !l.project {
			s.user = over(s.user, l.doc.Root, l)
		}
	}
}

func over(base *node, v *jsonc.Value, from *layer) *node {
	n := &node{value: v, from: from}
	if v.Kind != jsonc.Object {
		return n
	}
	n.members = make(map[string]*node, len(v.Members))
	if base != nil {
		for key, old := range base.members {
			n.members[key] = old
		}
	}
	for _, m := range v.Members {
		var below *node
		if base != nil {
			below = base.members[m.Key]
		}
		n.members[m.Key] = over(below, m.Value, from)
	}
	return n
}

// find returns the merged value at path, nil when it is unset or null; userOnly is for
// settings that a project must not set.
func (s *Settings) find(userOnly bool, path []string) *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	n := s.merged
	if userOnly {
		n = s.user
	}
	for _, key := range path {
		if n == nil {
			return nil
		}
		n = n.members[key]
	}
	if n == nil || n.value.Kind == jsonc.Null {
		return nil
	}
	return n
}

// warn records what is wrong with a value, once for its place.
func (s *Settings) warn(n *node, name, problem, using string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line, column := 0, 0
	if n.from.doc != nil {
		line, column = n.from.doc.Position(n.value.Start)
	}
	place := fmt.Sprintf("%s:%d:%d: %s", n.from.path, line, column, name)
	if !s.warned[place] {
		s.warned[place] = true
		s.faults = append(s.faults, fmt.Sprintf("%s %s; using %s", place, problem, using))
	}
}

// Warnings returns what is wrong with the files and with every value that has a
// getter here. It is meant for the start and for after a Reload.
func (s *Settings) Warnings() []string {
	s.checkAll()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, l := range s.layers {
		if l.fault != "" {
			out = append(out, l.fault)
		}
	}
	return append(out, s.faults...)
}

// Set writes one value to the user's first file, at the path of member names, and
// takes it over. Comments, unknown keys and the formatting of everything else are
// kept. The file is locked against other programs and replaced atomically. A file
// that is no JSON object is left alone: the error is of class ErrBroken.
func (s *Settings) Set(ctx context.Context, value any, path ...string) error {
	raw, err := jsonx.Marshal(value)
	if err != nil {
		return fmt.Errorf("saving %s: %w", strings.Join(path, "."), err)
	}
	return s.edit(ctx, func(src []byte) ([]byte, error) { return jsonc.Set(src, raw, path...) })
}

// Delete removes one value from the user's first file, as Set writes one.
func (s *Settings) Delete(ctx context.Context, path ...string) error {
	return s.edit(ctx, func(src []byte) ([]byte, error) { return jsonc.Delete(src, path...) })
}

func (s *Settings) edit(ctx context.Context, change func([]byte) ([]byte, error)) error {
	if len(s.opt.User) == 0 {
		return errors.New("saving settings: no settings file")
	}
	path := s.opt.User[0]
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("saving settings: %w", err)
	}
	lock, err := fslock.AcquireDir(ctx, path, fslock.DirOptions{Wait: lockWait})
	if err != nil {
		return fmt.Errorf("saving settings: %w", err)
	}
	err = s.editLocked(path, change)
	return errors.Join(err, lock.Release())
}

func (s *Settings) editLocked(path string, change func([]byte) ([]byte, error)) error {
	src, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("saving settings: %w", err)
	}
	doc, err := jsonc.Parse(src)
	if syntax, ok := errors.AsType[*jsonc.SyntaxError](err); ok {
		return fmt.Errorf(errBroken, ErrBroken, path, syntax.Line, syntax.Column, syntax.Message)
	}
	if doc.Root.Kind != jsonc.Object {
		return fmt.Errorf(errBroken, ErrBroken, path, 1, 1, "the file must hold an object, not "+doc.Root.Kind.String())
	}
	out, err := change(src)
	if err != nil {
		return fmt.Errorf("saving settings: %w", err)
	}
	if string(out) != string(src) {
		if err := atomicfile.WriteFile(path, out, 0o644); err != nil {
			return fmt.Errorf("saving settings: %w", err)
		}
	}
	return s.take(path, out)
}

// take makes the new content of a file count.
func (s *Settings) take(path string, content []byte) error {
	doc, err := jsonc.Parse(content)
	if err != nil { // cannot happen: the editor checks its result
		return fmt.Errorf("saving settings: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	for i, l := range s.layers {
		if l.path == path { // a new layer: values that are in use keep theirs
			s.layers[i] = &layer{path: path, project: l.project, doc: doc}
		}
	}
	s.merge()
	return nil
}
