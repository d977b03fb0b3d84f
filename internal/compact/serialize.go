package compact

import (
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// Headers of the sections of a transcript. A header stands on the first line of its
// section, sections are divided by a blank line (atomic-facts.md 6.5).
const (
	headerUser     = "[User]: "
	headerThinking = "[Assistant thinking]: "
	headerAnswer   = "[Assistant]: "
	headerCalls    = "[Assistant tool calls]: "
	headerResult   = "[Tool result]: "

	sectionBreak = "\n\n"
	imageLine    = "[image]"
)

// grammar is how messages become text. Both strategies write the same sections; the
// input of a summary has no thinking and no pictures, and shorter tool results.
type grammar struct {
	thinking bool
	images   bool // a picture is a line of its own
	trim     bool // drop a newline at the end of a section
	result   int  // UTF-16 code units of a tool result, the rest is cut
}

// Lengths of tool results in a transcript, in UTF-16 code units.
const (
	verbatimResultChars = 16000
	summaryResultChars  = 2000
)

func verbatimGrammar() grammar {
	return grammar{thinking: true, images: true, trim: true, result: verbatimResultChars}
}

func summaryGrammar() grammar { return grammar{result: summaryResultChars} }

// sections returns the transcript of messages, section by section.
func (g grammar) sections(msgs []llm.Message) []string {
	var out []string
	add := func(header, text string) {
		if text != "" {
			out = append(out, header+text)
		}
	}
	for _, m := range llm.ForModel(msgs) {
		switch m := m.(type) {
		case *llm.UserMessage:
			add(headerUser, g.content(m.Content))
		case *llm.ToolResultMessage:
			add(headerResult, cutResult(g.content(m.Content), g.result))
		case *llm.AssistantMessage:
			thinking, said, calls := answerParts(m.Content)
			if g.thinking {
				add(headerThinking, g.trimmed(strings.Join(thinking, "\n")))
			}
			add(headerAnswer, g.trimmed(strings.Join(said, "\n")))
			add(headerCalls, strings.Join(calls, "; "))
		}
	}
	return out
}

func (g grammar) trimmed(s string) string {
	if g.trim {
		return strings.TrimSuffix(s, "\n")
	}
	return s
}

// text returns the transcript of messages.
func (g grammar) text(msgs []llm.Message) string { return strings.Join(g.sections(msgs), sectionBreak) }

// content returns the text of a user message or tool result: its text blocks one
// after the other.
func (g grammar) content(c llm.Content) string {
	var b strings.Builder
	newline := true
	for _, block := range c {
		switch block := block.(type) {
		case *llm.Text:
			if block.Text != "" {
				b.WriteString(block.Text)
				newline = strings.HasSuffix(block.Text, "\n")
			}
		case *llm.Image:
			if !g.images {
				continue
			}
			if !newline {
				b.WriteByte('\n')
			}
			b.WriteString(imageLine + "\n")
			newline = true
		}
	}
	return g.trimmed(b.String())
}

func answerParts(c llm.Content) (thinking, said, calls []string) {
	for _, block := range c {
		switch block := block.(type) {
		case *llm.Thinking:
			if block.Thinking != "" {
				thinking = append(thinking, block.Thinking)
			}
		case *llm.Text:
			if block.Text != "" {
				said = append(said, block.Text)
			}
		case *llm.ToolCall:
			calls = append(calls, callText(block))
		}
	}
	return thinking, said, calls
}

// callText writes a tool call as name(key=JSON, …).
func callText(c *llm.ToolCall) string {
	args, err := jsonx.Members(c.Arguments)
	if err != nil {
		return c.Name + "()"
	}
	var b strings.Builder
	b.WriteString(c.Name + "(")
	for i, a := range args {
		if i > 0 {
			b.WriteString(", ")
		}
		value, err := jsonx.Compact(a.Value)
		if err != nil {
			value = a.Value
		}
		b.WriteString(a.Name + "=")
		b.Write(value)
	}
	b.WriteByte(')')
	return b.String()
}

// cutResult shortens a tool result to n UTF-16 code units and says so.
func cutResult(s string, n int) string {
	if len(s) <= n {
		return s
	}
	total := Chars(s)
	if total <= n {
		return s
	}
	return cutChars(s, n) + fmt.Sprintf("\n\n[... %d more characters truncated]", total-n)
}

// Default of the query of the verbatim strategy.
const defaultQuery = "the latest user request"

// requestText returns what the user asked for in a message, "" when there is none.
func requestText(m llm.Message) string {
	if m == nil {
		return ""
	}
	var texts []string
	for _, m := range llm.ForModel([]llm.Message{m}) {
		if u, ok := m.(*llm.UserMessage); ok {
			for _, b := range u.Content {
				if t, ok := b.(*llm.Text); ok {
					texts = append(texts, t.Text)
				}
			}
		}
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}
