package js

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/ext/bundle"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// bench is a runtime with a bundler and what its scripts logged.
type testbed struct {
	t   testing.TB
	r   *Runtime
	b   *bundle.Bundler
	dir string

	mu     sync.Mutex
	logs   []string
	failed []error
}

// testCache is shared by the tests of one run: compiling the host takes most of their
// time.
var testCache = sync.OnceValue(func() *bundle.Cache {
	dir, err := os.MkdirTemp("", "isotope-js-")
	if err != nil {
		panic(err)
	}
	return bundle.NewCache(dir)
})

func newTestbed(t testing.TB, cfg Config) *testbed {
	t.Helper()
	tb := &testbed{t: t, dir: t.TempDir()}
	if cfg.Cwd == "" {
		cfg.Cwd = tb.dir
	}
	cfg.Cache = testCache()
	cfg.Log = func(s string) { tb.mu.Lock(); tb.logs = append(tb.logs, s); tb.mu.Unlock() }
	cfg.Failed = func(_ string, err error) { tb.mu.Lock(); tb.failed = append(tb.failed, err); tb.mu.Unlock() }
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	exports, err := Exports(t.Context(), r.Call)
	if err != nil {
		t.Fatal(err)
	}
	tb.r, tb.b = r, bundle.New(bundle.Config{Exports: exports})
	return tb
}

// load runs a TypeScript module whose default export is then called by eval.
func (tb *testbed) load(src string) error {
	tb.t.Helper()
	file := filepath.Join(tb.dir, "ext.ts")
	if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
		tb.t.Fatal(err)
	}
	s, err := tb.b.Bundle(file)
	if err != nil {
		tb.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return tb.r.Load(ctx, "ext", s)
}

// result runs a module and returns what it left in globalThis.out, as JSON.
func (tb *testbed) result(src string) string {
	tb.t.Helper()
	if err := tb.load(src); err != nil {
		if e, ok := err.(*Error); ok {
			tb.t.Fatalf("%s", e.Full())
		}
		tb.t.Fatal(err)
	}
	return tb.out()
}

func (tb *testbed) out() string {
	tb.t.Helper()
	raw, err := tb.r.Call(context.Background(), "ext", "global", "out")
	if err != nil {
		tb.t.Fatal(err)
	}
	return string(raw)
}

func quoted(s string) string { return string(jsonx.String(s)) }
