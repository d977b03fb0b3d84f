package session

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// shown is the context in short: role and text of each message.
func shown(t testing.TB, v *View) []string {
	t.Helper()
	c, err := v.Context()
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for k, m := range c.Messages {
		text := ""
		switch m := m.(type) {
		case *llm.UserMessage:
			text = m.Content.PlainText("|")
		case *llm.AssistantMessage:
			text = m.Content.PlainText("|")
		case *llm.ToolResultMessage:
			text = m.Content.PlainText("|")
		case *llm.CustomMessage:
			text = m.Content.PlainText("|")
		case *llm.BranchSummaryMessage:
			text = m.Summary
		case *llm.CompactionSummaryMessage:
			text = m.Summary
		}
		out = append(out, m.Role()+": "+text)
		// Only an entry that another program wrote without an id has none.
		if id := c.EntryIDs[k]; id != "" && v.Index(id) < 0 {
			t.Errorf("message %d comes from %q", k, c.EntryIDs[k])
		}
	}
	if n := len(rawMessages(t, v)); n != len(out) {
		t.Errorf("Messages yields %d, Context holds %d", n, len(out))
	}
	if n, err := v.MessageCount(); n != len(out) || err != nil {
		t.Errorf("MessageCount says %d, %v; Context holds %d", n, err, len(out))
	}
	return out
}

func wantShown(t *testing.T, s *Store, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, shown(t, s.View())); diff != "" {
		t.Fatal(diff)
	}
}

func TestContextOfTheActiveBranch(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	c, err := s.View().Context()
	if err != nil || len(c.Messages) != 0 || c.Model != nil || c.Thinking != "off" || c.HasThinking {
		t.Fatalf("%+v %v", c, err)
	}
	add(t, s, ModelChange{"p1", "m1"})
	add(t, s, ThinkingLevelChange{"high"})
	add(t, s, RawBody{Type: TypeMessage, Fields: jsonx.Raw(`{"message":{"role":"system","content":"x"}}`)})
	u := add(t, s, user("one"))
	add(t, s, assistant("left"))
	s.SetLeaf(u)
	add(t, s, Custom{CustomType: "state"})
	add(t, s, CustomMessage{CustomType: "c", Content: jsonx.Raw(`"injected"`), Display: true, Details: jsonx.Raw(`{"k":1}`)})
	add(t, s, BranchSummary{FromID: "root", Summary: "elsewhere"})
	add(t, s, BranchSummary{FromID: "root"})
	add(t, s, ContextWindowChange{5000})
	add(t, s, RawBody{Type: "context_compaction"})
	add(t, s, RawBody{Type: "unheard_of"})
	wantShown(t, s, "user: one", "custom: injected", "branchSummary: elsewhere")
	c, _ = s.View().Context()
	if *c.Model != (ModelRef{"p1", "m1"}) || c.Thinking != "high" || !c.HasThinking || c.ContextWindow != 5000 {
		t.Fatalf("%+v", c)
	}
	add(t, s, assistant("two"))
	c, _ = s.View().Context()
	if *c.Model != (ModelRef{"prov", "mod"}) {
		t.Fatalf("%+v", c.Model)
	}
	raws := rawMessages(t, s.View())
	if want := `{"role":"custom","customType":"c","content":"injected","display":true,"details":{"k":1},"timestamp":1700000008000}`; raws[1] != want {
		t.Errorf("got %s", raws[1])
	}
	if want := `{"role":"branchSummary","summary":"elsewhere","fromId":"root","timestamp":1700000009000}`; raws[2] != want {
		t.Errorf("got %s", raws[2])
	}
	s.SetLeaf("")
	if got := shown(t, s.View()); len(got) != 0 {
		t.Fatal(got)
	}
}

func TestSummaryBoundary(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	add(t, s, user("one"))
	add(t, s, assistant("two"))
	kept := add(t, s, user("three"))
	add(t, s, RawBody{Type: TypeMessage, Fields: jsonx.Raw(`{"message":{"role":"system","content":"x"}}`)})
	first := add(t, s, Compaction{Summary: "first", FirstKeptEntryID: &kept, TokensBefore: 4})
	add(t, s, assistant("four"))
	wantShown(t, s, "compactionSummary: first", "user: three", "assistant: four")
	if got, want := rawMessages(t, s.View())[0], `{"role":"compactionSummary","summary":"first","tokensBefore":4,"timestamp":1700000006000}`; got != want {
		t.Errorf("got %s", got)
	}
	if c, _ := s.View().Context(); c.CompactionID != first {
		t.Error(c.CompactionID)
	}
	// A newer boundary that keeps from before the older one: the older is inert.
	add(t, s, Compaction{Summary: "second", FirstKeptEntryID: &kept})
	wantShown(t, s, "compactionSummary: second", "user: three", "assistant: four")
	// One that keeps nothing names itself.
	leaf := s.LeafID()
	add(t, s, Compaction{Summary: "third"})
	add(t, s, user("five"))
	wantShown(t, s, "compactionSummary: third", "user: five")
	// On another branch the boundary does not count.
	s.SetLeaf(kept)
	wantShown(t, s, "user: one", "assistant: two", "user: three")
	s.SetLeaf(leaf)
	wantShown(t, s, "compactionSummary: second", "user: three", "assistant: four")
}

func TestVerbatimBoundary(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	add(t, s, user("one"))
	kept := add(t, s, Message{&llm.UserMessage{Content: llm.Content{llm.NewText("look:"), llm.NewImage("AAAA", "image/png")}}})
	asked := Message{&llm.AssistantMessage{Content: llm.Content{&llm.Thinking{Thinking: "hm"}, llm.NewText("I read."), &llm.ToolCall{ID: "c", Name: "read", Arguments: jsonx.Raw(`{"path":"a","limit":3}`)}}}}
	add(t, s, asked)
	add(t, s, toolResult("c", "line 1\nline 2\n"))
	add(t, s, Compaction{Summary: "[User]: one\n(filtered 3 lines)", FirstKeptEntryID: &kept, Details: jsonx.Raw(`{"strategy":"verbatim-lines","rung":"planned"}`)})
	add(t, s, assistant("after"))
	c, err := s.View().Context()
	if err != nil || len(c.Messages) != 2 {
		t.Fatal(c, err)
	}
	m := c.Messages[0].(*llm.CustomMessage)
	if m.CustomType != "compaction" || !m.Display || string(m.Details) != `{"strategy":"verbatim-lines","rung":"planned"}` || m.Timestamp != 1700000006000 {
		t.Fatalf("%+v", m)
	}
	if len(m.Content) != 3 {
		t.Fatalf("%+v", m.Content)
	}
	head := m.Content[0].(*llm.Text).Text
	if !strings.HasSuffix(head, "\n\n[User]: one\n(filtered 3 lines)\n\n[User]: look:\n") {
		t.Errorf("%q", head)
	}
	if img := m.Content[1].(*llm.Image); img.Data != "AAAA" {
		t.Errorf("%+v", img)
	}
	tail := m.Content[2].(*llm.Text).Text
	if want := "\n\n[Assistant thinking]: hm\n\n[Assistant]: I read.\n\n[Assistant tool calls]: read(path=\"a\", limit=3)\n\n[Tool result]: line 1\nline 2"; tail != want {
		t.Errorf("%q", tail)
	}
	if !strings.HasPrefix(rawMessages(t, s.View())[0], `{"role":"custom","customType":"compaction","content":[{"type":"text"`) {
		t.Error(rawMessages(t, s.View())[0])
	}
	// Kept from an entry that is not on the branch: nothing is kept.
	add(t, s, RawBody{Type: TypeCompaction, Fields: jsonx.Raw(`{"summary":"alone","firstKeptEntryId":"missing","details":{"strategy":"verbatim-lines"}}`)})
	got := shown(t, s.View())
	if len(got) != 1 || !strings.HasSuffix(got[0], "\n\nalone") {
		t.Fatal(got)
	}
}

func TestContextEdits(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	a := add(t, s, user("one"))
	b := add(t, s, assistant("two"))
	c := add(t, s, user("three"))
	leaf := s.LeafID()
	add(t, s, ContextEdit{TargetID: a})
	add(t, s, ContextEdit{TargetID: b, Replacement: jsonx.Raw(`{"content":"short"}`)})
	add(t, s, ContextEdit{TargetID: c, Replacement: jsonx.Raw(`{"content":"overruled"}`)})
	add(t, s, ContextEdit{TargetID: c, Replacement: jsonx.Raw(`{"content":[{"type":"text","text":"new"}]}`)})
	wantShown(t, s, "assistant: short", "user: new")
	if raw := rawMessages(t, s.View())[0]; !strings.HasPrefix(raw, `{"role":"assistant","content":[{"type":"text","text":"short"}],"api":`) {
		t.Error(raw)
	}
	if text, ok, err := s.View().LastAssistantText(); text != "short" || !ok || err != nil {
		t.Error(text, ok, err)
	}
	s.SetLeaf(leaf)
	wantShown(t, s, "user: one", "assistant: two", "user: three")
}

func TestNullContent(t *testing.T) {
	path := writeTestFile(t, testHeader+"\n"+
		`{"type":"message","id":"a","parentId":null,"timestamp":"2024-01-01T00:00:00.000Z","message":{"role":"user","content":null,"timestamp":1}}`+"\n"+
		`{"type":"message","id":"b","parentId":"a","timestamp":"2024-01-01T00:00:00.000Z","message":{"role":"assistant","timestamp":1}}`+"\n"+
		`{"type":"custom_message","id":"c","parentId":"b","timestamp":"2024-01-01T00:00:00.000Z","customType":"x"}`+"\n"+
		`{"type":"message","id":"d","parentId":"c"}`+"\n")
	v := mustOpen(t, path, Config{ReadOnly: true}).View()
	want := []string{
		`{"role":"user","content":[],"timestamp":1}`, `{"role":"assistant","timestamp":1,"content":[]}`,
		`{"role":"custom","customType":"x","content":[],"timestamp":1704067200000}`,
	}
	if diff := cmp.Diff(want, rawMessages(t, v)); diff != "" {
		t.Fatal(diff)
	}
}

func TestLastAssistantText(t *testing.T) {
	end := func(m Message, reason llm.StopReason) Message {
		m.Message.(*llm.AssistantMessage).StopReason = reason
		return m
	}
	s := mustCreate(t, testConfig(t.TempDir()))
	want := func(text string, ok bool) {
		t.Helper()
		got, gotOK, err := s.View().LastAssistantText()
		if got != text || gotOK != ok || err != nil {
			t.Fatalf("got %q %v %v", got, gotOK, err)
		}
	}
	want("", false)
	add(t, s, user("u"))
	add(t, s, assistant("  first\n"))
	want("first", true)
	add(t, s, assistant("", "call"))
	want("first", true)
	add(t, s, end(assistant(" \n"), llm.StopError))
	want("first", true)
	add(t, s, end(assistant("alpha"), llm.StopAborted))
	want("alpha", true)
	add(t, s, assistant(""))
	want("", false)
}

func TestStatsAndForkMessages(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	u := add(t, s, user("one"))
	add(t, s, RawBody{Type: TypeMessage, Fields: jsonx.Raw(`{"message":{"role":"system","content":"x"}}`)})
	add(t, s, assistant("text mentions toolCall", "c1", "c2"))
	usage := llm.Usage{Input: 1, Output: 1, Cost: llm.Cost{Total: 0.25}}
	withUsage := toolResult("c1", "r")
	withUsage.Message.(*llm.ToolResultMessage).Usage = &usage
	add(t, s, withUsage)
	first, err := s.View().Stats()
	if err != nil {
		t.Fatal(err)
	}
	want := Stats{UserMessages: 1, AssistantMessages: 1, ToolCalls: 2, ToolResults: 1, TotalMessages: 3, Tokens: Tokens{11, 6, 3, 2, 22}, Cost: 0.75}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Fatal(diff)
	}
	old := s.View()
	s.SetLeaf(u)
	add(t, s, assistant("other branch"))
	add(t, s, Compaction{Summary: "s", Usage: &usage})
	add(t, s, BranchSummary{Summary: "s", Usage: &usage})
	add(t, s, Usage{Kind: "cache_warm", Usage: usage})
	add(t, s, RawBody{Type: TypeSessionSummary, Fields: jsonx.Raw(`{"summary":"s","usage":{"input":1e2,"output":null,"cost":{"total":"x"}}}`)})
	add(t, s, Message{&llm.BashExecutionMessage{Command: "ls"}})
	want.AssistantMessages, want.TotalMessages, want.Tokens, want.Cost = 2, 5, Tokens{124, 14, 6, 4, 148}, 2
	for range 2 {
		if got, err := s.View().Stats(); err != nil || got != want {
			t.Fatal(cmp.Diff(want, got), err)
		}
	}
	if got, _ := old.Stats(); got != first {
		t.Fatal("an old view counts new entries:", got)
	}
	add(t, s, Message{&llm.UserMessage{Content: llm.Content{llm.NewImage("A", "image/png")}}})
	add(t, s, Message{&llm.UserMessage{Content: llm.Content{llm.NewText("a"), llm.NewText("b\n")}}})
	last := s.LeafID()
	got, err := s.View().ForkMessages()
	if diff := cmp.Diff([]ForkMessage{{u, "one"}, {last, "ab\n"}}, got); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
}

func TestMessageCountAfterAppends(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	var ids []string
	for i := range 30 {
		ids = append(ids, add(t, s, user("x")))
		switch i {
		case 7:
			add(t, s, Label{TargetID: ids[0], Label: "l"})
		case 11:
			add(t, s, Compaction{Summary: "s", FirstKeptEntryID: &ids[10]})
		case 13:
			add(t, s, ContextEdit{TargetID: ids[13]})
		case 17:
			s.SetLeaf(ids[3])
		case 20:
			add(t, s, BranchSummary{})
		case 25:
			s.SetLeaf(ids[24])
		}
		shown(t, s.View()) // compares the count with the context
	}
}

// A failed attempt that was tried again stays in the file and leaves the context: the
// next message on the branch is another answer. One that nothing replaced stays.
func TestContextLeavesOutRetriedAttempts(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	answer := func(stop llm.StopReason, text string) {
		t.Helper()
		m := &llm.AssistantMessage{Content: llm.Content{llm.NewText(text)}, StopReason: stop}
		if _, err := s.Append(Message{Message: m}); err != nil {
			t.Fatal(err)
		}
		shown(t, s.View()) // keeps the count that later views continue
	}
	ask := func(text string) {
		t.Helper()
		if _, err := s.Append(Message{Message: &llm.UserMessage{Content: llm.Content{llm.NewText(text)}}}); err != nil {
			t.Fatal(err)
		}
	}
	ask("q1")
	answer(llm.StopError, "failed 1")
	wantShown(t, s, "user: q1", "assistant: failed 1")
	answer(llm.StopError, "failed 2")
	if _, err := s.Append(SessionInfo{Name: "between"}); err != nil {
		t.Fatal(err)
	}
	answer(llm.StopEnd, "a1")
	wantShown(t, s, "user: q1", "assistant: a1")
	ask("q2")
	answer(llm.StopError, "failed for good")
	ask("q3")
	answer(llm.StopAborted, "stopped")
	answer(llm.StopEnd, "a3")
	wantShown(t, s, "user: q1", "assistant: a1", "user: q2", "assistant: failed for good", "user: q3", "assistant: stopped", "assistant: a3")
}
