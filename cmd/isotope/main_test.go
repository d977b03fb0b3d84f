package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/isotope-agent/isotope/internal/cli"
	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/schema/schematest"
)

// TestMain makes the program under its three names, so that scripts and tests start
// real processes.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"isotope": recorded, "pi": recorded, "atomic": recorded})
}

// recordsDir is the variable of a folder in which programs leave a copy of their records.
const recordsDir = "RECORDS_OF_TESTS"

// recorded is main. Where a test asks for it, stdout of RPC and JSON mode is kept in a
// file, named for the dialect.
func recorded() {
	dir, dialectName := os.Getenv(recordsDir), dialectOf(os.Args)
	if dir == "" || dialectName == "" {
		main()
		return
	}
	f, err := os.CreateTemp(dir, dialectName+"-*.jsonl")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(cli.Main(context.Background(), os.Args, os.Stdin, io.MultiWriter(os.Stdout, f), os.Stderr))
}

// dialectOf returns the dialect of a command line that makes records, "" for another one.
func dialectOf(args []string) string {
	records, flag := false, ""
	for i, arg := range args {
		next := append(args, "")[i+1]
		switch {
		case arg == "--mode" && (next == "rpc" || next == "json"):
			records = true
		case arg == "--dialect":
			flag = next
		}
	}
	d, err := dialect.Choose(flag, os.Getenv(dialect.EnvChoice), args[0])
	if !records || err != nil {
		return ""
	}
	return d.Name
}

// checkRecords checks what programs left in a folder against the schema.
func checkRecords(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if all := flag.Lookup("test.run").Value.String() == ""; err != nil || all && len(files) == 0 {
		t.Errorf("no records were kept: %v", err)
	}
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), "-")
		d, _ := dialect.Named(name)
		out, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		schematest.Lines(t, d, string(out))
	}
}

// TestScripts runs testdata/script. Each script has a home of its own, and a model
// server whose directives are in server_test.go: the provider "local" of models.json
// leads to it, its requests are in $WORK/requests.jsonl.
func TestScripts(t *testing.T) {
	records := t.TempDir()
	t.Cleanup(func() { checkRecords(t, records) })
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv(recordsDir, records)
			return setupScript(env)
		},
		Condition: condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":   cmdCode,
			"types":  cmdTypes,
			"jsonl":  cmdJSONLines,
			"digest": cmdDigest,
			"tree":   cmdTree,
			"expand": cmdExpand,
			"picture": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), tinyPNG(), 0o600))
			},
		},
	})
}

func setupScript(env *testscript.Env) error {
	srv := newModelServer(filepath.Join(env.WorkDir, "requests.jsonl"))
	env.Defer(srv.Close)
	home := filepath.Join(env.WorkDir, "home")
	for _, kv := range homeEnv(home) {
		name, value, _ := strings.Cut(kv, "=")
		env.Setenv(name, value)
	}
	env.Setenv("MODEL_URL", srv.URL)
	for _, dir := range []string{".isotope", ".atomic", ".pi"} {
		path := filepath.Join(home, dir, "agent", "models.json")
		if _, err := os.Stat(path); err == nil {
			continue // the script brings its own
		}
		if dir != ".isotope" {
			if _, err := os.Stat(filepath.Dir(path)); err != nil {
				continue // only where the script wants such a layer
			}
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, srv.models(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// homeEnv are the variables that make a folder somebody's home. A program under the
// race detector need not linger at its end.
func homeEnv(home string) []string {
	return []string{"HOME=" + home, "USERPROFILE=" + home, "GORACE=atexit_sleep_ms=0"}
}

func condition(cond string) (bool, error) {
	if cond == "sh" {
		_, err := exec.LookPath("sh")
		return err == nil && runtime.GOOS != "windows", nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

// cmdCode runs a program and checks its exit code: code N PROGRAM ARGS…
func cmdCode(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// cmdTypes prints the types of the records in a file, one a line; equal ones in a row
// once.
func cmdTypes(ts *testscript.TestScript, _ bool, args []string) {
	last := ""
	for _, line := range strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n") {
		var rec struct {
			Type string `json:"type"`
		}
		ts.Check(jsonx.Unmarshal([]byte(line), &rec))
		if rec.Type != last {
			fmt.Fprintln(ts.Stdout(), rec.Type)
		}
		last = rec.Type
	}
}

// cmdJSONLines checks that a file is JSON lines and nothing else.
func cmdJSONLines(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	if text == "" || !strings.HasSuffix(text, "\n") {
		ts.Fatalf("%s does not end in a line", args[0])
	}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		var v map[string]jsonx.Raw
		if err := jsonx.Unmarshal([]byte(line), &v); err != nil {
			ts.Fatalf("%s:%d: %v: %s", args[0], i+1, err, line)
		}
	}
}

// cmdDigest prints name, size and content of files, to compare them later: a file that
// must not change does not.
func cmdDigest(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		data, err := os.ReadFile(ts.MkAbs(name))
		ts.Check(err)
		fmt.Fprintf(ts.Stdout(), "%s %d %q\n", name, len(data), data)
	}
}

// cmdTree prints the files below a folder, slashed, one a line.
func cmdTree(ts *testscript.TestScript, _ bool, args []string) {
	root := ts.MkAbs(args[0])
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		fmt.Fprintln(ts.Stdout(), filepath.ToSlash(rel))
		return err
	}))
}

// cmdExpand replaces variables in files: expand FILE…
func cmdExpand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := os.Expand(ts.ReadFile(name), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// tinyPNG is a picture of one pixel.
func tinyPNG() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 1, 1))) // a buffer takes everything
	return b.Bytes()
}
