package walk

import (
	"strings"
	"sync"
)

// Glob is a compiled glob: ? and * stop at slashes, "**" between slashes does not,
// [...] is a set, {a,b} are alternatives, a backslash quotes. Nothing is special
// about names that begin with a dot.
type Glob struct{ alternatives []pattern }

// ParseGlob compiles a glob; with fold, case does not matter. The error says what is
// wrong in the words of "error parsing glob".
func ParseGlob(text string, fold bool) (*Glob, error) {
	texts, err := expandBraces(text)
	if err != nil {
		return nil, err
	}
	g := &Glob{}
	for _, t := range texts {
		p, err := compile(t, fold)
		if err != nil {
			return nil, err
		}
		g.alternatives = append(g.alternatives, p)
	}
	return g, nil
}

// Match reports whether the glob matches the whole path, whose separators are slashes.
func (g *Glob) Match(path string) bool {
	for i := range g.alternatives {
		if g.alternatives[i].match(path) {
			return true
		}
	}
	return false
}

// MayContain reports whether a path below dir can match: false lets a walk leave the
// directory out. It errs on the side of true.
func (g *Glob) MayContain(dir string) bool {
	for i := range g.alternatives {
		if g.alternatives[i].mayContain(dir) {
			return true
		}
	}
	return false
}

// mayContain compares element by element up to the first one that is not literal.
func (p *pattern) mayContain(dir string) bool {
	if p.fold {
		return true
	}
	var lit strings.Builder
	for _, t := range p.tokens {
		if t.op != opLiteral {
			break
		}
		lit.WriteRune(t.r)
	}
	prefix := lit.String()
	prefix = prefix[:strings.LastIndexByte(prefix, '/')+1]
	dir += "/"
	return strings.HasPrefix(dir, prefix) || strings.HasPrefix(prefix, dir)
}

// classes are the named sets of POSIX, for ASCII.
var classes = sync.OnceValue(func() map[string][]rune {
	return map[string][]rune{
		"alnum": {'0', '9', 'A', 'Z', 'a', 'z'}, "alpha": {'A', 'Z', 'a', 'z'}, "blank": {' ', ' ', '\t', '\t'},
		"cntrl": {0, 31, 127, 127}, "digit": {'0', '9'}, "graph": {33, 126}, "lower": {'a', 'z'}, "print": {32, 126},
		"punct": {33, 47, 58, 64, 91, 96, 123, 126}, "space": {' ', ' ', '\t', '\r'}, "upper": {'A', 'Z'},
		"xdigit": {'0', '9', 'A', 'F', 'a', 'f'},
	}
})
