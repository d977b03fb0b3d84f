package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The looks of Markdown on a terminal.
const (
	styleBold   = "\x1b[1m"
	styleDim    = "\x1b[2m"
	styleItalic = "\x1b[3m"
	styleLink   = "\x1b[4m"
	styleCode   = "\x1b[36m"
	styleStrike = "\x1b[9m"
	styleOff    = "\x1b[0m"
	ruleWidth   = 40
)

// markdown dresses an answer's lines for a terminal, one after another; what it knows
// from one to the next is the fence that is open. Words are never changed, only marks
// are taken away, so that what is copied off the screen still reads.
type markdown struct{ fence string }

// line returns a line, without its line feed, as it is to be shown.
func (m *markdown) line(s string) string {
	text := strings.TrimLeft(s, " \t")
	indent := s[:len(s)-len(text)]
	if mark := fenceOf(text); mark != "" {
		switch {
		case m.fence == "":
			m.fence = mark
			return indent + styleDim + text + styleOff
		case strings.HasPrefix(mark, m.fence) && strings.TrimSpace(text) == mark:
			m.fence = ""
			return indent + styleDim + text + styleOff
		}
	}
	switch {
	case m.fence != "":
		return paint(styleCode, s)
	case headingOf(text) > 0:
		title := strings.TrimRight(strings.TrimSpace(text[headingOf(text):]), "# ")
		return paint(styleBold, inline(title, styleBold))
	case isRule(text):
		return indent + styleDim + strings.Repeat("─", ruleWidth) + styleOff
	case strings.HasPrefix(text, ">"):
		return indent + styleDim + "│" + styleOff + inline(text[1:], "")
	case len(text) > 1 && strings.ContainsRune("-*+", rune(text[0])) && text[1] == ' ':
		return indent + "•" + inline(text[1:], "")
	}
	return indent + inline(text, "")
}

func paint(style, text string) string {
	if text == "" {
		return ""
	}
	return style + text + styleOff
}

// fenceOf returns the run of three or more ticks or tildes that a line begins with.
func fenceOf(text string) string {
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(text, c)
		if n := len(text) - len(rest); n >= 3 && (c == "~" || !strings.Contains(rest, "`")) {
			return text[:n]
		}
	}
	return ""
}

// headingOf returns the number of # in front of a heading, 0 when it is none.
func headingOf(text string) int {
	n := len(text) - len(strings.TrimLeft(text, "#"))
	if n > 6 || n == len(text) || text[n] != ' ' {
		return 0
	}
	return n
}

func isRule(text string) bool {
	bare := strings.ReplaceAll(strings.TrimSpace(text), " ", "")
	return len(bare) >= 3 && (strings.Trim(bare, "-") == "" || strings.Trim(bare, "*") == "" || strings.Trim(bare, "_") == "")
}

// inline dresses what stands in a line; around is the style to come back to after each
// piece.
func inline(s, around string) string {
	var out strings.Builder
	before := ' ' // the character in front
	for len(s) > 0 {
		shown, n := span(s, before, around)
		if n == 0 {
			r, size := utf8.DecodeRuneInString(s)
			shown, n = s[:size], size
			before = r
		} else {
			before, _ = utf8.DecodeLastRuneInString(s[:n])
		}
		out.WriteString(shown)
		s = s[n:]
	}
	return out.String()
}

// span dresses the piece that s begins with; n is its length, 0 when none begins here.
func span(s string, before rune, around string) (shown string, n int) {
	switch s[0] {
	case '\\':
		if len(s) > 1 && unicode.IsPunct(rune(s[1])) {
			return s[1:2], 2
		}
	case '`':
		ticks := s[:len(s)-len(strings.TrimLeft(s, "`"))]
		if text, _, ok := strings.Cut(s[len(ticks):], ticks); ok && text != "" {
			return styleCode + text + styleOff + around, 2*len(ticks) + len(text)
		}
		return ticks, len(ticks)
	case '[':
		label, rest, ok := strings.Cut(s[1:], "](")
		address, _, closed := strings.Cut(rest, ")")
		if ok && closed && label != "" && !strings.ContainsAny(label, "[]") {
			shown = styleLink + label + styleOff + around
			if address != label {
				shown += " " + styleDim + "(" + address + ")" + styleOff + around
			}
			return shown, len(label) + len(address) + 4
		}
	case '*', '_', '~':
		for _, mark := range []struct{ text, style string }{{"**", styleBold}, {"__", styleBold}, {"~~", styleStrike}, {"*", styleItalic}, {"_", styleItalic}} {
			if text, ok := between(s, mark.text, before); ok {
				return mark.style + inline(text, around+mark.style) + styleOff + around, len(text) + 2*len(mark.text)
			}
		}
	}
	return "", 0
}

// between returns what a mark encloses: it clings to words on its inner sides, and an
// underline stands in no word.
func between(s, mark string, before rune) (string, bool) {
	rest, ok := strings.CutPrefix(s, mark)
	end := strings.Index(rest, mark)
	if !ok || end < 1 || mark[0] == '_' && (unicode.IsLetter(before) || unicode.IsDigit(before)) {
		return "", false
	}
	text := rest[:end]
	after, _ := utf8.DecodeRuneInString(rest[end+len(mark):])
	if mark[0] == '_' && (unicode.IsLetter(after) || unicode.IsDigit(after)) || len(mark) == 1 && after == rune(mark[0]) {
		return "", false
	}
	if text[0] == ' ' || text[len(text)-1] == ' ' || strings.HasPrefix(text, mark[:1]) {
		return "", false
	}
	return text, true
}
