package grep

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
)

// Query says what to look for. The syntax is that of Go's regexp: \d, \w and \b are
// those of ASCII.
type Query struct {
	Pattern    string
	Literal    bool // the pattern stands for itself
	IgnoreCase bool
}

// Matcher is a compiled query. It may be shared.
type Matcher struct {
	re *regexp.Regexp
	// literals are such that every match contains one of them; none means that
	// nothing is known.
	literals []literal
	// sure says that a line with a literal in it is a match.
	sure  bool
	scans sync.Pool // of *scan
}

// Compile compiles a query. The error's text is laid out as ripgrep's: the pattern,
// a mark below the fault, and what it is.
func Compile(q Query) (*Matcher, error) {
	text := q.Pattern
	if q.Literal {
		text = regexp.QuoteMeta(text)
	}
	flags := syntax.Perl
	if q.IgnoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(text, flags)
	if err != nil {
		return nil, syntaxError(q.Pattern, err)
	}
	if q.IgnoreCase {
		text = "(?i:" + text + ")"
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, syntaxError(q.Pattern, err)
	}
	m := &Matcher{re: re}
	m.literals = required(tree.Simplify())
	if len(m.literals) == 1 {
		l := m.literals[0]
		m.sure = tree.Op == syntax.OpLiteral && l.whole
	}
	return m, nil
}

// matches reports whether a line matches; hit says that it holds a literal.
func (m *Matcher) matches(line []byte, hit bool) bool {
	return hit && m.sure || m.re.Match(line)
}

// syntaxError lays a fault of a pattern out.
func syntaxError(pattern string, err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return fmt.Errorf("regex parse error:\n    %s\nerror: %w", pattern, err)
	}
	what, at := describe(pattern, se)
	return fmt.Errorf("regex parse error:\n    %s\n    %s^\nerror: %s", pattern, strings.Repeat(" ", at), what)
}

// describe returns the words for a fault, and its column.
func describe(pattern string, se *syntax.Error) (string, int) {
	at := max(0, strings.Index(pattern, se.Expr))
	at = len([]rune(pattern[:at]))
	switch se.Code {
	case syntax.ErrMissingBracket:
		return "unclosed character class", at
	case syntax.ErrMissingParen:
		return "unclosed group", unbalanced(pattern, '(')
	case syntax.ErrUnexpectedParen:
		return "unopened group", unbalanced(pattern, ')')
	case syntax.ErrMissingRepeatArgument:
		return "repetition operator missing expression", at
	case syntax.ErrInvalidRepeatSize:
		return "invalid repetition count", at
	case syntax.ErrInvalidCharRange:
		return "invalid character class range, the start must be <= the end", at
	case syntax.ErrInvalidEscape:
		return "unrecognized escape sequence", at
	case syntax.ErrTrailingBackslash:
		return "incomplete escape sequence, reached end of pattern prematurely", max(0, len([]rune(pattern))-1)
	case syntax.ErrInvalidPerlOp:
		if strings.HasPrefix(se.Expr, "(?=") || strings.HasPrefix(se.Expr, "(?!") || strings.HasPrefix(se.Expr, "(?<") {
			return "look-around, including look-ahead and look-behind, is not supported", at
		}
		return "unrecognized flag", at
	}
	return se.Code.String(), at
}

// unbalanced returns the column of the parenthesis that has no partner.
func unbalanced(pattern string, paren rune) int {
	var open []int
	quoted, inSet := false, false
	for i, r := range []rune(pattern) {
		switch {
		case quoted:
			quoted = false
		case r == '\\':
			quoted = true
		case inSet:
			inSet = r != ']'
		case r == '[':
			inSet = true
		case r == '(':
			open = append(open, i)
		case r == ')' && len(open) > 0:
			open = open[:len(open)-1]
		case r == ')' && paren == ')':
			return i
		}
	}
	if len(open) > 0 {
		return open[len(open)-1]
	}
	return 0
}
