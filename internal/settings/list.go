package settings

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonc"
)

// The kinds of resources that settings list.
const (
	Extensions = "extensions"
	Skills     = "skills"
	Prompts    = "prompts"
	Packages   = "packages"
)

// Text about a list of tools.
const (
	errMixed   = "tool names cannot be mixed with +name or -name entries"
	errPattern = "+name and -name entries take exact tool names, not patterns: %s"
)

// DefaultTools applies defaultTools to the built-in default: a list with plain names
// replaces it, +name adds a tool, -name removes one; the project's list works on the
// user's result.
func (s *Settings) DefaultTools(builtin []string) []string {
	var entries []string
	set := false
	for _, l := range s.snapshot() { // the weakest layer first
		v := l.doc.Root.Get("defaultTools")
		if v == nil || v.Kind == jsonc.Null {
			continue
		}
		list := s.textsOf(&node{value: v, from: l}, "defaultTools")
		if v.Kind != jsonc.Array {
			continue
		}
		if !set || !changesOnly(list) || len(list) == 0 {
			entries = list
		} else {
			entries = append(slices.Clone(entries), list...)
		}
		set = true
	}
	if !set {
		return slices.Clone(builtin)
	}
	plain := slices.DeleteFunc(slices.Clone(entries), isChange)
	if len(plain) == 0 && len(entries) > 0 {
		plain = builtin
	}
	return ApplyToolChanges(plain, entries)
}

// ApplyToolChanges applies the +name and -name entries to a selection of tools, in
// order; other entries count for nothing.
func ApplyToolChanges(base, entries []string) []string {
	out := slices.Clone(base)
	for _, e := range entries {
		if !isChange(e) {
			continue
		}
		name := e[1:]
		at := slices.Index(out, name)
		if e[0] == '+' && at < 0 && name != "" {
			out = append(out, name)
		} else if e[0] == '-' && at >= 0 {
			out = slices.Delete(out, at, at+1)
		}
	}
	return out
}

// CheckToolList reports what is wrong with the list of --tools: it has either plain
// names and patterns, or only +name and -name entries with exact names.
func CheckToolList(entries []string) error {
	if !slices.ContainsFunc(entries, isChange) {
		return nil
	}
	if !changesOnly(entries) {
		return errors.New(errMixed)
	}
	for _, e := range entries {
		if strings.Contains(e, "*") {
			return fmt.Errorf(errPattern, e)
		}
	}
	return nil
}

func isChange(entry string) bool {
	return strings.HasPrefix(entry, "+") || strings.HasPrefix(entry, "-")
}

func changesOnly(entries []string) bool {
	return !slices.ContainsFunc(entries, func(e string) bool { return !isChange(e) })
}

// Resource is what one file lists of a kind.
type Resource struct {
	Entries []string // paths and !, +, - patterns, as they stand
	BaseDir string   // where relative ones start: the file's directory
	Project bool
}

// Resources returns what each file lists of a kind, the strongest first: lists are
// added up, not replaced. Entries that are objects (of packages) give their source.
func (s *Settings) Resources(kind string) []Resource {
	var out []Resource
	for _, l := range slices.Backward(s.snapshot()) {
		v := l.doc.Root.Get(kind)
		if v != nil && v.Kind == jsonc.Object {
			switch kind {
			case Skills:
				v = v.Get("customDirectories") // its old form
			case Extensions:
				v = v.Get("paths")
			}
		}
		if v == nil || v.Kind == jsonc.Null {
			continue
		}
		if kind == Packages && v.Kind == jsonc.Array {
			v = sources(v)
		}
		if list := s.textsOf(&node{value: v, from: l}, kind); len(list) > 0 {
			out = append(out, Resource{Entries: list, BaseDir: filepath.Dir(l.path), Project: l.project})
		}
	}
	return out
}

// sources replaces objects by their source.
func sources(v *jsonc.Value) *jsonc.Value {
	out := *v
	out.Elems = make([]*jsonc.Value, len(v.Elems))
	for i, e := range v.Elems {
		if src := e.Get("source"); src != nil {
			e = src
		}
		out.Elems[i] = e
	}
	return &out
}

// snapshot returns the files that could be read, the weakest first.
func (s *Settings) snapshot() []*layer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	var out []*layer
	for _, l := range slices.Backward(s.layers) {
		if l.doc != nil {
			out = append(out, l)
		}
	}
	return out
}
