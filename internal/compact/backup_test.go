package compact

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s.jsonl")
	if err := os.WriteFile(file, []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"s.jsonl.v1.bak", "s.jsonl.2020-01-01T00-00-00-000Z.other.bak", "t.jsonl.2020-01-01T00-00-00-000Z.compact.bak", "s.jsonl.2020-01-01.compact.bak"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	others := names(t, dir)
	at := time.Date(2026, 6, 6, 0, 0, 0, 0, time.UTC)
	var made []string
	for i, c := range []Cause{CauseManual, CauseThreshold, CauseOverflow, CauseManual, CauseManual} {
		if err := os.WriteFile(file, []byte(strings.Repeat("x", i)), 0o644); err != nil {
			t.Fatal(err)
		}
		path, err := Backup(file, c.BackupLabel(), at.Add(time.Duration(i/2)*time.Second)) // two fall together
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, path)
		content, err := os.ReadFile(path)
		if err != nil || string(content) != strings.Repeat("x", i) {
			t.Errorf("%s: %q, %v", path, content, err)
		}
		if st, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, st.Mode(), err)
		}
	}
	if want := file + ".2026-06-06T00-00-00-000Z.compact.bak"; made[0] != want {
		t.Errorf("%s, want %s", made[0], want)
	}
	want := others
	for _, path := range made[2:] {
		want = append(want, filepath.Base(path))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, names(t, dir)); diff != "" {
		t.Error(diff)
	}
}

func TestBackupNameTaken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.UnixMilli(1_700_000_000_000)
	seen := map[string]bool{}
	for range 2 {
		path, err := Backup(file, "compact", at)
		if err != nil || seen[path] {
			t.Fatal(path, err)
		}
		seen[path] = true
	}
}

func TestNoBackup(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.jsonl")
	f, err := os.Create(large)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(maxBackupBytes+1), f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"", filepath.Join(dir, "none.jsonl"), large} {
		if path, err := Backup(file, "compact", time.UnixMilli(0)); path != "" || err != nil {
			t.Errorf("%s: %q, %v", file, path, err)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// Where files cannot be cloned they are copied; nothing half is left behind.
func TestCopyNew(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := copyNew(to, from); err == nil || len(names(t, dir)) != 0 {
		t.Errorf("no source: %v, %v", err, names(t, dir))
	}
	if err := os.WriteFile(from, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, []byte("taken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := copyNew(to, from); !os.IsExist(err) {
		t.Errorf("taken: %v", err)
	}
	if content, _ := os.ReadFile(to); string(content) != "taken" {
		t.Errorf("%q", content)
	}
}
