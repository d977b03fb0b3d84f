package ext

import (
	"os"
	"path/filepath"
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

// Every example extension of the reference loads as it is, all in one generation.
// gondolin needs a package that is not there, in the reference too.
func TestReferenceExamplesLoad(t *testing.T) {
	dir := referenceExamples(t)
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, d := range list {
		if d.IsDir() || filepath.Ext(d.Name()) == ".ts" {
			named = append(named, filepath.Join(dir, d.Name()))
		}
	}
	b := &bed{t: t, dir: t.TempDir()}
	b.h = b.host()
	paths := Discover(Places{Explicit: named})
	x := New(Config{Paths: paths, Cwd: b.dir, AgentDir: b.dir, CacheDir: testCache(), Mode: "rpc", Report: func(s string) { t.Log(s) }})
	b.x = x
	defer func() { _ = x.Close(t.Context()) }()
	for _, err := range x.Load(t.Context()) {
		if !strings.Contains(err.Source.Path, "gondolin") || !strings.Contains(err.Error(), "Cannot find module '@earendil-works/gondolin'") {
			t.Error(err)
		}
	}
	g := x.current.Load()
	if g == nil || len(g.exts) != len(paths)-1 || len(paths) < 70 {
		t.Fatalf("of %d examples not all loaded", len(paths))
	}
	for _, e := range g.exts {
		if len(e.missing) > 0 {
			t.Errorf("%s: names that the host lacks: %s", e.Path, strings.Join(e.missing, ", "))
		}
	}
	x.Bind(b.h)
	x.SessionStart(t.Context(), "startup")
	x.SessionShutdown(t.Context(), "quit")
	for _, e := range b.errors() {
		if e.Event != "session_start" && e.Event != "session_shutdown" {
			t.Errorf("%+v", e)
		}
	}
	t.Logf("%d examples loaded", len(g.exts))
}
