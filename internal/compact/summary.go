package compact

import (
	"context"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// SummaryResult is what clients are told of a summary compaction (seed 003).
// EstimatedTokensAfter counts the context behind the compaction, the system prompt
// and the tools included. Details is an extension's own where it made the summary.
type SummaryResult struct {
	Summary              string     `json:"summary"`
	FirstKeptEntryID     string     `json:"firstKeptEntryId"`
	TokensBefore         int64      `json:"tokensBefore"`
	EstimatedTokensAfter int64      `json:"estimatedTokensAfter"`
	Usage                *llm.Usage `json:"usage,omitzero"`
	Details              jsonx.Raw  `json:"details,omitzero"`
}

// Summary is the strategy that lets a model write a summary of what is old, and
// keeps the newest messages.
type Summary struct{}

// Prepare implements Strategy.
func (Summary) Prepare(in *Input) (*Plan, error) {
	s := in.Branch.Span
	if s.Boundary != nil && len(s.Entries) == s.Kept {
		return nil, ErrAlreadyCompacted
	}
	seen := seenBy(s.Entries)
	at := findCut(s.Entries, seen, in.keepRecent(), in.Urgency == LoadBearing)
	history := messagesOf(s.Entries[:at.turn], seen)
	prefix := messagesOf(s.Entries[at.turn:at.first], seen[at.turn:])
	if len(history)+len(prefix) == 0 || s.Entries[at.first].ID == "" {
		return nil, ErrNothingToCompact
	}
	j := &summaryJob{
		in: in, history: history, prefix: prefix, firstKept: s.Entries[at.first].ID,
		tokensBefore: in.contextTokens(),
		files:        touchedFiles(s.Boundary, append(append([]llm.Message{}, history...), prefix...)),
	}
	text, summary := boundaryText(s.Boundary)
	if s.Boundary != nil && s.Boundary.Verbatim {
		j.before, summary = text, ""
	}
	// The lists of files are written anew; left where they are, they would pile up.
	j.previous = strings.TrimSuffix(summary, touchedFiles(s.Boundary, nil).section())
	return &Plan{
		FirstKeptEntryID: new(j.firstKept), TokensBefore: j.tokensBefore, ToSummarize: history, TurnPrefix: prefix,
		PreviousSummary: summary, Files: j.files, job: j,
	}, nil
}

// contextTokens is the size of the context with the system prompt and the tools,
// which a provider's count includes and an estimate does not.
func (in *Input) contextTokens() int64 {
	return RequestTokens(in.Branch.Messages, in.Fixed)
}

// keepRecent is how many tokens to keep: as set, but no more than three quarters of
// a small window, of which nothing could ever be summarised otherwise.
func (in *Input) keepRecent() int64 {
	keep := max(0, in.Options.KeepRecentTokens)
	if w := in.window(); w > 0 {
		keep = min(keep, w/4*3)
	}
	return keep
}

// summaryJob is a summary compaction that was decided on.
type summaryJob struct {
	in           *Input
	before       string // compacted text of a verbatim boundary: part of what is summarised
	previous     string // summary of the boundary before
	history      []llm.Message
	prefix       []llm.Message // of a turn that is cut in two
	firstKept    string
	tokensBefore int64
	files        Files
}

func (j *summaryJob) run(ctx context.Context, c *caller) (*Outcome, error) {
	w := &writer{caller: c, model: j.in.Model, thinking: j.in.Thinking, window: j.in.window(), label: "Summarization"}
	text, err := j.summarise(ctx, w)
	if err != nil {
		return nil, err
	}
	if len(j.prefix) > 0 {
		w.label = "Turn prefix summarization"
		prefix, err := w.write(ctx, summaryGrammar().sections(j.prefix), j.prefixPrompt)
		if err != nil {
			return nil, err
		}
		text += turnSeparator + prefix
	}
	details, err := jsonx.Marshal(j.files)
	if err != nil {
		return nil, err
	}
	return j.outcome(text+j.files.section(), c.used(), details), nil
}

// summarise returns the summary of what is before the turn that is cut.
func (j *summaryJob) summarise(ctx context.Context, w *writer) (string, error) {
	sections := summaryGrammar().sections(j.history)
	if j.before != "" {
		sections = append([]string{j.before}, sections...)
	}
	if len(sections) == 0 && len(j.prefix) > 0 {
		if j.previous != "" {
			return j.previous, nil
		}
		return noHistory, nil
	}
	return w.write(ctx, sections, j.prompt)
}

// prompt is the request for a summary of a record.
func (j *summaryJob) prompt(record string) string {
	var b strings.Builder
	b.WriteString("<conversation>\n" + record + "\n</conversation>\n\n")
	task := summaryPrompt
	if j.previous != "" {
		b.WriteString("<previous-summary>\n" + j.previous + "\n</previous-summary>\n\n")
		task = summaryUpdatePrompt
	}
	b.WriteString(task + focus(j.in.Instructions))
	return b.String()
}

func (j *summaryJob) prefixPrompt(record string) string {
	return "# Conversation\n" + record + "\n\n# Instructions\n" + turnPrefixPrompt + focus(j.in.Instructions)
}

func focus(instructions string) string {
	if instructions == "" {
		return ""
	}
	return focusLine + instructions
}

func (j *summaryJob) outcome(text string, usage *llm.Usage, details jsonx.Raw) *Outcome {
	return &Outcome{
		Entry: session.Compaction{
			Summary: text, FirstKeptEntryID: new(j.firstKept), TokensBefore: j.tokensBefore, Details: details, FromHook: new(false),
		},
		Result: &SummaryResult{
			Summary: text, FirstKeptEntryID: j.firstKept, TokensBefore: j.tokensBefore,
			EstimatedTokensAfter: j.tokensAfter(text), Usage: usage, Details: details,
		},
	}
}

// tokensAfter estimates the context behind the compaction.
func (j *summaryJob) tokensAfter(text string) int64 {
	n := j.in.Fixed + textTokens(text)
	entries := j.in.Branch.Span.Entries
	kept := false
	for i, seen := range seenBy(entries) {
		kept = kept || entries[i].ID == j.firstKept
		if kept && seen {
			n += MessageTokens(entries[i].Message)
		}
	}
	return n
}

func (j *summaryJob) replace(r Replacement) (*Outcome, error) {
	if r.FirstKeptEntryID != "" {
		j.firstKept = r.FirstKeptEntryID
	}
	if r.TokensBefore > 0 {
		j.tokensBefore = r.TokensBefore
	}
	return j.outcome(r.Text, r.Usage, r.Details), nil
}
