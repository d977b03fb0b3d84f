package walk

import (
	"os"
	"path/filepath"
	"strings"
)

// Verdict is what a rule says about a path.
type Verdict uint8

// The verdicts of Options.Filter and of ignore files.
const (
	Undecided Verdict = iota
	Include
	Exclude
)

// rule is one line of an ignore file.
type rule struct {
	pattern  pattern
	verdict  Verdict
	dirOnly  bool
	anchored bool // matches the path below the file's directory, not a name
}

// Rules are the lines of one ignore file. The last line that matches decides. Lines
// that name a file or an ending are looked up, so that long files stay cheap.
type Rules struct {
	rules  []rule
	byName map[string][]int
	byExt  map[string][]int
	rest   []int
	paths  bool // some rule is anchored
}

// ParseRules reads an ignore file. Lines that are no patterns are left out, as git does.
func ParseRules(text string) *Rules {
	r := &Rules{}
	text = strings.TrimPrefix(text, "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		line = trimSpaces(strings.TrimSuffix(line, "\r"))
		if line == "" || line[0] == '#' {
			continue
		}
		rule, err := parseRule(line)
		if err != nil {
			continue
		}
		r.add(rule)
	}
	return r
}

// ParseFilter reads one pattern the way ripgrep's --glob does, braces included: the
// rules of an ignore file, but what matches is included, and with a leading "!"
// excluded.
func ParseFilter(glob string) (*Rules, error) {
	texts, err := expandBraces(glob)
	if err != nil {
		return nil, err
	}
	r := &Rules{}
	for _, text := range texts {
		if text == "" {
			continue
		}
		rule, err := parseRule(text)
		if err != nil {
			return nil, err
		}
		rule.verdict = Include + Exclude - rule.verdict
		r.add(rule)
	}
	return r, nil
}

// Includes reports whether some rule includes: then what no rule names is not wanted.
func (r *Rules) Includes() bool {
	for _, rule := range r.rules {
		if rule.verdict == Include {
			return true
		}
	}
	return false
}

func parseRule(line string) (rule, error) {
	r := rule{verdict: Exclude}
	switch {
	case line[0] == '!':
		r.verdict, line = Include, line[1:]
	case strings.HasPrefix(line, `\!`) || strings.HasPrefix(line, `\#`):
		line = line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly, line = true, line[:len(line)-1]
	}
	r.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	var err error
	if line == "" {
		return r, errSet
	}
	r.pattern, err = compile(line, false)
	return r, err
}

// trimSpaces removes spaces at the end of a line that are not quoted.
func trimSpaces(line string) string {
	for strings.HasSuffix(line, " ") {
		before := strings.TrimSuffix(line, " ")
		quotes := len(before) - len(strings.TrimRight(before, `\`))
		if quotes%2 == 1 {
			break
		}
		line = before
	}
	return line
}

func (r *Rules) add(rl rule) {
	i := len(r.rules)
	r.rules = append(r.rules, rl)
	p := &rl.pattern
	switch {
	case rl.anchored:
		r.paths = true
		r.rest = append(r.rest, i)
	case p.plain:
		if r.byName == nil {
			r.byName = make(map[string][]int)
		}
		r.byName[p.text] = append(r.byName[p.text], i)
	case p.isExtension():
		if r.byExt == nil {
			r.byExt = make(map[string][]int)
		}
		r.byExt[p.text] = append(r.byExt[p.text], i)
	default:
		r.rest = append(r.rest, i)
	}
}

// isExtension reports whether the pattern is "*.word".
func (p *pattern) isExtension() bool {
	if len(p.tokens) < 2 || p.tokens[0].op != opStar || len(p.text) < 2 || p.text[0] != '.' || strings.Contains(p.text[1:], ".") {
		return false
	}
	for _, t := range p.tokens[1:] {
		if t.op != opLiteral {
			return false
		}
	}
	return true
}

// Verdict returns what the rules say about a path below the directory of their file.
// name is its last element.
func (r *Rules) Verdict(path, name string, dir bool) Verdict {
	last := r.lookup(name, dir)
	for k := len(r.rest) - 1; k >= 0 && r.rest[k] > last; k-- {
		rl := &r.rules[r.rest[k]]
		if rl.dirOnly && !dir {
			continue
		}
		text := name
		if rl.anchored {
			text = path
		}
		if rl.pattern.match(text) {
			last = r.rest[k]
		}
	}
	if last < 0 {
		return Undecided
	}
	return r.rules[last].verdict
}

// lookup returns the last rule that names the file or its ending, -1 for none.
func (r *Rules) lookup(name string, dir bool) int {
	last := -1
	try := func(indexes []int) {
		for _, i := range indexes {
			if i > last && (dir || !r.rules[i].dirOnly) {
				last = i
			}
		}
	}
	if r.byName != nil {
		try(r.byName[name])
	}
	if r.byExt != nil {
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
			try(r.byExt[name[dot:]])
		}
	}
	return last
}

// level is what the ignore files of one directory say; its parent is the directory's.
type level struct {
	parent *level
	// A path below the walk's root is put before the rules as above+path[skip:].
	above   string
	skip    int
	ignore  *Rules // .ignore
	git     *Rules // .gitignore
	exclude *Rules // .git/info/exclude
	global  *Rules
	repo    bool // the top of a repository
}

func (l *level) path(path string) string {
	if l.above != "" {
		return l.above + path
	}
	return path[l.skip:]
}

func (l *level) ask(r *Rules, path, name string, dir bool) Verdict {
	if r == nil {
		return Undecided
	}
	if r.paths {
		path = l.path(path)
	}
	return r.Verdict(path, name, dir)
}

// verdict asks the files in ripgrep's order: .ignore of any directory before
// .gitignore of any, deeper ones first; what git says ends at the top of the
// repository.
func (l *level) verdict(path, name string, dir, git bool) Verdict {
	for at := l; at != nil; at = at.parent {
		if v := at.ask(at.ignore, path, name, dir); v != Undecided {
			return v
		}
	}
	if !git {
		return Undecided
	}
	for at := l; at != nil; at = at.parent {
		if v := at.ask(at.git, path, name, dir); v != Undecided {
			return v
		}
		if at.repo {
			if v := at.ask(at.exclude, path, name, dir); v != Undecided {
				return v
			}
			return at.ask(at.global, path, name, dir)
		}
	}
	return Undecided
}

// inRepo reports whether the directory is inside a repository.
func (l *level) inRepo() bool {
	for at := l; at != nil; at = at.parent {
		if at.repo {
			return true
		}
	}
	return false
}

// load fills the level from the files that exist in dir.
func (l *level) load(dir string, ignore, gitignore, repo bool, global *Rules) {
	if ignore {
		l.ignore = readRules(dir + "/.ignore")
	}
	if gitignore {
		l.git = readRules(dir + "/.gitignore")
	}
	if repo {
		l.repo, l.global = true, global
		l.exclude = readRules(dir + "/.git/info/exclude")
	}
}

// readRules returns the rules of a file, nil when there are none.
func readRules(name string) *Rules {
	const most = 1 << 20
	st, err := os.Stat(name)
	if err != nil || !st.Mode().IsRegular() || st.Size() > most {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	r := ParseRules(string(text))
	if len(r.rules) == 0 {
		return nil
	}
	return r
}

// ancestors returns the levels above root, which is absolute.
func ancestors(root string, global *Rules) *level {
	parent := filepath.Dir(root)
	if parent == root {
		return nil
	}
	above := filepath.ToSlash(root[len(parent):])
	l := &level{parent: ancestors(parent, global), above: strings.TrimPrefix(above, "/") + "/"}
	for at := l.parent; at != nil; at = at.parent {
		at.above += l.above
	}
	exists := func(name string) bool {
		_, err := os.Lstat(filepath.Join(parent, name))
		return err == nil
	}
	l.load(parent, exists(".ignore"), exists(".gitignore"), exists(".git"), global)
	return l
}
