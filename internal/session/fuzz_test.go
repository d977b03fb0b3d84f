package session

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// FuzzOpen opens any bytes as a session. What opens must give valid JSON only, end
// every chain of parents, take an append, and hold the same entries afterwards.
func FuzzOpen(f *testing.F) {
	for _, name := range []string{"v1", "v2", "v3"} {
		b, err := os.ReadFile("testdata/migrate/" + name + ".jsonl")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)*2/3])
	}
	f.Add([]byte(testHeader + "\n" + entryLine("a", "b") + "\n" + entryLine("b", "a") + "\n{\"id\":\"\xff\"}\r\n[]"))
	f.Add([]byte(testHeader + "\n" + `{"type":"label","id":"l","parentId":null,"targetId":"l","label":"x"}` + "\n" + `{"type":"context_edit","id":"e","parentId":"l","targetId":"l","replacement":{"content":"x"}}` + "\n" + `{"type":"compaction","id":"c","parentId":"e","firstKeptEntryId":"l","details":{"strategy":"verbatim-lines"}}`))
	f.Add([]byte(`{"type":"sess`))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "f.jsonl")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		look, err := Open(path, Config{ReadOnly: true})
		if err != nil {
			if got, _ := os.ReadFile(path); !bytes.Equal(got, content) {
				t.Fatal("a file that is no session was changed")
			}
			return
		}
		checkView(t, look.View())
		n := look.Len()
		look.Close()
		s, err := Open(path, Config{Durability: DurabilityNone})
		if err != nil {
			t.Fatal("opens read-only, but not to write:", err)
		}
		if s.Len() != n {
			t.Fatalf("%d entries, read-only %d", s.Len(), n)
		}
		before := rawEntries(t, s.View())
		if _, err := s.Append(user("more")); err != nil {
			t.Fatal(err)
		}
		checkView(t, s.View())
		if c, err := s.Clone(); err != nil {
			t.Fatal(err)
		} else {
			parentsResolve(t, c.View())
			c.Close()
		}
		s.Close()
		again := mustOpen(t, path, Config{Durability: DurabilityNone})
		after := rawEntries(t, again.View())
		if len(after) != n+1 {
			t.Fatalf("%d entries after an append, %d before", len(after), n)
		}
		for i := range before {
			if before[i] != after[i] {
				t.Fatalf("entry %d changed from %q to %q", i, before[i], after[i])
			}
		}
	})
}

func checkView(t *testing.T, v *View) {
	t.Helper()
	for _, raw := range append(rawEntries(t, v), rawMessages(t, v)...) {
		if !jsonx.Valid([]byte(raw)) {
			t.Fatalf("not JSON: %q", raw)
		}
	}
	var out bytes.Buffer
	if err := v.WriteTree(&out); err != nil || !jsonx.Valid(out.Bytes()) {
		t.Fatalf("tree: %v %q", err, out.Bytes())
	}
	if n := bytes.Count(out.Bytes(), []byte(`{"entry":`)); n < v.Len() {
		t.Fatalf("%d nodes for %d entries", n, v.Len())
	}
	shown(t, v)
	for i := range v.Len() {
		v.Entry(i)
	}
	if _, err := v.Stats(); err != nil {
		t.Fatal(err)
	}
	if _, err := v.ForkMessages(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := v.LastAssistantText(); err != nil {
		t.Fatal(err)
	}
}
