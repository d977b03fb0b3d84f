package engine

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isotope-agent/isotope/internal/llm"
)

func TestFaultOf(t *testing.T) {
	text := func(s string) llm.Content { return llm.Content{llm.NewText(s)} }
	transport := &llm.Error{Kind: llm.ErrTransport, Message: "cut"}
	for name, c := range map[string]struct {
		m    *llm.AssistantMessage
		want string // message of the fault, "" for none
	}{
		"no answer":          {nil, ""},
		"good":               {&llm.AssistantMessage{StopReason: llm.StopEnd, Content: text("hi")}, ""},
		"error":              {&llm.AssistantMessage{StopReason: llm.StopError, ErrorMessage: "cut", Err: transport}, "cut"},
		"error of a file":    {&llm.AssistantMessage{StopReason: llm.StopError, ErrorMessage: "old"}, "old"},
		"aborted":            {&llm.AssistantMessage{StopReason: llm.StopAborted}, ""},
		"empty":              {&llm.AssistantMessage{StopReason: llm.StopEnd, Content: llm.Content{}}, textEmptyCompletion},
		"blank":              {&llm.AssistantMessage{StopReason: llm.StopToolUse, Content: text(" \n")}, textEmptyCompletion},
		"empty but counted":  {&llm.AssistantMessage{StopReason: llm.StopEnd, Usage: llm.Usage{Output: 1}}, ""},
		"empty and cut":      {&llm.AssistantMessage{StopReason: llm.StopLength}, ""},
		"only thinking":      {&llm.AssistantMessage{StopReason: llm.StopEnd, Content: llm.Content{&llm.Thinking{Thinking: "hm"}}}, ""},
		"only a call":        {&llm.AssistantMessage{StopReason: llm.StopToolUse, Content: llm.Content{&llm.ToolCall{ID: "a"}}}, ""},
		"canned":             {&llm.AssistantMessage{StopReason: llm.StopEnd, Content: text("I’m sorry, I can’t assist with that.")}, textCannedRefusal},
		"canned, counted":    {&llm.AssistantMessage{StopReason: llm.StopEnd, Content: text("I can't assist with that."), Usage: llm.Usage{Output: 7}}, ""},
		"canned with a call": {&llm.AssistantMessage{StopReason: llm.StopToolUse, Content: llm.Content{llm.NewText("I can't assist with that."), &llm.ToolCall{ID: "a"}}}, ""},
	} {
		got := ""
		if f := faultOf(c.m); f != nil {
			got = f.Message
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// trickle sends a delta every second, for ever.
type trickle struct{}

func (trickle) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for wait(ctx, time.Second) {
			if !yield(llm.Event{Kind: llm.EventTextDelta, Delta: "x"}, nil) {
				return
			}
		}
		yield(llm.Event{}, ctx.Err())
	}
}

// A deadline ends an answer as a cut connection does; a cancelled one stays cancelled.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream := func(ctx context.Context) (n int, last error) {
			for _, err := range (deadlined{trickle{}, 10 * time.Second}).Stream(ctx, &llm.Request{}) {
				n, last = n+1, err
			}
			return n, last
		}
		n, err := stream(context.Background())
		if e := llm.AsError(err); n < 9 || n > 11 || e == nil || e.Kind != llm.ErrTransport || !retryable(e) {
			t.Errorf("%d events, then %v", n, err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if _, err := stream(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a cancelled answer ends with %v", err)
		}
	})
}
