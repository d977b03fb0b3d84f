package scripted

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// A template is text with expressions in it: {{ source || source | filter arg }}.
// It is a language of its own because the standard library's costs start-up time
// and, through reflection, the linker's removal of dead code.
type template []segment

// segment is a literal, or an expression when sources is not empty.
type segment struct {
	literal string
	sources []source // the first one with text counts
	filters []filterCall
	quoted  template // when set, rendered and written as a JSON string
}

// source is one place that text comes from.
type source struct {
	name      string // a name of sourceNames; "" is the literal arg
	tool      string // for the tool sources: the tool's name, "" for any
	arg       string // a literal; for a tool: text that the call's arguments hold
	nth       int    // for a tool without a name: the number of the result
	hasArg    bool
	hasNth    bool
	okOnly    bool
	errorOnly bool
}

// filterCall is a filter with its arguments.
type filterCall struct {
	filter func(s string, c *filterCall) string
	texts  []string
	n      int
	res    []*regexp.Regexp
}

const (
	exprOpen  = "{{"
	exprClose = "}}"
)

// compile parses the expressions of a text. The error names the expression.
func compile(text string) (template, error) {
	var t template
	for {
		at := strings.Index(text, exprOpen)
		if at < 0 {
			break
		}
		length := exprEnd(text[at+len(exprOpen):])
		if length < 0 {
			return nil, fmt.Errorf("template %q: %s is missing", clip(text[at:], 40), exprClose)
		}
		if at > 0 {
			t = append(t, segment{literal: text[:at]})
		}
		body := text[at+len(exprOpen) : at+len(exprOpen)+length]
		seg, err := compileExpr(body)
		if err != nil {
			return nil, fmt.Errorf("template {{%s}}: %w", body, err)
		}
		t = append(t, seg)
		text = text[at+len(exprOpen)+length+len(exprClose):]
	}
	if text != "" || len(t) == 0 {
		t = append(t, segment{literal: text})
	}
	return t, nil
}

// exprEnd returns the offset of the }} that ends an expression, skipping quoted
// strings; -1 when there is none.
func exprEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\'', '"':
			n := quotedLen(s[i:])
			if n < 0 {
				return -1
			}
			i += n - 1
		case '}':
			if strings.HasPrefix(s[i:], exprClose) {
				return i
			}
		}
	}
	return -1
}

// quotedLen returns the length of the quoted string that s begins with, -1 when it
// does not end.
func quotedLen(s string) int {
	if s[0] == '"' {
		q, err := strconv.QuotedPrefix(s)
		if err != nil {
			return -1
		}
		return len(q)
	}
	end := strings.IndexByte(s[1:], '\'')
	if end < 0 {
		return -1
	}
	return end + 2
}

// token is a word, a number, a quoted string (text set, quoted true), | or ||.
type token struct {
	text   string
	quoted bool
}

func tokenize(s string) ([]token, error) {
	var out []token
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == ' ' || c == '\n' || c == '\t':
			i++
		case c == '\'' || c == '"':
			n := quotedLen(s[i:]) // exprEnd has seen that it ends
			text := s[i+1 : i+n-1]
			if c == '"' {
				var err error
				if text, err = strconv.Unquote(s[i : i+n]); err != nil {
					return nil, fmt.Errorf("string %s: %w", s[i:i+n], err)
				}
			}
			out = append(out, token{text: text, quoted: true})
			i += n
		case c == '|':
			n := 1
			if strings.HasPrefix(s[i:], "||") {
				n = 2
			}
			out = append(out, token{text: s[i : i+n]})
			i += n
		default:
			n := strings.IndexAny(s[i:], " \n\t|'\"")
			if n < 0 {
				n = len(s) - i
			}
			out = append(out, token{text: s[i : i+n]})
			i += n
		}
	}
	return out, nil
}

func compileExpr(body string) (segment, error) {
	tokens, err := tokenize(body)
	if err != nil {
		return segment{}, err
	}
	var seg segment
	operator := "||" // the operator before the part that comes next
	for {
		n := 0
		for n < len(tokens) && (tokens[n].quoted || !strings.HasPrefix(tokens[n].text, "|")) {
			n++
		}
		part := tokens[:n]
		switch {
		case len(part) == 0:
			return segment{}, fmt.Errorf("something is missing beside %q", operator)
		case operator == "|":
			f, err := compileFilter(part)
			if err != nil {
				return segment{}, err
			}
			seg.filters = append(seg.filters, f)
		case len(seg.filters) > 0:
			return segment{}, fmt.Errorf("%q comes before the filters", operator)
		default:
			src, err := compileSource(part)
			if err != nil {
				return segment{}, err
			}
			seg.sources = append(seg.sources, src)
		}
		if n == len(tokens) {
			return seg, nil
		}
		operator, tokens = tokens[n].text, tokens[n+1:]
	}
}

func compileSource(part []token) (source, error) {
	head, args := part[0], part[1:]
	if head.quoted {
		if len(args) > 0 {
			return source{}, fmt.Errorf("%q follows a string", args[0].text)
		}
		return source{arg: head.text}, nil
	}
	name, tool, dotted := strings.Cut(head.text, ".")
	src := source{name: name, tool: tool}
	switch name {
	case "tool", "toolOk", "toolError":
		src.okOnly, src.errorOnly = name == "toolOk", name == "toolError"
		if dotted && tool == "" {
			return source{}, fmt.Errorf("%q: the tool's name is missing", head.text)
		}
		return src, src.arguments(args)
	case "user", "cwd", "model", "turn":
		if dotted || len(args) > 0 {
			return source{}, fmt.Errorf("%s takes no argument", name)
		}
		return src, nil
	}
	return source{}, fmt.Errorf("%q is no source: want user, cwd, model, turn, tool, toolOk, toolError or a string", head.text)
}

// arguments takes what follows the name of a tool source.
func (s *source) arguments(args []token) error {
	switch {
	case len(args) == 0:
		return nil
	case len(args) > 1:
		return fmt.Errorf("%q is one argument too many", args[1].text)
	case args[0].quoted:
		s.arg, s.hasArg = args[0].text, true
		return nil
	}
	n, err := strconv.Atoi(args[0].text)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is neither a number nor a string", args[0].text)
	}
	if s.tool != "" {
		return fmt.Errorf("%s.%s takes a string", s.name, s.tool)
	}
	s.nth, s.hasNth = n, true
	return nil
}

// render returns the text of a template in one call.
func (t template) render(c *call) string {
	if len(t) == 1 && len(t[0].sources) == 0 && t[0].quoted == nil {
		return t[0].literal
	}
	var b strings.Builder
	for i := range t {
		b.WriteString(t[i].render(c))
	}
	return b.String()
}

func (s *segment) render(c *call) string {
	if s.quoted != nil {
		return string(jsonx.String(s.quoted.render(c)))
	}
	if len(s.sources) == 0 {
		return s.literal
	}
	var text string
	for i := range s.sources {
		if text = c.text(&s.sources[i]); text != "" {
			break
		}
	}
	for i := range s.filters {
		text = s.filters[i].filter(text, &s.filters[i])
	}
	return text
}

// compileJSON prepares JSON with templates in its strings: its segments are the text
// between those strings, and the strings, which are rendered and quoted again.
func compileJSON(raw jsonx.Raw, verbatim bool) (template, error) {
	text := string(raw)
	if verbatim || !strings.Contains(text, exprOpen) {
		return template{{literal: text}}, nil
	}
	var t template
	from := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		end := i + 1
		for text[end] != '"' { // raw is valid JSON: the string ends
			if text[end] == '\\' {
				end++
			}
			end++
		}
		end++
		if strings.Contains(text[i:end], exprOpen) {
			var s string
			if err := jsonx.Unmarshal([]byte(text[i:end]), &s); err != nil {
				return nil, err
			}
			inner, err := compile(s)
			if err != nil {
				return nil, err
			}
			t = append(t, segment{literal: text[from:i]}, segment{quoted: inner})
			from = end
		}
		i = end - 1
	}
	return append(t, segment{literal: text[from:]}), nil
}
