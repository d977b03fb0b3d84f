package session

import (
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// StrategyVerbatim is details.strategy of a compaction that keeps lines of the
// transcript instead of writing a summary.
const StrategyVerbatim = "verbatim-lines"

// BoundaryType is the customType of the message that stands for what a verbatim
// compaction took away.
const BoundaryType = "compaction"

// verbatimPreface stands before compacted text, for the model that reads it.
const verbatimPreface = "Earlier parts of this conversation were compacted to save space. What follows is the transcript of them, with the remaining lines exactly as they were; a line \"(filtered N lines)\" stands where N lines were taken out. Treat it as history, not as a new request."

// isVerbatim tells the two kinds of boundaries apart by the details of the entry.
func isVerbatim(details []byte) bool {
	return string(text(member(details, "strategy"))) == StrategyVerbatim
}

// verbatimMessage builds the one message that a verbatim boundary puts in place of
// everything before it (atomic-facts.md 6.10): a preface, the compacted text, and
// the kept entries as text, since their tool calls would have lost their partners.
func (v *View) verbatimMessage(p *projection, r *reader) (llm.Message, error) {
	raw, err := r.line(&v.recs[p.boundary])
	if err != nil {
		return nil, err
	}
	m := &llm.CustomMessage{
		CustomType: BoundaryType,
		Display:    true,
		Details:    jsonx.Raw(member(raw, "details")).Clone(),
		Timestamp:  v.recs[p.boundary].ms,
	}
	head := verbatimPreface + "\n\n" + string(text(member(raw, "summary")))
	var kept []llm.Message
	var d decoder
	for k := range p.kept {
		it := &p.kept[k]
		raw, err := r.line(&v.recs[it.rec])
		if err != nil {
			return nil, err
		}
		if message := it.edited(v.messageOf(it.rec, raw)); message != nil {
			kept = append(kept, d.message(message))
		}
	}
	m.Content = retainedContent(head, kept)
	return m, nil
}

// retainedContent is head and, behind a blank line, the kept messages in the grammar
// of compacted transcripts (atomic-facts.md 6.5): sections divided by blank lines,
// each with a header on its first line, nothing shortened, pictures as blocks of
// their own.
func retainedContent(head string, kept []llm.Message) llm.Content {
	t := transcript{}
	t.text.WriteString(head)
	for _, m := range llm.ForModel(kept) {
		switch m := m.(type) {
		case *llm.UserMessage:
			t.section("[User]: ", m.Content)
		case *llm.ToolResultMessage:
			t.section("[Tool result]: ", m.Content)
		case *llm.AssistantMessage:
			t.assistant(m)
		}
	}
	t.flush()
	return t.out
}

// transcript collects text and pictures into content blocks.
type transcript struct {
	text strings.Builder
	out  llm.Content
}

func (t *transcript) flush() {
	if t.text.Len() > 0 {
		t.out = append(t.out, llm.NewText(t.text.String()))
		t.text.Reset()
	}
}

// section writes the text and the pictures of a message, nothing when it has none.
func (t *transcript) section(header string, content llm.Content) {
	open := false
	begin := func() {
		if !open {
			t.text.WriteString("\n\n" + header)
			open = true
		}
	}
	for i, b := range content {
		switch b := b.(type) {
		case *llm.Text:
			if b.Text == "" {
				continue
			}
			begin()
			s := b.Text
			if i == len(content)-1 {
				s = strings.TrimSuffix(s, "\n")
			}
			t.text.WriteString(s)
		case *llm.Image:
			if open {
				t.text.WriteString("\n")
			}
			begin()
			t.flush()
			t.out = append(t.out, b)
		}
	}
}

func (t *transcript) assistant(m *llm.AssistantMessage) {
	var thinking, said, calls []string
	for _, b := range m.Content {
		switch b := b.(type) {
		case *llm.Thinking:
			thinking = appendText(thinking, b.Thinking)
		case *llm.Text:
			said = appendText(said, b.Text)
		case *llm.ToolCall:
			calls = append(calls, callText(b))
		}
	}
	t.lines("[Assistant thinking]: ", thinking, "\n")
	t.lines("[Assistant]: ", said, "\n")
	t.lines("[Assistant tool calls]: ", calls, "; ")
}

func appendText(list []string, s string) []string {
	if s == "" {
		return list
	}
	return append(list, s)
}

func (t *transcript) lines(header string, parts []string, sep string) {
	if len(parts) > 0 {
		t.text.WriteString("\n\n" + header + strings.TrimSuffix(strings.Join(parts, sep), "\n"))
	}
}

// callText writes a tool call as name(key=JSON, …).
func callText(c *llm.ToolCall) string {
	var args []string
	for name, value := range members(c.Arguments) {
		args = append(args, fmt.Sprintf("%s=%s", text(name), value))
	}
	return c.Name + "(" + strings.Join(args, ", ") + ")"
}
