package prompt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/isotope-agent/isotope/internal/frontmatter"
)

// Texts about skills and templates.
const (
	diagNoSkillPath    = "Skill path does not exist: %s"
	diagNoTemplatePath = "Prompt template path does not exist: %s"
	diagNotMarkdown    = "skill path is not a markdown file: %s"
	diagCollision      = "%s %q of %s is hidden by that of %s"
	diagFile           = "%s: %s"
	errSkillFile       = "reading skill %s: %s"
)

// skillPrefix starts the name of a skill's command.
const skillPrefix = "skill:"

// LibraryOptions say where skills and templates are.
type LibraryOptions struct {
	// AgentDirs are the user's directories, the strongest first; "skills" and "prompts"
	// in them are looked into. So is ".agents/skills" of Home.
	AgentDirs []string
	Home      string
	// ProjectDirs are the project's own directories, the strongest first. They and the
	// ".agents/skills" from Cwd up to the top of its repository count only when Trusted.
	ProjectDirs []string
	Cwd         string
	Trusted     bool
	// Skills and Templates are what settings files list, the strongest first.
	Skills, Templates []Listed
	// SkillPaths and TemplatePaths are --skill and --prompt-template.
	SkillPaths, TemplatePaths []string
	// NoSkills and NoTemplates leave out everything but the paths of the command line.
	NoSkills, NoTemplates bool
	// NoSkillCommands takes skills out of the commands (enableSkillCommands false).
	NoSkillCommands bool
}

// Listed is what one settings file lists: paths, and patterns that leave out (!glob,
// -path) or bring back (+path) what is found.
type Listed struct {
	Entries []string
	BaseDir string
	Project bool
}

// Library is the skills and templates there are. Nothing is read before the first
// question. See the package comment.
type Library struct {
	opt LibraryOptions

	mu   sync.Mutex
	once *contents
}

// contents is what was found.
type contents struct {
	templates   []Template
	skills      []Skill // winners by name
	all         []Skill // losers too, in order
	diagnostics []string
}

// NewLibrary returns a Library. It reads nothing yet.
func NewLibrary(opt LibraryOptions) *Library { return &Library{opt: opt} }

// Reload forgets what was found.
func (l *Library) Reload() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.once = nil
}

func (l *Library) load() *contents {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.once == nil {
		f := finder{opt: l.opt, out: &contents{}}
		f.findTemplates()
		f.findSkills()
		l.once = f.out
	}
	return l.once
}

// Diagnostics returns what is wrong with skills and templates.
func (l *Library) Diagnostics() []string { return slices.Clone(l.load().diagnostics) }

// Skills returns the skills, each name once.
func (l *Library) Skills() []Skill { return slices.Clone(l.load().skills) }

// Commands returns what a text can start with: templates, then skills.
func (l *Library) Commands() []Command {
	c := l.load()
	commands := []Command{}
	for _, t := range c.templates {
		commands = append(commands, command(t.Name, t.Description, SourcePrompt, t.Info))
	}
	if l.opt.NoSkillCommands {
		return commands
	}
	for _, s := range c.skills {
		commands = append(commands, command(skillPrefix+s.Name, s.Description, SourceSkill, s.Info))
		for _, q := range c.qualified(s.Name) {
			commands = append(commands, command(skillPrefix+q.selector(), q.Description, SourceSkill, q.Info))
		}
	}
	return commands
}

// qualified returns all skills of a name when there are several, one for each scope.
func (c *contents) qualified(name string) []Skill {
	var out []Skill
	count := 0
	for _, s := range c.all {
		if s.Name != name {
			continue
		}
		count++
		if !slices.ContainsFunc(out, func(o Skill) bool { return o.selector() == s.selector() }) {
			out = append(out, s)
		}
	}
	if count < 2 {
		return nil
	}
	return out
}

// Expand replaces "/skill:name args" and "/template args" by what they stand for. Any
// other text, also one with an unknown name, is returned as it is. With an error, the
// text is returned, too: the skill's file cannot be read.
func (l *Library) Expand(text string) (string, error) {
	name, args, ok := cutName(text)
	if !ok {
		return text, nil
	}
	if selector, isSkill := strings.CutPrefix(name, skillPrefix); isSkill {
		return l.expandSkill(text, selector, strings.TrimSpace(args))
	}
	for _, t := range l.load().templates {
		if t.Name == name {
			return Substitute(t.Body, ParseArgs(args)), nil
		}
	}
	return text, nil
}

func (l *Library) expandSkill(text, selector, args string) (string, error) {
	c := l.load()
	i := slices.IndexFunc(c.skills, func(s Skill) bool { return s.Name == selector })
	found := Skill{}
	if i >= 0 {
		found = c.skills[i]
	} else if i = slices.IndexFunc(c.all, func(s Skill) bool { return s.selector() == selector }); i >= 0 {
		found = c.all[i]
	} else {
		return text, nil
	}
	data, err := os.ReadFile(found.Path)
	if err != nil {
		return text, fmt.Errorf(errSkillFile, found.Path, reason(err))
	}
	_, body, err := frontmatter.Parse(string(data))
	if err != nil {
		return text, fmt.Errorf(errSkillFile, found.Path, err)
	}
	out := `<skill name="` + selector + `" location="` + found.Path + "\">\nReferences are relative to " + filepath.Dir(found.Path) +
		".\n\n" + strings.TrimSpace(body) + "\n</skill>"
	if args != "" {
		out += "\n\n" + args
	}
	return out, nil
}

// finder collects resources in the order of their strength.
type finder struct {
	opt LibraryOptions
	out *contents
}

func (f *finder) note(format string, args ...any) {
	f.out.diagnostics = append(f.out.diagnostics, fmt.Sprintf(format, args...))
}

// place is a directory or file to look into, and what is said of what is found there.
type place struct {
	path   string
	info   SourceInfo // Path is filled in for each resource
	rules  []Listed   // settings that can leave things out
	flat   bool       // in .agents: no single files
	listed bool       // named by somebody: that it is missing is worth a word
}

// places returns where to look for a kind ("skills", "prompts"), the strongest first.
func (f *finder) places(kind string, listed []Listed, cli []string, none bool) []place {
	var out []place
	add := func(project bool, dirs []string) {
		scope, rules := ScopeUser, []Listed{}
		if project {
			scope = ScopeProject
		}
		for _, l := range listed {
			if l.Project == project {
				rules = append(rules, l)
			}
		}
		for _, l := range rules {
			for _, entry := range l.Entries {
				if entry != "" && !strings.ContainsRune("!+-", rune(entry[0])) {
					info := SourceInfo{Source: fromLocal, Scope: scope, Origin: originTop}
					out = append(out, place{path: f.resolve(entry, l.BaseDir), info: info, rules: rules, listed: true})
				}
			}
		}
		for _, dir := range dirs {
			info := SourceInfo{Source: fromAuto, Scope: scope, Origin: originTop, BaseDir: dir}
			out = append(out, place{path: filepath.Join(dir, kind), info: info, rules: rules, flat: filepath.Base(dir) == ".agents"})
		}
	}
	if !none {
		if f.opt.Trusted {
			add(true, slices.Concat(f.opt.ProjectDirs, f.agentsDirs(kind)))
		}
		user := slices.Clone(f.opt.AgentDirs)
		if kind == "skills" && f.opt.Home != "" {
			user = append(user, filepath.Join(f.opt.Home, ".agents"))
		}
		add(false, user)
	}
	for _, path := range cli {
		path = f.resolve(path, f.opt.Cwd)
		base := path
		if !isDir(path) {
			base = filepath.Dir(path)
		}
		out = append(out, place{path: path, info: SourceInfo{Source: fromLocal, Scope: ScopeTemporary, Origin: originTop, BaseDir: base}, listed: true})
	}
	return out
}

// agentsDirs returns the ".agents" directories of the project: from the working
// folder up to the top of its repository. The user's own is not one of them.
func (f *finder) agentsDirs(kind string) []string {
	if kind != "skills" {
		return nil
	}
	var dirs []string
	for dir := f.opt.Cwd; ; {
		if agents := filepath.Join(dir, ".agents"); f.opt.Home == "" || agents != filepath.Join(f.opt.Home, ".agents") {
			dirs = append(dirs, agents)
		}
		up := filepath.Dir(dir)
		if up == dir || exists(filepath.Join(dir, ".git")) {
			return dirs
		}
		dir = up
	}
}

func (f *finder) resolve(path, base string) string {
	path = strings.TrimSpace(path)
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(f.opt.Home, rest)
	}
	return under(base, path)
}

// enabled applies the patterns of settings to a file: ! and - leave it out, + brings
// it back.
func (p place) enabled(file string) bool {
	on := true
	for _, l := range p.rules {
		for _, entry := range l.Entries {
			if entry == "" {
				continue
			}
			switch entry[0] {
			case '!':
				if matches(entry[1:], file, l.BaseDir) {
					on = false
				}
			case '+':
				if exactly(entry[1:], file, l.BaseDir) {
					on = true
				}
			case '-':
				if exactly(entry[1:], file, l.BaseDir) {
					on = false
				}
			}
		}
	}
	return on
}

// names returns the paths by which a setting can mean a file: its own and, for a
// SKILL.md, its folder's.
func names(file string) []string {
	if filepath.Base(file) == skillFile {
		return []string{file, filepath.Dir(file)}
	}
	return []string{file}
}

func exactly(path, file, base string) bool {
	return slices.Contains(names(file), under(base, path))
}

func matches(glob, file, base string) bool {
	for _, name := range names(file) {
		forms := []string{filepath.ToSlash(name), filepath.Base(name)}
		if rel, err := filepath.Rel(base, name); err == nil {
			forms = append(forms, filepath.ToSlash(rel))
		}
		for _, form := range forms {
			if ok, err := doublestar.Match(glob, form); ok && err == nil {
				return true
			}
		}
	}
	return false
}

func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}
