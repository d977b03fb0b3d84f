package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/tool"
	"github.com/isotope-agent/isotope/internal/walk"
)

// project is a small tree, in a repository or not.
func project(tb testing.TB, repository bool) *folder {
	f := newFolder(tb)
	if repository {
		f.write(".git/HEAD", "TODO")
	}
	f.write("big.txt", rows("row %d\n", 1, 1500))
	f.write("src/m.go", "package m\n// TODO one\nfunc F() {}\n")
	f.write("src/deep/n.go", "package n\n// TODO two\n")
	f.write(".hidden/h.txt", "TODO hidden\n")
	f.write("ignored/i.txt", "TODO ignored\n")
	f.write("bin.dat", "TODO\x00binary\n")
	f.write("long.txt", strings.Repeat("z", 60000)+"\r\nshort\r\n")
	f.write("README.md", "nothing\n")
	f.write(".gitignore", "ignored/\n*.log\n")
	f.write("src/x.log", "TODO log\n")
	return f
}

func TestGrep(t *testing.T) {
	f := project(t, true)
	for _, tt := range []struct{ args, text, details string }{
		{`{"pattern":"TODO"}`, ".hidden/h.txt:1: TODO hidden\nsrc/deep/n.go:2: // TODO two\nsrc/m.go:2: // TODO one", ""},
		{`{"pattern":"TODO","path":"src"}`, "deep/n.go:2: // TODO two\nm.go:2: // TODO one", ""},
		{`{"pattern":"TODO","path":"ignored"}`, "i.txt:1: TODO ignored", ""},
		{`{"pattern":"todo","ignoreCase":true,"glob":"*.go"}`, "src/deep/n.go:2: // TODO two\nsrc/m.go:2: // TODO one", ""},
		{`{"pattern":"TODO","glob":"!*.go"}`, ".hidden/h.txt:1: TODO hidden", ""},
		{`{"pattern":"TODO","glob":"src/*.go"}`, "src/m.go:2: // TODO one", ""},
		{`{"pattern":"TODO","glob":"./src/**/*.go"}`, "src/deep/n.go:2: // TODO two\nsrc/m.go:2: // TODO one", ""},
		{`{"pattern":"TODO","glob":"*.{go,txt}"}`, ".hidden/h.txt:1: TODO hidden\nsrc/deep/n.go:2: // TODO two\nsrc/m.go:2: // TODO one", ""},
		{`{"pattern":"TODO","glob":"*.log"}`, "src/x.log:1: TODO log", ""},
		{`{"pattern":"TODO","path":"src/m.go","context":1}`, "m.go-1- package m\nm.go:2: // TODO one\nm.go-3- func F() {}", ""},
		{`{"pattern":"TODO","path":"bin.dat"}`, "bin.dat:1: TODO\x00binary", ""},
		{`{"pattern":"nomatchatall"}`, "No matches found", ""},
		{`{"pattern":"[","literal":true}`, "No matches found", ""},
		{`{"pattern":"row 7$","path":"big.txt","context":1}`, "big.txt-6- row 6\nbig.txt:7: row 7\nbig.txt-8- row 8", ""},
		{`{"pattern":"row","limit":3}`, "big.txt:1: row 1\nbig.txt:2: row 2\nbig.txt:3: row 3\n\n[3 matches limit reached. Use limit=6 for more, or refine pattern]", `{"matchLimitReached":3}`},
		{`{"pattern":"row 1[45]00","limit":2}`, "big.txt:1400: row 1400\nbig.txt:1500: row 1500", ""},
		{`{"pattern":"row","limit":0.5}`, "big.txt:1: row 1\n\n[1 matches limit reached. Use limit=2 for more, or refine pattern]", `{"matchLimitReached":1}`},
		{`{"pattern":"short","path":"long.txt"}`, "long.txt:2: short", ""},
		{`{"pattern":"zzz","path":"long.txt"}`, "long.txt:1: " + strings.Repeat("z", 500) + "... [truncated]\n\n[Some lines truncated to 500 chars. Use read tool to see full lines]", `{"linesTruncated":true}`},
	} {
		f.want("grep", tt.args, tt.text, tt.details)
	}
	f.fails("grep", `{"pattern":"["}`, "regex parse error:\n    [\n    ^\nerror: unclosed character class")
	f.fails("grep", `{"pattern":"x","path":"nofile"}`, "Path not found: $PWD/nofile")
	f.fails("grep", `{"pattern":"x","glob":"["}`, "error parsing glob '[': unclosed character class; missing ']'")

	project(t, false).want("grep", `{"pattern":"TODO i|TODO l"}`, "ignored/i.txt:1: TODO ignored\nsrc/x.log:1: TODO log", "")
}

func TestGrepCountsBeyondTheSizeLimit(t *testing.T) {
	f := newFolder(t)
	f.write("a", rows(strings.Repeat("x", 90)+" %04d\n", 1, 3000))
	res, err := f.call("grep", `{"pattern":"x","limit":2000,"context":3}`)
	if err != nil {
		t.Fatal(err)
	}
	d := res.Details.(grepDetails)
	text := res.Content.PlainText("")
	if !strings.HasSuffix(text, "\n\n[2000 matches limit reached. Use limit=4000 for more, or refine pattern. 50.0KB limit reached]") {
		t.Errorf("ends in %q", text[len(text)-120:])
	}
	// 2,003 rows: "a:1: " to "a-2003- " and 95 characters each.
	size := 2003*(95+4) + 9 + 2*90 + 3*900 + 4*1004 + 2002
	if tr := d.Truncation; d.MatchLimitReached != 2000 || tr.TotalLines != 2003 || tr.TotalBytes != size || tr.OutputBytes > maxBytes || *tr.TruncatedBy != "bytes" || tr.MaxLines != 9007199254740991 {
		t.Errorf("%d bytes: %+v", size, *tr)
	}
}

func TestGrepIsAborted(t *testing.T) {
	f := project(t, true)
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for _, name := range []string{"grep", "find", "ls", "read"} {
		if _, err := f.tool(name).Run(ctx, tool.Call{Args: jsonx.Raw(`{"pattern":"x","path":"."}`)}, nil); !errors.Is(err, cause) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFind(t *testing.T) {
	f := project(t, true)
	for i := range 1200 {
		f.write(fmt.Sprintf("many/f%04d.dat", i), "")
	}
	first := func(n int) string {
		return "bin.dat\n" + strings.TrimSuffix(rows("many/f%04d.dat\n", 0, n-2), "\n")
	}
	for _, tt := range []struct{ args, text, details string }{
		{`{"pattern":"*.go"}`, "src/deep/n.go\nsrc/m.go", ""},
		{`{"pattern":"src/**/*.go"}`, "src/deep/n.go\nsrc/m.go", ""},
		{`{"pattern":"src/*.go"}`, "src/m.go", ""},
		{`{"pattern":"./src/*.go"}`, "src/m.go", ""},
		{`{"pattern":"**/deep/*"}`, "src/deep/n.go", ""},
		{`{"pattern":"src/**"}`, "src/deep/\nsrc/deep/n.go\nsrc/m.go", ""},
		{`{"pattern":"*.nomatch"}`, "No files found matching pattern", ""},
		{`{"pattern":"*.txt","path":"src"}`, "No files found matching pattern", ""},
		{`{"pattern":"i.txt"}`, "No files found matching pattern", ""},
		{`{"pattern":"SRC"}`, "No files found matching pattern", ""},
		{`{"pattern":"readme*"}`, "README.md", ""},
		{`{"pattern":"{m,n}.go"}`, "src/deep/n.go\nsrc/m.go", ""},
		{`{"pattern":"h.txt"}`, ".hidden/h.txt", ""},
		{`{"pattern":"deep"}`, "src/deep/", ""},
		{`{"pattern":"$PWD/src/*.go","path":"src"}`, "m.go", ""},
		{`{"pattern":"*","path":"src"}`, "deep/\ndeep/n.go\nm.go", ""},
		{`{"pattern":"*.dat"}`, first(1000) + "\n\n[1000 results limit reached. Use limit=2000 for more, or refine pattern]", `{"resultLimitReached":1000}`},
		{`{"pattern":"*.dat","limit":3}`, first(3) + "\n\n[3 results limit reached. Use limit=6 for more, or refine pattern]", `{"resultLimitReached":3}`},
		{`{"pattern":"*.dat","limit":1201}`, first(1201), ""},
	} {
		f.want("find", tt.args, tt.text, tt.details)
	}
	f.fails("find", `{"pattern":"*","path":"nofile"}`, "Path not found: $PWD/nofile")
	f.fails("find", `{"pattern":"*","path":"README.md"}`, "Not a directory: $PWD/README.md")
	f.fails("find", `{"pattern":"["}`, "error parsing glob '[': unclosed character class; missing ']'")
	// Outside of repositories .gitignore counts too, unlike for grep.
	project(t, false).want("find", `{"pattern":"{i.txt,x.log,h.txt}"}`, ".hidden/h.txt", "")
}

func TestFindCountsBeyondTheSizeLimit(t *testing.T) {
	f := newFolder(t)
	for i := range 600 {
		f.write(fmt.Sprintf("%s%04d", strings.Repeat("n", 100), i), "")
	}
	res, err := f.call("find", `{"pattern":"n*"}`)
	if err != nil {
		t.Fatal(err)
	}
	d := res.Details.(findDetails)
	if !strings.HasSuffix(res.Content.PlainText(""), "0486\n\n[50.0KB limit reached]") || d.Truncation.TotalLines != 600 || d.Truncation.TotalBytes != 600*105-1 || d.Truncation.OutputLines != 487 {
		t.Errorf("%+v", *d.Truncation)
	}
}

func TestLs(t *testing.T) {
	f := newFolder(t)
	for _, name := range []string{"b.txt", "A.txt", ".dot", "_under", "a_b", "a-b", "a b", "Z", "é", "eb", "ea", "10", "9", "sub/x", "~tilde"} {
		f.write(name, "")
	}
	all := "_under\n.dot\n~tilde\n10\n9\na b\na_b\na-b\nA.txt\nb.txt\né\nea\neb\nsub/\nZ"
	f.want("ls", `{}`, all, "")
	f.want("ls", `{"path":"."}`, all, "")
	f.want("ls", `{"path":"sub"}`, "x", "")
	f.want("ls", `{"limit":2}`, "_under\n.dot\n\n[2 entries limit reached. Use limit=4 for more]", `{"entryLimitReached":2}`)
	f.want("ls", `{"path":"sub","limit":-1}`, "x", "")
	if err := os.Mkdir(f.path("empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.want("ls", `{"path":"empty"}`, "(empty directory)", "")
	f.fails("ls", `{"path":"nofile"}`, "Path not found: $PWD/nofile")
	f.fails("ls", `{"path":"Z"}`, "Not a directory: $PWD/Z")
}

func TestLsFollowsLinks(t *testing.T) {
	f := newFolder(t)
	f.write("d/x", "")
	for name, target := range map[string]string{"dir": "d", "file": "d/x", "nothing": "none"} {
		if err := os.Symlink(target, f.path(name)); err != nil {
			t.Skip(err)
		}
	}
	f.want("ls", `{}`, "d/\ndir/\nfile", "")
}

func TestLsUnreadable(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("permissions do not bind")
	}
	f := newFolder(t)
	if err := os.Mkdir(f.path("d"), 0); err != nil {
		t.Fatal(err)
	}
	f.fails("ls", `{"path":"d"}`, "Cannot read directory: EACCES: permission denied, scandir '$PWD/d'")
}

func TestLsSizeLimit(t *testing.T) {
	f := newFolder(t)
	for i := range 300 {
		f.write(fmt.Sprintf("%s%03d", strings.Repeat("n", 200), i), "")
	}
	res, err := f.call("ls", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if d := res.Details.(lsDetails); d.Truncation.TotalLines != 300 || d.Truncation.OutputLines != 250 || !strings.HasSuffix(res.Content.PlainText(""), "249\n\n[50.0KB limit reached]") {
		t.Errorf("%+v", *d.Truncation)
	}
}

func TestSearchUsesTheGlobalIgnoreFile(t *testing.T) {
	f := project(t, true)
	dir := filepath.Join(f.cfg.Home, ".config", "git")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ignore"), []byte("*.go\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.want("grep", `{"pattern":"TODO"}`, ".hidden/h.txt:1: TODO hidden", "")
	f.want("find", `{"pattern":"*.go"}`, "No files found matching pattern", "")
}

func TestNames(t *testing.T) {
	var all, on []string
	for _, b := range Names() {
		all = append(all, b.Name)
		if b.Default {
			on = append(on, b.Name)
		}
	}
	if !slices.Equal(all, []string{"read", "bash", "edit", "write", "grep", "find", "ls"}) || !slices.Equal(on, all[:4]) {
		t.Errorf("%v, on: %v", all, on)
	}
}

func TestWholeNumber(t *testing.T) {
	for f, want := range map[float64]int{0: 0, 2.9: 2, -0.5: -1, -3: -3, 1e300: 1 << 53, -1e300: -1 << 53} {
		if got := wholeNumber(&f, 7); got != want {
			t.Errorf("%v: %d", f, got)
		}
	}
	if got := wholeNumber(nil, 7); got != 7 {
		t.Errorf("nothing: %d", got)
	}
}

func BenchmarkGrep(b *testing.B) {
	f := newFolder(b)
	for i := range 5000 {
		f.write(fmt.Sprintf("d%02d/e%02d/f%04d.go", i/1000, i/100%10, i), rows("line of text number %d\n", 1, 20))
	}
	f.write("d03/needle.go", "NEEDLE\n")
	b.ReportAllocs()
	for b.Loop() {
		res, err := f.call("grep", `{"pattern":"NEEDLE"}`)
		if err != nil || res.Content.PlainText("") != "d03/needle.go:1: NEEDLE" {
			b.Fatal(res, err)
		}
	}
}

// Field report 134: a glob with the separators of Windows finds what one with slashes does.
func TestFindGlobOfWindows(t *testing.T) {
	for _, windows := range []bool{true, false} {
		p, err := parseFind(`src\**\*.go`, "/work", windows)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.match(walk.Entry{Path: "src/a/b.go"}); got != windows {
			t.Errorf("windows %v: found %v", windows, got)
		}
	}
}

// Field report 134: lines around the matches are not gathered for a whole large file.
func TestGrepContextTakesLittleMemory(t *testing.T) {
	f := newFolder(t)
	f.write("large", strings.Repeat("a line with a needle in it and some more text\n", 500_000))
	var err error
	if n := allocated(func() { _, err = f.call("grep", `{"pattern":"needle","context":1000,"limit":100}`) }); err != nil || n > 16<<20 { // a quarter of it without the race detector
		t.Errorf("%v, %d bytes allocated for a file of 23 MB", err, n)
	}
}
