package session

import (
	"strings"
	"testing"
)

// Lines come out as Entries gives them: those that stand together in the file, those
// with something between them, those that are re-encoded, and those in memory.
func TestAppendLines(t *testing.T) {
	entry := func(id, more string) string {
		return `{"type":"message","id":"` + id + `","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":"` + more + `"}}`
	}
	lines := []string{
		entry("a", "one"), entry("b", "two"), entry("c", "bad \xff byte"), "", entry("d", "behind an empty line") + "\r", entry("e", "five"), "no JSON", entry("f", strings.Repeat("long ", 1000)),
	}
	head := `{"type":"session","version":3,"id":"0195d3c0-1111-7000-8000-000000000001","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj"}`
	s := mustOpen(t, writeTestFile(t, head+"\n"+strings.Join(lines, "\n")+"\n"), Config{ReadOnly: true})
	v := s.View()
	for from := range v.Len() + 1 {
		for to := from; to <= v.Len(); to++ {
			got, err := v.AppendLines([]byte("before\n"), from, to)
			if err != nil {
				t.Fatal(err)
			}
			want := "before\n"
			for i := from; i < to; i++ {
				raw, err := v.Raw(i)
				if err != nil {
					t.Fatal(err)
				}
				want += string(raw) + "\n"
			}
			if string(got) != want {
				t.Errorf("lines %d to %d: %q, want %q", from, to, got, want)
			}
		}
	}
	for i := range v.Len() {
		e := v.Entry(i)
		e.Timestamp = ""
		if h := v.Head(i); h != e {
			t.Errorf("head %d: %+v, want %+v", i, h, e)
		}
	}
}
