package compact

import (
	"context"
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/llm"
)

// A writer lets a model write summaries.
type writer struct {
	*caller
	model    *llm.Model
	thinking llm.ThinkingLevel
	window   int64
	label    string // of what is written, for errors: "Summarization"
}

const (
	// answerRoom is what a summary and its reasoning may take of the window, at most
	// half of it.
	answerRoom = 16384
	// minRecordChars ends the attempts to make a record fit.
	minRecordChars = 2000
	// minPartChars is the least of a section that is worth keeping.
	minPartChars = 500
)

// write asks for a summary of a record, which prompt puts into a request. A record
// that does not fit the window is shortened before it is sent, and again by half each
// time the provider says that it does not fit.
func (w *writer) write(ctx context.Context, sections []string, prompt func(record string) string) (string, error) {
	limit := w.recordChars(prompt(""))
	for {
		record := fitRecord(sections, limit)
		m, err := w.ask(ctx, w.request(prompt(record)))
		if err == nil && !Overflowed(m, w.window) {
			return w.checked(m)
		}
		if err == ErrCancelled {
			return "", err
		}
		e := llm.AsError(err)
		if e == nil {
			e = &llm.Error{Kind: llm.ErrOverflow, Message: textTooLong}
		}
		size := Chars(record)
		if e.Kind != llm.ErrOverflow || size <= minRecordChars {
			return "", w.failed(categoryOf(e), e.Message)
		}
		limit = size / 2
	}
}

// recordChars is how long a record may be beside the rest of a prompt, in UTF-16
// code units.
func (w *writer) recordChars(rest string) int {
	if w.window <= 0 {
		return 1 << 40
	}
	room := w.window - min(answerRoom, w.window/2) - textTokens(rest) - textTokens(summarySystem)
	return max(minRecordChars, int(room)*charsPerToken)
}

func (w *writer) request(text string) *llm.Request {
	return &llm.Request{
		Model: w.model, System: summarySystem, NoCache: true, Thinking: w.thinking,
		Messages: []llm.Message{&llm.UserMessage{Content: llm.Content{llm.NewText(text)}}},
	}
}

// checked returns the text of an answer that is a whole summary.
func (w *writer) checked(m *llm.AssistantMessage) (string, error) {
	if m.StopReason == llm.StopLength {
		return "", w.failed(CategoryMalformed, textIncomplete)
	}
	if len(m.Content.ToolCalls()) > 0 {
		return "", fail(CategoryMalformed, w.label+" "+textCalledATool)
	}
	var parts []string
	for _, b := range m.Content {
		if t, ok := b.(*llm.Text); ok {
			parts = append(parts, t.Text)
		}
	}
	text := strings.Join(parts, "\n")
	if strings.TrimSpace(text) == "" {
		return "", w.failed(CategoryMalformed, textEmpty)
	}
	return text, nil
}

func (w *writer) failed(c Category, text string) *Failure {
	if text == "" {
		text = textUnknown
	}
	return fail(c, w.label+" failed: "+text)
}

// fitRecord joins sections to a record of about limit UTF-16 code units. What does
// not fit is left out from the front; of the section where that begins, its beginning
// and end stay when there is room for them. Something of the newest section stays
// always.
func fitRecord(sections []string, limit int) string {
	from, room := len(sections), limit+len(sectionBreak)
	for from > 0 {
		n := Chars(sections[from-1]) + len(sectionBreak)
		if n > room {
			break
		}
		room -= n
		from--
	}
	if from == 0 {
		return strings.Join(sections, sectionBreak)
	}
	record := sections[from:]
	if from == len(sections) || room >= minPartChars {
		from--
		record = append([]string{cutMiddle(sections[from], max(0, room-len(sectionBreak)))}, record...)
	}
	if from > 0 {
		record = append([]string{leftOut(from)}, record...)
	}
	return strings.Join(record, sectionBreak)
}

func leftOut(n int) string {
	return fmt.Sprintf("[... %d earlier sections left out: they do not fit]", n)
}

// cutMiddle keeps the beginning and the end of a text.
func cutMiddle(s string, limit int) string {
	total := Chars(s)
	if total <= limit {
		return s
	}
	head := cutChars(s, limit/2)
	skip := cutChars(s[len(head):], total-limit)
	tail := s[len(head)+len(skip):]
	return head + fmt.Sprintf("\n[... %d characters left out ...]\n", Chars(skip)) + tail
}
