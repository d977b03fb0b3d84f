package session

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// testConfig counts ids and time, so that files are the same in every run.
func testConfig(dir string) Config {
	n, ms := 0, int64(1_700_000_000_000)
	return Config{
		Dir: dir, Cwd: "/proj", AppName: "pi",
		Now:      func() time.Time { ms += 1000; return time.UnixMilli(ms) },
		NewID:    func() string { n++; return fmt.Sprintf("%08x", n) },
		LockWait: 50 * time.Millisecond,
	}
}

func mustCreate(t testing.TB, cfg Config) *Store {
	t.Helper()
	s, err := Create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustOpen(t testing.TB, path string, cfg Config) *Store {
	t.Helper()
	s, err := Open(path, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func add(t testing.TB, s *Store, b Body) string {
	t.Helper()
	id, err := s.Append(b)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func user(text string) Message {
	return Message{&llm.UserMessage{Content: llm.Content{llm.NewText(text)}, Timestamp: 1}}
}

func assistant(text string, calls ...string) Message {
	m := &llm.AssistantMessage{
		API: "openai-completions", Provider: "prov", Model: "mod", StopReason: llm.StopEnd, Timestamp: 2,
		Usage: llm.Usage{Input: 10, Output: 5, CacheRead: 3, CacheWrite: 2, TotalTokens: 20, Cost: llm.Cost{Total: 0.5}},
	}
	if text != "" {
		m.Content = append(m.Content, llm.NewText(text))
	}
	for _, id := range calls {
		m.Content = append(m.Content, &llm.ToolCall{ID: id, Name: "read", Arguments: jsonx.Raw(`{"path":"a","limit":3}`)})
		m.StopReason = llm.StopToolUse
	}
	return Message{m}
}

func toolResult(id, text string) Message {
	return Message{&llm.ToolResultMessage{ToolCallID: id, ToolName: "read", Content: llm.Content{llm.NewText(text)}, Timestamp: 3}}
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func fileLines(t testing.TB, path string) []string {
	t.Helper()
	text := readFile(t, path)
	if text != "" && !strings.HasSuffix(text, "\n") {
		t.Fatalf("%s does not end its last line: %q", path, text)
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func writeTestFile(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "2024-01-01T00-00-00-000Z_abc.jsonl")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func rawEntries(t testing.TB, v *View) []string {
	t.Helper()
	seq, err := v.Entries("")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for raw, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}

func rawMessages(t testing.TB, v *View) []string {
	t.Helper()
	var out []string
	for raw, err := range v.Messages() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}

func entryIDs(v *View) []string {
	out := []string{}
	for i := range v.Len() {
		out = append(out, v.Entry(i).ID)
	}
	return out
}

// parentsResolve fails when an entry of a file names a parent that is not in it.
func parentsResolve(t testing.TB, v *View) {
	t.Helper()
	for i := range v.Len() {
		if e := v.Entry(i); e.ParentID != "" && !e.HasParent {
			t.Fatalf("entry %s has the parent %s, which is not there", e.ID, e.ParentID)
		}
	}
}

// A disk stands between a store and its files and fails on demand.
type disk struct {
	writeLimit int   // bytes that writes still take; -1 for no limit
	writeErr   error // of a write beyond the limit; nil: a short write without an error
	truncErr   error
	syncErr    error
	openErr    error
	syncs      int
	before     func(path string) // called once, before the next write
}

func newDisk() *disk { return &disk{writeLimit: -1} }

func (d *disk) open(path string, flag int, perm os.FileMode) (file, error) {
	if d.openErr != nil {
		return nil, d.openErr
	}
	f, err := openOS(path, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultFile{f, d, path}, nil
}

type faultFile struct {
	file
	d    *disk
	path string
}

func (f *faultFile) Write(p []byte) (int, error) {
	if before := f.d.before; before != nil {
		f.d.before = nil
		before(f.path)
	}
	if f.d.writeLimit < 0 || len(p) <= f.d.writeLimit {
		if f.d.writeLimit > 0 {
			f.d.writeLimit -= len(p)
		}
		return f.file.Write(p)
	}
	n, err := f.file.Write(p[:f.d.writeLimit])
	if err == nil {
		err = f.d.writeErr
	}
	return n, err
}

func (f *faultFile) Truncate(size int64) error {
	if f.d.truncErr != nil {
		return f.d.truncErr
	}
	return f.file.Truncate(size)
}

func (f *faultFile) Sync() error {
	f.d.syncs++
	if f.d.syncErr != nil {
		return f.d.syncErr
	}
	return f.file.Sync()
}

var _ io.Writer = (*faultFile)(nil)
