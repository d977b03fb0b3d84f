package compact

import (
	"context"
	"errors"

	"github.com/isotope-agent/isotope/internal/llm"
)

// What a compaction can come to without asking a model. Clients see these texts.
var (
	// ErrNothingToCompact says that the branch is too short.
	ErrNothingToCompact = errors.New("Nothing to compact (session too small)")
	// ErrAlreadyCompacted says that the branch ends with a boundary.
	ErrAlreadyCompacted = errors.New("Already compacted")
	// ErrCancelled says that the compaction was cancelled, by a client or an extension.
	ErrCancelled = errors.New("Compaction cancelled")
	// ErrNothingDeletable says that a context that does not fit has nothing left to
	// delete.
	ErrNothingDeletable = errors.New("Context compaction found no compactable transcript entries; nothing more was safely deletable")
	// ErrNoExtensionText refuses an extension's blank text (verbatim strategy).
	ErrNoExtensionText = errors.New("No compacted text provided by extension")
)

// Texts of a failed verbatim compaction (atomic-facts.md 6.9).
const (
	textMalformed   = "Compaction range planning returned malformed output"
	textNoRanges    = "Compaction range planning produced no usable deleted ranges"
	textOverflow    = "Compaction range planning exceeded the model context window"
	textNoAuth      = "Compaction provider authentication is unavailable"
	textProvider    = "Compaction provider failed"
	textUnknown     = "Unknown error"
	textEmpty       = "the summary is empty"
	textTooLong     = "the conversation does not fit the context window of the model"
	textIncomplete  = "generation hit the token cap and the summary is incomplete"
	textCalledATool = "attempted to call a tool"
)

// Category classes a failed request for diagnostics (atomic-facts.md 6.9).
type Category string

// The categories of failure.
const (
	CategoryOverflow  Category = "overflow"
	CategoryQuota     Category = "quota"
	CategoryRate      Category = "rate_limited"
	CategoryProvider  Category = "provider_error"
	CategoryStream    Category = "stream_error"
	CategoryAuth      Category = "auth"
	CategoryMalformed Category = "malformed_output"
	CategoryNoRanges  Category = "no_usable_ranges"
	CategoryStarved   Category = "starved"   // all tokens went into reasoning
	CategoryRecovered Category = "recovered" // a cut answer whose complete records were used
	CategorySuccess   Category = "success"   // a borrowed model planned
)

// A Failure is a compaction that did not succeed. Nothing was changed.
type Failure struct {
	Message     string // what clients see
	Category    Category
	Usage       *llm.Usage // what the requests took; nil when there was none
	Diagnostics []Diagnostic
	Path        string // of the diagnostic file; set by whoever wrote it
}

// Error returns the message, and where the diagnostic file is when there is one.
func (f *Failure) Error() string {
	if f.Path != "" {
		return f.Message + " (diagnostic: " + f.Path + ")"
	}
	return f.Message
}

func fail(c Category, text string) *Failure { return &Failure{Message: text, Category: c} }

// caller asks the model and remembers what that took.
type caller struct {
	complete Completer
	asked    bool
	usage    llm.Usage
}

func (c *caller) used() *llm.Usage {
	if !c.asked {
		return nil
	}
	u := c.usage
	return &u
}

// ask sends a request. The error is ErrCancelled or what the provider said; a
// message comes back with it when there is one.
func (c *caller) ask(ctx context.Context, req *llm.Request) (*llm.AssistantMessage, error) {
	if ctx.Err() != nil {
		return nil, ErrCancelled
	}
	m, err := c.complete(ctx, req)
	if m != nil {
		c.asked, c.usage = true, c.usage.Add(m.Usage)
	}
	switch {
	case ctx.Err() != nil, errors.Is(err, context.Canceled), m != nil && m.StopReason == llm.StopAborted:
		return nil, ErrCancelled
	case err != nil:
		return m, llm.AsError(err)
	case m.StopReason == llm.StopError:
		return m, errorOf(m)
	}
	return m, nil
}

// errorOf returns the error behind a failed answer.
func errorOf(m *llm.AssistantMessage) *llm.Error {
	if m.Err != nil {
		return m.Err
	}
	status := leadingStatus(m.ErrorMessage)
	return &llm.Error{Kind: llm.Classify(status, "", m.ErrorMessage), Message: m.ErrorMessage, Status: status}
}

// failure turns what a job returned into what Run returns.
func (c *caller) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, ErrCancelled) {
		return ErrCancelled
	}
	var f *Failure
	if !errors.As(err, &f) {
		e := llm.AsError(err)
		f = fail(categoryOf(e), e.Message)
	}
	f.Usage = c.used()
	return f
}

func categoryOf(e *llm.Error) Category {
	switch e.Kind {
	case llm.ErrOverflow:
		return CategoryOverflow
	case llm.ErrQuota:
		return CategoryQuota
	case llm.ErrRateLimit, llm.ErrTransient:
		return CategoryRate
	case llm.ErrAuth:
		return CategoryAuth
	case llm.ErrTransport:
		return CategoryStream
	}
	return CategoryProvider
}

// The text in front of the error of a compaction that failed, by what it was for.
const (
	prefixManual    = "Compaction failed: "
	prefixThreshold = "Auto-compaction failed: "
	prefixOverflow  = "Context overflow recovery failed: "
	prefixLength    = "Response truncation recovery failed: "
	prefixMidTurn   = "Post-tool context compaction failed before the next provider request: "
)

// Cause is what a compaction is for.
type Cause int

// The causes. Length is a truncated answer, MidTurn a context that grew too large
// between a turn's tools and the next request.
const (
	CauseManual Cause = iota
	CauseThreshold
	CauseOverflow
	CauseLength
	CauseMidTurn
)

// Reason returns the name of the cause in compaction_start and compaction_end.
func (c Cause) Reason() string {
	switch c {
	case CauseManual:
		return "manual"
	case CauseOverflow, CauseLength:
		return "overflow"
	}
	return "threshold"
}

// ErrorMessage returns the errorMessage of compaction_end for a compaction that
// failed with err; "" for one that was cancelled.
func (c Cause) ErrorMessage(err error) string {
	if errors.Is(err, ErrCancelled) {
		return ""
	}
	prefix := prefixThreshold
	switch c {
	case CauseManual:
		prefix = prefixManual
	case CauseOverflow:
		prefix = prefixOverflow
	case CauseLength:
		prefix = prefixLength
	case CauseMidTurn:
		prefix = prefixMidTurn
	}
	return prefix + err.Error()
}

// BackupLabel returns the label in the name of a backup made before the compaction.
func (c Cause) BackupLabel() string {
	switch c {
	case CauseManual:
		return "compact"
	case CauseOverflow, CauseLength:
		return "overflow-auto-compact"
	}
	return "auto-compact"
}
