package compact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// everything is a conversation with every kind of message.
func everything() []llm.Message {
	code := 1
	return []llm.Message{
		&llm.UserMessage{Content: llm.Content{llm.NewText("look at "), llm.NewText("this\n"), llm.NewImage("AAAA", "image/png"), llm.NewText("and that")}},
		&llm.AssistantMessage{StopReason: llm.StopToolUse, Content: llm.Content{
			&llm.Thinking{Thinking: "first\n"}, &llm.Thinking{ThinkingSignature: "x", Redacted: true}, &llm.Thinking{Thinking: "second"},
			llm.NewText("I read\nit."), llm.NewText("Now."),
			call("1", "read", `{"path":"a \"b\"", "limit": 3, "deep": {"x": [1, 2]}}`), call("2", "ls", `{}`),
		}},
		&llm.ToolResultMessage{ToolCallID: "1", Content: llm.Content{llm.NewText("line 1\nline 2\n\n")}},
		&llm.ToolResultMessage{ToolCallID: "2", Content: llm.Content{llm.NewText("a picture:"), llm.NewImage("AAAA", "image/png")}},
		&llm.ToolResultMessage{ToolCallID: "3", Content: llm.Content{}},
		&llm.UserMessage{Content: llm.Content{llm.NewText("  \n")}},
		&llm.BashExecutionMessage{Command: "make", Output: "failed", ExitCode: &code},
		&llm.BashExecutionMessage{Command: "secret", Output: "hidden", ExcludeFromContext: true},
		&llm.CustomMessage{CustomType: "x", Content: llm.Content{llm.NewText("from an extension")}},
		&llm.BranchSummaryMessage{Summary: "another branch"},
		&llm.AssistantMessage{StopReason: llm.StopEnd, Content: llm.Content{llm.NewText("")}},
		&llm.AssistantMessage{StopReason: llm.StopEnd, Content: llm.Content{llm.NewText("done\n\n")}},
		&llm.UnknownMessage{Name: "system"},
	}
}

func TestSerialize(t *testing.T) {
	golden(t, "transcript-verbatim.txt", verbatimGrammar().text(everything()))
	golden(t, "transcript-summary.txt", summaryGrammar().text(everything()))
}

// Field report 86: long tool results do not fill the request.
func TestLongResults(t *testing.T) {
	result := func(n int) []llm.Message {
		return []llm.Message{&llm.ToolResultMessage{Content: llm.Content{llm.NewText(strings.Repeat("é", n))}}}
	}
	if got, want := verbatimGrammar().text([]llm.Message{&llm.ToolResultMessage{Content: llm.Content{llm.NewText(strings.Repeat("x", 16000) + "\n")}}}), headerResult+strings.Repeat("x", 16000); got != want {
		t.Errorf("the newline at the end counts: %q", got[16000:])
	}
	for _, test := range []struct {
		g    grammar
		n    int
		want string
	}{
		{summaryGrammar(), 2000, headerResult + strings.Repeat("é", 2000)},
		{summaryGrammar(), 2001, headerResult + strings.Repeat("é", 2000) + "\n\n[... 1 more characters truncated]"},
		{verbatimGrammar(), 16000, headerResult + strings.Repeat("é", 16000)},
		{verbatimGrammar(), 300_000, headerResult + strings.Repeat("é", 16000) + "\n\n[... 284000 more characters truncated]"},
	} {
		if got := test.g.text(result(test.n)); got != test.want {
			t.Errorf("%d characters become %d", test.n, Chars(got))
		}
	}
}

// The text of a region and the text that the session makes of kept entries must be
// of one grammar: what is kept now is a region next time.
func TestOneGrammar(t *testing.T) {
	k := newTalk(t)
	first := k.user("hello\nworld\n")
	k.message(&llm.AssistantMessage{StopReason: llm.StopToolUse, Content: llm.Content{
		&llm.Thinking{Thinking: "hm\nhm"}, llm.NewText("one"), llm.NewText("two\n"), call("1", "read", `{"path":"a","n":1}`), call("2", "ls", `{}`),
	}})
	k.result("1", "x\ny\n")
	k.add(session.CustomMessage{CustomType: "c", Content: []byte(`"custom text"`)})
	s, err := k.s.View().Span()
	if err != nil {
		t.Fatal(err)
	}
	want := verbatimGrammar().text(messagesOf(s.Entries, seenBy(s.Entries)))
	k.add(session.Compaction{Summary: "SUMMARY", FirstKeptEntryID: &first, Details: []byte(`{"strategy":"verbatim-lines"}`)})
	text := k.context()[0].(*llm.CustomMessage).Content.PlainText("")
	_, got, ok := strings.Cut(text, "SUMMARY\n\n")
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("the session writes %q\n%s", text, diff)
	}
}

func TestCallText(t *testing.T) {
	for args, want := range map[string]string{
		`{}`:                                `f()`,
		`{"a":"x\ny"}`:                      `f(a="x\ny")`,
		"{\n \"a\": [1, 2],\n \"b\": null}": `f(a=[1,2], b=null)`,
		`[1]`:                               `f()`,
		``:                                  `f()`,
	} {
		if got := callText(call("1", "f", args)); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

func TestRequestText(t *testing.T) {
	for _, test := range []struct {
		m    llm.Message
		want string
	}{
		{nil, ""},
		{&llm.UserMessage{Content: llm.Content{llm.NewText(" fix "), llm.NewImage("AAAA", "image/png"), llm.NewText("it\n")}}, "fix \nit"},
		{&llm.UserMessage{Content: llm.Content{llm.NewImage("AAAA", "image/png")}}, ""},
		{&llm.BashExecutionMessage{Command: "ls"}, "Ran `ls`\n(no output)"},
	} {
		if got := requestText(test.m); got != test.want {
			t.Errorf("%+v: %q, want %q", test.m, got, test.want)
		}
	}
}

func BenchmarkSerialize(b *testing.B) {
	var msgs []llm.Message
	for range 200 {
		msgs = append(msgs, everything()...)
	}
	b.ReportAllocs()
	for b.Loop() {
		verbatimGrammar().text(msgs)
	}
}
