package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/schema/schematest"
)

// buffer is a stream that remembers what was written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// outcome is what a run of the program left.
type outcome struct {
	code        int
	out, stderr string
}

// world is a home and a folder of a test's own, which the process works in.
func world(t *testing.T) (home, dir string) {
	t.Helper()
	home, dir = t.TempDir(), t.TempDir()
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, home)
	}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		for _, prefix := range []string{"PI_", "ATOMIC_", "ISOTOPE_"} {
			if strings.HasPrefix(name, prefix) || strings.HasSuffix(name, "_API_KEY") {
				t.Setenv(name, "")
			}
		}
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	t.Chdir(dir)
	return home, dir
}

// quick are limits for tests in which nothing must wait.
func quick() limits {
	return limits{hint: time.Hour, giveUp: time.Hour, leave: 10 * time.Second, sweep: time.Hour}
}

// call runs the program in this process with nothing on standard input.
func call(t *testing.T, args ...string) outcome {
	t.Helper()
	return callWith(t, stdio{}, quick(), args...)
}

// callWith is call with streams: those that are nil are empty and remembered.
func callWith(t *testing.T, std stdio, lim limits, args ...string) outcome {
	t.Helper()
	var out, stderr buffer
	if std.in == nil {
		std.in = strings.NewReader("")
	}
	if std.out == nil {
		std.out = &out
	}
	if std.err == nil {
		std.err = &stderr
	}
	code := run(context.Background(), append([]string{"isotope"}, args...), std, lim)
	if i := slices.Index(args, "--mode"); i >= 0 && args[i+1] != modePrint && code != exitClientGone {
		checkRecords(t, out.String())
	}
	return outcome{code, out.String(), stderr.String()}
}

// checkRecords checks what RPC or JSON mode wrote against the schema.
func checkRecords(t *testing.T, out string) {
	t.Helper()
	d, _ := dialect.Named(dialect.Isotope)
	schematest.Lines(t, d, out)
}

// script writes a script for the scripted provider and returns the flag's value.
func script(t *testing.T, turns string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.json")
	write(t, path, `{"onEnd":"repeat","turns":[`+turns+`]}`)
	return "scripted/" + path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// gate is a stream that blocks until it is opened.
type gate struct {
	open chan struct{}
	w    io.Writer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.w.Write(p)
}
