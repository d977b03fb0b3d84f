package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tracked returns the files that git knows of, or would take; none outside a clone.
func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("no git here: %v", err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// The tree speaks of no machine: no home folder, work folder or registry of somebody.
func TestNoMachinePaths(t *testing.T) {
	// In pieces, so that this file holds none of them.
	words := []string{"/" + "root/", "/" + "work/", "/tmp/" + "work", "proxy." + "golang.org", "/Users/" + "runner"}
	for _, path := range tracked(t) {
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
		if err != nil {
			continue // removed, or a link to nowhere
		}
		for _, w := range words {
			for i, line := range strings.Split(string(b), "\n") {
				if at := strings.Index(line, w); at >= 0 && !inLongerPath(line, at) {
					t.Errorf("%s:%d: %s", path, i+1, w)
				}
			}
		}
	}
}

// inLongerPath reports whether what is at an offset goes on from a name, as in ${DIR}/x.
func inLongerPath(line string, at int) bool {
	if at == 0 || line[at] != '/' {
		return false
	}
	c := line[at-1]
	return c == '.' || c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '}'
}

// Each test directory under testdata is text or small: a fixture is no archive.
func TestNoBigFiles(t *testing.T) {
	const limit = 1 << 20
	for _, path := range tracked(t) {
		if st, err := os.Stat(filepath.Join(root, filepath.FromSlash(path))); err == nil && st.Size() > limit {
			t.Errorf("%s has %d bytes, more than %d", path, st.Size(), limit)
		}
	}
}
