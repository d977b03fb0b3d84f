package compact

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/llm"
)

func TestWriteDiagnostic(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "2026_s.jsonl")
	n := 0
	newID := func() string { n++; return fmt.Sprint("id", n) }
	at := time.UnixMilli(1_700_000_000_123)
	m := testModel()
	m.Headers = map[string]string{"X-Key": "secret"}
	for _, test := range []struct {
		d          Diagnostic
		name, want string
	}{
		{
			Diagnostic{Category: CategoryMalformed, Message: textMalformed, model: m, response: "Sure!", stop: llm.StopEnd, usage: &llm.Usage{Input: 1}},
			"2026_s-compaction-diagnostic-1700000000123-id1.json", "diagnostic.json",
		},
		{Diagnostic{Category: CategorySuccess, model: m}, "2026_s-compaction-success-1700000000123-id2.json", "diagnostic-success.json"},
		{
			Diagnostic{Category: CategoryRecovered, model: m, response: "", stop: llm.StopLength, usage: &llm.Usage{}},
			"2026_s-compaction-recovery-1700000000123-id3.json", "diagnostic-recovery.json",
		},
	} {
		path, err := WriteDiagnostic(file, &test.d, at, newID)
		if err != nil {
			t.Fatal(err)
		}
		if path != filepath.Join(dir, test.name) {
			t.Errorf("%s, want %s", path, test.name)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, test.want, string(content))
		if st, _ := os.Stat(path); runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
			t.Errorf("mode %v", st.Mode())
		}
	}
}

func TestWriteDiagnosticExclusive(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s.jsonl")
	tries := 0
	same := func() string { tries++; return "same" }
	d := &Diagnostic{Category: CategoryQuota}
	first, err := WriteDiagnostic(file, d, time.UnixMilli(1), same)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := WriteDiagnostic(file, d, time.UnixMilli(1), same); err == nil || tries != 1+diagnosticTries {
		t.Errorf("%v after %d tries", err, tries)
	}
	if diff := cmp.Diff([]string{filepath.Base(first)}, names(t, dir)); diff != "" {
		t.Error(diff)
	}
	if _, err := WriteDiagnostic(filepath.Join(dir, "none", "s.jsonl"), d, time.UnixMilli(1), same); err == nil {
		t.Error("no folder, no error")
	}
	if _, err := WriteDiagnostic("", d, time.UnixMilli(1), same); err == nil {
		t.Error("a session in memory has no diagnostics")
	}
}
