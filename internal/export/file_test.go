package export

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// dirHolds fails when a folder holds anything but these files.
func dirHolds(t *testing.T, dir string, names ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("the folder holds %q, want %q", got, names)
	}
}

func TestFileIsNewAndPrivate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.html")
	if err := HTMLFile(path, openView(t, demo), Options{}); err != nil {
		t.Fatal(err)
	}
	dirHolds(t, dir, "a.html")
	if page := readFile(t, path); !strings.HasSuffix(page, "</html>\n") {
		t.Error("no whole page")
	}
	if st, _ := os.Stat(path); runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
		t.Errorf("mode %o", st.Mode().Perm())
	}
}

func TestFileKeepsItsModeAndItsLink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes, and links need a right")
	}
	dir := t.TempDir()
	target, link := filepath.Join(dir, "real.html"), filepath.Join(dir, "link.html")
	if err := os.WriteFile(target, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(target, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := HTMLFile(link, openView(t, demo), Options{}); err != nil {
		t.Fatal(err)
	}
	if st, _ := os.Lstat(link); st.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if st, _ := os.Stat(target); st.Mode().Perm() != 0o644 || st.Size() < 1000 {
		t.Errorf("mode %o, %d bytes", st.Mode().Perm(), st.Size())
	}
}

// The texts are those of the reference: clients show them.
func TestErrorTexts(t *testing.T) {
	v := openView(t, demo)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	memory, err := session.Create(session.Config{MemoryOnly: true, Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	fresh, err := session.Create(session.Config{Dir: filepath.Join(dir, "sessions"), Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	t.Chdir(dir)
	for _, c := range []struct {
		name, path string
		view       *session.View
		want       string
		unix       bool
	}{
		{"in memory", "x.html", memory.View(), "Cannot export in-memory session to HTML", false},
		{"no file yet", "x.html", fresh.View(), "Nothing to export yet - start a conversation first", false},
		{"no folder", "rel/out.html", v, "ENOENT: no such file or directory, open 'rel/out.html'", false},
		{"absolute", filepath.Join(dir, "no", "out.html"), v, "ENOENT: no such file or directory, open '" + filepath.Join(dir, "no", "out.html") + "'", false},
		{"a folder", "sub", v, "EISDIR: illegal operation on a directory, open 'sub'", true},
		{"below a file", "file/out.html", v, "ENOTDIR: not a directory, open 'file/out.html'", true},
		{"a long name", strings.Repeat("x", 300) + ".html", v, "ENAMETOOLONG: name too long, open '" + strings.Repeat("x", 300) + ".html'", true},
	} {
		if c.unix && runtime.GOOS == "windows" {
			continue
		}
		if c.name == "a folder" {
			if err := os.Mkdir("sub", 0o700); err != nil {
				t.Fatal(err)
			}
		}
		err := HTMLFile(c.path, c.view, Options{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	dirHolds(t, dir, "file", "sub")
}

// A session that has its file by now can be exported, with what is only in memory yet.
func TestLiveSession(t *testing.T) {
	dir := t.TempDir()
	s, err := session.Create(session.Config{Dir: dir, Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Append(session.Message{Message: &llm.UserMessage{Content: llm.Content{llm.NewText("hello <b>")}, Timestamp: 1}}); err != nil {
		t.Fatal(err)
	}
	v := s.View()
	out := filepath.Join(dir, DefaultName("isotope", v.Path()))
	if err := HTMLFile(out, v, Options{}); err != nil {
		t.Fatal(err)
	}
	if lines := embedded(t, readFile(t, out)); len(lines) != 1 || !strings.Contains(lines[0], "hello <b>") {
		t.Errorf("entries %q", lines)
	}
}

// An export that fails leaves the page that was there.
func TestFailureLeavesTheOldPage(t *testing.T) {
	session := writeSession(t, `{"type":"message","id":"a1","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":"x"}}`)
	v := openView(t, session)
	dir := t.TempDir()
	out := filepath.Join(dir, "a.html")
	writeFile(t, out, []byte("old"))
	if err := os.Truncate(session, 20); err != nil {
		t.Fatal(err)
	}
	if err := HTMLFile(out, v, Options{}); err == nil {
		t.Fatal("a session that was cut is exported")
	} else if pe := (*PathError)(nil); errors.As(err, &pe) {
		t.Errorf("the target is blamed: %v", err)
	}
	if got := readFile(t, out); got != "old" {
		t.Errorf("the old page is %q", got)
	}
	dirHolds(t, dir, "a.html")
}

func TestSessionIsNotOverwritten(t *testing.T) {
	path := writeSession(t, `{"type":"message","id":"a1","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":"x"}}`)
	before := readFile(t, path)
	if err := File(path, openView(t, path), Options{}); err == nil {
		t.Error("the session is written over itself")
	}
	if readFile(t, path) != before {
		t.Error("the session has changed")
	}
}

func TestFormFollowsTheName(t *testing.T) {
	dir := t.TempDir()
	v := openView(t, demo)
	for name, want := range map[string]string{"a.html": "<!doctype html>", "b.JSONL": `{"type":"session"`, "c": "<!doctype html>"} {
		path := filepath.Join(dir, name)
		if err := File(path, v, Options{}); err != nil {
			t.Fatal(err)
		}
		if got := readFile(t, path); !strings.HasPrefix(got, want) {
			t.Errorf("%s begins with %q", name, got[:20])
		}
	}
}

// A device or a pipe is written to, not replaced.
func TestDevice(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such file")
	}
	if err := HTMLFile(os.DevNull, openView(t, demo), Options{}); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(os.DevNull); err != nil || st.Mode().IsRegular() {
		t.Fatal("the device is gone")
	}
}
