package trust

import (
	"os"
	"path/filepath"
)

// The kinds of resources.
const (
	KindSettings   = "settings"
	KindExtensions = "extensions"
	KindSkills     = "skills"
	KindPrompts    = "prompts"
	KindSystem     = "systemPrompt"
)

// Resource is something of a project that counts only with trust.
type Resource struct {
	// Path is where it is.
	Path string `json:"path"`
	// Kind is one of the kinds above.
	Kind string `json:"kind"`
	// Flag is the flag that lets it count.
	Flag string `json:"flag"`
	// Name is the path as people see it: from the project's folder where it is in there.
	Name string `json:"-"`
}

// kinds returns what needs trust in a project's directory, by name. Themes and MCP
// servers of other programs are nothing that could count here.
func kinds() []struct{ name, kind string } {
	return []struct{ name, kind string }{
		{"settings.json", KindSettings},
		{"extensions", KindExtensions},
		{"skills", KindSkills},
		{"prompts", KindPrompts},
		{"SYSTEM.md", KindSystem},
		{"APPEND_SYSTEM.md", KindSystem},
	}
}

// find returns the project's resources that exist, in the order of their strength. An
// empty directory is none.
func find(o Options) []Resource {
	var out []Resource
	add := func(path, kind string) {
		if !something(path) {
			return
		}
		name := path
		if rel, err := filepath.Rel(o.Cwd, path); err == nil && filepath.IsLocal(rel) {
			name = rel
		}
		out = append(out, Resource{Path: path, Kind: kind, Flag: FlagApprove, Name: name})
	}
	for _, dir := range o.ProjectDirs {
		if !something(dir) {
			continue
		}
		for _, k := range kinds() {
			add(filepath.Join(dir, k.name), k.kind)
		}
	}
	for _, dir := range skillDirs(o) {
		add(dir, KindSkills)
	}
	return out
}

// skillDirs are the .agents/skills of the project, from its folder up to the top of its
// repository, but for the user's own.
func skillDirs(o Options) []string {
	var dirs []string
	own := ""
	if o.Home != "" {
		own = realPath(filepath.Join(o.Home, ".agents", "skills"))
	}
	for dir := filepath.Clean(o.Cwd); ; {
		skills := filepath.Join(dir, ".agents", "skills")
		if own == "" || !samePath(realPath(skills), own) {
			dirs = append(dirs, skills)
		}
		up := filepath.Dir(dir)
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || up == dir {
			return dirs
		}
		dir = up
	}
}

// something reports whether there is a file, or a directory with something in it.
func something(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		// what cannot be opened may be opened by somebody else later: it counts
		return !os.IsNotExist(err) && exists(path)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.IsDir() {
		return err == nil
	}
	names, _ := f.Readdirnames(1)
	return len(names) > 0
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
