package llmtest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
)

// contract checks one sequence of events against the documentation of llm.Event and
// llm.Provider.
type contract struct {
	t    testing.TB
	n    int
	open []llm.EventKind // by index: the kind of the start event, 0 once ended
	done bool
	over bool
}

// event checks one event.
func (c *contract) event(e llm.Event) {
	c.t.Helper()
	if c.done || c.over {
		c.t.Errorf("event %+v after the end", e)
	}
	if c.n == 0 && e.Kind != llm.EventMeta {
		c.t.Errorf("the first event is %+v, not EventMeta", e)
	}
	c.n++
	switch e.Kind {
	case llm.EventMeta:
	case llm.EventTextStart, llm.EventThinkingStart, llm.EventToolCallStart:
		if e.Index != len(c.open) {
			c.t.Errorf("block %d starts after %d blocks: %+v", e.Index, len(c.open), e)
			return
		}
		if e.Delta != "" {
			c.t.Errorf("a start event with text, which the builder ignores: %+v", e)
		}
		c.open = append(c.open, e.Kind)
	case llm.EventTextDelta, llm.EventTextEnd, llm.EventThinkingDelta, llm.EventThinkingEnd, llm.EventToolCallDelta, llm.EventToolCallEnd:
		c.block(e)
	case llm.EventDone:
		c.done = true
		for i, k := range c.open {
			if k != 0 {
				c.t.Errorf("done while block %d is open", i)
			}
		}
		switch e.StopReason {
		case llm.StopEnd, llm.StopLength, llm.StopToolUse:
		default:
			c.t.Errorf("done with stop reason %q", e.StopReason)
		}
	default:
		c.t.Errorf("unknown event %+v", e)
	}
}

// block checks a delta or an end event.
func (c *contract) block(e llm.Event) {
	c.t.Helper()
	starts := map[llm.EventKind]llm.EventKind{
		llm.EventTextDelta: llm.EventTextStart, llm.EventTextEnd: llm.EventTextStart,
		llm.EventThinkingDelta: llm.EventThinkingStart, llm.EventThinkingEnd: llm.EventThinkingStart,
		llm.EventToolCallDelta: llm.EventToolCallStart, llm.EventToolCallEnd: llm.EventToolCallStart,
	}
	if e.Index < 0 || e.Index >= len(c.open) || c.open[e.Index] != starts[e.Kind] {
		c.t.Errorf("%+v without an open block of its kind", e)
		return
	}
	switch e.Kind {
	case llm.EventTextEnd, llm.EventThinkingEnd, llm.EventToolCallEnd:
		c.open[e.Index] = 0
	}
}

// failed checks the error that ends a sequence.
func (c *contract) failed(err error) {
	c.t.Helper()
	if c.done || c.over {
		c.t.Errorf("error %v after the end", err)
	}
	c.over = true
	var e *llm.Error
	switch {
	case errors.As(err, &e) && e == nil:
		c.t.Error("a nil *llm.Error")
	case errors.As(err, &e):
		if e.Message == "" || e.Kind == "" {
			c.t.Errorf("error without message or kind: %+v", e)
		}
		if strings.Contains(e.Message, apiKey) || strings.Contains(e.Body, apiKey) {
			c.t.Errorf("the key shows in %q", e.Message)
		}
	case errors.Is(err, context.Canceled):
	default:
		c.t.Errorf("error %T %v is no *llm.Error", err, err)
	}
}

// end checks that the sequence ended as it must.
func (c *contract) end() {
	c.t.Helper()
	if !c.done && !c.over {
		c.t.Error("the stream ended with neither EventDone nor an error")
	}
}
