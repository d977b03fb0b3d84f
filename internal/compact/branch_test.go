package compact

import (
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// leave returns a request for the branch of k behind the entry with the id from.
func (k *talk) leave(from string) *BranchRequest {
	k.t.Helper()
	entries, _, err := k.s.View().Leaving(from)
	if err != nil {
		k.t.Fatal(err)
	}
	return &BranchRequest{Entries: entries, Model: testModel(), Thinking: llm.ThinkingLow, ReserveTokens: 16384}
}

func TestSummarizeBranch(t *testing.T) {
	k := filesTalk(t)
	k.add(session.BranchSummary{FromID: "x", Summary: "of another branch", Details: []byte(`{"readFiles":["q.txt"],"modifiedFiles":["a.txt"]}`)})
	s := answers(say("## Goal\nchange"))
	r := k.leave("e1")
	r.Instructions = "what was decided"
	b, err := SummarizeBranch(t.Context(), r, s.complete)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "branch-request.txt", requestTextOf(s.requests[0]))
	golden(t, "branch-entry.json", string(jsonx.Indent([]byte(encode(t, b))))+"\n")

	r.ReplacePrompt = true
	s = answers(say("x"))
	if _, err := SummarizeBranch(t.Context(), r, s.complete); err != nil {
		t.Fatal(err)
	}
	if text := s.requests[0].Messages[0].(*llm.UserMessage).Content.PlainText(""); !strings.HasSuffix(text, "</conversation>\n\nwhat was decided") {
		t.Errorf("%q", text)
	}
}

func TestSummarizeBranchWithoutContent(t *testing.T) {
	k := newTalk(t)
	root := k.user("root")
	k.add(session.ModelChange{Provider: "p", ModelID: "m"})
	k.failed("529")
	b, err := SummarizeBranch(t.Context(), k.leave(root), answers().complete)
	if err != nil || b.Summary != "No content to summarize" || b.Usage != nil {
		t.Error(b, err)
	}
}

func TestSummarizeBranchFailures(t *testing.T) {
	for _, test := range []struct {
		answer *llm.AssistantMessage
		want   string
	}{
		{broken(llm.ErrBadRequest, "400: nope"), "Branch summarization failed: 400: nope"},
		{stopped(llm.StopLength, "x"), "Branch summarization failed: generation hit the token cap and the summary is incomplete"},
		{say(""), "Branch summarization failed: the summary is empty"},
		{stopped(llm.StopAborted, ""), ErrCancelled.Error()},
	} {
		if _, err := SummarizeBranch(t.Context(), filesTalk(t).leave("e1"), answers(test.answer).complete); err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// The newest messages that fit are read; a summary that stands for more than it
// takes is read although it does not fit.
func TestBranchBudget(t *testing.T) {
	user := func(n int) session.SpanEntry {
		return session.SpanEntry{Type: session.TypeMessage, Message: &llm.UserMessage{Content: llm.Content{llm.NewText(strings.Repeat("x", 4*n))}}}
	}
	summary := func(n int) session.SpanEntry {
		return session.SpanEntry{Type: session.TypeCompaction, Message: &llm.CompactionSummaryMessage{Summary: strings.Repeat("x", 4*n)}}
	}
	for _, test := range []struct {
		name    string
		entries []session.SpanEntry
		window  int64
		want    []int64
	}{
		{"all fit", []session.SpanEntry{user(40), user(50)}, 100, []int64{40, 50}},
		{"the newest", []session.SpanEntry{user(10), user(51), user(50)}, 100, []int64{50}},
		{"a summary anyway", []session.SpanEntry{user(1), summary(70), user(50)}, 100, []int64{70, 50}},
		{"but not when the budget is used up", []session.SpanEntry{user(1), summary(20), user(90)}, 100, []int64{90}},
		{"no budget", []session.SpanEntry{user(10), user(20)}, 0, []int64{10, 20}},
	} {
		r := &BranchRequest{Entries: test.entries, Model: &llm.Model{}, Window: test.window + 5, ReserveTokens: 5}
		msgs, _ := r.collect()
		var got []int64
		for _, m := range msgs {
			got = append(got, MessageTokens(m))
		}
		if len(got) != len(test.want) || len(got) > 0 && got[0] != test.want[0] {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	if w := (&BranchRequest{Model: &llm.Model{}}).window(); w != defaultWindow {
		t.Error(w)
	}
}
