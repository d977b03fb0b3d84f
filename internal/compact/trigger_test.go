package compact

import (
	"errors"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
)

func TestShouldCompact(t *testing.T) {
	for _, test := range []struct {
		tokens, window, reserve int64
		want                    bool
	}{
		{83616, 100000, 16384, false}, {83617, 100000, 16384, true}, {1, 0, 16384, false}, {1, 8000, 16384, true}, {100001, 100000, 0, true},
	} {
		if got := ShouldCompact(test.tokens, test.window, test.reserve); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

func TestMidTurn(t *testing.T) {
	for _, test := range []struct {
		tokens    int64
		due, over bool
	}{{80, false, false}, {81, true, false}, {100, true, false}, {101, true, true}} {
		if due, over := MidTurn(test.tokens, 100, 20); due != test.due || over != test.over {
			t.Errorf("%d tokens: %v, %v", test.tokens, due, over)
		}
	}
}

// Field reports 96 and 97: what is an overflow and what only looks like one.
func TestOverflowed(t *testing.T) {
	live := func(kind llm.ErrorKind) *llm.AssistantMessage { return broken(kind, "whatever") }
	stored := func(text string) *llm.AssistantMessage {
		return &llm.AssistantMessage{StopReason: llm.StopError, ErrorMessage: text}
	}
	ended := func(reason llm.StopReason, input, cached, output int64) *llm.AssistantMessage {
		return &llm.AssistantMessage{StopReason: reason, Usage: llm.Usage{Input: input, CacheRead: cached, Output: output}}
	}
	for name, test := range map[string]struct {
		m    *llm.AssistantMessage
		want bool
	}{
		"the provider said so":           {live(llm.ErrOverflow), true},
		"the provider said other things": {live(llm.ErrRateLimit), false},
		"stored":                         {stored("400 Prompt exceeds max length"), true},
		"stored, other wording":          {stored("maximum context length (8192)"), true},
		"stored, 413 without a body":     {stored("413 status code (no body)"), true},
		"stored throttling":              {stored("429: too many tokens, please wait before trying again"), false},
		"stored server error":            {stored("500 Internal server error"), false},
		"silent":                         {ended(llm.StopEnd, 90_000, 10_001, 50), true},
		"full to the brim":               {ended(llm.StopEnd, 90_000, 10_000, 50), false},
		"no room for output":             {ended(llm.StopLength, 99_000, 0, 0), true},
		"room for a little":              {ended(llm.StopLength, 99_000, 0, 1), false},
		"cut with a small context":       {ended(llm.StopLength, 98_999, 0, 0), false},
		"beyond the window, tool use":    {ended(llm.StopToolUse, 200_000, 0, 5), false},
	} {
		if got := Overflowed(test.m, 100_000); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if Overflowed(ended(llm.StopEnd, 1, 0, 0), 0) {
		t.Error("without a window nothing overflows silently")
	}
}

func TestLeadingStatus(t *testing.T) {
	for text, want := range map[string]int{
		"400 bad": 400, "529: {}": 529, "413": 413, "4000 tokens": 0, "200 OK": 0, "600 x": 0, "40": 0, "": 0, "no 400": 0, "4x0": 0,
	} {
		if got := leadingStatus(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestTruncation(t *testing.T) {
	cut := func(output int64) *llm.AssistantMessage {
		return &llm.AssistantMessage{StopReason: llm.StopLength, Usage: llm.Usage{Output: output}}
	}
	for _, test := range []struct {
		m          *llm.AssistantMessage
		max        int64
		early, cap bool
	}{
		{cut(3), 4000, true, false},
		{cut(0), 4000, true, false},
		{cut(4000), 4000, false, true},
		{cut(5000), 4000, false, true},
		{cut(3), 0, false, true},
		{say("x"), 4000, false, false},
	} {
		if early, atCap := TruncatedEarly(test.m, test.max), TruncatedAtCap(test.m, test.max); early != test.early || atCap != test.cap {
			t.Errorf("%d of %d tokens: early %v, at the cap %v", test.m.Usage.Output, test.max, early, atCap)
		}
	}
}

func TestOutputUnderflow(t *testing.T) {
	const text = "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 1 instead."
	for _, test := range []struct {
		m    *llm.AssistantMessage
		want bool
	}{
		{&llm.AssistantMessage{API: llm.APIOpenAIResponses, StopReason: llm.StopError, ErrorMessage: text}, true},
		{&llm.AssistantMessage{API: llm.APIOpenAICompletions, StopReason: llm.StopError, ErrorMessage: text}, false},
		{&llm.AssistantMessage{API: llm.APIOpenAIResponses, StopReason: llm.StopEnd, ErrorMessage: text}, false},
		{&llm.AssistantMessage{API: llm.APIOpenAIResponses, StopReason: llm.StopError, ErrorMessage: "max_output_tokens is not supported"}, false},
	} {
		if got := OutputUnderflow(test.m); got != test.want {
			t.Errorf("%s %s %q: %v", test.m.API, test.m.StopReason, test.m.ErrorMessage, got)
		}
	}
}

func TestDecide(t *testing.T) {
	own := func(m *llm.AssistantMessage) *llm.AssistantMessage {
		m.Provider, m.API, m.Model, m.Timestamp = "prov", llm.APIOpenAICompletions, "mod", 100
		return m
	}
	cut := func(output int64) *llm.AssistantMessage {
		m := own(stopped(llm.StopLength, "cut"))
		m.Usage.Output = output
		return m
	}
	silent := own(say("done"))
	silent.Usage.Input = 100_001
	underflow := own(broken(llm.ErrBadRequest, "max_output_tokens: below the minimum"))
	underflow.API = llm.APIOpenAIResponses
	overflow, none := own(broken(llm.ErrOverflow, "prompt is too long")), Verdict{}
	foreign := broken(llm.ErrOverflow, "prompt is too long")
	foreign.Model, foreign.Timestamp = "other", 100
	recovery := Verdict{Compact: true, Cause: CauseOverflow, Urgency: LoadBearing, WillRetry: true, DropLast: true}
	threshold := Verdict{Compact: true, Cause: CauseThreshold}

	for _, test := range []struct {
		name   string
		last   *llm.AssistantMessage
		tokens int64
		change func(*Check)
		want   Verdict
	}{
		{"small", own(say("x")), 1000, nil, none},
		{"large", own(say("x")), 90_000, nil, threshold},
		{"large, before a prompt", own(say("x")), 90_000, func(c *Check) { c.Live = false }, threshold},
		{"disabled", overflow, 90_000, func(c *Check) { c.Enabled = false }, none},
		{"no answer yet", nil, 90_000, nil, none},
		{"no model", own(say("x")), 90_000, func(c *Check) { c.Model = nil }, none},
		{"cancelled", own(stopped(llm.StopAborted, "")), 90_000, nil, none},
		{"cancelled, before a prompt", own(stopped(llm.StopAborted, "")), 90_000, func(c *Check) { c.Live = false }, threshold},
		{"88: usage from before the boundary", own(say("x")), 90_000, func(c *Check) { c.Since = 100 }, none},
		{"88: failure from before the boundary", overflow, 90_000, func(c *Check) { c.Since = 100 }, none},
		{"usage from behind the boundary", own(say("x")), 90_000, func(c *Check) { c.Since = 99 }, threshold},
		{"overflow", overflow, 1000, nil, recovery},
		{"overflow, second time", overflow, 1000, func(c *Check) { c.Recovered = true }, Verdict{Cause: CauseOverflow, Exhausted: OverflowExhausted, Unresolved: true}},
		{"overflow, before a prompt", overflow, 1000, func(c *Check) { c.Live = false }, Verdict{Compact: true, Cause: CauseOverflow, Urgency: LoadBearing, DropLast: true}},
		{"overflow of another model", foreign, 1000, nil, none},
		{"overflow of another model, large", foreign, 90_000, nil, threshold},
		{"silent overflow", silent, 1000, nil, Verdict{Compact: true, Cause: CauseOverflow, Urgency: LoadBearing}},
		{"silent overflow, second time", silent, 1000, func(c *Check) { c.Recovered = true }, Verdict{Compact: true, Cause: CauseOverflow, Urgency: LoadBearing}},
		{"47, 96: cut early", cut(3), 1000, nil, Verdict{Compact: true, Cause: CauseLength, WillRetry: true, DropLast: true}},
		{"cut early, second time", cut(3), 1000, func(c *Check) { c.Recovered = true }, Verdict{Cause: CauseLength, Exhausted: LengthExhausted}},
		{"cut early, before a prompt", cut(3), 1000, func(c *Check) { c.Live = false }, none},
		{"cut at the cap", cut(4000), 1000, nil, none},
		{"cut at the cap, large", cut(4000), 90_000, nil, Verdict{Compact: true, Cause: CauseThreshold, WillRetry: true, DropLast: true}},
		{"cut at the cap, large, before a prompt", cut(4000), 90_000, func(c *Check) { c.Live = false }, threshold},
		{"87: failing provider, small", own(broken(llm.ErrTransient, "529 Overloaded")), 1000, nil, none},
		{"87: failing provider, large", own(broken(llm.ErrTransient, "529 Overloaded")), 90_000, nil, threshold},
		{"invalid_request_body, large", own(broken(llm.ErrBadRequest, "400 invalid_request_body")), 90_000, nil, threshold},
		{"no room for output", underflow, 90_000, nil, Verdict{Compact: true, Cause: CauseThreshold, WillRetry: true, DropLast: true}},
		{"no room for output, second time", underflow, 90_000, func(c *Check) { c.Underflowed = true }, Verdict{Cause: CauseThreshold, Exhausted: BudgetExhausted}},
		{"no window", own(say("x")), 90_000, func(c *Check) { c.Window = 0 }, none},
	} {
		c := Check{Enabled: true, Window: 100_000, Reserve: 16_384, Model: testModel(), Last: test.last, Live: true, Tokens: func() int64 { return test.tokens }}
		if test.change != nil {
			test.change(&c)
		}
		if got := Decide(c); got != test.want {
			t.Errorf("%s:\n got %+v\nwant %+v", test.name, got, test.want)
		}
	}
}

func TestCause(t *testing.T) {
	err := errors.New("X")
	for _, test := range []struct {
		c                    Cause
		reason, text, backup string
	}{
		{CauseManual, "manual", "Compaction failed: X", "compact"},
		{CauseThreshold, "threshold", "Auto-compaction failed: X", "auto-compact"},
		{CauseOverflow, "overflow", "Context overflow recovery failed: X", "overflow-auto-compact"},
		{CauseLength, "overflow", "Response truncation recovery failed: X", "overflow-auto-compact"},
		{CauseMidTurn, "threshold", "Post-tool context compaction failed before the next provider request: X", "auto-compact"},
	} {
		if test.c.Reason() != test.reason || test.c.ErrorMessage(err) != test.text || test.c.BackupLabel() != test.backup {
			t.Errorf("%d: %q, %q, %q", test.c, test.c.Reason(), test.c.ErrorMessage(err), test.c.BackupLabel())
		}
		if got := test.c.ErrorMessage(ErrCancelled); got != "" {
			t.Errorf("cancelled: %q", got)
		}
	}
	if got, want := StillTooLarge(12, 10), "Post-tool context remains over the provider hard input limit after compaction (12 > 10 tokens); the next provider request was not sent."; got != want {
		t.Error(got)
	}
}
