package compact

import (
	"context"
	"math"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

const (
	// minRegionLines is the least that is worth asking a model about.
	minRegionLines = 20
	defaultRatio   = 0.5
)

// Rungs: how a verbatim compaction came about.
const (
	RungPlanned   = "planned"   // a model chose the lines
	RungExtension = "extension" // an extension wrote the text
	RungFresh     = "fresh"     // everything that is not protected was deleted
)

// Parameters are what a verbatim compaction was asked for (seed 000).
type Parameters struct {
	CompressionRatio float64 `json:"compression_ratio"`
	PreserveRecent   int     `json:"preserve_recent"`
	Query            string  `json:"query"`
}

// Stats are the numbers of a verbatim compaction. LinesDeleted counts lines of the
// text that went, markers of earlier compactions among them; LinesKept the others,
// without the new markers. Tokens are estimates; PercentReduction is negative when
// the text grew.
type Stats struct {
	LinesBefore      int     `json:"linesBefore"`
	LinesDeleted     int     `json:"linesDeleted"`
	LinesKept        int     `json:"linesKept"`
	RangeCount       int     `json:"rangeCount"`
	TokensBefore     int64   `json:"tokensBefore"`
	TokensAfter      int64   `json:"tokensAfter"`
	PercentReduction float64 `json:"percentReduction"`
}

// PlannerModel names a model that was borrowed.
type PlannerModel struct {
	Provider      string            `json:"provider"`
	ID            string            `json:"id"`
	ThinkingLevel llm.ThinkingLevel `json:"thinkingLevel,omitzero"`
}

// VerbatimResult is what clients are told of a verbatim compaction (seed 000).
type VerbatimResult struct {
	CompactedText    string        `json:"compactedText"`
	FirstKeptEntryID *string       `json:"firstKeptEntryId"`
	TokensBefore     int64         `json:"tokensBefore"`
	PromptVersion    int           `json:"promptVersion"`
	Parameters       Parameters    `json:"parameters"`
	Rung             string        `json:"rung"`
	Stats            Stats         `json:"stats"`
	PlannerModel     *PlannerModel `json:"plannerModel,omitzero"`
	BackupPath       string        `json:"backupPath,omitzero"`
}

// verbatimDetails are the details of the entry (atomic-facts.md 6.10).
type verbatimDetails struct {
	Strategy      string        `json:"strategy"`
	PromptVersion int           `json:"promptVersion"`
	Parameters    Parameters    `json:"parameters"`
	Stats         Stats         `json:"stats"`
	Rung          string        `json:"rung"`
	PlannerModel  *PlannerModel `json:"plannerModel,omitzero"`
	BackupPath    string        `json:"backupPath,omitzero"`
}

// Verbatim is the strategy that deletes lines of the transcript and keeps the others
// as they are. The newest messages stay outside, whatever their kind: the session
// puts them behind the compacted text as text.
type Verbatim struct{}

// Prepare implements Strategy.
func (Verbatim) Prepare(in *Input) (*Plan, error) {
	s := in.Branch.Span
	seen := seenBy(s.Entries)
	tail := tailStart(s.Entries, seen, in.Options.PreserveRecent)
	j := &verbatimJob{in: in, params: in.parameters(), tokensBefore: ContextTokens(in.Branch.Messages)}
	region := messagesOf(s.Entries[:tail], seen)
	kept := messagesOf(s.Entries[tail:], seen[tail:])
	if len(kept) > 0 {
		j.firstKept, j.tailTokens = new(s.Entries[tail].ID), messagesTokens(kept)
	}
	text, previous := boundaryText(s.Boundary)
	if t := verbatimGrammar().text(region); t != "" {
		text = joinNonEmpty(text, t)
	}
	j.region = parseRegion(text)
	small := text == "" || len(j.region.lines) < minRegionLines
	switch {
	case in.Urgency == LoadBearing && (text == "" || !j.region.deletable()):
		return nil, ErrNothingDeletable
	case small && in.Urgency == LoadBearing && !in.AllowSmall:
		return nil, ErrNothingDeletable
	case small && in.Urgency != LoadBearing:
		return nil, ErrNothingToCompact
	}
	j.small = small
	return &Plan{
		FirstKeptEntryID: j.firstKept, TokensBefore: j.tokensBefore, ToSummarize: region, PreviousSummary: previous,
		Files: touchedFiles(s.Boundary, region), job: j,
	}, nil
}

// boundaryText is what a region begins with: the text of the boundary before. That
// of a summary says what it is, as a model is told.
func boundaryText(b *session.SpanEntry) (text, summary string) {
	if b == nil {
		return "", ""
	}
	m, ok := b.Message.(*llm.CompactionSummaryMessage)
	if !ok {
		return "", ""
	}
	if b.Verbatim {
		return m.Summary, m.Summary
	}
	return verbatimGrammar().text([]llm.Message{m}), m.Summary
}

func joinNonEmpty(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n" + b
}

// tailStart returns the index of the first entry to keep: that of the message number
// n from the end.
func tailStart(entries []session.SpanEntry, seen []bool, n int) int {
	at := len(entries)
	for i := len(entries) - 1; i >= 0 && n > 0; i-- {
		if seen[i] && entries[i].ID != "" {
			at = i
			n--
		}
	}
	return at
}

func (in *Input) parameters() Parameters {
	p := Parameters{CompressionRatio: in.Options.Ratio, PreserveRecent: max(0, in.Options.PreserveRecent), Query: strings.TrimSpace(in.Instructions)}
	if !(p.CompressionRatio > 0 && p.CompressionRatio < 1) {
		p.CompressionRatio = defaultRatio
	}
	for _, q := range []string{strings.TrimSpace(in.Options.Query), in.Branch.Request, defaultQuery} {
		if p.Query == "" {
			p.Query = q
		}
	}
	return p
}

// verbatimJob is a verbatim compaction that was decided on.
type verbatimJob struct {
	in           *Input
	params       Parameters
	region       *region
	small        bool // too little to ask a model about
	firstKept    *string
	tailTokens   int64
	tokensBefore int64
}

func (j *verbatimJob) run(ctx context.Context, c *caller) (*Outcome, error) {
	var l ladder
	if !j.small {
		del, borrowed, err := l.climb(ctx, c, j)
		if err == nil {
			text, stats := j.region.remove(del)
			return j.outcome(text, stats, RungPlanned, borrowed, l.diagnostics)
		}
		if j.in.Urgency != LoadBearing || ctx.Err() != nil || err == ErrCancelled {
			return nil, err
		}
	}
	return j.fresh(l.diagnostics)
}

// fresh deletes every line that is not protected, without a model, and gives up the
// kept messages too when they alone do not fit.
func (j *verbatimJob) fresh(diagnostics []Diagnostic) (*Outcome, error) {
	del := make([]bool, len(j.region.lines))
	for i := range del {
		del[i] = true
	}
	if w := j.in.window(); w > 0 && j.tailTokens > w {
		j.firstKept, j.tailTokens = nil, 0
	}
	text, stats := j.region.remove(del)
	return j.outcome(text, stats, RungFresh, nil, diagnostics)
}

func (j *verbatimJob) outcome(text string, stats Stats, rung string, borrowed *PlannerModel, diagnostics []Diagnostic) (*Outcome, error) {
	stats.TokensBefore, stats.TokensAfter = j.tokensBefore, textTokens(text)+j.tailTokens
	stats.PercentReduction = reduction(stats.TokensBefore, stats.TokensAfter)
	r := &VerbatimResult{
		CompactedText: text, FirstKeptEntryID: j.firstKept, TokensBefore: j.tokensBefore, PromptVersion: promptVersion,
		Parameters: j.params, Rung: rung, Stats: stats, PlannerModel: borrowed,
	}
	o := &Outcome{
		Entry:       session.Compaction{Summary: text, FirstKeptEntryID: j.firstKept, TokensBefore: j.tokensBefore},
		Result:      r,
		Diagnostics: diagnostics,
	}
	return o, o.encodeVerbatim(r)
}

// encodeVerbatim writes the details of the entry.
func (o *Outcome) encodeVerbatim(r *VerbatimResult) (err error) {
	o.Entry.Details, err = jsonx.Marshal(verbatimDetails{
		Strategy: NameVerbatim, PromptVersion: r.PromptVersion, Parameters: r.Parameters, Stats: r.Stats,
		Rung: r.Rung, PlannerModel: r.PlannerModel, BackupPath: r.BackupPath,
	})
	return err
}

func (j *verbatimJob) replace(r Replacement) (*Outcome, error) {
	if strings.TrimSpace(r.Text) == "" {
		return nil, ErrNoExtensionText
	}
	if r.FirstKeptEntryID != "" {
		j.firstKept, j.tailTokens = new(r.FirstKeptEntryID), j.keptFrom(r.FirstKeptEntryID)
	}
	if r.TokensBefore > 0 {
		j.tokensBefore = r.TokensBefore
	}
	kept := strings.Count(r.Text, "\n") + 1
	before := len(j.region.lines)
	stats := Stats{LinesBefore: before, LinesKept: min(kept, before), LinesDeleted: max(0, before-kept)}
	return j.outcome(r.Text, stats, RungExtension, nil, nil)
}

// keptFrom estimates what is kept from an entry on; nothing for one that is not
// there, which the session refuses.
func (j *verbatimJob) keptFrom(id string) int64 {
	entries := j.in.Branch.Span.Entries
	for i := range entries {
		if entries[i].ID == id {
			return messagesTokens(messagesOf(entries[i:], seenBy(entries)[i:]))
		}
	}
	return 0
}

// reduction is by how many percent after is less than before, to one decimal.
func reduction(before, after int64) float64 {
	if before == 0 {
		return 0
	}
	return math.Floor((1-float64(after)/float64(before))*1000+0.5) / 10
}
