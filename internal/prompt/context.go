package prompt

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Texts of warnings about prompt files.
const warnUnreadable = "Warning: Could not read %s: %s"

// Names of the files that replace and extend the system prompt.
const (
	systemFile = "SYSTEM.md"
	appendFile = "APPEND_SYSTEM.md"
)

// contextNames are the names of context files; of each directory the first that is
// there counts.
func contextNames() []string {
	return []string{"AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"}
}

// Sources says where the texts of a system prompt come from.
type Sources struct {
	// AgentDirs are the user's directories, the strongest first.
	AgentDirs []string
	// ProjectDirs are the project's own directories (".pi"), the strongest first; none
	// when the project is not trusted.
	ProjectDirs []string
	Cwd         string
	// System is --system-prompt, Append are --append-system-prompt: text, or the path of
	// a file. "" and nil: SYSTEM.md and APPEND_SYSTEM.md of the directories.
	System string
	Append []string
	// NoContext leaves context files out (--no-context-files).
	NoContext bool
}

// Texts are what Sources led to.
type Texts struct {
	Custom   string
	Append   []string
	Context  []File
	Warnings []string // for stderr
}

// Load reads the files.
func (s Sources) Load() Texts {
	var t Texts
	dirs := slices.Concat(s.ProjectDirs, s.AgentDirs)
	if s.System != "" {
		t.Custom = t.textOrFile(s.System, s.Cwd)
	} else if path := find(dirs, systemFile); path != "" {
		t.Custom = t.read(path)
	}
	if len(s.Append) > 0 {
		for _, a := range s.Append {
			if text := t.textOrFile(a, s.Cwd); text != "" {
				t.Append = append(t.Append, text)
			}
		}
	} else if path := find(dirs, appendFile); path != "" {
		if text := t.read(path); text != "" {
			t.Append = []string{text}
		}
	}
	if !s.NoContext {
		t.context(s)
	}
	return t
}

// textOrFile returns the content of the file that arg names, else arg itself.
func (t *Texts) textOrFile(arg, cwd string) string {
	path := arg
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	// A text with a line break or a NUL names no file; asking would only cost.
	if strings.ContainsAny(arg, "\n\x00") || !isFile(path) {
		return arg
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.warn(path, err)
		return arg
	}
	return clean(data)
}

func (t *Texts) read(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		t.warn(path, err)
		return ""
	}
	return clean(data)
}

func (t *Texts) warn(path string, err error) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(warnUnreadable, path, reason(err)))
}

// context collects the context files: the user's, the weakest layer first, then those
// from the root of the file system down to the working folder.
func (t *Texts) context(s Sources) {
	var dirs []string
	for d := s.Cwd; ; {
		dirs = append(dirs, d)
		up := filepath.Dir(d)
		if up == d {
			break
		}
		d = up
	}
	dirs = append(dirs, s.AgentDirs...)
	slices.Reverse(dirs) // the weakest agent layer, …, the strongest, then the root, …, the folder
	shadowed := shadowedFile(s.Cwd)
	seen := map[string]bool{}
	for _, dir := range dirs {
		for _, name := range contextNames() {
			path := filepath.Join(dir, name)
			if !isFile(path) {
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.warn(path, err)
				continue
			}
			if !seen[path] && (shadowed == "" || realPath(dir) != filepath.Dir(shadowed) || name != filepath.Base(shadowed)) {
				seen[path] = true
				t.Context = append(t.Context, File{Path: path, Content: clean(data)})
			}
			break
		}
	}
}

// shadowedFile returns the context file of a main checkout that has the worktree of
// cwd inside it: the worktree has its own copy, and one is enough. "" for none.
func shadowedFile(cwd string) string {
	root := cwd
	for !exists(filepath.Join(root, ".git")) {
		up := filepath.Dir(root)
		if up == root {
			return ""
		}
		root = up
	}
	dot := filepath.Join(root, ".git")
	if !isFile(dot) {
		return "" // an ordinary checkout
	}
	link, err := os.ReadFile(dot)
	gitDir, ok := strings.CutPrefix(strings.TrimSpace(string(link)), "gitdir: ")
	if err != nil || !ok {
		return ""
	}
	gitDir = under(root, gitDir)
	common, err := os.ReadFile(filepath.Join(gitDir, "commondir"))
	if err != nil {
		return "" // a submodule
	}
	commonDir := realPath(under(gitDir, strings.TrimSpace(string(common))))
	main, worktree := filepath.Dir(commonDir), realPath(root)
	rel, err := filepath.Rel(main, worktree)
	if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return ""
	}
	if realPath(filepath.Join(main, ".git")) != commonDir {
		return "" // a bare repository's folder, which has no files of its own
	}
	for _, name := range contextNames() {
		if isFile(filepath.Join(root, name)) {
			return filepath.Join(main, name)
		}
	}
	return ""
}

func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func find(dirs []string, name string) string {
	for _, d := range dirs {
		if path := filepath.Join(d, name); isFile(path) {
			return path
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// realPath returns the path without symbolic links, or the path itself.
func realPath(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return filepath.Clean(path)
}

func clean(data []byte) string { return strings.TrimPrefix(string(data), "\ufeff") }
