package compact

import (
	"math"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/isotope-agent/isotope/internal/llm"
)

const (
	charsPerToken = 4
	imageChars    = 4800 // what a picture counts for, in characters
)

// ContextTokens estimates the tokens of a context: what the last trustworthy answer
// reported, plus an estimate of what came after it; without one, an estimate of all
// (atomic-facts.md 6.3). An answer that is older than a message before it, such as
// the text of a compaction, does not describe what is before it and is not trusted.
func ContextTokens(msgs []llm.Message) int64 {
	at, used := lastUsage(msgs)
	return used + messagesTokens(msgs[at+1:])
}

// RequestTokens is ContextTokens with fixed tokens of the system prompt and the tools,
// which an answer's report includes and an estimate does not.
func RequestTokens(msgs []llm.Message, fixed int64) int64 {
	n := ContextTokens(msgs)
	if at, _ := lastUsage(msgs); at < 0 {
		n += fixed
	}
	return n
}

// lastUsage returns the index of the last answer whose usage can be trusted, and its
// context tokens; -1 and 0 when there is none.
func lastUsage(msgs []llm.Message) (int, int64) {
	at, used, newest := -1, int64(0), int64(math.MinInt64)
	for i, m := range msgs {
		ms := timestamp(m)
		if a, ok := m.(*llm.AssistantMessage); ok && ms >= newest && !a.Failed() {
			if n := UsageTokens(a.Usage, a.API); n > 0 {
				at, used = i, n
			}
		}
		newest = max(newest, ms)
	}
	return at, used
}

func timestamp(m llm.Message) int64 {
	switch m := m.(type) {
	case *llm.UserMessage:
		return m.Timestamp
	case *llm.AssistantMessage:
		return m.Timestamp
	case *llm.ToolResultMessage:
		return m.Timestamp
	case *llm.CustomMessage:
		return m.Timestamp
	case *llm.BashExecutionMessage:
		return m.Timestamp
	case *llm.BranchSummaryMessage:
		return m.Timestamp
	case *llm.CompactionSummaryMessage:
		return m.Timestamp
	}
	return math.MinInt64
}

// UsageTokens returns the size of the context after a call with usage u: prompt and
// answer. Some Anthropic-compatible servers report the cached tokens in both places;
// then the input alone counts.
func UsageTokens(u llm.Usage, api string) int64 {
	if u.Input == 0 && u.Output == 0 && u.CacheRead == 0 && u.CacheWrite == 0 {
		return u.TotalTokens
	}
	cache := u.CacheRead + u.CacheWrite
	if api == llm.APIAnthropicMessages && cache > 0 && 10*cache >= 9*u.Input && 10*cache <= 11*u.Input {
		cache = 0
	}
	return u.Input + cache + u.Output
}

// MessageTokens estimates the tokens of one message: a quarter of its characters, as
// a JavaScript engine counts them. What a model never sees counts nothing.
func MessageTokens(m llm.Message) int64 {
	chars := 0
	switch m := m.(type) {
	case *llm.UserMessage:
		chars = contentChars(m.Content)
	case *llm.AssistantMessage:
		chars = contentChars(m.Content)
	case *llm.ToolResultMessage:
		chars = contentChars(m.Content)
	case *llm.CustomMessage:
		if !m.ExcludeFromContext {
			chars = contentChars(m.Content)
		}
	case *llm.BashExecutionMessage:
		if !m.ExcludeFromContext {
			chars = Chars(m.Command) + Chars(m.Output)
		}
	case *llm.BranchSummaryMessage:
		chars = Chars(m.Summary)
	case *llm.CompactionSummaryMessage:
		chars = Chars(m.Summary)
	}
	return charTokens(chars)
}

// charTokens is a quarter of n, rounded up.
func charTokens(n int) int64 { return int64((n + charsPerToken - 1) / charsPerToken) }

// textTokens estimates the tokens of a text.
func textTokens(s string) int64 { return charTokens(Chars(s)) }

// messagesTokens is the sum of the messages' estimates.
func messagesTokens(msgs []llm.Message) int64 {
	var n int64
	for _, m := range msgs {
		n += MessageTokens(m)
	}
	return n
}

func contentChars(c llm.Content) int {
	n := 0
	for _, b := range c {
		switch b := b.(type) {
		case *llm.Text:
			n += Chars(b.Text)
		case *llm.Thinking:
			n += Chars(b.Thinking)
		case *llm.ToolCall:
			n += Chars(b.Name) + Chars(string(b.Arguments))
		case *llm.Image:
			n += imageChars
		}
	}
	return n
}

// cutChars returns the longest beginning of s of at most n UTF-16 code units that
// halves no character.
func cutChars(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i, r := range s {
		if n -= max(1, utf16.RuneLen(r)); n < 0 {
			return s[:i]
		}
	}
	return s
}

// Chars returns the length of s in UTF-16 code units.
func Chars(s string) int {
	n := 0
	if !utf8.ValidString(s) {
		for _, r := range s {
			n += max(1, utf16.RuneLen(r))
		}
		return n
	}
	for i := range len(s) {
		switch b := s[i]; {
		case b < 0x80 || b >= 0xC0 && b < 0xF0:
			n++
		case b >= 0xF0: // beyond what one unit holds
			n += 2
		}
	}
	return n
}
