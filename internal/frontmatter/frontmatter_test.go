package frontmatter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, in string
		head     Head
		body     string
	}{
		{"none", "# Title\n\ntext\n", nil, "# Title\n\ntext\n"},
		{"head", "---\nname: a\nflag: true\n---\n\nbody\n", Head{"name": "a", "flag": true}, "body"},
		{"only a head", "---\nname: a\n---", Head{"name": "a"}, ""},
		{"empty head", "---\n---\nbody", nil, "body"},
		{"not closed", "---\nname: a\nbody", nil, "---\nname: a\nbody"},
		{"CRLF and mark", "\ufeff---\r\nname: a\r\n---\r\nx\r\ny\r\n", Head{"name": "a"}, "x\ny"},
		{"lone CR", "a\rb", nil, "a\nb"},
		{"blanks after the dashes", "--- \nname: a\n---\t\nb", Head{"name": "a"}, "b"},
		{"dashes in the body", "---\na: 1\n---\none\n---\ntwo", Head{"a": 1}, "one\n---\ntwo"},
		{"more dashes are no head", "----\na: 1\n---\n", nil, "----\na: 1\n---\n"},
		{"no mapping", "---\n- a\n---\nb", nil, "b"},
		{"block text", "---\nd: >\n  one\n  two\n---\nb", Head{"d": "one two\n"}, "b"},
		{"empty", "", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			head, body, err := Parse(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.head, head); diff != "" {
				t.Error(diff)
			}
			if body != tt.body {
				t.Errorf("body %q, want %q", body, tt.body)
			}
		})
	}
}

func TestBrokenHeadNamesTheLine(t *testing.T) {
	_, body, err := Parse("---\nname: a\nother: [1\n---\nbody")
	if err == nil || !strings.Contains(err.Error(), "line ") || body != "body" {
		t.Errorf("%v, body %q", err, body)
	}
}

func TestHead(t *testing.T) {
	h := Head{"s": "text", "b": true, "n": 1}
	if h.Text("s") != "text" || h.Text("n") != "" || h.Text("none") != "" || !h.Flag("b") || h.Flag("s") || Head(nil).Flag("b") {
		t.Error("typed values of a head")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"---\na: b\n---\nc", "---\n---", "---\n&a [*a]\n---\n", "x", "---\na: {b: [c, d]}\n---", "---\n? |\n  x\n: - y\n---\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		head, body, err := Parse(text)
		if err != nil && head != nil {
			t.Error("a head beside an error")
		}
		if strings.Contains(body, "\r") {
			t.Error("a CR is left")
		}
	})
}
