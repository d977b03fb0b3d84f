package compact

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

func TestUsageTokens(t *testing.T) {
	for _, test := range []struct {
		name string
		u    llm.Usage
		api  string
		want int64
	}{
		{"parts", llm.Usage{Input: 100, Output: 10, CacheRead: 5, CacheWrite: 3, TotalTokens: 999}, llm.APIOpenAIResponses, 118},
		{"only a total", llm.Usage{TotalTokens: 77}, llm.APIOpenAIResponses, 77},
		{"nothing", llm.Usage{}, llm.APIAnthropicMessages, 0},
		{"mirrored cache", llm.Usage{Input: 100, Output: 10, CacheRead: 95}, llm.APIAnthropicMessages, 110},
		{"mirrored cache, lower end", llm.Usage{Input: 100, Output: 10, CacheRead: 90}, llm.APIAnthropicMessages, 110},
		{"mirrored cache, upper end", llm.Usage{Input: 100, Output: 10, CacheWrite: 110}, llm.APIAnthropicMessages, 110},
		{"real cache", llm.Usage{Input: 100, Output: 10, CacheRead: 89}, llm.APIAnthropicMessages, 199},
		{"large cache", llm.Usage{Input: 100, Output: 10, CacheRead: 111}, llm.APIAnthropicMessages, 221},
		{"mirrored elsewhere", llm.Usage{Input: 100, Output: 10, CacheRead: 95}, llm.APIOpenAICompletions, 205},
	} {
		if got := UsageTokens(test.u, test.api); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestMessageTokens(t *testing.T) {
	text := func(s string) llm.Content { return llm.Content{llm.NewText(s)} }
	for _, test := range []struct {
		name string
		m    llm.Message
		want int64
	}{
		{"rounded up", &llm.UserMessage{Content: text("12345")}, 2},
		{"empty", &llm.UserMessage{}, 0},
		{"a picture", &llm.UserMessage{Content: llm.Content{llm.NewImage("AAAA", "image/png")}}, 1200},
		{"UTF-16", &llm.UserMessage{Content: text("€€€€😀😀")}, 2},
		{"answer", &llm.AssistantMessage{Content: llm.Content{
			&llm.Thinking{Thinking: "1234"}, llm.NewText("1234"), &llm.ToolCall{Name: "read", Arguments: jsonx.Raw(`{"path":"a"}`)},
		}}, 6},
		{"result", &llm.ToolResultMessage{Content: text("12345678")}, 2},
		{"extension", &llm.CustomMessage{Content: text("1234")}, 1},
		{"hidden extension", &llm.CustomMessage{Content: text("1234"), ExcludeFromContext: true}, 0},
		{"bash", &llm.BashExecutionMessage{Command: "12", Output: "3456"}, 2},
		{"hidden bash", &llm.BashExecutionMessage{Command: "12", Output: "34", ExcludeFromContext: true}, 0},
		{"branch summary", &llm.BranchSummaryMessage{Summary: "1234"}, 1},
		{"compaction summary", &llm.CompactionSummaryMessage{Summary: "12345"}, 2},
		{"unknown role", &llm.UnknownMessage{Name: "system"}, 0},
	} {
		if got := MessageTokens(test.m); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestContextTokens(t *testing.T) {
	user := func(ms int64) llm.Message {
		return &llm.UserMessage{Content: llm.Content{llm.NewText("12345678")}, Timestamp: ms}
	}
	answer := func(ms, input int64, stop llm.StopReason) llm.Message {
		return &llm.AssistantMessage{Content: llm.Content{llm.NewText("1234")}, Usage: llm.Usage{Input: input}, StopReason: stop, Timestamp: ms}
	}
	summary := &llm.CompactionSummaryMessage{Summary: "1234", Timestamp: 10}
	for _, test := range []struct {
		name string
		msgs []llm.Message
		want int64
	}{
		{"none", nil, 0},
		{"no usage", []llm.Message{user(1), answer(2, 0, llm.StopEnd), user(3)}, 5},
		{"the last usage and what follows", []llm.Message{user(1), answer(2, 50, llm.StopEnd), user(3), answer(4, 90, llm.StopEnd), user(5)}, 92},
		{"not that of a failure", []llm.Message{user(1), answer(2, 50, llm.StopEnd), answer(3, 900, llm.StopError), answer(4, 900, llm.StopAborted)}, 52},
		{"not that of before a compaction", []llm.Message{summary, user(1), answer(2, 900, llm.StopEnd), user(11)}, 6},
		{"but that of after it", []llm.Message{summary, user(1), answer(2, 900, llm.StopEnd), user(11), answer(12, 30, llm.StopEnd)}, 30},
		{"a verbatim boundary too", []llm.Message{
			&llm.CustomMessage{CustomType: "compaction", Content: llm.Content{llm.NewText("1234")}, Timestamp: 10}, answer(2, 900, llm.StopEnd),
		}, 2},
	} {
		if got := ContextTokens(test.msgs); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestChars(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "é": 1, "€": 1, "😀": 2, "a\xff": 2, "😀\xf0\x9f": 4} {
		if got := Chars(s); got != want || got != len(utf16.Encode([]rune(s))) {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

func TestCutChars(t *testing.T) {
	for _, test := range []struct {
		s    string
		n    int
		want string
	}{
		{"abc", 3, "abc"},
		{"abc", 2, "ab"},
		{"abc", 0, ""},
		{"€€€", 2, "€€"},
		{"a😀b", 2, "a"},
		{"a😀b", 3, "a😀"},
		{"a😀b", 4, "a😀b"},
		{"a\xffb", 2, "a\xff"},
	} {
		got := cutChars(test.s, test.n)
		if got != test.want || !strings.HasPrefix(test.s, got) || Chars(got) > test.n {
			t.Errorf("cutChars(%q, %d) = %q, want %q", test.s, test.n, got, test.want)
		}
	}
}

func BenchmarkContextTokens(b *testing.B) {
	var msgs []llm.Message
	for range 1000 {
		msgs = append(msgs, &llm.UserMessage{Content: llm.Content{llm.NewText(strings.Repeat("word ", 400))}})
	}
	b.ReportAllocs()
	for b.Loop() {
		ContextTokens(msgs)
	}
}
