package compact

import (
	"context"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// Names of the strategies, as the setting compaction.strategy has them.
const (
	NameVerbatim = session.StrategyVerbatim
	NameSummary  = "summary"
)

// A Strategy decides how a branch is made smaller. Prepare looks at the branch, asks
// no model, and may be called from any goroutine. It returns ErrNothingToCompact or
// ErrAlreadyCompacted when there is nothing to do.
type Strategy interface {
	Prepare(in *Input) (*Plan, error)
}

// ByName returns the strategy of that name, nil for an unknown one.
func ByName(name string) Strategy {
	switch name {
	case NameVerbatim:
		return Verbatim{}
	case NameSummary:
		return Summary{}
	}
	return nil
}

// A Completer sends one request and returns the whole answer. It fills in what only
// its owner knows: API key, headers, environment, and a session id of the request's
// own. It retries transient failures and tells clients about that.
//
// A failed answer is returned as a message (stop reason error or aborted, Err set
// where it is known). An error says that there is no answer at all: one of kind
// llm.ErrAuth that the model has no credentials, the context's that it was
// cancelled.
type Completer func(ctx context.Context, req *llm.Request) (*llm.AssistantMessage, error)

// Urgency says what depends on a compaction.
type Urgency int

const (
	// Recoverable: the conversation can go on without it, so it may fail.
	Recoverable Urgency = iota
	// LoadBearing: the next request does not fit without it. The verbatim strategy
	// then deletes without a model when no model can be asked.
	LoadBearing
)

// Input is what a compaction is made from. Nothing of it is changed.
type Input struct {
	Branch   *Branch
	Model    *llm.Model
	Thinking llm.ThinkingLevel // already clamped to the model
	Window   int64             // active context budget in tokens; 0 means that of the model
	// Fixed estimates the tokens of the system prompt and the tools, which no
	// compaction changes. It counts in the estimates of the summary strategy.
	Fixed   int64
	Urgency Urgency
	// AllowSmall lets a load-bearing verbatim compaction work on a few lines.
	AllowSmall bool
	// Instructions are what the user wants the compaction to care for
	// (customInstructions); the verbatim strategy takes them for its query.
	Instructions string
	Options      Options
	// Fallbacks are the models to borrow, in order, when Model cannot plan a
	// verbatim compaction. Duplicates are skipped.
	Fallbacks []Candidate
}

// Options are the settings of both strategies.
type Options struct {
	KeepRecentTokens int64   // summary: size of what is kept
	Ratio            float64 // verbatim: share of the lines to keep; what is not between 0 and 1 means 0.5
	PreserveRecent   int     // verbatim: messages that are kept whole
	Query            string  // verbatim: what to keep lines for; "" means the last request
}

// A Candidate is a model at a thinking level, already clamped.
type Candidate struct {
	Model    *llm.Model
	Thinking llm.ThinkingLevel
}

func (in *Input) window() int64 {
	if in.Window > 0 {
		return in.Window
	}
	return in.Model.ContextWindow
}

// A Branch is the current branch of a session, read for a compaction.
type Branch struct {
	Messages []llm.Message // the context as it is now (session.View.Context)
	Span     *session.Span
	Request  string // text of the last request; "" when there is none
}

// Load reads the current branch.
func Load(v *session.View) (*Branch, error) {
	c, err := v.Context()
	if err != nil {
		return nil, err
	}
	b := &Branch{Messages: c.Messages}
	if b.Span, err = v.Span(); err != nil {
		return nil, err
	}
	last, err := v.LastRequest()
	if err != nil {
		return nil, err
	}
	b.Request = requestText(last)
	return b, nil
}

// A Plan is a compaction that was decided on. Its fields tell extensions what would
// be done; with the verbatim strategy ToSummarize is what becomes lines.
type Plan struct {
	FirstKeptEntryID *string
	TokensBefore     int64
	ToSummarize      []llm.Message
	TurnPrefix       []llm.Message // beginning of a turn that is cut in two
	PreviousSummary  string
	Files            Files

	job job
}

// job is the part of a plan that differs between the strategies.
type job interface {
	run(ctx context.Context, c *caller) (*Outcome, error)
	replace(r Replacement) (*Outcome, error)
}

// Run asks the model and returns what the compaction came to. The error is a
// *Failure, or ErrCancelled when ctx or the answer was cancelled.
func (p *Plan) Run(ctx context.Context, complete Completer) (*Outcome, error) {
	c := &caller{complete: complete}
	o, err := p.job.run(ctx, c)
	if err != nil {
		return nil, c.failure(ctx, err)
	}
	if ctx.Err() != nil {
		return nil, ErrCancelled
	}
	o.Usage, o.Entry.Usage = c.used(), c.used()
	return o, nil
}

// A Replacement is a compaction that an extension made itself. Zero fields mean what
// the plan has.
type Replacement struct {
	Text             string
	FirstKeptEntryID string
	TokensBefore     int64
	Usage            *llm.Usage
	Details          jsonx.Raw // summary strategy only
}

// Replace returns the outcome of a compaction that an extension made.
func (p *Plan) Replace(r Replacement) (*Outcome, error) {
	o, err := p.job.replace(r)
	if err != nil {
		return nil, err
	}
	o.Usage, o.Entry.Usage = r.Usage, r.Usage
	o.Entry.FromHook = new(true)
	return o, nil
}

// An Outcome is a compaction that succeeded and is not stored yet.
type Outcome struct {
	// Entry is the boundary to append to the session.
	Entry session.Compaction
	// Result is what clients are told: *VerbatimResult or *SummaryResult.
	Result any
	// Usage is what the requests took; nil when there was none.
	Usage *llm.Usage
	// Diagnostics are worth a file beside the session (WriteDiagnostic).
	Diagnostics []Diagnostic
}

// SetBackup records where the session was copied to before the compaction. The
// summary strategy does not tell.
func (o *Outcome) SetBackup(path string) error {
	r, ok := o.Result.(*VerbatimResult)
	if !ok {
		return nil
	}
	r.BackupPath = path
	return o.encodeVerbatim(r)
}
