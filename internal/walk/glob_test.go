package walk

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		glob string
		yes  string
		no   string
	}{
		{"*.go", "a.go .go", "a/b.go a.goo a.GO"},
		{"**/*.go", "a.go a/b.go a/b/c.go", "a/b.c"},
		{"src/**/*.go", "src/a.go src/d/e/a.go", "a.go src/a.c xsrc/a.go"},
		{"src/**", "src/a src/a/b", "src srcx/a"},
		{"**", "a a/b/c", ""},
		{"a**b", "ab axxb", "a/b"},
		{"{m,n}.go", "m.go n.go", "o.go {m,n}.go"},
		{"{a,b{c,d}}/x", "a/x bc/x bd/x", "b/x c/x"},
		{"a{,.txt}", "a a.txt", "a."},
		{"[a-c]?", "ax b1 cä", "dx a a/"},
		{"[!a-c]", "d ä", "a /"},
		{"[]x]", "] x", "y"},
		{"[^/]b", "ab", "/b"},
		{`\*\?\{`, "*?{", "a?{"},
		{"[[:digit:]]x", "1x", "ax"},
		{"a/*/c", "a/b/c", "a/c a/b/b/c"},
		{"a/**/c", "a/c a/b/c a/b/b/c", "ac a/bc"},
		{"é?", "éa éé", "e"},
		{"*a*b*c*", "abc xaxbxcx aabbcc", "acb a/b/c"},
		{"**/a/**/b", "a/b x/a/y/b a/a/b", "b/a ab"},
	} {
		g, err := ParseGlob(tt.glob, false)
		if err != nil {
			t.Errorf("%s: %v", tt.glob, err)
			continue
		}
		for _, p := range strings.Fields(tt.yes) {
			if !g.Match(p) {
				t.Errorf("%s does not match %s", tt.glob, p)
			}
		}
		for _, p := range strings.Fields(tt.no) {
			if g.Match(p) {
				t.Errorf("%s matches %s", tt.glob, p)
			}
		}
	}
}

func TestGlobErrors(t *testing.T) {
	for glob, want := range map[string]string{
		"[":                             "unclosed character class; missing ']'",
		"a[b-":                          "unclosed character class; missing ']'",
		"[[:nosuch:]]":                  "unclosed character class; missing ']'",
		"{a,b":                          "unclosed alternate group; missing '}'",
		`a\`:                            `dangling '\'`,
		strings.Repeat("{a,b,c,d}", 10): "too many alternatives",
	} {
		if _, err := ParseGlob(glob, false); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", glob, err, want)
		}
	}
}

func TestGlobFold(t *testing.T) {
	g, err := ParseGlob("readme*", true)
	if err != nil {
		t.Fatal(err)
	}
	if !g.Match("README.md") || g.Match("xREADME") {
		t.Error("case matters")
	}
}

func TestGlobMayContain(t *testing.T) {
	for _, tt := range []struct {
		glob, dir string
		want      bool
	}{
		{"src/**/*.go", "src", true},
		{"src/**/*.go", "src/a", true},
		{"src/**/*.go", "lib", false},
		{"src/a/*.go", "src", true},
		{"src/a/*.go", "src/b", false},
		{"**/x", "any", true},
		{"*.go", "any", true},
		{"{a,b}/c", "b", true},
		{"{a,b}/c", "c", false},
	} {
		g, err := ParseGlob(tt.glob, false)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.MayContain(tt.dir); got != tt.want {
			t.Errorf("%s below %s: %v", tt.glob, tt.dir, got)
		}
	}
}

func TestFilter(t *testing.T) {
	for _, tt := range []struct {
		glob, path string
		want       Verdict
	}{
		{"*.go", "a/b.go", Include},
		{"*.go", "a/b.c", Undecided},
		{"!*.go", "a/b.go", Exclude},
		{"src/*.go", "src/m.go", Include},
		{"src/*.go", "x/src/m.go", Undecided},
		{"/a", "a", Include},
		{"{a,b}.go", "x/b.go", Include},
		{"!{a,b}.go", "x/b.go", Exclude},
	} {
		r, err := ParseFilter(tt.glob)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Verdict(tt.path, tt.path[strings.LastIndexByte(tt.path, '/')+1:], false); got != tt.want {
			t.Errorf("%s on %s: %v, want %v", tt.glob, tt.path, got, tt.want)
		}
		if r.Includes() == strings.HasPrefix(tt.glob, "!") {
			t.Errorf("%s: Includes = %v", tt.glob, r.Includes())
		}
	}
	if _, err := ParseFilter("["); err == nil {
		t.Error("broken filter accepted")
	}
}

// A pattern with many stars takes no exponential time: this test ends.
func TestPatternsAreNotExponential(t *testing.T) {
	g, err := ParseGlob(strings.Repeat("**/a*", 30)+"/z", false)
	if err != nil {
		t.Fatal(err)
	}
	if g.Match(strings.Repeat("aaaa/", 2000)) {
		t.Error("matched")
	}
}

// FuzzGlob compares with another implementation where the two mean the same.
func FuzzGlob(f *testing.F) {
	f.Add("a/**/b*", "a/x/bc")
	f.Add("{a,b}[c-e]?", "bd/")
	f.Add(`\**`, "*x")
	f.Fuzz(func(t *testing.T, glob, path string) {
		g, err := ParseGlob(glob, false)
		if err != nil {
			return
		}
		got := g.Match(path)
		if !utf8.ValidString(glob) || !utf8.ValidString(path) || strings.ContainsAny(glob, "[\\{}") || strings.Contains(glob, "***") || strings.HasSuffix(glob, "**") || strings.Contains("/"+path+"/", "//") || strings.Contains(glob, "//") {
			return // sets, quotes and ends differ
		}
		want, err := doublestar.Match(glob, path)
		if err == nil && got != want {
			t.Errorf("%q on %q: %v, want %v", glob, path, got, want)
		}
	})
}

func FuzzIgnore(f *testing.F) {
	for _, s := range []string{"*.o\n!a.o", "/a/**/b/", "a\\ \n# x", "[!a", "\ufeffx\r\n", "**", "\\"} {
		f.Add(s, "a/b.o")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		r := ParseRules(text)
		name := path[strings.LastIndexByte(path, '/')+1:]
		got := r.Verdict(path, name, false)
		// Looking rules up by name must not change what they say.
		slow := &Rules{rules: r.rules}
		for i := range r.rules {
			slow.rest = append(slow.rest, i)
		}
		if want := slow.Verdict(path, name, false); got != want {
			t.Errorf("%q on %q: %v, one by one %v", text, path, got, want)
		}
	})
}
