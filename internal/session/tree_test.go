package session

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func tree(t testing.TB, v *View) string {
	t.Helper()
	var out bytes.Buffer
	if err := v.WriteTree(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// shape reduces a tree to ids, children in brackets, labels behind a colon.
func shape(t testing.TB, raw []byte) string {
	t.Helper()
	type node struct {
		Entry struct {
			ID string `json:"id"`
		} `json:"entry"`
		Children       jsonx.Raw `json:"children"`
		Label          string    `json:"label"`
		LabelTimestamp string    `json:"labelTimestamp"`
	}
	var nodes []node
	if err := jsonx.Unmarshal(raw, &nodes); err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, n := range nodes {
		s := n.Entry.ID
		if n.Label != "" {
			s += ":" + n.Label + "@" + n.LabelTimestamp
		}
		if kids := shape(t, n.Children); kids != "" {
			s += "[" + kids + "]"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, " ")
}

func treeLine(id, parent, time string) string {
	return fmt.Sprintf(`{"type":"x","id":"%s","parentId":%s,"timestamp":"%s"}`, id, parent, time)
}

func TestTree(t *testing.T) {
	at := func(sec int) string { return fmt.Sprintf("2024-01-01T00:00:%02d.000Z", sec) }
	for name, tt := range map[string]struct {
		lines []string
		want  string
	}{
		"empty":              {nil, ""},
		"children by time":   {[]string{treeLine("a", "null", at(1)), treeLine("b", `"a"`, at(9)), treeLine("c", `"a"`, at(3)), treeLine("d", `"a"`, at(3))}, "a[c d b]"},
		"roots by file":      {[]string{treeLine("a", "null", at(9)), treeLine("b", "null", at(1))}, "a b"},
		"orphans are roots":  {[]string{treeLine("a", `"gone"`, at(1)), treeLine("b", `"a"`, at(2))}, "a[b]"},
		"own parent":         {[]string{treeLine("a", `"a"`, at(1)), treeLine("b", `"a"`, at(2))}, "a[b]"},
		"parent comes later": {[]string{treeLine("b", `"a"`, at(1)), treeLine("a", "null", at(2))}, "a[b]"},
		"cycle":              {[]string{treeLine("a", `"c"`, at(1)), treeLine("b", `"a"`, at(2)), treeLine("c", `"b"`, at(3)), treeLine("d", `"b"`, at(1))}, "a[b[d c]]"},
		"two cycles":         {[]string{treeLine("a", `"b"`, at(1)), treeLine("b", `"a"`, at(2)), treeLine("x", `"y"`, at(3)), treeLine("y", `"x"`, at(4))}, "a[b] x[y]"},
		"ids twice":          {[]string{treeLine("a", "null", at(1)), treeLine("b", `"a"`, at(2)), treeLine("a", `"b"`, at(3)), treeLine("c", `"a"`, at(4))}, "a[b[a[c]]]"},
		"numbers as parents": {[]string{treeLine("a", "5", at(1)), treeLine("b", `""`, at(2)), `{"id":"c"}`, `{"type":"no id"}`}, "a b c "},
		"labels": {
			[]string{
				treeLine("a", "null", at(1)), treeLine("b", `"a"`, at(2)),
				`{"type":"label","id":"l1","parentId":"b","timestamp":"` + at(3) + `","targetId":"a","label":"old"}`,
				`{"type":"label","id":"l2","parentId":"l1","timestamp":"` + at(4) + `","targetId":"b","label":"x"}`,
				`{"type":"label","id":"l3","parentId":"l2","timestamp":"` + at(5) + `","targetId":"a","label":"new"}`,
				`{"type":"label","id":"l4","parentId":"l3","timestamp":"` + at(6) + `","targetId":"b"}`,
			},
			"a:new@" + at(5) + "[b[l1[l2[l3[l4]]]]]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeTestFile(t, testHeader+"\n"+strings.Join(tt.lines, "\n")+"\n")
			v := mustOpen(t, path, Config{ReadOnly: true}).View()
			if got := shape(t, []byte(tree(t, v))); got != tt.want {
				t.Fatalf("got %s, want %s", got, tt.want)
			}
			v.Branch()
			if _, err := v.Context(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestTreeNodeIsTheLineItself(t *testing.T) {
	line := `{"type":"x",  "id":"a","parentId":null, "z":1,"a":"ä\u00e4"}`
	v := mustOpen(t, writeTestFile(t, testHeader+"\n"+line+"\r\n"), Config{ReadOnly: true}).View()
	if got, want := tree(t, v), `[{"entry":`+line+`,"children":[]}]`; got != want {
		t.Fatalf("got %s", got)
	}
}

// Field report 81: depth costs neither recursion nor a square.
func TestDeepTree(t *testing.T) {
	const depth = 60_000
	var b strings.Builder
	b.WriteString(testHeader + "\n")
	parent := "null"
	for i := range depth {
		b.WriteString(treeLine(fmt.Sprint("n", i), parent, "2024-01-01T00:00:00.000Z") + "\n")
		parent = fmt.Sprintf(`"n%d"`, i)
	}
	v := mustOpen(t, writeTestFile(t, b.String()), Config{ReadOnly: true}).View()
	out := tree(t, v)
	if n := strings.Count(out, `{"entry":`); n != depth || !strings.HasSuffix(out, strings.Repeat("]}", depth)+"]") {
		t.Fatal(n)
	}
	if len(v.Branch()) != depth {
		t.Fatal(len(v.Branch()))
	}
	if err := v.WriteTree(brokenWriter{}); err == nil {
		t.Fatal("a failed write was not reported")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestManyParentsThatComeLater(t *testing.T) {
	const n = 50_000 // a file in reverse: no quadratic search
	var lines []string
	for i := range n {
		lines = append(lines, treeLine(fmt.Sprint("n", i), fmt.Sprintf(`"n%d"`, i-1), "2024-01-01T00:00:00.000Z"))
	}
	slices.Reverse(lines)
	v := mustOpen(t, writeTestFile(t, testHeader+"\n"+strings.Join(lines, "\n")+"\n"), Config{ReadOnly: true}).View()
	if e := v.Entry(0); !e.HasParent || e.ParentID != fmt.Sprint("n", n-2) {
		t.Fatalf("%+v", e)
	}
	if v.LeafID() != "n0" {
		t.Fatal(v.LeafID())
	}
}

func TestEntriesSince(t *testing.T) {
	lines := []string{treeLine("a", "null", ""), "not JSON", "", treeLine("b", `"a"`, ""), `{"type":"session","id":"twice"}`, treeLine("c", `"b"`, "")}
	v := mustOpen(t, writeTestFile(t, testHeader+"\n"+strings.Join(lines, "\n")+"\n"), Config{ReadOnly: true}).View()
	for since, want := range map[string][]string{"": {"a", "b", "c"}, "a": {"b", "c"}, "c": nil} {
		seq, err := v.Entries(since)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for raw := range seq {
			got = append(got, string(text(member(raw, "id"))))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(since, diff)
		}
	}
	if _, err := v.Entries("nope"); err == nil || err.Error() != "Entry not found: nope" {
		t.Fatal(err)
	}
	seq, _ := v.Entries("")
	for range seq {
		break // the file is given back
	}
	if v.src.users != 0 {
		t.Fatal("a reader stays")
	}
}
