package session

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// spanText shows entries as type:text.
func spanText(entries []SpanEntry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Type+":"+messageText(e.Message))
	}
	return out
}

func messageText(m llm.Message) string {
	switch m := m.(type) {
	case nil:
		return "-"
	case *llm.UserMessage:
		return m.Content.PlainText("|")
	case *llm.AssistantMessage:
		return m.Content.PlainText("|")
	case *llm.BranchSummaryMessage:
		return m.Summary
	case *llm.CompactionSummaryMessage:
		return m.Summary
	case *llm.CustomMessage:
		return m.Content.PlainText("|")
	}
	return m.Role()
}

func mustSpan(t *testing.T, s *Store) *Span {
	t.Helper()
	span, err := s.View().Span()
	if err != nil {
		t.Fatal(err)
	}
	return span
}

func TestSpan(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	add(t, s, user("one"))
	add(t, s, assistant("answer one"))
	two := add(t, s, user("two"))
	dropped := add(t, s, assistant("answer two"))
	if span := mustSpan(t, s); span.Boundary != nil || span.Kept != 0 || len(span.Entries) != 4 {
		t.Fatalf("without a boundary: %+v", span)
	}
	add(t, s, Compaction{Summary: "old", FirstKeptEntryID: &two, TokensBefore: 5, Details: jsonx.Raw(`{"readFiles":["r"]}`)})
	add(t, s, ModelChange{"p", "m"})
	add(t, s, user("three"))
	edited := add(t, s, user("four"))
	hook := true
	add(t, s, Compaction{Summary: "new", FirstKeptEntryID: &two, TokensBefore: 5, FromHook: &hook, Details: jsonx.Raw(`{"strategy":"verbatim-lines"}`)})
	add(t, s, ContextEdit{TargetID: dropped, Replacement: jsonx.Raw("null")})
	add(t, s, ContextEdit{TargetID: edited, Replacement: jsonx.Raw(`{"content":"IV"}`)})
	add(t, s, user("five"))

	span := mustSpan(t, s)
	if b := span.Boundary; b == nil || messageText(b.Message) != "new" || !b.Verbatim || !b.FromHook {
		t.Fatalf("boundary: %+v", b)
	}
	want := []string{"message:two", "message:-", "compaction:-", "model_change:-", "message:three", "message:IV", "context_edit:-", "context_edit:-", "message:five"}
	if diff := cmp.Diff(want, spanText(span.Entries)); diff != "" {
		t.Error(diff)
	}
	if span.Kept != 6 {
		t.Errorf("%d kept entries, want 6", span.Kept)
	}
}

func TestSpanWithoutKeptEntries(t *testing.T) {
	for name, boundary := range map[string]Body{
		"none":    Compaction{Summary: "new"},
		"unknown": RawBody{Type: TypeCompaction, Fields: jsonx.Raw(`{"summary":"new","firstKeptEntryId":"nope"}`)},
	} {
		s := mustCreate(t, testConfig(t.TempDir()))
		add(t, s, user("one"))
		add(t, s, boundary)
		add(t, s, user("two"))
		span := mustSpan(t, s)
		if got := strings.Join(spanText(span.Entries), " "); got != "message:two" || span.Kept != 0 {
			t.Errorf("%s: %s, %d kept", name, got, span.Kept)
		}
	}
}

func TestLeaving(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	a := add(t, s, user("a"))
	b := add(t, s, assistant("b"))
	add(t, s, user("c"))
	add(t, s, Compaction{Summary: "boundary", FirstKeptEntryID: &b})
	leaf := add(t, s, BranchSummary{FromID: "x", Summary: "other", Details: jsonx.Raw(`{"readFiles":["q"]}`)})
	if err := s.SetLeaf(b); err != nil {
		t.Fatal(err)
	}
	d := add(t, s, user("d"))
	if err := s.SetLeaf(leaf); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		target, common string
		want           []string
	}{
		{d, b, []string{"message:c", "compaction:boundary", "branch_summary:other"}},
		{a, a, []string{"message:b", "message:c", "compaction:boundary", "branch_summary:other"}},
		{"", "", []string{"message:a", "message:b", "message:c", "compaction:boundary", "branch_summary:other"}},
		{leaf, leaf, []string{}},
	} {
		entries, common, err := s.View().Leaving(test.target)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, spanText(entries)); diff != "" || common != test.common {
			t.Errorf("leaving for %q: common %q, want %q\n%s", test.target, common, test.common, diff)
		}
	}
	entries, _, _ := s.View().Leaving(a)
	if got := string(entries[len(entries)-1].Details); got != `{"readFiles":["q"]}` {
		t.Errorf("details of the branch summary: %s", got)
	}
	if _, _, err := s.View().Leaving("nope"); err == nil || err.Error() != "Entry nope not found" {
		t.Errorf("unknown target: %v", err)
	}
}

func TestLastRequest(t *testing.T) {
	s := mustCreate(t, testConfig(t.TempDir()))
	last := func() string {
		t.Helper()
		m, err := s.View().LastRequest()
		if err != nil {
			t.Fatal(err)
		}
		return messageText(m)
	}
	if got := last(); got != "-" {
		t.Errorf("empty session: %q", got)
	}
	first := add(t, s, user("fix it"))
	add(t, s, assistant("fixed"))
	add(t, s, user("  "))
	if got := last(); got != "fix it" {
		t.Errorf("got %q", got)
	}
	add(t, s, Compaction{Summary: "s", FirstKeptEntryID: &first, Details: jsonx.Raw(`{"strategy":"verbatim-lines"}`)})
	add(t, s, CustomMessage{CustomType: "x", Content: jsonx.Raw(`"hidden"`), ExcludeFromContext: true})
	if got := last(); got != "fix it" {
		t.Errorf("behind a boundary: %q", got)
	}
	add(t, s, CustomMessage{CustomType: "x", Content: jsonx.Raw(`"from an extension"`)})
	if got := last(); got != "from an extension" {
		t.Errorf("got %q", got)
	}
}
