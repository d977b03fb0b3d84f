package export

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/session"
)

func TestDescriptions(t *testing.T) {
	head := func(typ, members string) string {
		return `{"type":"` + typ + `","id":"a1","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z",` + members + `}`
	}
	msg := func(members string) string { return head("message", `"message":{`+members+`}`) }
	for _, c := range []struct{ line, want string }{
		{msg(`"role":"user","content":"a  b\n\n\tc"`), "u- a b c"},
		{msg(`"role":"user","content":[{"type":"image"},{"type":"text","text":" "},{"type":"text","text":"x"}]`), "u- x"},
		{msg(`"role":"user","content":[{"type":"image"},{"type":"image"}]`), "u- [image] x2"},
		{msg(`"content":[{"text":"order \u00e9\ud83d\ude00 \ud800","type":"text"}],"role":"user"`), "u- order é😀 \uFFFD"},
		{msg(`"role":"assistant","content":[{"type":"thinking","thinking":"h"},{"type":"text","text":"said"},{"type":"toolCall","name":"x"}]`), "a- said"},
		{msg(`"role":"assistant","content":[{"type":"toolCall","name":"bash","arguments":{"command":"ls\n-l"}},{"type":"toolCall","name":"read","arguments":{"limit":1,"path":"a.go"}},{"type":"toolCall","name":"mine","arguments":{"q":1}}]`), "t- bash ls -l, read a.go, mine"},
		{msg(`"role":"assistant","content":[{"type":"thinking","thinking":"h"}],"stopReason":"stop"`), "t- Thinking"},
		{msg(`"role":"assistant","content":[],"stopReason":"error","errorMessage":"429 slow down"`), "ae 429 slow down"},
		{msg(`"role":"assistant","content":[],"stopReason":"aborted"`), "aa "},
		{msg(`"role":"assistant","content":[{"type":"text","text":"cut"}],"stopReason":"length"`), "ac cut"},
		{msg(`"role":"toolResult","toolName":"bash","content":[{"type":"text","text":"out"}],"isError":true`), "re bash: out"},
		{msg(`"role":"bashExecution","command":"make","exitCode":0,"cancelled":false`), "b- make"},
		{msg(`"role":"bashExecution","command":"make","exitCode":2`), "be make"},
		{msg(`"role":"bashExecution","command":"make","cancelled":true`), "ba make"},
		{msg(`"role":"system","content":"be good"`), "s- be good"},
		{msg(`"role":"custom","customType":"t","content":"c","display":true`), "X- t: c"},
		{msg(`"role":"branchSummary","summary":"s"`), "B- s"},
		{msg(`"role":"compactionSummary","summary":"s","tokensBefore":12`), "c- 12"},
		{msg(`"role":"new","content":"c"`), "o- new: c"},
		{head("message", `"message":null`), "o- : "},
		{head("custom_message", `"customType":"t","content":[{"type":"text","text":"c"}],"display":false`), "y- t: c"},
		{head("model_change", `"provider":"p","modelId":"m"`), "m- p m"},
		{head("thinking_level_change", `"thinkingLevel":"high"`), "h- high"},
		{head("compaction", `"summary":"s","tokensBefore":1200`), "c- 1200"},
		{head("context_compaction", `"x":1`), "C- "},
		{head("branch_summary", `"summary":"went"`), "B- went"},
		{head("label", `"targetId":"zz","label":"good"`), "l- good ->zz"},
		{head("label", `"targetId":"zz"`), "l-  ->zz"},
		{head("session_info", `"name":"n"`), "i- n"},
		{head("custom", `"customType":"k","data":{}`), "x- k"},
		{head("context_window_change", `"contextWindow":200000`), "w- 200000"},
		{head("context_edit", `"targetId":"zz","replacement":null`), "e- zz"},
		{head("usage", `"kind":"planner","model":"m"`), "U- planner m"},
		{head("session_summary", `"summary":"all"`), "S- all"},
		{head("from_the_future", `"x":1`), "?- from_the_future"},
		{msg(`"role":"user","content":"` + strings.Repeat("é", 200) + `"`), "u- " + strings.Repeat("é", previewRunes) + "…"},
	} {
		v := openView(t, writeSession(t, c.line))
		raw, err := v.Raw(0)
		if err != nil {
			t.Fatal(err)
		}
		d := describer{seen: map[string]bool{}}
		got := d.describe(v.Entry(0), member(raw, "message"), raw)
		text := string([]byte{got.kind, got.outcome}) + " " + string(got.text)
		if got.target != nil {
			text += " ->" + string(got.target)
		}
		if text != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.line, text, c.want)
		}
	}
}

func TestModelsInOrder(t *testing.T) {
	d := describer{seen: map[string]bool{}}
	for _, raw := range []string{`{"provider":"a","modelId":"m"}`, `{"provider":"b","modelId":"m"}`, `{"provider":"a","modelId":"m"}`, `{"provider":"","modelId":""}`} {
		d.describe(session.Entry{Type: session.TypeModelChange}, nil, []byte(raw))
	}
	d.describe(session.Entry{Type: session.TypeMessage}, []byte(`{"role":"assistant","provider":"c","model":"x/y","content":[]}`), nil)
	if diff := cmp.Diff([]string{"a/m", "b/m", "c/x/y"}, d.models); diff != "" {
		t.Error(diff)
	}
}

// The index says of each entry what the tree needs: parents that are not the entry
// before, roots, and repeated ids, across the borders of blocks too.
func TestParentsInTheIndex(t *testing.T) {
	entry := func(id, parent string) string {
		return `{"type":"custom","id":"` + id + `","parentId":` + parent + `,"timestamp":"2025-01-01T00:00:00.000Z","customType":"x"}`
	}
	v := openView(t, writeSession(t, entry("a", "null"), entry("b", `"a"`), entry("c", `"a"`), entry("d", `"gone"`), entry("e", `"d"`), entry("f", "null"), entry("g", `"b"`)))
	page := pageOf(t, v, Options{})
	if want := `"p":[[2,"a"],[3,0],[5,0],[6,"b"]]`; !strings.Contains(page, want) {
		t.Errorf("no %s in the index", want)
	}
	lines := make([]string, 0, blockEntries+2)
	for i := range blockEntries + 2 {
		parent := "null"
		if i > 0 {
			parent = `"i` + itoa(i-1) + `"`
		}
		lines = append(lines, entry("i"+itoa(i), parent))
	}
	if page := pageOf(t, openView(t, writeSession(t, lines...)), Options{}); strings.Count(page, `"p":[]`) != 2 {
		t.Error("the first entry of a block is not the child of the last of the block before")
	}
}

func TestAppendString(t *testing.T) {
	for in, want := range map[string]string{
		"plain": `"plain"`, "a\"b\\c": `"a\"b\\c"`, "</script>": `"\u003c/script>"`, "\x00\n\x1f": `"\u0000\u000a\u001f"`, "é😀\u2028": "\"é😀\u2028\"", "bad\xff": "\"bad\uFFFD\"",
	} {
		got := appendString(nil, []byte(in))
		if string(got) != want || !jsonx.Valid(got) {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// FuzzScan: the walk never leaves what it is given, and agrees with the JSON library on
// what is valid.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":[1,{"c":"d\"]}"}],"message":{"role":"user","content":"x"}}`, `{"message":{"role":"assistant","content":[{"type":"toolCall","name":"n","arguments":{"path":"p"}}]}}`,
		`{`, `{"`, `{"a"`, `{"a":`, `{"a":"\`, `{"a":"\u12`, `[`, `[[[`, `""`, `"\ud83d\ude00"`, "{\"a\":\"\xff\"}", `{"a":1 , "b" : 2}`, `{"a":}`, `[,]`, `{"message":{"role":"user","content":[{"type":"text","text":"<\n>"}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := describer{seen: map[string]bool{}}
		for _, typ := range []string{session.TypeMessage, session.TypeCustomMessage, session.TypeLabel, session.TypeCompaction} {
			got := d.describe(session.Entry{Type: typ}, member(raw, "message"), raw)
			if quoted := appendString(nil, got.text); !jsonx.Valid(quoted) || strings.ContainsAny(string(quoted), "<\n") {
				t.Errorf("%q is described as %s", raw, quoted)
			}
		}
		want, err := jsonx.Members(raw)
		if err != nil || !jsonx.Valid(raw) {
			return
		}
		n := 0
		for name, value := range members(raw) {
			if n >= len(want) || !jsonx.Valid(value) || string(value) != string(want[n].Value) {
				t.Fatalf("member %d of %q is %q: %q", n, raw, name, value)
			}
			n++
		}
		if n != len(want) {
			t.Fatalf("%d members of %q, want %d", n, raw, len(want))
		}
	})
}
