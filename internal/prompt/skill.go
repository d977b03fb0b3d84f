package prompt

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/isotope-agent/isotope/internal/frontmatter"
	"github.com/isotope-agent/isotope/internal/walk"
)

// skillFile is the file that makes its folder a skill.
const skillFile = "SKILL.md"

// The limits of a skill's head; beyond them there is a warning.
const (
	maxSkillName        = 64
	maxSkillDescription = 1024
)

// Skill is a set of instructions that the model loads, or the user invokes.
type Skill struct {
	Name        string
	Description string
	Path        string // of its file
	Manual      bool   // only the user invokes it (disable-model-invocation)
	Info        SourceInfo
}

// selector is the name that means this one of several skills of its name.
func (s Skill) selector() string { return s.Name + "@" + s.Info.location() }

func (f *finder) findSkills() {
	seen := map[string]bool{}
	for _, p := range f.places("skills", f.opt.Skills, f.opt.SkillPaths, f.opt.NoSkills) {
		switch {
		case isDir(p.path):
			w := skillWalk{place: p, finder: f, visited: map[string]bool{}}
			w.dir(p.path, "", nil, !p.flat)
			for _, file := range w.found {
				f.skill(file, p.info, seen)
			}
		case !exists(p.path):
			if p.listed {
				f.note(diagNoSkillPath, p.path)
			}
		case strings.HasSuffix(p.path, ".md"):
			f.skill(p.path, p.info, seen)
		default:
			f.note(diagNotMarkdown, p.path)
		}
	}
}

// skillWalk looks for skills below a directory.
type skillWalk struct {
	place   place
	finder  *finder
	visited map[string]bool // real directories, as links are followed
	found   []string
}

// ignoring is one directory's ignore files; prefix is the directory below the root.
type ignoring struct {
	prefix string
	rules  *walk.Rules
}

// dir takes a folder with a SKILL.md as one skill; of any other, the single files when
// they count here, and the folders below.
func (w *skillWalk) dir(dir, rel string, rules []ignoring, files bool) {
	if at := realPath(dir); w.visited[at] {
		return
	} else {
		w.visited[at] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	rules = withIgnoreFiles(rules, dir, rel)
	if path := filepath.Join(dir, skillFile); isFile(path) && !ignored(rules, join(rel, skillFile), skillFile, false) {
		w.take(path)
		return
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || name == "node_modules" {
			continue
		}
		path := filepath.Join(dir, name)
		isFolder := isDir(path)
		if ignored(rules, join(rel, name), name, isFolder) {
			continue
		}
		if isFolder {
			w.dir(path, join(rel, name), rules, false)
		} else if files && strings.HasSuffix(name, ".md") && isFile(path) {
			w.take(path)
		}
	}
}

func (w *skillWalk) take(path string) {
	if w.place.enabled(path) {
		w.found = append(w.found, path)
	}
}

func join(rel, name string) string {
	if rel == "" {
		return name
	}
	return rel + "/" + name
}

func withIgnoreFiles(rules []ignoring, dir, rel string) []ignoring {
	for _, name := range []string{".gitignore", ".ignore", ".fdignore"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			rules = append(slices.Clip(rules), ignoring{rel, walk.ParseRules(string(data))})
		}
	}
	return rules
}

// ignored asks the ignore files from the nearest up; the first that decides counts.
func ignored(rules []ignoring, path, name string, dir bool) bool {
	for _, r := range slices.Backward(rules) {
		below := path
		if r.prefix != "" {
			below = strings.TrimPrefix(path, r.prefix+"/")
		}
		if v := r.rules.Verdict(below, name, dir); v != walk.Undecided {
			return v == walk.Exclude
		}
	}
	return false
}

// skill reads a file's head. A file that is no SKILL.md and has no description is no
// skill; a SKILL.md without one is a fault.
func (f *finder) skill(path string, info SourceInfo, seen map[string]bool) {
	at := realPath(path)
	if seen[at] {
		return
	}
	declared := filepath.Base(path) == skillFile
	data, err := os.ReadFile(path)
	if err != nil {
		f.note(diagFile, path, reason(err))
		return
	}
	head, _, err := frontmatter.Parse(string(data))
	if err != nil {
		if declared {
			f.note(diagFile, path, err)
		}
		return
	}
	info.Path = path
	s := Skill{
		Name: head.Text("name"), Description: head.Text("description"), Path: path,
		Manual: head.Flag("disable-model-invocation"), Info: info,
	}
	missing := strings.TrimSpace(s.Description) == ""
	if missing && !declared {
		return
	}
	if s.Name == "" {
		s.Name = filepath.Base(filepath.Dir(path))
	}
	for _, problem := range skillProblems(s) {
		f.note(diagFile, path, problem)
	}
	if missing {
		return
	}
	seen[at] = true
	f.out.all = append(f.out.all, s)
	if i := slices.IndexFunc(f.out.skills, func(o Skill) bool { return o.Name == s.Name }); i >= 0 {
		f.note(diagCollision, "skill", s.Name, path, f.out.skills[i].Path)
		return
	}
	f.out.skills = append(f.out.skills, s)
}

// skillProblems returns what is wrong with a skill's head.
func skillProblems(s Skill) []string {
	var out []string
	if n := utf8.RuneCountInString(s.Description); strings.TrimSpace(s.Description) == "" {
		out = append(out, "description is required")
	} else if n > maxSkillDescription {
		out = append(out, fmt.Sprintf("description exceeds %d characters (%d)", maxSkillDescription, n))
	}
	if n := utf8.RuneCountInString(s.Name); n > maxSkillName {
		out = append(out, fmt.Sprintf("name exceeds %d characters (%d)", maxSkillName, n))
	}
	if s.Name == "" || strings.Trim(s.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		out = append(out, "name contains invalid characters (must be lowercase a-z, 0-9, hyphens only)")
	}
	if strings.HasPrefix(s.Name, "-") || strings.HasSuffix(s.Name, "-") {
		out = append(out, "name must not start or end with a hyphen")
	}
	if strings.Contains(s.Name, "--") {
		out = append(out, "name must not contain consecutive hyphens")
	}
	return out
}
