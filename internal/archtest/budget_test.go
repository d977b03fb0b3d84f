package archtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"testing"
)

// Budgets of the release binary. They do not depend on the machine; a change that
// needs more raises them on purpose, with a reason in its commit.
const (
	maxBinaryBytes = 30 << 20
	maxInitBytes   = 256 << 10 // esbuild, which bundles extensions, takes the half of it
	maxInitAllocs  = 2100
)

// build makes the binary as a release does.
func build(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the binary")
	}
	if _, err := os.Stat(filepath.Join(root, "cmd", "isotope")); err != nil {
		t.Skip("no command yet")
	}
	path := filepath.Join(t.TempDir(), "isotope")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "./cmd/isotope")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return path
}

func TestBudgets(t *testing.T) {
	binary := build(t)
	st, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("binary: %d bytes", st.Size())
	if st.Size() > maxBinaryBytes {
		t.Errorf("the binary has %d bytes, more than %d", st.Size(), maxBinaryBytes)
	}

	cmd := exec.Command(binary, "--version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("--version: %v\n%s", err, &stderr)
	}
	rows, size, allocs := initCost(stderr.Bytes())
	if rows == 0 {
		t.Fatalf("no inittrace in %q", &stderr)
	}
	t.Logf("init: %d packages, %d bytes, %d allocations", rows, size, allocs)
	if size > maxInitBytes || allocs > maxInitAllocs {
		t.Errorf("package initialisation takes %d bytes and %d allocations, more than %d and %d\n%s", size, allocs, maxInitBytes, maxInitAllocs, &stderr)
	}
}

var initRow = regexp.MustCompile(`(?m)^init (\S+) @.* clock, (\d+) bytes, (\d+) allocs`)

// initCost sums what GODEBUG=inittrace=1 wrote.
func initCost(trace []byte) (rows, size, allocs int) {
	for _, m := range initRow.FindAllSubmatch(trace, -1) {
		n, _ := strconv.Atoi(string(m[2]))
		a, _ := strconv.Atoi(string(m[3]))
		rows, size, allocs = rows+1, size+n, allocs+a
	}
	return rows, size, allocs
}

func TestInitCost(t *testing.T) {
	trace := "init internal/bytealg @0.008 ms, 0 ms clock, 0 bytes, 0 allocs\nother\ninit runtime @0.1 ms, 0.05 ms clock, 100 bytes, 2 allocs\ninit x/y @1 ms, 0.5 ms clock, 11 bytes, 1 allocs\n"
	if rows, size, allocs := initCost([]byte(trace)); fmt.Sprint(rows, size, allocs) != "3 111 3" {
		t.Errorf("got %d rows, %d bytes, %d allocations", rows, size, allocs)
	}
}
