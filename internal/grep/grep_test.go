package grep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

func compile(tb testing.TB, q Query) *Matcher {
	tb.Helper()
	m, err := Compile(q)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// show writes a line as the tools do.
func show(name string, l Line) string {
	sep := "-"
	if l.Match {
		sep = ":"
	}
	return fmt.Sprintf("%s%s%d%s %s\n", name, sep, l.Number, sep, l.Text)
}

func scanText(tb testing.TB, m *Matcher, in io.Reader, text bool, around int) string {
	tb.Helper()
	var sb strings.Builder
	err := m.run(context.Background(), in, text, around, func(l Line) bool {
		sb.WriteString(show("", l))
		return true
	})
	if err != nil {
		tb.Fatal(err)
	}
	return sb.String()
}

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		name  string
		query Query
		text  string
		want  string
	}{
		{"literal", Query{Pattern: "b"}, "a\nb\nabc\n", ":2: b\n:3: abc\n"},
		{"no line feed at the end", Query{Pattern: "c$"}, "a\nabc", ":2: abc\n"},
		{"every line", Query{Pattern: ""}, "a\n\nb\n", ":1: a\n:2: \n:3: b\n"},
		{"anchors are those of lines", Query{Pattern: "^b$"}, "ab\nb\nbc\n", ":2: b\n"},
		{"a carriage return belongs to the line", Query{Pattern: "b$"}, "b\r\nb\n", ":2: b\n"},
		{"literal query", Query{Pattern: "a.b[", Literal: true}, "axb[\na.b[\n", ":2: a.b[\n"},
		{"case", Query{Pattern: "todo", IgnoreCase: true}, "ToDo\ntoo\n", ":1: ToDo\n"},
		{"case of literals", Query{Pattern: "A.", Literal: true, IgnoreCase: true}, "xa.\nab\n", ":1: xa.\n"},
		{"relatives of k and s", Query{Pattern: "risk", IgnoreCase: true}, "ri\u017fK\nRI\u017f\u212a\n", ":1: ri\u017fK\n:2: RI\u017f\u212a\n"},
		{"alternatives", Query{Pattern: "foo|ba[rz]|(?i:qux)"}, "xbaz\nfo\nQUX\nfoo\n", ":1: xbaz\n:3: QUX\n:4: foo\n"},
		{"the pattern may not cross lines", Query{Pattern: `a\s+b`}, "a\nb\na b\n", ":3: a b\n"},
		{"no literal", Query{Pattern: `\d+`}, "a\n12\n", ":2: 12\n"},
		{"broken bytes", Query{Pattern: "b.c"}, "b\xffc\n", ":1: b\xffc\n"},
		{"byte order mark", Query{Pattern: "^a"}, "\xef\xbb\xbfa\n", ":1: a\n"},
		{"nothing", Query{Pattern: "x"}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := compile(t, tt.query)
			if diff := cmp.Diff(tt.want, scanText(t, m, strings.NewReader(tt.text), false, 0)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.want, scanText(t, m, iotest.OneByteReader(strings.NewReader(tt.text)), false, 0)); diff != "" {
				t.Errorf("byte by byte: %s", diff)
			}
		})
	}
}

func TestContext(t *testing.T) {
	text := "1\n2\nx3\n4\n5\n6\nx7\nx8\n9\n10\n"
	for around, want := range []string{
		":3: x3\n:7: x7\n:8: x8\n",
		"-2- 2\n:3: x3\n-4- 4\n-6- 6\n:7: x7\n:8: x8\n-9- 9\n",
		"-1- 1\n-2- 2\n:3: x3\n-4- 4\n-5- 5\n-6- 6\n:7: x7\n:8: x8\n-9- 9\n-10- 10\n",
	} {
		if diff := cmp.Diff(want, scanText(t, compile(t, Query{Pattern: "x"}), strings.NewReader(text), false, around)); diff != "" {
			t.Errorf("%d: %s", around, diff)
		}
	}
}

func TestContextAcrossBlocks(t *testing.T) {
	var text, want strings.Builder
	for i := range 40000 {
		fmt.Fprintf(&text, "line %d\n", i+1)
	}
	text.WriteString("NEEDLE\n")
	for i := 35001; i <= 40000; i++ {
		fmt.Fprintf(&want, "-%d- line %d\n", i, i)
	}
	want.WriteString(":40001: NEEDLE\n")
	got := scanText(t, compile(t, Query{Pattern: "NEEDLE"}), strings.NewReader(text.String()), false, 1<<40)
	if got != want.String() {
		t.Errorf("got %d bytes, want %d", len(got), want.Len())
	}
}

func TestBinaryFiles(t *testing.T) {
	m := compile(t, Query{Pattern: "x"})
	if got := scanText(t, m, strings.NewReader("x\x00\nx\n"), false, 0); got != "" {
		t.Errorf("found in a binary file: %q", got)
	}
	if got := scanText(t, m, strings.NewReader("x\x00\nx\n"), true, 0); got != ":1: x\x00\n:2: x\n" {
		t.Errorf("taken for text: %q", got)
	}
	late := "x\n" + strings.Repeat("y", blockSize) + "\x00\nx\n"
	if got := scanText(t, m, strings.NewReader(late), false, 0); got != ":1: x\n" {
		t.Errorf("zero byte in a later block: %q", got)
	}
}

func TestUTF16(t *testing.T) {
	m := compile(t, Query{Pattern: "nä"})
	for _, big := range []bool{false, true} {
		buf := []byte{0xff, 0xfe}
		if big {
			buf = []byte{0xfe, 0xff}
		}
		for _, u := range utf16.Encode([]rune("eins\nnä 😀\nx")) {
			if big {
				buf = append(buf, byte(u>>8), byte(u))
			} else {
				buf = append(buf, byte(u), byte(u>>8))
			}
		}
		if got := scanText(t, m, bytes.NewReader(buf), false, 0); got != ":2: nä 😀\n" {
			t.Errorf("big %v: %q", big, got)
		}
		if got := scanText(t, compile(t, Query{Pattern: "x"}), bytes.NewReader(append(buf, 0xd8)), false, 0); got != ":3: x\ufffd\n" {
			t.Errorf("cut short, big %v: %q", big, got)
		}
	}
}

func TestLongLines(t *testing.T) {
	long := strings.Repeat("a", maxLine)
	text := "NEEDLE 1\n" + long + long + "NEEDLE\nNEEDLE 3\nb\n"
	if got := scanText(t, compile(t, Query{Pattern: "NEEDLE"}), strings.NewReader(text), false, 0); got != ":1: NEEDLE 1\n:3: NEEDLE 3\n" {
		t.Errorf("got %.200q", got)
	}
	short := strings.Repeat("a", 3*blockSize) + "NEEDLE"
	if got := scanText(t, compile(t, Query{Pattern: "NEEDLE$"}), strings.NewReader("x\n"+short+"\ny"), false, 0); got != ":2: "+short+"\n" {
		t.Errorf("got %.80q", got)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		"[":       "regex parse error:\n    [\n    ^\nerror: unclosed character class",
		"a(b":     "regex parse error:\n    a(b\n     ^\nerror: unclosed group",
		"ab)":     "regex parse error:\n    ab)\n      ^\nerror: unopened group",
		"*a":      "regex parse error:\n    *a\n    ^\nerror: repetition operator missing expression",
		"x(?=y)":  "regex parse error:\n    x(?=y)\n     ^\nerror: look-around, including look-ahead and look-behind, is not supported",
		`ab\`:     "regex parse error:\n    ab\\\n      ^\nerror: incomplete escape sequence, reached end of pattern prematurely",
		"[z-a]":   "regex parse error:\n    [z-a]\n     ^\nerror: invalid character class range, the start must be <= the end",
		`\ya`:     "regex parse error:\n    \\ya\n    ^\nerror: unrecognized escape sequence",
		"a{2000}": "regex parse error:\n    a{2000}\n     ^\nerror: invalid repetition count",
		"a**":     "regex parse error:\n    a**\n     ^\nerror: invalid nested repetition operator",
	} {
		_, err := Compile(Query{Pattern: pattern, IgnoreCase: strings.HasPrefix(pattern, "a(")})
		if err == nil {
			t.Errorf("%s compiled", pattern)
		} else if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s: %s", pattern, diff)
		}
	}
	if _, err := Compile(Query{Pattern: "[", Literal: true}); err != nil {
		t.Error(err)
	}
}

func TestRequired(t *testing.T) {
	for pattern, want := range map[string]string{
		"ErrClosedPipe":       "ErrClosedPipe sure",
		`\bfunc\s+\(\w+ Con`:  "func",
		`\w+Handler\(`:        "Handler(",
		`(foo)+x`:             "foo",
		`(ab){2,}`:            "ab",
		`a*`:                  "",
		`(abc)?d`:             "d",
		`Fatalf|Errorf|Skipf`: "Fatalf Errorf Skipf",
		`foo|b*`:              "",
		`(?i)todo\(`:          "~todo( sure",
		`(?i)kiss me`:         "~ me",
		`[A-Z]{6,}[0-9]+`:     "",
		`(?i)\d{3}`:           "",
		`(?i)123`:             "123 sure",
	} {
		m := compile(t, Query{Pattern: pattern})
		var got []string
		for _, l := range m.literals {
			if l.fold {
				l.text = "~" + l.text
			}
			got = append(got, l.text)
		}
		if m.sure {
			got = append(got, "sure")
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %q, want %q", pattern, s, want)
		}
	}
}

// manyFiles makes n files; those divisible by each hold matches.
func manyFiles(tb testing.TB, n, each int) (string, []string) {
	tb.Helper()
	dir := tb.TempDir()
	var names []string
	for i := range n {
		name := filepath.Join(dir, fmt.Sprintf("f%05d", i))
		text := strings.Repeat("some text\n", 20)
		if i%each == 0 {
			text += "NEEDLE one\nafter\nNEEDLE two\n"
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
		names = append(names, name)
	}
	return dir, names
}

func listOf(names []string) func(context.Context, func(string) bool) error {
	return func(_ context.Context, yield func(string) bool) error {
		for _, n := range names {
			if !yield(n) {
				return nil
			}
		}
		return nil
	}
}

func TestFilesAreShownInOrder(t *testing.T) {
	_, names := manyFiles(t, 1000, 7)
	names = append(names[:500:500], append([]string{names[0] + ".missing"}, names[500:]...)...)
	var got, want []string
	more, err := Files(t.Context(), compile(t, Query{Pattern: "NEEDLE"}), listOf(names), Options{Limit: 1000}, func(name string, l Line) {
		got = append(got, show(filepath.Base(name), l))
	})
	if err != nil || more {
		t.Fatal(more, err)
	}
	for i := 0; i < 1000; i += 7 {
		want = append(want, fmt.Sprintf("f%05d:21: NEEDLE one\n", i), fmt.Sprintf("f%05d:23: NEEDLE two\n", i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLimit(t *testing.T) {
	_, names := manyFiles(t, 3, 1)
	for _, tt := range []struct {
		limit, around int
		want          string
		more          bool
	}{
		{6, 0, "f00000:21: f00000:23: f00001:21: f00001:23: f00002:21: f00002:23:", false},
		{5, 0, "f00000:21: f00000:23: f00001:21: f00001:23: f00002:21:", true},
		{2, 0, "f00000:21: f00000:23:", true},
		{1, 1, "f00000-20- f00000:21: f00000-22-", true},
		{1, 2, "f00000-19- f00000-20- f00000:21: f00000-22- f00000-23-", true},
		{1, 9, "f00000-12- f00000-13- f00000-14- f00000-15- f00000-16- f00000-17- f00000-18- f00000-19- f00000-20- f00000:21: f00000-22- f00000-23-", true},
	} {
		var got []string
		more, err := Files(t.Context(), compile(t, Query{Pattern: "NEEDLE"}), listOf(names), Options{Limit: tt.limit, Context: tt.around}, func(name string, l Line) {
			got = append(got, strings.Fields(show(filepath.Base(name), l))[0])
		})
		if s := strings.Join(got, " "); err != nil || more != tt.more || s != tt.want {
			t.Errorf("%d, %d: %s, more %v, %v\nwant %s", tt.limit, tt.around, s, more, err, tt.want)
		}
	}
}

func TestFilesEndsEarly(t *testing.T) {
	_, names := manyFiles(t, 10, 1)
	m := compile(t, Query{Pattern: "NEEDLE"})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("stop")
	endless := func(ctx context.Context, yield func(string) bool) error {
		for i := 0; ; i++ {
			if !yield(names[i%10]) {
				return nil
			}
		}
	}
	n := 0
	if more, err := Files(ctx, m, endless, Options{Limit: 3}, func(string, Line) { n++ }); err != nil || !more || n != 3 {
		t.Errorf("limit: %d lines, more %v, %v", n, more, err)
	}
	if _, err := Files(ctx, m, endless, Options{Limit: 1 << 40}, func(string, Line) { cancel(cause) }); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
	listed := errors.New("no such directory")
	if _, err := Files(t.Context(), m, func(context.Context, func(string) bool) error { return listed }, Options{Limit: 1}, nil); !errors.Is(err, listed) {
		t.Errorf("list: %v", err)
	}
}

func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("a\x00b\nab\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var got string
	more, err := File(t.Context(), compile(t, Query{Pattern: "b"}), name, Options{Limit: 1}, func(l Line) { got += show("f", l) })
	if err != nil || !more || got != "f:1: a\x00b\n" {
		t.Errorf("%q, more %v, %v", got, more, err)
	}
	if _, err := File(t.Context(), compile(t, Query{Pattern: "b"}), name+"x", Options{Limit: 1}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestAgainstGNUGrep(t *testing.T) {
	gnu, err := exec.LookPath("grep")
	if err != nil {
		t.Skip("no grep")
	}
	if out, err := exec.Command(gnu, "--version").Output(); err != nil || !bytes.Contains(out, []byte("GNU")) {
		t.Skip("another grep")
	}
	r := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	words := []string{"foo", "Bar", "baz(", "x1", "qux", " ", "", "kiss", "_", "12"}
	for range 3000 {
		for range r.IntN(6) {
			text.WriteString(words[r.IntN(len(words))])
		}
		text.WriteByte('\n')
	}
	name := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"foo", "^foo", "foo$", "ba[rz]", "foo|qux", "x1.*foo", "[0-9]{2}", "baz\\(", "(foo)+", "^$", "kiss"} {
		for _, args := range [][]string{nil, {"-i"}, {"-F"}, {"-C", "2"}} {
			q := Query{Pattern: pattern, IgnoreCase: len(args) == 1 && args[0] == "-i", Literal: len(args) == 1 && args[0] == "-F"}
			around := 0
			if len(args) == 2 {
				around = 2
			}
			cmd := exec.Command(gnu, append([]string{"-n", "-E", "--no-group-separator"}, append(args, "--", pattern, name)...)...)
			if q.Literal {
				cmd.Args[2] = "-n"
			}
			cmd.Env = append(os.Environ(), "LC_ALL=C")
			out, _ := cmd.Output() // status 1: nothing found
			var want strings.Builder
			for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\n"), "\n") {
				if i := strings.IndexAny(line, ":-"); i >= 0 {
					fmt.Fprintf(&want, "%s%s%s %s\n", line[i:i+1], line[:i], line[i:i+1], line[i+1:])
				}
			}
			if got := scanText(t, compile(t, q), strings.NewReader(text.String()), false, around); got != want.String() {
				t.Errorf("%s %v: results differ", pattern, args)
			}
		}
	}
}

// FuzzLiterals holds the quick way to the slow one: line by line with regexp.
func FuzzLiterals(f *testing.F) {
	for _, p := range []string{"foo", "(?i)Kisses|x", "a(b|c)+d", "[ab]c?", "^$", `\bfoo\b`, "ſ", "(?i)ſk"} {
		f.Add(p, "foo\nKISSES\nabd abcd\n\nc\nſK")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		if strings.ContainsAny(text, "\x00") || len(text) > 1<<12 {
			return
		}
		m, err := Compile(Query{Pattern: pattern})
		if err != nil {
			return
		}
		re := regexp.MustCompile(pattern)
		text = strings.TrimPrefix(text, "\xef\xbb\xbf")
		if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") || strings.HasPrefix(text, "\xef\xbb\xbf") {
			return
		}
		var want strings.Builder
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if text != "" && re.MatchString(line) {
				fmt.Fprintf(&want, ":%d: %s\n", i+1, line)
			}
		}
		if got := scanText(t, m, iotest.HalfReader(strings.NewReader(text)), false, 0); got != want.String() {
			t.Errorf("%q on %q:\n got %q\nwant %q", pattern, text, got, want.String())
		}
	})
}

func BenchmarkFiles(b *testing.B) {
	_, names := manyFiles(b, 5000, 5000)
	for _, q := range []Query{{Pattern: "NEEDLE"}, {Pattern: "needle", IgnoreCase: true}, {Pattern: `[A-Z]{6} \w+`}} {
		b.Run(q.Pattern, func(b *testing.B) {
			m := compile(b, q)
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				if _, err := Files(b.Context(), m, listOf(names), Options{Limit: 100}, func(string, Line) { n++ }); err != nil || n != 2 {
					b.Fatal(n, err)
				}
			}
		})
	}
}

func BenchmarkScan(b *testing.B) {
	text := strings.Repeat("func (r *Reader) Read(p []byte) (n int, err error) {\n\treturn r.fill(p), nil\n}\n", 20000)
	for _, q := range []Query{{Pattern: "ErrClosedPipe"}, {Pattern: "todo(", Literal: true, IgnoreCase: true}, {Pattern: "Fatalf|Errorf|Skipf"}, {Pattern: `\w+Handler\(`}, {Pattern: `[A-Z]{6,}[0-9]+`}} {
		b.Run(q.Pattern, func(b *testing.B) {
			m := compile(b, q)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if err := m.run(b.Context(), strings.NewReader(text), false, 0, func(Line) bool { return true }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
