package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/textdiff"
	"github.com/isotope-agent/isotope/internal/tool"
)

// edits writes the arguments of an edit: pairs of old and new text.
func edits(path string, pairs ...string) string {
	args := editArgs{Path: path}
	for i := 0; i < len(pairs); i += 2 {
		args.Edits = append(args.Edits, replacement{pairs[i], pairs[i+1]})
	}
	b, err := jsonx.Marshal(struct {
		Path  string        `json:"path"`
		Edits []replacement `json:"edits"`
	}{args.Path, args.Edits})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestEditResult(t *testing.T) {
	f := newFolder(t)
	f.write("a.txt", rows("line %d\n", 1, 10))
	f.want("edit", edits("a.txt", "line 2\n", "LINE 2\n"), "Successfully replaced 1 block(s) in a.txt.",
		`{"diff":"  1 line 1\n- 2 line 2\n+ 2 LINE 2\n  3 line 3\n  4 line 4\n  5 line 5\n  6 line 6\n    ...","patch":"--- a.txt\n+++ a.txt\n@@ -1,6 +1,6 @@\n line 1\n-line 2\n+LINE 2\n line 3\n line 4\n line 5\n line 6\n","firstChangedLine":2}`)
	f.want("edit", edits("a.txt", "line 6", "L6", "line 4", "L4"), "Successfully replaced 2 block(s) in a.txt.",
		`{"diff":"  1 line 1\n  2 LINE 2\n  3 line 3\n- 4 line 4\n+ 4 L4\n  5 line 5\n- 6 line 6\n+ 6 L6\n  7 line 7\n  8 line 8\n  9 line 9\n 10 line 10","patch":"--- a.txt\n+++ a.txt\n@@ -1,10 +1,10 @@\n line 1\n LINE 2\n line 3\n-line 4\n+L4\n line 5\n-line 6\n+L6\n line 7\n line 8\n line 9\n line 10\n","firstChangedLine":4}`)
	f.write("crlf.txt", "one\r\ntwo\r\nthree\r\n")
	f.want("edit", edits("crlf.txt", "two\nthree", "TWO\nTHREE"), "Successfully replaced 1 block(s) in crlf.txt.",
		`{"diff":" 1 one\n-2 two\n-3 three\n+2 TWO\n+3 THREE","patch":"--- crlf.txt\n+++ crlf.txt\n@@ -1,3 +1,3 @@\n one\n-two\n-three\n+TWO\n+THREE\n","firstChangedLine":2}`)
}

// Among others field report 133: edits are matched against the original text, and what
// is special in a replacement of JavaScript is plain here.
func TestEditContent(t *testing.T) {
	bom := "\ufeff"
	for _, tt := range []struct {
		name, before, after string
		pairs               []string
	}{
		{"a line", "a\nb\nc\n", "a\nB\nc\n", []string{"b", "B"}},
		{"removal", "a\nb\nc\n", "a\nc\n", []string{"b\n", ""}},
		{"at the ends", "abc", "xbz", []string{"a", "x", "c", "z"}},
		{"side by side", "ab", "xy", []string{"b", "y", "a", "x"}},
		{"dollar signs are plain", "a\n", "$& $1 $$ \\n\n", []string{"a", "$& $1 $$ \\n"}},
		{"matched against the original text", "a\nb\n", "b\nc\n", []string{"a", "b", "b", "c"}},
		{"mark kept", bom + "a\nb\n", bom + "x\nb\n", []string{"a", "x"}},
		{"line ends kept", "a\r\nb\r\nc", "a\r\nB\r\nB2\r\nc", []string{"b", "B\nB2"}},
		{"line ends of the edit do not matter", "a\r\nb\r\n", "x\r\ny\r\n", []string{"a\r\nb\n", "x\ny\r\n"}},
		{"mixed line ends", "a\nb\r\nc\nd\r\n", "a\nx\r\ny\nd\r\n", []string{"b\nc", "x\ny"}},
		{"mixed, in a line with LF", "a\r\nb\nc\n", "a\r\nx\ny\nc\n", []string{"b\nc", "x\ny\nc"}},
		{"mixed, last line", "a\nb\r\nc", "a\nb\r\nx\r\ny", []string{"c", "x\ny"}},
		{"old Macintosh", "a\rb\rc", "a\rx\ry\rc", []string{"b\nc", "x\ny\nc"}},
		{"a carriage return inside of a line", "a\rb\nc\n", "a\rB\nc\n", []string{"b\nc", "B\nc"}},
		{"broken bytes around stay", "\xff\xfe\x00b\xffc", "\xff\xfe\x00B\xffc", []string{"b", "B"}},
		{"trailing blanks", "a  \nb\t\nc   \n", "x\nc   \n", []string{"a\nb", "x"}},
		{"blanks in the edit only", "a\nb\n", "x\nb\n", []string{"a  ", "x"}},
		{"quotes", "say “hello” ‘you’\nkeep “this”\n", "say nothing\nkeep “this”\n", []string{`say "hello" 'you'`, "say nothing"}},
		{"dashes and spaces", "a\u2014b\u00a0c \u2013 d\n", "x \u2013 d\n", []string{"a-b c", "x"}},
		{"the rest of the line stays", "“a” (old) “b” ;  \n“c”\n", "“a” (old) B ;  \n“c”\n", []string{`"b"`, "B"}},
		{"blanks at a matched end of line go", "“a” (old) “b”  \n“c”\n", "“a” (old) B\n“c”\n", []string{`"b" `, "B"}},
		{"full-width characters", "ｆｏｏ（１）\n", "bar\n", []string{"foo(1)", "bar"}},
		{"a part of what a character stands for", "a ﬁn\u00a0b\n", "a fIN\u00a0b\n", []string{"in", "IN"}},
		{"the first part of what a character stands for", "a\u00a0ﬁ.\n", "XYi.\n", []string{"a f", "XY"}},
		{"decomposed", "cafe\u0301 x\ny  \n", "bar x\ny  \n", []string{"café", "bar"}},
		{"an exact match and a loose one", "a\nb  \nc\nd\n", "A\nB\nd\n", []string{"a", "A", "b\nc", "B"}},
		{"two loose ones", "“a”\nm  \n“b”\n", "A\nm  \nB\n", []string{`"a"`, "A", `"b"`, "B"}},
		{"exact wins over loose", "x = “a”\nx = \"a\"\n", "x = “a”\nX\n", []string{`x = "a"`, "X"}},
		{"loose over CRLF", "“a”  \r\nb\r\n", "x\r\ny\r\n", []string{"\"a\"\nb", "x\ny"}},
		{"at the end without a line feed", "a\nb  ", "a\nx", []string{"\nb\t", "\nx"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFolder(t)
			f.write("a", tt.before)
			if _, err := f.call("edit", edits("a", tt.pairs...)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, f.read("a")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEditErrors(t *testing.T) {
	f := newFolder(t)
	text := rows("line %d\n", 1, 10) + "same\nsame\n“s”\n‘s’ “s”\n"
	f.write("a", text)
	f.write("dir/x", "")
	for _, tt := range []struct{ args, text string }{
		{edits("a", "nope", "x"), "Could not find the exact text in a. The old text must match exactly including all whitespace and newlines."},
		{edits("a", "line 1\n", "x", "nope", "x"), "Could not find edits[1] in a. The oldText must match exactly including all whitespace and newlines."},
		{edits("a", "same", "x"), "Found 2 occurrences of the text in a. The text must be unique. Please provide more context to make it unique."},
		{edits("a", "line 2", "x", "line", "x"), "Found 10 occurrences of edits[1] in a. Each oldText must be unique. Please provide more context to make it unique."},
		{edits("a", `"s"`, "x"), "Found 2 occurrences of the text in a. The text must be unique. Please provide more context to make it unique."},
		{edits("a"), "Edit tool input is invalid. edits must contain at least one replacement."},
		{edits("a", "", "x"), "oldText must not be empty in a."},
		{edits("a", "line 2", "x", "", "x"), "edits[1].oldText must not be empty in a."},
		{edits("a", "  ", "x"), "Could not find the exact text in a. The old text must match exactly including all whitespace and newlines."},
		{edits("a", "line 3", "line 3"), "No changes made to a. The replacement produced identical content. This might indicate an issue with special characters or the text not existing as expected."},
		{edits("a", "line 3", "line 3", "line 4", "line 4"), "No changes made to a. The replacements produced identical content."},
		{edits("a", "line 8", "y", "line 7\nline 8", "x"), "edits[1] and edits[0] overlap in a. Merge them into one edit or target disjoint regions."},
		{edits("none", "a", "b"), "Could not edit file: none. Error code: ENOENT."},
		{edits("dir", "a", "b"), "EISDIR: illegal operation on a directory, read"},
	} {
		f.fails("edit", tt.args, tt.text)
	}
	if f.read("a") != text {
		t.Error("a failing edit changed the file")
	}
	makeFIFO(t, f.path("pipe"))
	f.fails("edit", edits("pipe", "a", "b"), "Could not edit file: pipe. It is not a regular file.")
	if os.Getuid() != 0 && runtime.GOOS != "windows" {
		f.write("locked", "a")
		if err := os.Chmod(f.path("locked"), 0o444); err != nil {
			t.Fatal(err)
		}
		f.fails("edit", edits("locked", "a", "b"), "Could not edit file: locked. Error code: EACCES.")
		f.fails("write", `{"path":"locked","content":"b"}`, "EACCES: permission denied, open '$PWD/locked'")
	}
}

// Field report 130: the shapes in which models send edits.
func TestEditInputShapes(t *testing.T) {
	for name, args := range map[string]string{
		"a list":            `{"path":"a","edits":[{"oldText":"b","newText":"B"}]}`,
		"JSON text":         `{"path":"a","edits":"[{\"oldText\":\"b\",\"newText\":\"B\"}]"}`,
		"one object":        `{"path":"a","edits":{"oldText":"b","newText":"B"}}`,
		"text of an object": `{"path":"a","edits":"{\"oldText\":\"b\",\"newText\":\"B\"}"}`,
		"at the top":        `{"path":"a","oldText":"b","newText":"B"}`,
		"more keys":         `{"path":"a","why":1,"edits":[{"oldText":"b","newText":"B","line":2}]}`,
		"an empty list too": `{"path":"a","edits":[],"oldText":"b","newText":"B"}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolder(t)
			f.write("a", "a\nb\nc\n")
			f.want("edit", args, "Successfully replaced 1 block(s) in a.", `{"diff":" 1 a\n-2 b\n+2 B\n 3 c","patch":"--- a\n+++ a\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n","firstChangedLine":2}`)
			if got := f.read("a"); got != "a\nB\nc\n" {
				t.Errorf("file is %q", got)
			}
		})
	}
}

// Field report 131: a loose match changes the matched lines only.
func TestEditLooseMatchTouchesNothingElse(t *testing.T) {
	f := newFolder(t)
	before := "one  \n“two”\t\ncafe\u0301 au lait\nthree \u00a0\n"
	f.write("a", before)
	if _, err := f.call("edit", edits("a", "café au lait", "tea")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Replace(before, "cafe\u0301 au lait", "tea", 1), f.read("a")); diff != "" {
		t.Error(diff)
	}
}

// Field report 132: edits and writes of one file take effect in the order of the
// calls, whatever goroutine comes first, also by different names of the file.
func TestEditsAndWritesOfOneFileKeepTheirOrder(t *testing.T) {
	f := newFolder(t)
	f.write("a", "start 0\n")
	names := []string{"a", "./a", "$PWD/a"}
	if err := os.Symlink("a", f.path("link")); err == nil {
		names = append(names, "link")
	}
	type step struct{ name, args string }
	var steps []step
	for i := range 40 {
		path := strings.ReplaceAll(names[i%len(names)], "$PWD", filepath.ToSlash(f.dir))
		if i == 20 {
			steps = append(steps, step{"write", `{"path":"` + path + `","content":"fresh 21\n"}`})
			continue
		}
		old, word := fmt.Sprintf(" %d\n", i), ""
		if i > 20 {
			word = "."
		}
		steps = append(steps, step{"edit", edits(path, old, fmt.Sprintf("%s %d\n", word, i+1))})
	}
	ed, wr := f.tool("edit"), f.tool("write")
	var runs []tool.RunFunc
	for _, s := range steps {
		tl := ed
		if s.name == "write" {
			tl = wr
		}
		runs = append(runs, tool.Start(t.Context(), tl, tool.Call{Args: jsonx.Raw(s.args)}))
	}
	slices.Reverse(runs) // the last goroutine first
	errs := make(chan error)
	for _, run := range runs {
		go func() {
			_, err := run(nil)
			errs <- err
		}()
	}
	for range runs {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got, want := f.read("a"), "fresh"+strings.Repeat(".", 19)+" 40\n"; got != want {
		t.Errorf("file is %q, want %q", got, want)
	}
}

func TestEditAbortedWhileWaiting(t *testing.T) {
	f := newFolder(t)
	f.write("a", "x\n")
	ed := f.tool("edit")
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	first := tool.Start(t.Context(), ed, tool.Call{Args: jsonx.Raw(edits("a", "x", "y"))})
	second := tool.Start(ctx, ed, tool.Call{Args: jsonx.Raw(edits("a", "y", "z"))})
	third := tool.Start(t.Context(), ed, tool.Call{Args: jsonx.Raw(edits("a", "y", "end"))})
	cancel(cause)
	if _, err := second(nil); !errors.Is(err, cause) {
		t.Errorf("aborted: %v", err)
	}
	for _, run := range []tool.RunFunc{first, third} {
		if _, err := run(nil); err != nil {
			t.Error(err)
		}
	}
	if got := f.read("a"); got != "end\n" {
		t.Errorf("file is %q", got)
	}
}

func TestEditOfALargeFileTakesLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 100 MB")
	}
	f := newFolder(t)
	line := strings.Repeat("some text of a line, ", 3) + "%08d\n"
	const lines = 1_400_000
	file, err := os.Create(f.path("large"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= lines; i += 1000 {
		fmt.Fprint(file, rows(line, i, i+999))
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	var res tool.Result
	n := allocated(func() {
		res, err = f.call("edit", edits("large", "line, 01234567\n", "line, changed\nand one more\n"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if n > 8<<20 {
		t.Errorf("%d bytes allocated", n)
	}
	d := res.Details.(textdiff.Diff)
	if d.FirstChangedLine != 1234567 || strings.Count(d.Display, "\n") != 2+2+8 {
		t.Errorf("diff:\n%s", d.Display)
	}
	f.want("read", `{"path":"large","offset":1234567,"limit":2}`, strings.TrimSuffix(fmt.Sprintf(line, 0), "00000000\n")+"changed\nand one more\n\n[165434 more lines in file. Use offset=1234569 to continue.]", "")
	if n = allocated(func() { _, err = f.call("edit", edits("large", "line,  01234569  \n", "x\n")) }); err == nil || n > 8<<20 {
		t.Errorf("not found: %v, %d bytes allocated", err, n)
	}
	// The loose search goes through the file line by line.
	if n = allocated(func() { _, err = f.call("edit", edits("large", "line, 01234569  \nsome", "x\nsome")) }); err != nil || n > 16<<20 {
		t.Errorf("loosely found: %v, %d bytes allocated", err, n)
	}
}

func TestEditOfOneHugeLine(t *testing.T) {
	f := newFolder(t)
	f.write("a", strings.Repeat("x", 3<<20)+"needle"+strings.Repeat("y", 3<<20))
	res, err := f.call("edit", edits("a", "needle", "pin"))
	if err != nil {
		t.Fatal(err)
	}
	if d := res.Details.(textdiff.Diff); d.Display != "[diff left out: the changed lines hold 6291462 bytes]" {
		t.Errorf("diff %.100s", d.Display)
	}
	if got := f.read("a"); len(got) != 6<<20+3 || !strings.Contains(got, "xpiny") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestDistantEditsOfALongFile(t *testing.T) {
	f := newFolder(t)
	f.write("a", rows("line %d\n", 1, 1000))
	res, err := f.call("edit", edits("a", "line 990\n", "", "line 20\n", "line 20\nnew\n", "line 40\n", "L40\n"))
	if err != nil {
		t.Fatal(err)
	}
	before := rows("line %d\n", 1, 1000)
	want := textdiff.Strings("a", before, f.read("a"))
	if diff := cmp.Diff(want, res.Details); diff != "" {
		t.Error(diff)
	}
}

// FuzzEdit compares with the plain way: everything in memory. The source is read in
// tiny blocks.
func FuzzEdit(f *testing.F) {
	f.Add("a\nb\nc\n", "b", "B", 1)
	f.Add("a  \r\nb\r\n", "a\nb", "x", 3)
	f.Add("“a”\n“a” \nb", "\"a\"\nb", "y", 2)
	f.Add("a\rb", "b", "c\n", 5)
	f.Add("cafe\u0301\u00a0x", "é x", "", 4)
	f.Fuzz(func(t *testing.T, text, old, replaced string, block int) {
		if old == "" || block < 1 || block > 64 || strings.Contains(old, "\r") || strings.Contains(replaced, "\r") {
			return
		}
		s := newSourceOf(t.Context(), strings.NewReader(text), int64(len(text)), -1, block)
		spans, err := s.place("f", []replacement{{old, replaced}})
		if s.err != nil {
			t.Fatal(s.err)
		}
		body, marked := strings.CutPrefix(text, "\ufeff")
		lone := strings.Contains(strings.ReplaceAll(body, "\r\n", ""), "\r") && strings.Contains(body, "\n")
		flat := strings.ReplaceAll(body, "\r\n", "\n")
		if !strings.Contains(body, "\n") {
			flat = strings.ReplaceAll(flat, "\r", "\n")
		}
		n := strings.Count(flat, old)
		switch {
		case n > 1 && err == nil:
			t.Fatalf("%q is there %d times in %q", old, n, text)
		case n != 1 || err != nil || lone:
			return
		}
		var sb strings.Builder
		if err := s.splice(&sb, spans); err != nil {
			t.Fatal(err)
		}
		got, stillMarked := strings.CutPrefix(sb.String(), "\ufeff")
		if marked && !stillMarked {
			t.Fatal("the mark is gone")
		}
		got = strings.ReplaceAll(got, "\r\n", "\n")
		if !strings.Contains(body, "\n") {
			got = strings.ReplaceAll(got, "\r", "\n")
		}
		if want := strings.Replace(flat, old, replaced, 1); got != want {
			t.Errorf("%q, %q → %q: %q, want %q", text, old, replaced, got, want)
		}
		if d := s.diff("f", spans); s.err != nil || d.Display == "" {
			t.Errorf("diff %+v, %v", d, s.err)
		}
	})
}

// FuzzLoose holds a loose match to the same search over the whole text.
func FuzzLoose(f *testing.F) {
	f.Add("a  \n“b”\nc\n", "a\n\"b\"", 7)
	f.Add("x\u00a0ﬁ\n\n\ny", "fi\n\n\ny", 2)
	f.Add("a\na\na\n", "a\na", 3)
	f.Fuzz(func(t *testing.T, text, old string, block int) {
		if strings.Contains(text+old, "\r") || strings.HasPrefix(text, "\ufeff") || block < 1 || block > 64 {
			return
		}
		see := func(s string) string {
			lines := strings.Split(s, "\n")
			for i := range lines {
				lines[i] = string(loosely([]byte(lines[i])))
			}
			return strings.Join(lines, "\n")
		}
		want := see(old)
		if want == "" {
			return
		}
		s := newSourceOf(t.Context(), strings.NewReader(text), int64(len(text)), -1, block)
		m, n := s.findLoose(old)
		if s.err != nil {
			t.Fatal(s.err)
		}
		if count := strings.Count(see(text), want); n != count {
			t.Fatalf("%q in %q: %d, want %d", old, text, n, count)
		}
		if n != 1 {
			return
		}
		if m.start < 0 || m.end < m.start || m.end > int64(len(text)) {
			t.Fatalf("%q in %q: [%d,%d)", old, text, m.start, m.end)
		}
		// Lines outside of the match keep their bytes.
		before := text[:m.start]
		if i := strings.Index(see(text), want); strings.Count(see(text)[:i], "\n") != strings.Count(before, "\n") {
			t.Errorf("%q in %q: match begins at %d", old, text, m.start)
		}
	})
}

func BenchmarkEditLargeFile(b *testing.B) {
	f := newFolder(b)
	f.write("a", rows("some text in line %07d\n", 1, 1_000_000))
	b.SetBytes(26 << 20)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		old, replaced := "line 0900000", "LINE 0900000"
		if i%2 == 1 {
			old, replaced = replaced, old
		}
		if _, err := f.call("edit", edits("a", old, replaced)); err != nil {
			b.Fatal(err)
		}
	}
}

func TestReplaceKeepsWhatAFileIs(t *testing.T) {
	notOnWindows(t)
	f := newFolder(t)
	f.write("script", "#!/bin/sh\nold\n")
	if err := os.Chmod(f.path("script"), 0o751); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("script", f.path("link")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.call("edit", edits("link", "old", "new")); err != nil {
		t.Fatal(err)
	}
	st, err := os.Lstat(f.path("script"))
	if err != nil || st.Mode().Perm() != 0o751 || f.read("script") != "#!/bin/sh\nnew\n" {
		t.Errorf("%v %v %q", st.Mode(), err, f.read("script"))
	}
	if st, err := os.Lstat(f.path("link")); err != nil || st.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if err := os.Link(f.path("script"), f.path("other")); err != nil {
		t.Skip(err)
	}
	if _, err := f.call("edit", edits("script", "new", "newer")); err != nil {
		t.Fatal(err)
	}
	if f.read("other") != "#!/bin/sh\nnewer\n" {
		t.Error("the other name of the file is another file now")
	}
	left, err := filepath.Glob(f.path(".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
