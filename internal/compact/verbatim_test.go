package compact

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// longTalk is a conversation whose region has 30 lines with the default tail of two
// messages: lines 1-2 the request, 3-4 the call, 5-30 the result.
func longTalk(t testing.TB) *talk {
	k := newTalk(t)
	k.user("fix the test")
	k.answer("", call("1", "bash", `{"command":"make"}`))
	k.result("1", lines("out", 26))
	k.answer("fixed")
	k.user("thanks")
	return k
}

func TestVerbatim(t *testing.T) {
	k := longTalk(t)
	in := k.input()
	s := answers(say("10,20\n25,26\n"))
	p, err := Verbatim{}.Prepare(in)
	if err != nil {
		t.Fatal(err)
	}
	if *p.FirstKeptEntryID != "e4" || len(p.ToSummarize) != 3 {
		t.Fatalf("first kept %s, %d messages", *p.FirstKeptEntryID, len(p.ToSummarize))
	}
	o, err := p.Run(t.Context(), s.complete)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "verbatim-request.txt", requestTextOf(s.requests[0]))
	golden(t, "verbatim-text.txt", o.Entry.Summary)
	if err := o.SetBackup("/s.jsonl.x.compact.bak"); err != nil {
		t.Fatal(err)
	}
	golden(t, "verbatim-result.json", string(jsonx.Indent([]byte(encode(t, o.Result))))+"\n")
	golden(t, "verbatim-details.json", string(jsonx.Indent(o.Entry.Details))+"\n")
	if o.Usage == nil || o.Usage.Output != 5 || o.Entry.Usage.Output != 5 || o.Entry.FromHook != nil || len(o.Diagnostics) != 0 {
		t.Errorf("outcome: %+v", o)
	}

	k.add(o.Entry)
	msgs := k.context()
	m, ok := msgs[0].(*llm.CustomMessage)
	if !ok || len(msgs) != 1 || m.CustomType != session.BoundaryType {
		t.Fatalf("context: %d messages, %T", len(msgs), msgs[0])
	}
	if text := m.Content.PlainText(""); !strings.HasSuffix(text, o.Entry.Summary+"\n\n[Assistant]: fixed\n\n[User]: thanks") {
		t.Errorf("the context ends with %q", text[len(text)-80:])
	}
	checkReplay(t, msgs)
}

// Field report 89: what the first compaction kept is in the second one.
func TestVerbatimTwice(t *testing.T) {
	k := longTalk(t)
	k.add(mustRun(t, Verbatim{}, k.input(), answers(say("5,30")).complete).Entry)
	k.user("go on")
	k.answer(lines("more", 20))
	k.user("and now?")
	k.answer("well")
	s := answers(say("4,4\n9,10"))
	o := mustRun(t, Verbatim{}, k.input(), s.complete)
	want := "[User]: fix the test\n\n[Assistant tool calls]: bash(command=\"make\")\n(filtered 27 lines)\n[Assistant]: fixed\n\n[User]: thanks\n(filtered 2 lines)\n\n[Assistant]: " + lines("more", 20)
	if diff := cmp.Diff(want, o.Entry.Summary); diff != "" {
		t.Error(diff)
	}
	if got := *o.Entry.FirstKeptEntryID; got != "e9" {
		t.Errorf("first kept %s", got)
	}
	k.add(o.Entry)
	checkReplay(t, k.context())
}

// A boundary of either kind is honoured: its summary is the beginning of the region.
func TestVerbatimBehindSummary(t *testing.T) {
	k := longTalk(t)
	first := "e5"
	k.add(session.Compaction{Summary: "## Goal\nfix", FirstKeptEntryID: &first, Details: []byte(`{"readFiles":["a"],"modifiedFiles":[]}`)})
	k.answer(lines("x", 20))
	k.user("one")
	k.answer("two")
	p, err := Verbatim{}.Prepare(k.input())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(p.job.(*verbatimJob).region.lines, "\n")
	want := "[User]: The conversation history before this point was compacted into the following summary:\n\n<summary>\n## Goal\nfix\n</summary>\n[User]: thanks\n\n[Assistant]: x 1\n"
	if !strings.HasPrefix(text, want) {
		t.Errorf("the region begins with %q", text[:min(len(text), len(want)+20)])
	}
	if p.PreviousSummary != "## Goal\nfix" || len(p.Files.ReadFiles) != 1 {
		t.Errorf("%q, %v", p.PreviousSummary, p.Files)
	}
}

func TestVerbatimTail(t *testing.T) {
	for _, test := range []struct {
		preserve int
		first    string // "" for none
	}{{0, ""}, {1, "e5"}, {2, "e4"}, {3, "e3"}, {-1, ""}} {
		in := longTalk(t).input()
		in.Options.PreserveRecent = test.preserve
		in.Urgency, in.AllowSmall = LoadBearing, true
		o := mustRun(t, Verbatim{}, in, answers(say("1,1")).complete)
		got := ""
		if o.Entry.FirstKeptEntryID != nil {
			got = *o.Entry.FirstKeptEntryID
		}
		if got != test.first {
			t.Errorf("preserve %d: first kept %q, want %q", test.preserve, got, test.first)
		}
		if result := encode(t, o.Result); test.first == "" && !strings.Contains(result, `"firstKeptEntryId":null`) {
			t.Error(result)
		}
	}
}

// What no model sees is neither counted as kept nor written into the region.
func TestVerbatimSeesWhatTheModelSees(t *testing.T) {
	k := newTalk(t)
	k.user(lines("request", 25))
	k.failed("529 Overloaded")
	k.message(&llm.AssistantMessage{Content: llm.Content{llm.NewText("half an ans"), call("9", "bash", `{}`)}, StopReason: llm.StopAborted, Timestamp: k.tick()})
	k.result("9", "never sent")
	k.answer("done")
	k.message(&llm.BashExecutionMessage{Command: "secret", ExcludeFromContext: true, Timestamp: k.tick()})
	k.user("next")
	k.add(session.ModelChange{Provider: "p", ModelID: "m"})
	p, err := Verbatim{}.Prepare(k.input())
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.job.(*verbatimJob).region.lines, "\n"); got != "[User]: "+lines("request", 25) || *p.FirstKeptEntryID != "e5" {
		t.Errorf("region %q, first kept %s", got, *p.FirstKeptEntryID)
	}
}

func TestVerbatimParameters(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Input)
		want   Parameters
	}{
		{"defaults", func(*Input) {}, Parameters{0.5, 2, "thanks"}},
		{"query of the settings", func(in *Input) { in.Options.Query = " the bug " }, Parameters{0.5, 2, "the bug"}},
		{"instructions", func(in *Input) { in.Options.Query, in.Instructions = "the bug", "only code\n" }, Parameters{0.5, 2, "only code"}},
		{"blank instructions", func(in *Input) { in.Instructions = "  " }, Parameters{0.5, 2, "thanks"}},
		{"no request", func(in *Input) { in.Branch.Request = "" }, Parameters{0.5, 2, "the latest user request"}},
		{"bad ratio", func(in *Input) { in.Options.Ratio = 1 }, Parameters{0.5, 2, "thanks"}},
		{"negative", func(in *Input) { in.Options.Ratio, in.Options.PreserveRecent = -0.5, -3 }, Parameters{0.5, 0, "thanks"}},
	} {
		in := longTalk(t).input()
		test.change(in)
		if diff := cmp.Diff(test.want, in.parameters()); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestVerbatimNothingToDo(t *testing.T) {
	short := newTalk(t)
	short.user("a")
	short.answer("b")
	short.user("c")
	protected := newTalk(t)
	protected.user("<keepContext>\n" + lines("x", 30))
	protected.answer("b")
	protected.user("c")
	filtered := newTalk(t)
	filtered.add(session.Compaction{Summary: "(filtered 30 lines)", Details: []byte(`{"strategy":"verbatim-lines"}`)})
	for _, test := range []struct {
		name    string
		k       *talk
		urgency Urgency
		small   bool
		want    error
	}{
		{"empty", newTalk(t), Recoverable, true, ErrNothingToCompact},
		{"short", short, Recoverable, true, ErrNothingToCompact},
		{"empty, load-bearing", newTalk(t), LoadBearing, true, ErrNothingDeletable},
		{"short, load-bearing", short, LoadBearing, false, ErrNothingDeletable},
		{"short, load-bearing, small allowed", short, LoadBearing, true, nil},
		{"all protected", protected, LoadBearing, true, ErrNothingDeletable},
		{"only a marker", filtered, LoadBearing, true, ErrNothingDeletable},
	} {
		in := test.k.input()
		in.Urgency, in.AllowSmall = test.urgency, test.small
		if _, err := (Verbatim{}).Prepare(in); err != test.want {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

// trimmed returns how many lines each request showed.
func trimmed(s *script) []int {
	var out []int
	for _, r := range s.requests {
		text := r.Messages[0].(*llm.UserMessage).Content[0].(*llm.Text).Text
		out = append(out, strings.Count(text, lineSeparator))
	}
	return out
}

func TestLadderTrims(t *testing.T) {
	overflow := broken(llm.ErrOverflow, "prompt is too long")
	silent := say("1,2")
	silent.Usage.Input = 100_001
	s := answers(overflow, silent, say("1,3"))
	o := mustRun(t, Verbatim{}, longTalk(t).input(), s.complete)
	if diff := cmp.Diff([]int{30, 15, 8}, trimmed(s)); diff != "" {
		t.Error(diff)
	}
	want := "(filtered 25 lines)\n" + strings.Join(strings.Split(lines("out", 26), "\n")[21:], "\n")
	if o.Entry.Summary != want || o.Result.(*VerbatimResult).Rung != RungPlanned || len(o.Diagnostics) != 0 {
		t.Errorf("%q, %+v", o.Entry.Summary, o.Diagnostics)
	}
	if o.Usage.Output != 10 {
		t.Errorf("usage of all answers: %+v", o.Usage)
	}
}

// Lines that are protected survive in the part that was never shown.
func TestLadderTrimsKeepProtected(t *testing.T) {
	k := newTalk(t)
	k.user("<keepContext>\nsecret rule\n</keepContext>\n" + lines("a", 27))
	k.answer("x")
	k.user("y")
	o := mustRun(t, Verbatim{}, k.input(), answers(broken(llm.ErrOverflow, "too long"), say("1,15")).complete)
	if want := "[User]: <keepContext>\nsecret rule\n</keepContext>\n(filtered 27 lines)"; o.Entry.Summary != want {
		t.Errorf("%q", o.Entry.Summary)
	}
}

func TestLadderBorrows(t *testing.T) {
	other := &llm.Model{ID: "big", Provider: "far", API: llm.APIAnthropicMessages, ContextWindow: 1_000_000, MaxTokens: 8000}
	in := longTalk(t).input()
	in.Fallbacks = []Candidate{{in.Model, in.Thinking}, {&llm.Model{ID: "locked", Provider: "far"}, ""}, {other, llm.ThinkingHigh}, {other, llm.ThinkingHigh}}
	s := answers(say("no list"), nil, say("5,30"))
	s.errs = []error{nil, &llm.Error{Kind: llm.ErrAuth, Message: "no key"}}
	o := mustRun(t, Verbatim{}, in, s.complete)
	if len(s.requests) != 3 || s.requests[2].Model != other || s.requests[2].Thinking != llm.ThinkingHigh {
		t.Fatalf("%d requests", len(s.requests))
	}
	r := o.Result.(*VerbatimResult)
	if diff := cmp.Diff(&PlannerModel{"far", "big", llm.ThinkingHigh}, r.PlannerModel); diff != "" || r.Rung != RungPlanned {
		t.Error(r.Rung, diff)
	}
	if !strings.Contains(string(o.Entry.Details), `"plannerModel":{"provider":"far","id":"big","thinkingLevel":"high"}`) {
		t.Errorf("%s", o.Entry.Details)
	}
	var kinds []string
	for _, d := range o.Diagnostics {
		kinds = append(kinds, d.Kind()+" "+string(d.Category))
	}
	if diff := cmp.Diff([]string{"diagnostic malformed_output", "success success"}, kinds); diff != "" {
		t.Error(diff)
	}
}

func TestVerbatimFailures(t *testing.T) {
	cutThinking := stopped(llm.StopLength, "")
	reasoning := int64(100)
	cutThinking.Usage.Reasoning = &reasoning
	for _, test := range []struct {
		name     string
		answer   *llm.AssistantMessage
		err      error
		text     string
		category Category
	}{
		{"prose", say("Lines 1 to 3 can go."), nil, textMalformed, CategoryMalformed},
		{"nothing", say(""), nil, textMalformed, CategoryMalformed},
		{"a cut answer with prose", stopped(llm.StopLength, "Sure:\n1,2\n3,"), nil, textMalformed, CategoryMalformed},
		{"a cut answer without a line", stopped(llm.StopLength, "1,2"), nil, textNoRanges, CategoryNoRanges},
		{"out of range", say("31,40"), nil, textNoRanges, CategoryNoRanges},
		{"93: all tokens went into reasoning", cutThinking, nil, textNoRanges, CategoryStarved},
		{"quota", broken(llm.ErrQuota, "insufficient_quota"), nil, "insufficient_quota", CategoryQuota},
		{"overload", broken(llm.ErrTransient, "529 Overloaded"), nil, "529 Overloaded", CategoryRate},
		{"transport", broken(llm.ErrTransport, "terminated"), nil, "terminated", CategoryStream},
		{"refused key", broken(llm.ErrAuth, "401 invalid key"), nil, "401 invalid key", CategoryAuth},
		{"no text", broken(llm.ErrUnknown, ""), nil, textProvider, CategoryProvider},
		{"no key", nil, &llm.Error{Kind: llm.ErrAuth, Message: "No API key"}, textNoAuth, CategoryAuth},
		{"untyped", nil, errors.New("strange"), "strange", CategoryProvider},
	} {
		p, err := Verbatim{}.Prepare(longTalk(t).input())
		if err != nil {
			t.Fatal(err)
		}
		s := answers(test.answer)
		s.errs = []error{test.err}
		_, err = p.Run(t.Context(), s.complete)
		var f *Failure
		if !errors.As(err, &f) || f.Message != test.text || f.Category != test.category {
			t.Errorf("%s: %+v", test.name, err)
			continue
		}
		if (f.Usage != nil) != (test.answer != nil) {
			t.Errorf("%s: usage %v", test.name, f.Usage)
		}
		f.Path = "/x.json"
		if got := f.Error(); got != test.text+" (diagnostic: /x.json)" {
			t.Error(got)
		}
	}
}

// A model without a key does not hide why the session's own failed; one that was
// asked does.
func TestLadderError(t *testing.T) {
	for _, test := range []struct {
		second error
		want   string
	}{
		{&llm.Error{Kind: llm.ErrAuth, Message: "no key"}, textMalformed},
		{&llm.Error{Kind: llm.ErrQuota, Message: "no money"}, "no money"},
	} {
		in := longTalk(t).input()
		in.Fallbacks = []Candidate{{&llm.Model{ID: "b", Provider: "p"}, ""}}
		p, err := Verbatim{}.Prepare(in)
		if err != nil {
			t.Fatal(err)
		}
		s := answers(say("prose"))
		s.errs = []error{nil, test.second}
		var f *Failure
		if _, err := p.Run(t.Context(), s.complete); !errors.As(err, &f) || f.Message != test.want || len(f.Diagnostics) == 0 {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// The last line of an answer that was cut is dropped, the others count.
func TestVerbatimRecovers(t *testing.T) {
	o := mustRun(t, Verbatim{}, longTalk(t).input(), answers(stopped(llm.StopLength, "5,9\n20,25\n27,29")).complete)
	if r := o.Result.(*VerbatimResult); r.Stats.LinesDeleted != 11 || r.Stats.RangeCount != 2 {
		t.Errorf("%+v", r.Stats)
	}
	if len(o.Diagnostics) != 1 || o.Diagnostics[0].Kind() != "recovery" {
		t.Errorf("%+v", o.Diagnostics)
	}
}

func TestVerbatimFresh(t *testing.T) {
	in := longTalk(t).input()
	in.Urgency = LoadBearing
	in.Fallbacks = []Candidate{{&llm.Model{ID: "b", Provider: "p"}, ""}}
	s := answers(broken(llm.ErrQuota, "no money"), say("nonsense"))
	o := mustRun(t, Verbatim{}, in, s.complete)
	r := o.Result.(*VerbatimResult)
	if o.Entry.Summary != "(filtered 30 lines)" || r.Rung != RungFresh || *r.FirstKeptEntryID != "e4" || len(o.Diagnostics) != 2 {
		t.Errorf("%q %+v", o.Entry.Summary, r)
	}

	// Kept messages that do not fit by themselves go too.
	k := longTalk(t)
	k.user(strings.Repeat("x", 8_000))
	in = k.input()
	in.Urgency, in.Window = LoadBearing, 1000
	o = mustRun(t, Verbatim{}, in, answers(say("")).complete)
	if o.Entry.FirstKeptEntryID != nil || o.Result.(*VerbatimResult).Stats.TokensAfter != textTokens(o.Entry.Summary) {
		t.Errorf("first kept %v, %+v", o.Entry.FirstKeptEntryID, o.Result)
	}
	k.add(o.Entry)
	checkReplay(t, k.context())

	// A few lines are no question for a model.
	k = newTalk(t)
	k.user("a\nb")
	k.answer("c")
	k.user("d")
	in = k.input()
	in.Urgency, in.AllowSmall = LoadBearing, true
	o = mustRun(t, Verbatim{}, in, answers().complete)
	if o.Entry.Summary != "(filtered 2 lines)" || o.Usage != nil || o.Entry.Usage != nil {
		t.Errorf("%+v", o.Entry)
	}
}

func TestCancelled(t *testing.T) {
	for name, complete := range map[string]func(cancel func()) Completer{
		"before the answer": func(cancel func()) Completer {
			return func(ctx context.Context, _ *llm.Request) (*llm.AssistantMessage, error) {
				cancel()
				return nil, ctx.Err()
			}
		},
		"an aborted answer": func(cancel func()) Completer {
			return func(context.Context, *llm.Request) (*llm.AssistantMessage, error) {
				return stopped(llm.StopAborted, "1,"), nil
			}
		},
		"behind the answer": func(cancel func()) Completer {
			return func(context.Context, *llm.Request) (*llm.AssistantMessage, error) { cancel(); return say("5,30"), nil }
		},
	} {
		for _, s := range []Strategy{Verbatim{}, Summary{}} {
			ctx, cancel := context.WithCancel(t.Context())
			in := longTalk(t).input()
			in.Urgency, in.Options.KeepRecentTokens = LoadBearing, 1
			in.Fallbacks = []Candidate{{&llm.Model{ID: "b", Provider: "p"}, ""}}
			p, err := s.Prepare(in)
			if err != nil {
				t.Fatal(err)
			}
			if o, err := p.Run(ctx, complete(cancel)); err != ErrCancelled || o != nil {
				t.Errorf("%s: %v, %v", name, o, err)
			}
			cancel()
		}
	}
}

func TestVerbatimExtension(t *testing.T) {
	prepare := func() (*talk, *Plan) {
		k := longTalk(t)
		p, err := Verbatim{}.Prepare(k.input())
		if err != nil {
			t.Fatal(err)
		}
		return k, p
	}
	k, p := prepare()
	o, err := p.Replace(Replacement{Text: "[User]: all is well\nyes", FirstKeptEntryID: "e5", TokensBefore: 77})
	if err != nil {
		t.Fatal(err)
	}
	r := o.Result.(*VerbatimResult)
	if r.Rung != RungExtension || r.Stats.RangeCount != 0 || r.Stats.LinesBefore != 30 || r.Stats.LinesKept != 2 || r.TokensBefore != 77 ||
		*r.FirstKeptEntryID != "e5" || !*o.Entry.FromHook || r.Stats.TokensAfter != textTokens(r.CompactedText)+2 {
		t.Errorf("%+v", r)
	}
	k.add(o.Entry)
	checkReplay(t, k.context())
	if _, p = prepare(); p != nil {
		if _, err := p.Replace(Replacement{Text: " \n"}); err != ErrNoExtensionText {
			t.Error(err)
		}
	}
}

func TestReduction(t *testing.T) {
	for _, test := range []struct {
		before, after int64
		want          float64
	}{{0, 5, 0}, {100, 48, 52}, {3, 1, 66.7}, {100, 100, 0}, {100, 150, -50}, {1000, 999, 0.1}} {
		if got := reduction(test.before, test.after); got != test.want {
			t.Errorf("%d to %d: %v, want %v", test.before, test.after, got, test.want)
		}
	}
}

func TestByName(t *testing.T) {
	if ByName("verbatim-lines") != Strategy(Verbatim{}) || ByName("summary") != Strategy(Summary{}) || ByName("") != nil {
		t.Error("wrong strategies")
	}
}

func BenchmarkVerbatim(b *testing.B) {
	k := newTalk(b)
	for i := range 500 {
		k.user(fmt.Sprint("request ", i))
		k.answer("", call(fmt.Sprint(i), "bash", `{"command":"make"}`))
		k.result(fmt.Sprint(i), lines("out", 100))
	}
	in := k.input()
	b.ReportAllocs()
	for b.Loop() {
		mustRun(b, Verbatim{}, in, answers(say("10,20000\n30000,40000")).complete)
	}
}
