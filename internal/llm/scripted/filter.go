package scripted

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// filterSpec says what a filter takes: a number of strings (-1 for one or more),
// patterns when they are regular expressions, or one number.
type filterSpec struct {
	name     string
	texts    int
	number   bool
	patterns bool
	run      func(s string, c *filterCall) string
}

// filters returns the filters of templates (docs/scripted.md lists them).
func filters() []filterSpec {
	return []filterSpec{
		{name: "line", number: true, run: func(s string, c *filterCall) string { return head(tail(s, c.n-1), 1) }},
		{name: "first", number: true, run: func(s string, c *filterCall) string { return head(s, c.n) }},
		{name: "skip", number: true, run: func(s string, c *filterCall) string { return tail(s, c.n) }},
		{name: "clip", number: true, run: func(s string, c *filterCall) string { return clip(s, c.n) }},
		{name: "list", number: true, run: func(s string, c *filterCall) string { return list(s, c.n) }},
		{name: "count", run: func(s string, _ *filterCall) string { return strconv.Itoa(len(filled(s))) }},
		{name: "heading", run: func(s string, _ *filterCall) string { return heading(s) }},
		{name: "paragraph", run: func(s string, _ *filterCall) string { return paragraph(s) }},
		{name: "base", run: func(s string, _ *filterCall) string { return base(s) }},
		{name: "pick", texts: -1, patterns: true, run: pick},
		{name: "not", texts: 1, run: func(s string, c *filterCall) string {
			if strings.TrimSpace(s) == c.texts[0] {
				return ""
			}
			return s
		}},
		{name: "or", texts: 1, run: func(s string, c *filterCall) string {
			if s == "" {
				return c.texts[0]
			}
			return s
		}},
		{name: "wrap", texts: 2, run: func(s string, c *filterCall) string {
			if s == "" {
				return ""
			}
			return c.texts[0] + s + c.texts[1]
		}},
	}
}

func compileFilter(part []token) (filterCall, error) {
	name := part[0].text
	for _, spec := range filters() {
		if spec.name == name && !part[0].quoted {
			f := filterCall{filter: spec.run}
			return f, f.arguments(&spec, part[1:])
		}
	}
	return filterCall{}, fmt.Errorf("%q is no filter", name)
}

// arguments takes the tokens behind a filter's name.
func (c *filterCall) arguments(spec *filterSpec, args []token) error {
	want := spec.texts
	if spec.number {
		want = 1
	}
	if want >= 0 && len(args) != want || want < 0 && len(args) == 0 {
		return fmt.Errorf("%s has %d arguments", spec.name, len(args))
	}
	for _, a := range args {
		if a.quoted == spec.number {
			return fmt.Errorf("%s: %q is of the wrong type", spec.name, a.text)
		}
		switch {
		case spec.number:
			n, err := strconv.Atoi(a.text)
			if err != nil || n < 0 {
				return fmt.Errorf("%s: %q is no number", spec.name, a.text)
			}
			c.n = n
		case spec.patterns:
			re, err := regexp.Compile(a.text)
			if err != nil {
				return fmt.Errorf("%s: %w", spec.name, err)
			}
			c.res = append(c.res, re)
		default:
			c.texts = append(c.texts, a.text)
		}
	}
	return nil
}

// head returns the first n lines, without the last one's line feed.
func head(s string, n int) string {
	at := 0
	for range n {
		next := strings.IndexByte(s[at:], '\n')
		if next < 0 {
			return s
		}
		at += next + 1
	}
	return strings.TrimSuffix(s[:at], "\n")
}

// tail returns s without its first n lines.
func tail(s string, n int) string {
	for range n {
		var found bool
		if _, s, found = strings.Cut(s, "\n"); !found {
			return ""
		}
	}
	return s
}

// clip returns at most n characters of s, with an ellipsis when it was longer.
func clip(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}

// filled returns the lines of s that are not blank, trimmed.
func filled(s string) []string {
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// list returns the first n lines in one: "a, b, c and 4 more".
func list(s string, n int) string {
	lines := filled(s)
	if len(lines) <= n {
		return strings.Join(lines, ", ")
	}
	return strings.Join(lines[:n], ", ") + " and " + strconv.Itoa(len(lines)-n) + " more"
}

// pick returns the first line that the first pattern to match anything matches.
func pick(s string, c *filterCall) string {
	lines := filled(s)
	for _, re := range c.res {
		for _, line := range lines {
			if re.MatchString(line) {
				return line
			}
		}
	}
	return ""
}

// base returns the last element of a path of any system.
func base(path string) string {
	path = strings.TrimRight(path, `/\`)
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// heading returns the first heading of a markdown text without its marks; without
// one, the first line that is not blank.
func heading(s string) string {
	previous, fenced := "", false
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			fenced = !fenced
		case fenced:
		case underline(line) && previous != "":
			return previous
		case isHeading(line):
			return strings.TrimSpace(strings.Trim(line, "#"))
		}
		previous = line
	}
	if lines := filled(s); len(lines) > 0 {
		return lines[0]
	}
	return ""
}

func isHeading(line string) bool {
	text := strings.TrimLeft(line, "#")
	return len(text) < len(line) && strings.HasPrefix(text, " ")
}

func underline(line string) bool { return len(line) > 2 && strings.Trim(line, "=") == "" }

// paragraph returns the first paragraph of prose in a markdown text as one line:
// headings, HTML, pictures, badges, tables and code are passed over.
func paragraph(s string) string {
	var prose []string
	fenced := false
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		switch {
		case underline(line): // what came before was a heading
			prose = nil
		case fenced || line == "" || isHeading(line) || strings.HasPrefix(line, "---"):
			if len(prose) > 0 {
				return strings.Join(prose, " ")
			}
		case len(prose) == 0 && strings.ContainsAny(line[:1], "<!|["): // no prose begins like that
		default:
			prose = append(prose, strings.TrimSpace(strings.TrimPrefix(line, ">")))
		}
	}
	return strings.Join(prose, " ")
}
