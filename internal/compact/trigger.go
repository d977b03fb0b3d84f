package compact

import (
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/llm"
)

// Error messages of compaction_end when a recovery is not tried again.
const (
	// OverflowExhausted ends the recovery of a request that does not fit; the event
	// has unresolvedOverflow.
	OverflowExhausted = "Context overflow recovery failed after one compact-and-retry attempt. Try reducing context or switching to a larger-context model."
	// LengthExhausted ends the recovery of a truncated answer.
	LengthExhausted = "Truncated response recovery failed after one compact-and-retry attempt."
	// BudgetExhausted ends the recovery of a request whose room for output is too
	// small.
	BudgetExhausted = "Output-budget recovery stopped after a compact-and-retry attempt. Try reducing context or switching to a larger-context model."
	// MidTurnCancelled is the error of a run whose compaction between a turn's tools
	// and the next request was cancelled.
	MidTurnCancelled = "Post-tool context compaction was cancelled before the next provider request."
	// ContinuationFailed stands before the reason why a run did not go on after a
	// compaction.
	ContinuationFailed = "Post-compaction continuation failed: "
)

// StillTooLarge is the error of a run whose context has tokens tokens after a
// compaction in mid-turn and does not fit the limit.
func StillTooLarge(tokens, limit int64) string {
	return fmt.Sprintf("Post-tool context remains over the provider hard input limit after compaction (%d > %d tokens); the next provider request was not sent.", tokens, limit)
}

// ShouldCompact reports whether a context of tokens leaves less than reserve free of
// the window. Without a window nothing does.
func ShouldCompact(tokens, window, reserve int64) bool {
	return window > 0 && tokens > window-reserve
}

// Overflowed reports whether an answer shows that its context did not fit the window
// (atomic-facts.md 7.7): the provider said so, or it answered without having read
// everything (input counted beyond the window, or filling it with no room for a
// word of output).
func Overflowed(m *llm.AssistantMessage, window int64) bool {
	input := m.Usage.Input + m.Usage.CacheRead
	switch m.StopReason {
	case llm.StopError:
		return errorOf(m).Kind == llm.ErrOverflow
	case llm.StopEnd:
		return window > 0 && input > window
	case llm.StopLength:
		return window > 0 && m.Usage.Output == 0 && 100*input >= 99*window
	}
	return false
}

// leadingStatus returns the HTTP status that an error message begins with, 0 for
// none: the typed error of an answer is gone once it was stored.
func leadingStatus(text string) int {
	if len(text) < 3 || len(text) > 3 && text[3] >= '0' && text[3] <= '9' {
		return 0
	}
	n := 0
	for _, c := range []byte(text[:3]) {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int(c-'0')
	}
	if n < 400 || n > 599 {
		return 0
	}
	return n
}

// TruncatedEarly reports whether an answer was cut below the model's limit of
// output: by the room that the context left, or by the provider.
func TruncatedEarly(m *llm.AssistantMessage, maxTokens int64) bool {
	return m.StopReason == llm.StopLength && maxTokens > 0 && m.Usage.Output < maxTokens
}

// TruncatedAtCap reports whether an answer was cut at the model's limit of output.
func TruncatedAtCap(m *llm.AssistantMessage, maxTokens int64) bool {
	return m.StopReason == llm.StopLength && m.Usage.Output > 0 && m.Usage.Output >= maxTokens
}

// OutputUnderflow reports whether a Responses provider refused a request because the
// context left less room for output than the least it accepts.
func OutputUnderflow(m *llm.AssistantMessage) bool {
	if m.StopReason != llm.StopError || m.API != llm.APIOpenAIResponses {
		return false
	}
	s := strings.ToLower(m.ErrorMessage)
	if !strings.Contains(s, "max_output_tokens") {
		return false
	}
	for _, word := range []string{"minimum", "below", "at least", "greater than or equal", ">="} {
		if strings.Contains(s, word) {
			return true
		}
	}
	return false
}

// Check is what Decide looks at: after a run that ended with Last, or before a
// prompt that follows Last.
type Check struct {
	Enabled bool
	Window  int64 // active context budget in tokens
	Reserve int64
	Model   *llm.Model // of the session
	Last    *llm.AssistantMessage
	Live    bool  // Last has just ended a run
	Since   int64 // time of the newest boundary on the branch, ms since 1970; 0 for none
	// Tokens estimates the context (ContextTokens); it is called at most once.
	Tokens func() int64
	// Recovered and Underflowed: the one recovery that each user message has was
	// used up, from overflow and truncation, and from OutputUnderflow.
	Recovered   bool
	Underflowed bool
}

// A Verdict is what Decide found. The zero value means that nothing is to be done.
type Verdict struct {
	Compact   bool
	Cause     Cause
	Urgency   Urgency
	WillRetry bool // the interrupted work is to be tried again after the compaction
	DropLast  bool // the last answer leaves the context first
	// Exhausted is the errorMessage of the one compaction_end that ends a recovery
	// which is not tried again; there is no compaction_start then. Unresolved is its
	// unresolvedOverflow.
	Exhausted  string
	Unresolved bool
}

// Decide says whether a compaction is due (atomic-facts.md 6.11, pi-facts.md 3). An
// answer that is not newer than the newest boundary decides nothing: its usage and
// its failure are those of the context before.
func Decide(c Check) Verdict {
	last := c.Last
	switch {
	case !c.Enabled || last == nil || c.Model == nil:
		return Verdict{}
	case c.Live && last.StopReason == llm.StopAborted:
		return Verdict{}
	case c.Since != 0 && last.Timestamp <= c.Since:
		return Verdict{}
	}
	if c.Model.Made(last) {
		if v, ok := c.recovery(); ok {
			return v
		}
	}
	if !ShouldCompact(c.Tokens(), c.Window, c.Reserve) {
		return Verdict{}
	}
	v := Verdict{Compact: true, Cause: CauseThreshold}
	switch {
	case !c.Live:
	case OutputUnderflow(last):
		if c.Underflowed {
			return Verdict{Cause: CauseThreshold, Exhausted: BudgetExhausted}
		}
		v.WillRetry, v.DropLast = true, true
	case TruncatedAtCap(last, c.Model.MaxTokens):
		v.WillRetry, v.DropLast = true, true
	}
	return v
}

// recovery looks for an answer that the context itself spoiled.
func (c *Check) recovery() (Verdict, bool) {
	last := c.Last
	switch {
	case Overflowed(last, c.Window):
		if last.StopReason == llm.StopEnd { // the answer is complete, so it stays
			return Verdict{Compact: true, Cause: CauseOverflow, Urgency: LoadBearing}, true
		}
		if c.Recovered {
			return Verdict{Cause: CauseOverflow, Exhausted: OverflowExhausted, Unresolved: true}, true
		}
		return Verdict{Compact: true, Cause: CauseOverflow, Urgency: LoadBearing, WillRetry: c.Live, DropLast: true}, true
	case c.Live && TruncatedEarly(last, c.Model.MaxTokens):
		if c.Recovered {
			return Verdict{Cause: CauseLength, Exhausted: LengthExhausted}, true
		}
		return Verdict{Compact: true, Cause: CauseLength, WillRetry: true, DropLast: true}, true
	}
	return Verdict{}, false
}

// MidTurn says what is due before the next request of a run, when its context has
// grown by a turn's tool results (atomic-facts.md 6.12): a load-bearing compaction,
// and whether the context is over the window itself, so that even a few lines are
// worth deleting (Input.AllowSmall).
func MidTurn(tokens, window, reserve int64) (due, over bool) {
	return ShouldCompact(tokens, window, reserve), window > 0 && tokens > window
}
