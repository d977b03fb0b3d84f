package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// onlyFile fails when dir holds anything beside name: no temporary file may stay.
func onlyFile(t *testing.T, dir, name string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].Name() != name {
		t.Fatalf("directory holds %v, want only %s", list, name)
	}
}

func TestWriteFileCreatesAndReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	for _, text := range []string{"one", "two, longer than before", ""} {
		if err := WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != text {
			t.Fatalf("got %q, want %q", got, text)
		}
		onlyFile(t, dir, "a.json")
	}
}

func TestWriteFileModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no mode bits")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	mode := func() os.FileMode {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return st.Mode().Perm()
	}
	if err := WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if m := mode(); m != 0o600 {
		t.Fatalf("new file has mode %o", m)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if m := mode(); m != 0o640 {
		t.Fatalf("mode of an existing file became %o", m)
	}
}

func TestWriteFileKeepsSymlink(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(t.TempDir(), "real")
	link := filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	if err := WriteFile(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, target); got != "new" {
		t.Fatalf("target holds %q", got)
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Fatalf("the link was replaced: %v %v", st, err)
	}
}

func TestCreateRefusesDirectory(t *testing.T) {
	if _, err := Create(t.TempDir(), Options{}); err == nil {
		t.Fatal("a directory was accepted")
	}
}

func TestFailedStepsLeaveTheOldFile(t *testing.T) {
	boom := errors.New("boom")
	for name, breakIt := range map[string]func(*ops){
		"sync":   func(o *ops) { o.sync = func(*os.File) error { return boom } },
		"rename": func(o *ops) { o.rename = func(string, string) error { return boom } },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a")
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			o := realOps()
			breakIt(&o)
			f, err := create(path, Options{}, o)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write([]byte("new")); err != nil {
				t.Fatal(err)
			}
			if err := f.Commit(); !errors.Is(err, boom) {
				t.Fatalf("Commit returned %v", err)
			}
			if got := read(t, path); got != "old" {
				t.Fatalf("file holds %q", got)
			}
			onlyFile(t, dir, "a")
		})
	}
}

func TestDirectorySyncFailureIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	o := realOps()
	o.syncDir = func(string) error { return errors.New("boom") }
	f, err := create(path, Options{}, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Fatalf("got %v", err)
	}
}

func TestNoSyncAndAbort(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	o := realOps()
	o.sync = func(*os.File) error { t.Error("synced"); return nil }
	o.syncDir = func(string) error { t.Error("directory synced"); return nil }
	f, err := create(path, Options{NoSync: true}, o)
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte("x"))
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err == nil {
		t.Fatal("second Commit passed")
	}
	g, err := create(path, Options{}, o)
	if err != nil {
		t.Fatal(err)
	}
	g.Write([]byte("y"))
	g.Abort()
	g.Abort()
	if got := read(t, path); got != "x" {
		t.Fatalf("file holds %q", got)
	}
	onlyFile(t, dir, "a")
}
