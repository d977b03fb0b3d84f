package walk

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern is a compiled glob over slash-separated paths: ? and * stop at slashes,
// "**" that stands alone between slashes does not, [...] is a set, a backslash
// quotes. No pattern takes more than the product of its length and the path's.
type pattern struct {
	tokens []token
	fold   bool
	text   string // what a pattern of literals only matches
	plain  bool
}

type op uint8

const (
	opLiteral op = iota
	opAny        // ?
	opSet        // [...]
	opStar       // *
	opDeep       // ** at the end: the rest of the path
	opDirs       // **/: any number of directories
)

type token struct {
	op  op
	r   rune
	set *set
}

type set struct {
	negated bool
	ranges  []rune // pairs: first, last
}

var (
	errSet    = errors.New("unclosed character class; missing ']'")
	errEscape = errors.New("dangling '\\'")
	errBrace  = errors.New("unclosed alternate group; missing '}'")
	errBraces = errors.New("too many alternatives")
)

// compile reads a pattern without braces.
func compile(text string, fold bool) (pattern, error) {
	p := pattern{fold: fold, plain: !fold}
	var lit strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch r {
		case '\\':
			if i++; i >= len(text) {
				return p, errEscape
			}
			r, n = utf8.DecodeRuneInString(text[i:])
			p.tokens = append(p.tokens, token{op: opLiteral, r: r})
			lit.WriteString(text[i : i+n])
		case '?':
			p.tokens = append(p.tokens, token{op: opAny})
			p.plain = false
		case '*':
			n = p.compileStars(text, i)
			p.plain = false
		case '[':
			s, end := compileSet(text, i)
			if end < 0 {
				return p, errSet
			}
			p.tokens = append(p.tokens, token{op: opSet, set: s})
			n = end - i
			p.plain = false
		default:
			p.tokens = append(p.tokens, token{op: opLiteral, r: r})
			lit.WriteString(text[i : i+n])
		}
		i += n
	}
	if fold {
		for i := range p.tokens {
			p.tokens[i].r = unicode.ToLower(p.tokens[i].r)
		}
	}
	p.text = lit.String()
	return p, nil
}

// compileStars adds the token of the stars at text[i] and returns how much of text
// it stands for.
func (p *pattern) compileStars(text string, i int) int {
	n := 1
	for i+n < len(text) && text[i+n] == '*' {
		n++
	}
	free := n > 1 && (i == 0 || text[i-1] == '/')
	switch rest := text[i+n:]; {
	case free && strings.HasPrefix(rest, "/"):
		n++
		if k := len(p.tokens); k == 0 || p.tokens[k-1].op != opDirs {
			p.tokens = append(p.tokens, token{op: opDirs})
		}
	case free && (rest == "" || strings.HasPrefix(rest, `\/`)):
		p.tokens = append(p.tokens, token{op: opDeep})
	default:
		p.tokens = append(p.tokens, token{op: opStar})
	}
	return n
}

// compileSet reads the set at text[i] and returns it with the index behind its end,
// -1 when it has none.
func compileSet(text string, i int) (*set, int) {
	s := &set{}
	i++
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		s.negated = true
		i++
	}
	for first := true; i < len(text); first = false {
		if text[i] == ']' && !first {
			return s, i + 1
		}
		if strings.HasPrefix(text[i:], "[:") {
			if end := strings.Index(text[i:], ":]"); end > 1 {
				ranges, ok := classes()[text[i+2:i+end]]
				if !ok {
					return nil, -1
				}
				s.ranges = append(s.ranges, ranges...)
				i += end + 2
				continue
			}
		}
		low, n := setRune(text, i)
		if n == 0 {
			return nil, -1
		}
		i += n
		high := low
		if i+1 < len(text) && text[i] == '-' && text[i+1] != ']' {
			if high, n = setRune(text, i+1); n == 0 {
				return nil, -1
			}
			i += 1 + n
		}
		s.ranges = append(s.ranges, low, high)
	}
	return nil, -1
}

// setRune reads one member of a set, quoted or not.
func setRune(text string, i int) (rune, int) {
	quoted := 0
	if text[i] == '\\' {
		if quoted = 1; i+1 >= len(text) {
			return 0, 0
		}
	}
	r, n := utf8.DecodeRuneInString(text[i+quoted:])
	return r, n + quoted
}

func (s *set) has(r rune) bool {
	for i := 0; i < len(s.ranges); i += 2 {
		if s.ranges[i] <= r && r <= s.ranges[i+1] {
			return !s.negated
		}
	}
	return s.negated
}

// match compares the pattern with the whole of text. The last star and the last
// "**" are all that ever has to be tried again.
func (p *pattern) match(text string) bool {
	if p.plain {
		return p.text == text
	}
	i, t := 0, 0
	starI, starT := -1, 0 // the token behind the last star and where its text begins
	deepI, deepT := -1, 0
	for {
		if i < len(p.tokens) {
			tok := &p.tokens[i]
			switch tok.op {
			case opStar:
				i++
				starI, starT = i, t
				continue
			case opDirs:
				i++
				deepI, deepT, starI = i, t, -1
				continue
			case opDeep:
				if i+1 == len(p.tokens) {
					return true
				}
				// "**\/": anything up to some slash.
				i++
				deepI, deepT, starI = i+1, t, -1
				if !p.nextDir(text, &deepT) {
					return false
				}
				i, t = deepI, deepT
				continue
			}
			if t < len(text) {
				r, n := utf8.DecodeRuneInString(text[t:])
				if p.one(tok, r) {
					i, t = i+1, t+n
					continue
				}
			}
		} else if t == len(text) {
			return true
		}
		switch {
		case starI >= 0 && starT < len(text) && text[starT] != '/':
			_, n := utf8.DecodeRuneInString(text[starT:])
			starT += n
			i, t = starI, starT
		case deepI >= 0 && p.nextDir(text, &deepT):
			i, t, starI = deepI, deepT, -1
		default:
			return false
		}
	}
}

// nextDir moves t behind the next slash.
func (p *pattern) nextDir(text string, t *int) bool {
	k := strings.IndexByte(text[*t:], '/')
	*t += k + 1
	return k >= 0
}

func (p *pattern) one(tok *token, r rune) bool {
	if p.fold {
		r = unicode.ToLower(r)
	}
	switch tok.op {
	case opLiteral:
		return tok.r == r
	case opAny:
		return r != '/'
	}
	return r != '/' && tok.set.has(r)
}

// expandBraces writes out the alternatives of {a,b}, which may be nested. A pattern
// without braces is its own only alternative.
func expandBraces(text string) ([]string, error) {
	const most = 1000
	open, level, from := -1, 0, 0
	var parts []string
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			if _, end := compileSet(text, i); end > 0 {
				i = end - 1
			}
		case '{':
			if level++; level == 1 {
				open, from = i, i+1
			}
		case ',':
			if level == 1 {
				parts, from = append(parts, text[from:i]), i+1
			}
		case '}':
			if level == 0 {
				continue
			}
			if level--; level > 0 {
				continue
			}
			var all []string
			for _, part := range append(parts, text[from:i]) {
				some, err := expandBraces(text[:open] + part + text[i+1:])
				if err != nil {
					return nil, err
				}
				if all = append(all, some...); len(all) > most {
					return nil, errBraces
				}
			}
			return all, nil
		}
	}
	if level > 0 {
		return nil, errBrace
	}
	return []string{text}, nil
}
