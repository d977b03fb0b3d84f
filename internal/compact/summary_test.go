package compact

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// filesTalk works on files in one turn and talks in the next.
func filesTalk(t testing.TB) *talk {
	k := newTalk(t)
	k.user("change a.txt")
	k.answer("I look.", call("1", "read", `{"path":"a.txt"}`), call("2", "read", `{"path":"c.txt"}`))
	k.result("1", "alpha\n")
	k.result("2", "gamma\n")
	k.answer("", call("3", "edit", `{"path":"a.txt","edits":[]}`), call("4", "write", `{"path":"b.txt","content":"x"}`))
	k.result("3", "ok")
	k.result("4", "ok")
	k.answer("changed")
	k.user("and now something else")
	k.answer("as you wish")
	return k
}

func TestSummary(t *testing.T) {
	k := filesTalk(t)
	in := k.input()
	in.Options.KeepRecentTokens, in.Fixed, in.Instructions = 9, 1000, "the names of files"
	p, err := Summary{}.Prepare(in)
	if err != nil {
		t.Fatal(err)
	}
	if *p.FirstKeptEntryID != "e9" || len(p.ToSummarize) != 8 || p.TurnPrefix != nil || p.PreviousSummary != "" {
		t.Fatalf("%+v", p)
	}
	s := answers(say("## Goal\nchange"))
	o, err := p.Run(t.Context(), s.complete)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "summary-request.txt", requestTextOf(s.requests[0]))
	golden(t, "summary-result.json", string(jsonx.Indent([]byte(encode(t, o.Result))))+"\n")
	golden(t, "summary-entry.json", string(jsonx.Indent([]byte(encode(t, o.Entry))))+"\n")
	if err := o.SetBackup("/x"); err != nil || strings.Contains(encode(t, o.Entry), "/x") {
		t.Error("a backup in a summary", err)
	}
	k.add(o.Entry)
	msgs := k.context()
	checkReplay(t, msgs)
	if _, ok := msgs[0].(*llm.CompactionSummaryMessage); !ok || len(msgs) != 3 {
		t.Errorf("%d messages, the first %T", len(msgs), msgs[0])
	}
	if got, want := o.Result.(*SummaryResult).EstimatedTokensAfter, 1000+messagesTokens(msgs); got != want {
		t.Errorf("estimated %d tokens, the context has %d", got, want)
	}
	if _, err := (Summary{}).Prepare(k.input()); err != ErrAlreadyCompacted {
		t.Error(err)
	}
}

// Field report 89, and the carrying over of file lists.
func TestSummaryAgain(t *testing.T) {
	k := filesTalk(t)
	in := k.input()
	in.Options.KeepRecentTokens = 9
	k.add(mustRun(t, Summary{}, in, answers(say("ONE")).complete).Entry)
	k.user("read d.txt")
	k.answer("", call("5", "read", `{"path":"d.txt"}`), call("6", "read", `{"path":"b.txt"}`))
	k.result("5", "delta")
	k.result("6", "x")
	k.answer("read")
	k.user("fine")
	k.answer("yes")
	in = k.input()
	in.Options.KeepRecentTokens = 2
	s := answers(say("TWO"))
	o := mustRun(t, Summary{}, in, s.complete)
	golden(t, "summary-request-again.txt", requestTextOf(s.requests[0]))
	want := "TWO\n\n<read-files>\nc.txt\nd.txt\n</read-files>\n\n<modified-files>\na.txt\nb.txt\n</modified-files>"
	if o.Entry.Summary != want {
		t.Errorf("%q", o.Entry.Summary)
	}
	k.add(o.Entry)
	checkReplay(t, k.context())
}

func TestSummarySplitTurn(t *testing.T) {
	k := filesTalk(t)
	for _, test := range []struct {
		name     string
		keep     int64
		previous string
		requests int
		summary  string
	}{
		{"history and turn", 1, "", 2, "first" + turnSeparator + "second"},
		{"turn alone", 40, "", 1, noHistory + turnSeparator + "first"},
		{"turn behind a summary", 40, "PREVIOUS", 1, "PREVIOUS" + turnSeparator + "first"},
	} {
		in := k.input()
		in.Options.KeepRecentTokens = test.keep
		if test.previous != "" {
			in.Branch.Span.Boundary = &session.SpanEntry{Message: &llm.CompactionSummaryMessage{Summary: test.previous}}
		}
		s := answers(say("first"), say("second"))
		o := mustRun(t, Summary{}, in, s.complete)
		summary, _, _ := strings.Cut(o.Entry.Summary, "\n\n<")
		if len(s.requests) != test.requests || summary != test.summary {
			t.Errorf("%s: %d requests, %q", test.name, len(s.requests), summary)
		}
		if got := o.Usage.TotalTokens; got != int64(15*test.requests) || o.Result.(*SummaryResult).Usage.TotalTokens != got {
			t.Errorf("%s: %d tokens", test.name, got)
		}
		if test.requests == 2 {
			golden(t, "summary-request-turn.txt", requestTextOf(s.requests[1]))
		}
	}
}

// Lists of files do not pile up when a summary is kept as it is.
func TestSummaryListsOnce(t *testing.T) {
	k := filesTalk(t)
	for round := range 3 {
		in := k.input()
		in.Options.KeepRecentTokens = 2
		k.add(mustRun(t, Summary{}, in, answers(say("ONE"), say("TURN")).complete).Entry)
		summary := k.context()[0].(*llm.CompactionSummaryMessage).Summary
		if n := strings.Count(summary, "<modified-files>"); n != 1 {
			t.Fatalf("round %d: %d lists in %q", round, n, summary)
		}
		k.user("more " + strings.Repeat("x", 40))
		k.answer("done")
		k.answer("done again")
	}
}

// The compacted text of the other strategy is part of the record.
func TestSummaryBehindVerbatim(t *testing.T) {
	k := newTalk(t)
	k.user("old")
	last := k.answer("older answer")
	k.add(session.Compaction{Summary: "[User]: old\n(filtered 9 lines)", FirstKeptEntryID: &last, Details: []byte(`{"strategy":"verbatim-lines"}`)})
	k.user("new")
	k.answer("newer")
	in := k.input()
	in.Options.KeepRecentTokens = 3
	s := answers(say("S"))
	o := mustRun(t, Summary{}, in, s.complete)
	text := s.requests[0].Messages[0].(*llm.UserMessage).Content.PlainText("")
	if want := "<conversation>\n[User]: old\n(filtered 9 lines)\n\n[Assistant]: older answer\n</conversation>\n\n" + summaryPrompt; text != want {
		t.Errorf("%q", text)
	}
	if *o.Entry.FirstKeptEntryID != "e4" {
		t.Errorf("first kept %s", *o.Entry.FirstKeptEntryID)
	}
	k.add(o.Entry)
	checkReplay(t, k.context())
}

// Field report 94: nothing is summarised when there is nothing.
func TestSummaryNothingToDo(t *testing.T) {
	k := filesTalk(t)
	if _, err := (Summary{}).Prepare(k.input()); err != ErrNothingToCompact {
		t.Errorf("small: %v", err)
	}
	if _, err := (Summary{}).Prepare(newTalk(t).input()); err != ErrNothingToCompact {
		t.Errorf("empty: %v", err)
	}
}

// A window that is smaller than what is to be kept must not keep everything.
func TestSummarySmallWindow(t *testing.T) {
	k := newTalk(t)
	for range 10 {
		k.user(strings.Repeat("x", 4000))
		k.answer("ok")
	}
	in := k.input()
	in.Window = 8000
	p, err := Summary{}.Prepare(in)
	if err != nil {
		t.Fatal(err)
	}
	if kept := 20 - len(p.ToSummarize); kept > 12 {
		t.Errorf("%d messages of 500 tokens are kept", kept)
	}
}

// An estimate lacks the system prompt and the tools, a provider's count has them.
func TestSummaryTokensBefore(t *testing.T) {
	k := filesTalk(t)
	in := k.input()
	in.Fixed = 500
	if got, want := in.contextTokens(), 500+messagesTokens(in.Branch.Messages); got != want {
		t.Errorf("%d, want %d", got, want)
	}
	m := say("x")
	m.Timestamp = k.tick()
	k.message(m)
	in = k.input()
	in.Fixed = 500
	if got := in.contextTokens(); got != 15 {
		t.Errorf("%d, want 15", got)
	}
}

func TestSummaryFailures(t *testing.T) {
	withCall := say("")
	withCall.Content = append(withCall.Content, call("1", "bash", `{}`))
	for _, test := range []struct {
		name   string
		answer *llm.AssistantMessage
		err    error
		text   string
	}{
		{"93: cut", stopped(llm.StopLength, "half"), nil, "failed: generation hit the token cap and the summary is incomplete"},
		{"94: empty", say(""), nil, "failed: the summary is empty"},
		{"blank", say(" \n"), nil, "failed: the summary is empty"},
		{"a tool call", withCall, nil, "attempted to call a tool"},
		{"the provider's words", broken(llm.ErrBadRequest, "400: nope"), nil, "failed: 400: nope"},
		{"no words", broken(llm.ErrUnknown, ""), nil, "failed: Unknown error"},
		{"no key", nil, &llm.Error{Kind: llm.ErrAuth, Message: "No API key for prov"}, "failed: No API key for prov"},
		{"untyped", nil, errors.New("strange"), "failed: strange"},
	} {
		for _, split := range []bool{false, true} {
			in := filesTalk(t).input()
			in.Options.KeepRecentTokens = 9
			s, label := answers(test.answer), "Summarization "
			s.errs = []error{test.err}
			if split {
				in.Options.KeepRecentTokens, label = 1, "Turn prefix summarization "
				s.answers, s.errs = append([]*llm.AssistantMessage{say("fine")}, s.answers...), []error{nil, test.err}
			}
			p, err := Summary{}.Prepare(in)
			if err != nil {
				t.Fatal(err)
			}
			o, err := p.Run(t.Context(), s.complete)
			if o != nil || err == nil || err.Error() != label+test.text {
				t.Errorf("%s: %v, %v", test.name, o, err)
			}
		}
	}
}

func TestSummaryExtension(t *testing.T) {
	k := filesTalk(t)
	in := k.input()
	in.Options.KeepRecentTokens = 9
	p, err := Summary{}.Prepare(in)
	if err != nil {
		t.Fatal(err)
	}
	usage := &llm.Usage{Input: 3}
	o, err := p.Replace(Replacement{Text: "mine", FirstKeptEntryID: "e10", TokensBefore: 5, Usage: usage, Details: []byte(`{"mine":1}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"summary":"mine","firstKeptEntryId":"e10","tokensBefore":5,"details":{"mine":1},"usage":{"input":3,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"fromHook":true}`
	if diff := cmp.Diff(want, encode(t, o.Entry)); diff != "" {
		t.Error(diff)
	}
	if r := o.Result.(*SummaryResult); r.EstimatedTokensAfter != 1+3 || r.Usage != usage {
		t.Errorf("%+v", r)
	}
	o, err = p.Replace(Replacement{Text: "x", FirstKeptEntryID: "nope"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.s.Append(o.Entry); err == nil || err.Error() != "Entry nope not found" {
		t.Error(err)
	}
}

func BenchmarkSummary(b *testing.B) {
	k := newTalk(b)
	for range 2000 {
		k.user("request")
		k.answer("", call("1", "bash", `{"command":"make"}`))
		k.result("1", lines("out", 100))
	}
	in := k.input()
	b.ReportAllocs()
	for b.Loop() {
		mustRun(b, Summary{}, in, answers(say("s"), say("t")).complete)
	}
}
