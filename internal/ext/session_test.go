package ext

import (
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// The readers of the session see what is appended, without reading all of it again.
func TestSessionReaders(t *testing.T) {
	n := 0
	store, err := session.Create(session.Config{MemoryOnly: true, Cwd: "/w", ID: "sid", NewID: func() string { n++; return strings.Repeat(string(rune('a'+n-1)), 8) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	add := func(b session.Body) {
		if _, err := store.Append(b); err != nil {
			t.Fatal(err)
		}
	}
	b := newBed(t, `export default (pi) => { pi.registerCommand("read", { handler: (a, ctx) => { const s = ctx.sessionManager; pi.appendEntry("read", {
		entries: s.getEntries().map((e) => e.id[0] + ":" + e.type), branch: s.getBranch().map((e) => e.id[0]).join(""), leaf: s.getLeafId()?.[0] ?? null, entry: s.getEntry("aaaaaaaa")?.data ?? null, label: s.getLabel("aaaaaaaa") ?? null,
		tree: s.getTree().length, children: s.getChildren("aaaaaaaa").length, id: s.getSessionId(), cwd: s.getCwd(), file: s.getSessionFile() ?? null, name: pi.getSessionName() ?? null, context: s.buildSessionContext().messages.length,
	}); } }); };`, withHost(func(h *Host) { h.View = func() (*session.View, error) { return store.View(), nil } }))
	b.run("/read")
	add(session.Custom{CustomType: "c", Data: []byte("1")})
	add(session.Message{Message: &llm.UserMessage{Content: llm.Content{llm.NewText("hi")}}})
	add(session.Label{TargetID: "aaaaaaaa", Label: "mark"})
	b.run("/read")
	if err := store.SetLeaf("aaaaaaaa"); err != nil {
		t.Fatal(err)
	}
	add(session.SessionInfo{Name: "named"})
	b.run("/read")
	for i, want := range []string{
		`{"entries":[],"branch":"","leaf":null,"entry":null,"label":null,"tree":0,"children":0,"id":"sid","cwd":"/w","file":null,"name":null,"context":0}`,
		`{"entries":["a:custom","b:message","c:label"],"branch":"abc","leaf":"c","entry":1,"label":"mark","tree":1,"children":1,"id":"sid","cwd":"/w","file":null,"name":null,"context":1}`,
		`{"entries":["a:custom","b:message","c:label","d:session_info"],"branch":"ad","leaf":"d","entry":1,"label":"mark","tree":1,"children":2,"id":"sid","cwd":"/w","file":null,"name":"named","context":0}`,
	} {
		got := strings.Split(b.log(), "\n")
		if i >= len(got) || !strings.HasSuffix(got[i], `"data":`+want+"}") {
			t.Errorf("read %d: %s\nwant %s", i, b.log(), want)
		}
	}
}
