// Package compact owns how large a context is and, later, how it is made smaller:
// two strategies behind one small interface.
//
// It must not know clients, files or settings. Its functions are pure and may be
// called concurrently.
package compact

import (
	"unicode/utf16"

	"github.com/isotope-agent/isotope/internal/llm"
)

const (
	charsPerToken = 4
	imageChars    = 4800 // what a picture counts for, in characters
)

// ContextTokens estimates the tokens of a context: what the last trustworthy answer
// reported, plus an estimate of what came after it; without one, an estimate of all
// (atomic-facts.md 6.3).
func ContextTokens(msgs []llm.Message) int64 {
	at, used := lastUsage(msgs)
	total := used
	for _, m := range msgs[at+1:] {
		total += MessageTokens(m)
	}
	return total
}

// lastUsage returns the index of the last answer whose usage can be trusted, and its
// context tokens; -1 and 0 when there is none.
func lastUsage(msgs []llm.Message) (int, int64) {
	for i := len(msgs) - 1; i >= 0; i-- {
		if m, ok := msgs[i].(*llm.AssistantMessage); ok && !m.Failed() {
			if n := UsageTokens(m.Usage, m.API); n > 0 {
				return i, n
			}
		}
	}
	return -1, 0
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
	return int64((chars + charsPerToken - 1) / charsPerToken)
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

// Chars returns the length of s in UTF-16 code units.
func Chars(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}
