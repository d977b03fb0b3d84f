package proc

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestSpillPathAndModes(t *testing.T) {
	s := Spill{TempDir: t.TempDir(), Dialect: "atomic", Owner: "501", Session: "0199-ab/../c d"}
	path := capture(t, s, seq(1, 2001)).Path()
	rel, _ := filepath.Rel(s.TempDir, path)
	if !regexp.MustCompile(`^atomic-501/0199-ab_\.\._c_d/atomic-bash-[0-9a-f]{16}\.log$`).MatchString(filepath.ToSlash(rel)) {
		t.Errorf("path %s", rel)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for p, want := range map[string]os.FileMode{s.Root(): 0o700, s.Dir(): 0o700, path: 0o600} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, want %v, error %v", p, info.Mode().Perm(), want, err)
		}
	}
}

func TestSpillTightensItsOwnDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	s := testSpill(t)
	if err := os.Mkdir(s.Root(), 0o755); err != nil {
		t.Fatal(err)
	}
	if capture(t, s, seq(1, 2001)).Path() == "" {
		t.Fatal("not written")
	}
	if info, _ := os.Stat(s.Root()); info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode().Perm())
	}
}

// What cannot be written has no path, and the command goes on.
func TestSpillRefusals(t *testing.T) {
	elsewhere := t.TempDir()
	for name, prepare := range map[string]func(s *Spill) error{
		"root is a link":     func(s *Spill) error { return os.Symlink(elsewhere, s.Root()) },
		"root is a file":     func(s *Spill) error { return os.WriteFile(s.Root(), nil, 0o600) },
		"no temporary files": func(s *Spill) error { s.TempDir += "/gone"; return nil },
		"session is a link": func(s *Spill) error {
			if err := os.Mkdir(s.Root(), 0o700); err != nil {
				return err
			}
			return os.Symlink(elsewhere, s.Dir())
		},
		"disabled": func(s *Spill) error { *s = Spill{}; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := testSpill(t)
			if err := prepare(&s); err != nil {
				t.Skip(err)
			}
			c := capture(t, s, seq(1, 3000))
			if c.Path() != "" {
				t.Errorf("path %q", c.Path())
			}
			if tail := c.Tail(); !tail.Truncated || tail.OutputLines != 2000 {
				t.Errorf("tail %+v", tail.OutputLines)
			}
		})
	}
	if entries, _ := os.ReadDir(elsewhere); len(entries) != 0 {
		t.Errorf("written through a link: %v", entries)
	}
}

func TestSpillCap(t *testing.T) {
	euro := []byte("\u20ac")
	const limit = 1 << 20
	block := bytes.Repeat(euro, 20000)
	if f := testSpill(t).create(); f == nil || f.limit != 67108864 {
		t.Errorf("file %+v", f)
	} else {
		f.close()
	}
	for _, c := range []struct {
		name  string
		total int
		want  int64 // size of the file
		mark  bool
	}{
		{"exactly the cap", limit, limit, false},
		{"one byte more", limit + 1, limit, true},
		{"much more", 3 * limit, limit, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			spill := testSpill(t)
			spill.limit = limit
			out := NewCapture(spill)
			for left := c.total; left > 0; left -= len(block) {
				p := block[:min(left, len(block))]
				if n := len(p) % 3; n != 0 {
					p = append(bytes.Clone(p[:len(p)-n]), "xx"[:n]...)
				}
				out.Append(p)
			}
			out.Close()
			f, err := os.Open(out.Path())
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			info, _ := f.Stat()
			if info.Size() > c.want || info.Size() < c.want-3 {
				t.Errorf("%d bytes, want at most %d", info.Size(), c.want)
			}
			end := make([]byte, len(spillMark)+3)
			if _, err := f.ReadAt(end, info.Size()-int64(len(end))); err != nil {
				t.Fatal(err)
			}
			if got := strings.HasSuffix(string(end), spillMark); got != c.mark {
				t.Errorf("ends in %q", end)
			}
			if c.mark && !bytes.Equal(end[:3], euro) {
				t.Errorf("a character was halved: %q", end[:3])
			}
		})
	}
}

func TestSweep(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	s := testSpill(t)
	outside := t.TempDir()
	age := func(path string, d time.Duration) {
		t.Helper()
		if err := os.Chtimes(path, now.Add(-d), now.Add(-d)); err != nil {
			t.Fatal(err)
		}
	}
	session := func(name string, file, dir time.Duration) {
		t.Helper()
		d := filepath.Join(s.Root(), name)
		f := filepath.Join(d, "test-bash-0.log")
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		age(f, file)
		age(d, dir)
	}
	session("s1", 40*day, 40*day)     // its own
	session("live", 40*day, 40*day)   // named by the caller
	session("old", 40*day, 31*day)    // goes
	session("recent", 40*day, 28*day) // the directory changed
	session("written", 1*day, 40*day) // the file did
	session("border", 30*day, 30*day) // exactly 30 days
	loose := filepath.Join(s.Root(), "loose.log")
	if err := os.WriteFile(loose, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	age(loose, 90*day)
	if err := os.Symlink(outside, filepath.Join(s.Root(), "link")); err == nil {
		age(outside, 90*day)
	}
	live := func(name string) bool { return name == "live" }

	lock := filepath.Join(s.Root(), sweepLock)
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	age(lock, time.Minute)
	if n := s.Sweep(now, live); n != 0 {
		t.Errorf("removed %d under another's lock", n)
	}
	age(lock, 2*time.Hour)
	if n := s.Sweep(now, live); n != 1 {
		t.Errorf("removed %d, want 1", n)
	}
	for name, want := range map[string]bool{"s1": true, "live": true, "old": false, "recent": true, "written": true, "border": true, "loose.log": true, sweepLock: false} {
		if _, err := os.Lstat(filepath.Join(s.Root(), name)); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", name, err == nil, want)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error("a link was followed")
	}
	session("old", 40*day, 40*day)
	if n := s.Sweep(now.Add(23*time.Hour), live); n != 0 {
		t.Error("looked twice in a day")
	}
	if n := s.Sweep(now.Add(25*time.Hour), live); n != 2 { // old, and by now border
		t.Errorf("removed %d on the next day, want 2", n)
	}
	if n := (Spill{}).Sweep(now, nil); n != 0 {
		t.Error("swept nothing's directory")
	}
}

func TestSafeName(t *testing.T) {
	for in, want := range map[string]string{
		"019fdf86-cf98-7327-8a73-21365028f6ae": "019fdf86-cf98-7327-8a73-21365028f6ae",
		"../../etc/passwd":                     "etc_passwd",
		"":                                     "session",
		"..":                                   "session",
		"a  b":                                 "a_b",
		strings.Repeat("é", 5) + "x":           "x",
		strings.Repeat("y", 70):                strings.Repeat("y", 64),
	} {
		if got := safeName(in); got != want {
			t.Errorf("safeName(%q) = %q, want %q", in, got, want)
		}
	}
}
