package ext

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// A Source says where an extension comes from, in the words of the protocol's
// sourceInfo.
type Source struct {
	Path    string `json:"path"`
	From    string `json:"source"` // "cli", "local", or the package's source
	Scope   string `json:"scope"`  // "user", "project" or "temporary"
	Origin  string `json:"origin"` // "top-level" or "package"
	BaseDir string `json:"baseDir,omitzero"`
}

// Places are where extensions are looked for.
type Places struct {
	Explicit []string // -e, in order; relative to Cwd
	Cwd      string
	Home     string
	// AgentDirs and ProjectDirs are dot directories with a folder extensions, in order
	// of precedence. ProjectDirs is empty without trust.
	AgentDirs   []string
	ProjectDirs []string
	// Settings are the lists "extensions" of the settings, project first; entries of
	// projects that are not trusted are left out by the caller.
	Settings []Listed
	// Packages are folders of installed packages, with their source.
	Packages []Listed
	// Only leaves everything but Explicit out (--no-extensions).
	Only bool
}

// Listed is a list of paths as a file has them.
type Listed struct {
	Paths   []string
	BaseDir string // where relative paths start
	Project bool
	From    string // the source of a package; "" for settings
}

// Discover returns the extensions in the order in which they are loaded: of the project,
// of the user, of settings, of packages, and those named on the command line. One that is found twice
// is loaded once. What was named but is not there is returned too: loading it fails
// with a clear error.
func Discover(p Places) []Source {
	var out []Source
	seen := map[string]bool{}
	add := func(s Source) {
		key := s.Path
		if real, err := filepath.EvalSymlinks(s.Path); err == nil {
			key = real
		}
		if !seen[key] {
			seen[key] = true
			out = append(out, s)
		}
	}
	if !p.Only {
		for _, dirs := range []struct {
			list  []string
			scope string
		}{{p.ProjectDirs, "project"}, {p.AgentDirs, "user"}} {
			for _, dir := range dirs.list {
				folder := filepath.Join(dir, "extensions")
				for _, path := range inFolder(folder) {
					add(Source{Path: path, From: "local", Scope: dirs.scope, Origin: "top-level", BaseDir: folder})
				}
			}
		}
		for _, l := range p.Settings {
			for _, path := range selected(l, p.Home) {
				add(Source{Path: path, From: "local", Scope: scope(l), Origin: "top-level", BaseDir: l.BaseDir})
			}
		}
		for _, l := range p.Packages {
			for _, dir := range l.Paths {
				for _, path := range inPackage(absolute(dir, l.BaseDir, p.Home)) {
					add(Source{Path: path, From: l.From, Scope: scope(l), Origin: "package", BaseDir: dir})
				}
			}
		}
	}
	for _, e := range p.Explicit {
		for _, path := range expand(absolute(e, p.Cwd, p.Home)) {
			add(Source{Path: path, From: "cli", Scope: "temporary", Origin: "top-level"})
		}
	}
	return out
}

func scope(l Listed) string {
	if l.Project {
		return "project"
	}
	return "user"
}

// selected returns the paths of a list; "-" and "!" in front take one out again.
func selected(l Listed, home string) []string {
	var out []string
	for _, e := range l.Paths {
		if strings.HasPrefix(e, "builtin:") {
			continue
		}
		drop := strings.HasPrefix(e, "-") || strings.HasPrefix(e, "!")
		paths := expand(absolute(strings.TrimLeft(e, "+-!"), l.BaseDir, home))
		if drop {
			out = slices.DeleteFunc(out, func(o string) bool { return slices.Contains(paths, o) })
			continue
		}
		out = append(out, paths...)
	}
	return out
}

func absolute(p, base, home string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		p = filepath.Join(home, strings.TrimPrefix(p[1:], "/"))
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(base, p)
	}
	return filepath.Clean(p)
}

// expand returns what a named path stands for: a file, a folder with an index or a
// manifest, or a folder of extensions. A path that is not there stands for itself.
func expand(path string) []string {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() {
		return []string{path}
	}
	if entries := inPackage(path); len(entries) > 0 {
		return entries
	}
	if list := inFolder(path); len(list) > 0 {
		return list
	}
	return []string{path}
}

// inFolder returns the extensions of a folder, one level deep, in order of their names.
func inFolder(dir string) []string {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, d := range list {
		path := filepath.Join(dir, d.Name())
		if strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" {
			continue
		}
		st, err := os.Stat(path)
		switch {
		case err != nil:
		case st.IsDir():
			out = append(out, inPackage(path)...)
		case isScript(d.Name()):
			out = append(out, path)
		}
	}
	return out
}

func isScript(name string) bool {
	if strings.HasSuffix(name, ".d.ts") {
		return false
	}
	return slices.Contains([]string{".ts", ".js", ".mts", ".mjs", ".cts", ".cjs"}, filepath.Ext(name))
}

// inPackage returns the entry points of a folder: those of its manifest, else its index.
func inPackage(dir string) []string {
	type list struct {
		Extensions []string `json:"extensions"`
	}
	var m struct {
		Isotope *list `json:"isotope"`
		Atomic  *list `json:"atomic"`
		Pi      *list `json:"pi"`
	}
	if data, err := os.ReadFile(filepath.Join(dir, "package.json")); err == nil && jsonx.Unmarshal(data, &m) == nil {
		for _, l := range []*list{m.Isotope, m.Atomic, m.Pi} {
			if l == nil || len(l.Extensions) == 0 {
				continue
			}
			var out []string
			for _, e := range l.Extensions {
				out = append(out, manifestEntry(filepath.Join(dir, filepath.FromSlash(e)))...)
			}
			return out
		}
	}
	for _, name := range []string{"index.ts", "index.js", "index.mts", "index.mjs"} {
		if st, err := os.Stat(filepath.Join(dir, name)); err == nil && !st.IsDir() {
			return []string{filepath.Join(dir, name)}
		}
	}
	return nil
}

// manifestEntry is a file, a folder with an index, or a folder of files.
func manifestEntry(path string) []string {
	st, err := os.Stat(path)
	if err != nil || !st.IsDir() {
		return []string{path}
	}
	for _, name := range []string{"index.ts", "index.js"} {
		if st, err := os.Stat(filepath.Join(path, name)); err == nil && !st.IsDir() {
			return []string{filepath.Join(path, name)}
		}
	}
	return inFolder(path)
}
