package cli

import (
	"regexp"
	"strings"
	"testing"
)

// marked shows styles as letters, to be read.
var marked = strings.NewReplacer(styleBold, "<b>", styleDim, "<d>", styleItalic, "<i>", styleLink, "<u>", styleCode, "<c>", styleStrike, "<s>", styleOff, "</>")

func TestMarkdownLines(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"plain text, 2 * 3 * 4 and snake_case_name", "plain text, 2 * 3 * 4 and snake_case_name"},
		{"# Title `x` #", "<b>Title <c>x</><b></>"},
		{"#tag", "#tag"},
		{"**bold** and *slanted* and _so_ and ~~gone~~", "<b>bold</> and <i>slanted</> and <i>so</> and <s>gone</>"},
		{"**bold with `code` in it**", "<b>bold with <c>code</><b> in it</>"},
		{"- item with `--flag`", "• item with <c>--flag</>"},
		{"  * nested", "  • nested"},
		{"1. first", "1. first"},
		{"> quoted", "<d>│</> quoted"},
		{"---", "<d>" + strings.Repeat("─", ruleWidth) + "</>"},
		{"``a ` b`` `open", "<c>a ` b</> `open"},
		{`\*no\* **open`, "*no* **open"},
		{"[docs](https://x.example/a) [1] [a](", "<u>docs</> <d>(https://x.example/a)</> [1] [a]("},
		{"äöü **ä** 漢字", "äöü <b>ä</> 漢字"},
	} {
		var m markdown
		if got := marked.Replace(m.line(tt.in)); got != tt.want {
			t.Errorf("%q:\n got %q\nwant %q", tt.in, got, tt.want)
		}
	}
	var m markdown
	var got []string
	for _, l := range []string{"````go", "x := **p // `a`", "```", "", "````", "*after*"} {
		got = append(got, marked.Replace(m.line(l)))
	}
	if want := "<d>````go</>|<c>x := **p // `a`</>|<c>```</>||<d>````</>|<i>after</>"; strings.Join(got, "|") != want {
		t.Errorf("got %q", got)
	}
}

// Whatever a line holds, it comes to an end, no character that is no mark is lost, and
// no style stays on.
func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"**a*b**", "_a_b_ `", "[a](b)[c](d", "\\\\*", "# #", "~~~~", "> > **x**"} {
		f.Add(seed)
	}
	styles := regexp.MustCompile("\x1b\\[[0-9]+m")
	words := regexp.MustCompile("[a-zA-Z0-9]+")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ReplaceAll(harmless(text), "\n", " ")
		var m markdown
		shown := m.line(text)
		bare := styles.ReplaceAllString(shown, "")
		if a, b := strings.Join(words.FindAllString(text, -1), ""), strings.Join(words.FindAllString(bare, -1), ""); len(b) > len(a) || !strings.Contains(text, "](") && a != b {
			t.Errorf("%q became %q", text, bare)
		}
		if all := styles.FindAllString(shown, -1); len(all) > 0 && all[len(all)-1] != styleOff {
			t.Errorf("%q: a style stays on: %q", text, shown)
		}
	})
}
