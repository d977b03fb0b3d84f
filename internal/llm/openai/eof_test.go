package openai_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Answers whose end is only the end of their body.
func TestEndsWithTheBody(t *testing.T) {
	for _, name := range []string{"no-finish", "finish-without-done"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "eof", name)
			body, err := os.ReadFile(file + ".sse")
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(file + ".json")
			if err != nil {
				t.Fatal(err)
			}
			for i := range body {
				got := protocol().Play(t, body[:i], body[i:]).Text(t)
				if diff := cmp.Diff(strings.ReplaceAll(strings.TrimSpace(string(want)), "\r\n", "\n"), got); diff != "" {
					t.Fatalf("cut at byte %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}
