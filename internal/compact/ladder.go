package compact

import (
	"context"
	"errors"
	"strings"

	"github.com/isotope-agent/isotope/internal/llm"
)

// A ladder finds somebody who plans a verbatim compaction: the session's model, with
// fewer and fewer of the oldest lines while they do not fit it, then each model that
// may be borrowed (atomic-facts.md 6.9). What comes last, without a model, is not its
// business.
type ladder struct {
	diagnostics []Diagnostic
}

// climb returns the lines to delete, and the model when it was borrowed. The error
// is ErrCancelled or the *Failure of the last model that was asked; models without
// credentials do not hide what another one said.
func (l *ladder) climb(ctx context.Context, c *caller, j *verbatimJob) ([]bool, *PlannerModel, error) {
	own := Candidate{j.in.Model, j.in.Thinking}
	del, failed := l.own(ctx, c, j, own)
	if failed == nil {
		return del, nil, nil
	}
	tried := map[string]bool{own.key(): true}
	for _, b := range j.in.Fallbacks {
		if failed == ErrCancelled {
			break
		}
		if b.Model == nil || tried[b.key()] {
			continue
		}
		tried[b.key()] = true
		del, err := l.plan(ctx, c, j, b, 0)
		if err == nil {
			l.note(b.Model, CategorySuccess, "", nil)
			return del, &PlannerModel{Provider: b.Model.Provider, ID: b.Model.ID, ThinkingLevel: b.shown()}, nil
		}
		if !isCategory(err, CategoryAuth) {
			failed = err
		}
	}
	var f *Failure
	if errors.As(failed, &f) {
		f.Diagnostics = l.diagnostics
	}
	return nil, nil, failed
}

// own asks the session's model. While it says that the transcript does not fit, half
// of what was shown is withheld and counts as deleted.
func (l *ladder) own(ctx context.Context, c *caller, j *verbatimJob, own Candidate) ([]bool, error) {
	offset := 0
	for {
		noted := len(l.diagnostics)
		del, err := l.plan(ctx, c, j, own, offset)
		rest := len(j.region.lines) - offset
		if !isCategory(err, CategoryOverflow) || rest <= 1 {
			return del, err
		}
		l.diagnostics = l.diagnostics[:noted] // only the last try is worth a file
		offset += max(1, rest/2)
	}
}

func isCategory(err error, want Category) bool {
	var f *Failure
	return errors.As(err, &f) && f.Category == want
}

// plan sends one request and returns the lines to delete, those before the line with
// index offset among them.
func (l *ladder) plan(ctx context.Context, c *caller, j *verbatimJob, by Candidate, offset int) ([]bool, error) {
	m, err := c.ask(ctx, plannerRequest(j.region, offset, &j.params, by))
	if err != nil {
		if err == ErrCancelled {
			return nil, err
		}
		return nil, l.failed(by, m, providerFailure(llm.AsError(err)))
	}
	if Overflowed(m, by.Model.ContextWindow) {
		return nil, l.failed(by, m, fail(CategoryOverflow, textOverflow))
	}
	cut := m.StopReason == llm.StopLength
	ranges, err := parseRanges(answerText(m), cut)
	if err != nil {
		return nil, l.failed(by, m, fail(CategoryMalformed, textMalformed))
	}
	del, usable := j.region.marks(ranges, offset)
	if usable == 0 {
		f := fail(CategoryNoRanges, textNoRanges)
		if cut && m.Usage.Reasoning != nil && *m.Usage.Reasoning > 0 {
			f.Category = CategoryStarved
		}
		return nil, l.failed(by, m, f)
	}
	if cut {
		l.note(by.Model, CategoryRecovered, "", m)
	}
	return del, nil
}

// answerText is the text of an answer; borders of blocks are no line breaks.
func answerText(m *llm.AssistantMessage) string {
	var b strings.Builder
	for _, block := range m.Content {
		if t, ok := block.(*llm.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func providerFailure(e *llm.Error) *Failure {
	switch c := categoryOf(e); {
	case c == CategoryOverflow:
		return fail(c, textOverflow)
	case c == CategoryAuth && e.Status == 0:
		return fail(c, textNoAuth)
	case e.Message == "":
		return fail(c, textProvider)
	default:
		return fail(c, e.Message)
	}
}

// failed notes a failure and returns it.
func (l *ladder) failed(by Candidate, m *llm.AssistantMessage, f *Failure) error {
	if f.Category != CategoryAuth {
		l.note(by.Model, f.Category, f.Message, m)
	}
	return f
}

func (l *ladder) note(model *llm.Model, c Category, text string, m *llm.AssistantMessage) {
	d := Diagnostic{Category: c, Message: text, model: model}
	if m != nil {
		d.response, d.stop, d.usage = answerText(m), m.StopReason, &m.Usage
	}
	l.diagnostics = append(l.diagnostics, d)
}

// key tells candidates apart.
func (c Candidate) key() string { return c.Model.Ref() + ":" + string(c.Thinking) }

// shown is the level as results name it: none when the model does not think.
func (c Candidate) shown() llm.ThinkingLevel {
	if c.Thinking == llm.ThinkingOff {
		return ""
	}
	return c.Thinking
}
