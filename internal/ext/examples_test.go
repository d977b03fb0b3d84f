package ext

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// referenceExamples is the folder of the installed reference package's examples.
func referenceExamples(t testing.TB) string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip("no home")
	}
	dir := filepath.Join(home, ".cache", "oracle", "npm", "node_modules", "@earendil-works", "pi-coding-agent", "examples", "extensions")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the reference package is not installed")
	}
	return dir
}

// Every example extension of the reference loads as it is. gondolin needs a package
// that is not there, in the reference too.
func TestReferenceExamplesLoad(t *testing.T) {
	dir := referenceExamples(t)
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	loaded := 0
	for _, d := range list {
		path := filepath.Join(dir, d.Name())
		if !d.IsDir() && filepath.Ext(path) != ".ts" {
			continue
		}
		t.Run(d.Name(), func(t *testing.T) {
			b := &bed{t: t, dir: t.TempDir()}
			b.h = b.host()
			x := New(Config{Paths: Discover(Places{Explicit: []string{path}}), Cwd: b.dir, AgentDir: b.dir, CacheDir: testCache(), Mode: "rpc", Report: func(s string) { t.Log(s) }})
			b.x = x
			defer func() { _ = x.Close(t.Context()) }()
			errs := x.Load(t.Context())
			if d.Name() == "gondolin" {
				if len(errs) != 1 || !strings.Contains(errs[0].Error(), "Cannot find module '@earendil-works/gondolin'") {
					t.Errorf("gondolin: %v", errs)
				}
				return
			}
			for _, err := range errs {
				t.Error(err)
			}
			if g := x.current.Load(); g != nil {
				for _, e := range g.exts {
					if len(e.missing) > 0 {
						t.Errorf("names that the host lacks: %s", strings.Join(e.missing, ", "))
					}
				}
			}
			x.Bind(b.h)
			x.SessionStart(t.Context(), "startup")
			x.SessionShutdown(t.Context(), "quit")
			loaded++
			if t.Failed() {
				t.Log(b.log())
			}
		})
	}
	if want := 60; loaded < want && !t.Failed() && slices.ContainsFunc(list, func(d os.DirEntry) bool { return d.IsDir() }) {
		t.Errorf("only %d examples loaded", loaded)
	}
}
