package grep

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// literal is a text that a match must contain. A folded one is in lower-case ASCII
// and stands for any case.
type literal struct {
	text  string
	fold  bool
	whole bool // the text is all of the expression that it came from
}

const maxLiterals = 24

// required returns literals of which every match of re contains at least one; nil
// when there are none worth looking for.
func required(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		if l := literalOf(re); l.text != "" {
			return []literal{l}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if set := required(sub); better(set, best) {
				best = set
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			set := required(sub)
			if set == nil || len(all)+len(set) > maxLiterals {
				return nil
			}
			all = append(all, set...)
		}
		return all
	}
	return nil
}

// better prefers a set whose shortest literal is longer, then the smaller set.
func better(a, b []literal) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(b) == 0 && len(a) > 0
	}
	shortest := func(set []literal) int {
		n := len(set[0].text)
		for _, l := range set {
			n = min(n, len(l.text))
		}
		return n
	}
	if x, y := shortest(a), shortest(b); x != y {
		return x > y
	}
	return len(a) < len(b)
}

// literalOf returns the literal of a run of characters. Without regard to case it is
// the longest stretch of ASCII without k and s, which have relatives elsewhere
// (U+212A, U+017F).
func literalOf(re *syntax.Regexp) literal {
	text := string(re.Rune)
	if re.Flags&syntax.FoldCase == 0 || !hasCase(re.Rune) {
		if strings.ContainsRune(text, utf8.RuneError) {
			return literal{} // matches broken bytes too
		}
		return literal{text: text, whole: true}
	}
	best := ""
	for _, part := range strings.FieldsFunc(text, func(r rune) bool {
		return r >= utf8.RuneSelf || strings.ContainsRune("kKsS", r)
	}) {
		if len(part) > len(best) {
			best = part
		}
	}
	return literal{text: strings.ToLower(best), fold: true, whole: len(best) == len(text)}
}

func hasCase(runes []rune) bool {
	for _, r := range runes {
		if unicode.SimpleFold(r) != r {
			return true
		}
	}
	return false
}

// finder looks for the next place in a text where one of some literals is. It keeps
// what it found for the text of the last reset, so that each byte is looked at once
// for each literal.
type finder struct {
	subs []subFinder
	text []byte
}

type subFinder struct {
	lit         []byte
	fold        bool
	at          int // the next occurrence at or behind what was asked for; len(text) when there is none
	rare        int // of a folded literal: the index of its rarest byte
	lower       byte
	upper       byte
	atLow, atUp int // the next places of that byte
}

func (m *Matcher) newFinder() *finder {
	f := &finder{subs: make([]subFinder, len(m.literals))}
	for i, l := range m.literals {
		f.subs[i].init(l)
	}
	return f
}

func (f *finder) reset(text []byte) {
	f.text = text
	for i := range f.subs {
		s := &f.subs[i]
		s.at, s.atLow, s.atUp = -1, -1, -1
	}
}

// next returns the first occurrence at or behind from, -1 when there is none.
func (f *finder) next(from int) int {
	best := len(f.text)
	for i := range f.subs {
		s := &f.subs[i]
		if s.at < from {
			s.at = s.find(f.text, from)
		}
		best = min(best, s.at)
	}
	if best == len(f.text) {
		return -1
	}
	return best
}

func (s *subFinder) init(l literal) {
	s.lit, s.fold = []byte(l.text), l.fold
	if !l.fold {
		return
	}
	for i := 1; i < len(l.text); i++ {
		if rarity(l.text[i]) > rarity(l.text[s.rare]) {
			s.rare = i
		}
	}
	s.lower = l.text[s.rare]
	s.upper = s.lower
	if s.lower >= 'a' && s.lower <= 'z' {
		s.upper = s.lower - 'a' + 'A'
	}
}

// rarity orders lower-case bytes by how rare they are in source text.
func rarity(c byte) int {
	const common = " etaoinsrlcdup\t_fm.g,bhyvw(x)=k-/\":0;1'q2jz{}"
	if i := strings.IndexByte(common, c); i >= 0 {
		return i
	}
	return len(common)
}

func (s *subFinder) find(text []byte, from int) int {
	if !s.fold {
		if i := bytes.Index(text[from:], s.lit); i >= 0 {
			return from + i
		}
		return len(text)
	}
	for p := from + s.rare; ; p++ {
		if p = s.nextRare(text, p); p == len(text) {
			return p
		}
		start := p - s.rare
		if end := start + len(s.lit); end <= len(text) && equalFold(text[start:end], s.lit) {
			return start
		}
	}
}

// nextRare returns the next place of the rarest byte in either case.
func (s *subFinder) nextRare(text []byte, from int) int {
	if from >= len(text) {
		return len(text)
	}
	look := func(at *int, c byte) {
		if *at >= from {
			return
		}
		if *at = len(text); from < len(text) {
			if i := bytes.IndexByte(text[from:], c); i >= 0 {
				*at = from + i
			}
		}
	}
	look(&s.atLow, s.lower)
	if s.upper == s.lower {
		return s.atLow
	}
	look(&s.atUp, s.upper)
	return min(s.atLow, s.atUp)
}

// equalFold compares ASCII text with lower-case ASCII.
func equalFold(text, lower []byte) bool {
	for i := range text {
		c := text[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
