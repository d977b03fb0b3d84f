package trust

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.home, filepath.FromSlash(name)))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func TestSet(t *testing.T) {
	w := newWorld(t)
	s := NewStore([]string{w.own, w.below})
	path := string(jsonx.String(w.cwd))
	if err := s.Set(t.Context(), w.cwd, true); err != nil {
		t.Fatal(err)
	}
	if got, want := w.read(".isotope/agent/trust.json"), "{\n  "+path+": true\n}\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := s.Set(t.Context(), filepath.Join(w.cwd, "."), false); err != nil {
		t.Fatal(err)
	}
	if got, want := w.read(".isotope/agent/trust.json"), "{\n  "+path+": false\n}\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if _, err := os.Stat(w.below); !os.IsNotExist(err) {
		t.Error("a lower file was made")
	}
	if left, _ := filepath.Glob(filepath.Join(w.own, "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	if err := NewStore(nil).Set(t.Context(), w.cwd, true); err == nil {
		t.Error("stored nowhere")
	}
}

// What a person wrote into the file stays.
func TestSetKeepsTheRest(t *testing.T) {
	w := newWorld(t)
	path := string(jsonx.String(w.cwd))
	w.write(".isotope/agent/trust.json", "{\n  // work\n  \"/other\": true,\n  "+path+": null, // later\n  \"/third\": \"odd\"\n}\n")
	if err := NewStore([]string{w.own}).Set(t.Context(), w.cwd, true); err != nil {
		t.Fatal(err)
	}
	want := "{\n  // work\n  \"/other\": true,\n  " + path + ": true, // later\n  \"/third\": \"odd\"\n}\n"
	if diff := cmp.Diff(want, w.read(".isotope/agent/trust.json")); diff != "" {
		t.Error(diff)
	}
}

// The same folder written in two ways has one decision afterwards.
func TestSetReplacesOtherSpellings(t *testing.T) {
	w := newWorld(t)
	odd := w.cwd + string(filepath.Separator)
	w.write(".isotope/agent/trust.json", "{"+string(jsonx.String(odd))+": true}")
	s := NewStore([]string{w.own})
	if f := s.Lookup(w.cwd); !f.Trusted {
		t.Fatalf("%+v", f)
	}
	if err := s.Set(t.Context(), w.cwd, false); err != nil {
		t.Fatal(err)
	}
	if f := s.Lookup(w.cwd); f.Trusted || !f.Decided || strings.Contains(w.read(".isotope/agent/trust.json"), "true") {
		t.Errorf("%+v: %s", f, w.read(".isotope/agent/trust.json"))
	}
}

func TestForget(t *testing.T) {
	w := newWorld(t)
	w.decisions(".isotope/agent/trust.json", map[string]string{"repo/project": "true"})
	w.decisions(".pi/agent/trust.json", map[string]string{"repo/project": "false", "repo": "false"})
	s := NewStore([]string{w.own, w.below})
	if err := s.Forget(t.Context(), w.cwd); err != nil {
		t.Fatal(err)
	}
	if f := s.Lookup(w.cwd); !f.Decided || f.Trusted || f.Path != filepath.Join(w.home, "repo") {
		t.Errorf("%+v", f)
	}
	if got := strings.TrimSpace(w.read(".isotope/agent/trust.json")); got != "{}" {
		t.Errorf("%q", got)
	}
	if err := NewStore([]string{filepath.Join(w.home, "nowhere")}).Forget(t.Context(), w.cwd); err != nil {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestLookupAtTheRoot(t *testing.T) {
	if f := NewStore(nil).Lookup(string(filepath.Separator)); f.Decided || f.Broken {
		t.Errorf("%+v", f)
	}
}

func TestUnreadable(t *testing.T) {
	w := newWorld(t, ".isotope/agent/trust.json/x") // a folder of that name
	f := NewStore([]string{w.own}).Lookup(w.cwd)
	if !f.Broken || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], "decisions of trust are not known: ") {
		t.Errorf("%+v", f)
	}
}

// Other programs write the file in place: a moment later it is whole.
func TestHalfWrittenFileIsReadAgain(t *testing.T) {
	w := newWorld(t)
	w.write(".isotope/agent/trust.json", `{"`)
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(readPause + readPause/2)
		w.decisions(".isotope/agent/trust.json", map[string]string{"repo": "true"})
	})
	f := NewStore([]string{w.own}).Lookup(w.cwd)
	wg.Wait()
	if !f.Trusted || f.Broken {
		t.Errorf("%+v", f)
	}
}

func TestSetWaitsForTheLock(t *testing.T) {
	w := newWorld(t)
	w.write(".isotope/agent/trust.json", `{}`)
	if err := os.Mkdir(filepath.Join(w.own, "trust.json.lock"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := NewStore([]string{w.own}).Set(ctx, w.cwd, true); err == nil {
		t.Error("written while another program held the lock")
	}
	if f := NewStore([]string{w.own}).Lookup(w.cwd); f.Broken { // reading takes no lock
		t.Errorf("%+v", f)
	}
}

func TestParallelSets(t *testing.T) {
	w := newWorld(t)
	s := NewStore([]string{w.own})
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			if err := s.Set(t.Context(), filepath.Join(w.home, name), true); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, name := range []string{"a", "b", "c", "d"} {
		if f := s.Lookup(filepath.Join(w.home, name, "sub")); !f.Trusted {
			t.Errorf("%s is lost", name)
		}
	}
}

func FuzzRemove(f *testing.F) {
	f.Add(`{"/a": true, "/a/": false, "/b": null}`, "/a")
	f.Add("{// c\n\"/x\": true}", "/x")
	f.Add(`{`, "/")
	f.Fuzz(func(t *testing.T, src, path string) {
		out, err := remove([]byte(src), filepath.Clean(path), false)
		if err != nil {
			return
		}
		again, err := remove(out, filepath.Clean(path), false)
		if err != nil || string(again) != string(out) {
			t.Errorf("%q -> %q -> %q, %v", src, out, again, err)
		}
	})
}
