package engine

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/llm"
)

// Texts of answers that are none, and of a deadline (atomic-facts.md 7.2, 7.3).
const (
	textEmptyCompletion = "Provider returned an empty completion"
	textCannedRefusal   = "Provider returned a canned safety refusal"
	textDeadline        = "stream deadline exceeded after %s"
)

// maxCannedRefusal is how long a canned refusal is at most, in bytes.
const maxCannedRefusal = 120

// cannedRefusals are how providers word a refusal that no model wrote, in lower case.
// It is a variable only because Go has no constant slices.
var cannedRefusals = []string{
	"i can't assist with that", "i cannot assist with that", "i can't help with that", "i cannot help with that",
	"i'm unable to assist with that", "i am unable to assist with that", "i'm unable to help with that",
	"i am unable to help with that", "i can't fulfill that request", "i can't assist with this", "i cannot assist with this",
	"i can't help with this", "i cannot help with this", "i'm not able to help with that", "i can't comply with that request",
}

// faultOf returns what is wrong with an answer, nil when nothing is: its error, or that
// it came without any token of output and says nothing, or only a canned refusal.
func faultOf(m *llm.AssistantMessage) *llm.Error {
	switch {
	case m == nil || m.StopReason == llm.StopAborted:
		return nil
	case m.StopReason == llm.StopError && m.Err == nil:
		return &llm.Error{Kind: llm.ErrUnknown, Message: m.ErrorMessage}
	case m.StopReason == llm.StopError:
		return m.Err
	case m.Usage.Output > 0:
		return nil
	case m.StopReason != llm.StopLength && saysNothing(m.Content):
		return &llm.Error{Kind: llm.ErrTransient, Message: textEmptyCompletion}
	case cannedRefusal(m.Content):
		return &llm.Error{Kind: llm.ErrTransient, Message: textCannedRefusal}
	}
	return nil
}

// saysNothing reports whether content has neither a word nor a call.
func saysNothing(c llm.Content) bool {
	for _, b := range c {
		switch b := b.(type) {
		case *llm.Text:
			if strings.TrimSpace(b.Text) != "" {
				return false
			}
		case *llm.Thinking:
			if b.Thinking != "" || b.Redacted {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func cannedRefusal(c llm.Content) bool {
	for _, b := range c {
		if _, ok := b.(*llm.Text); !ok {
			return false
		}
	}
	text := strings.TrimSpace(c.PlainText(""))
	if text == "" || len(text) > maxCannedRefusal {
		return false
	}
	text = strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	for _, r := range cannedRefusals {
		if strings.Contains(text, r) {
			return true
		}
	}
	return false
}

// provider returns the client for a protocol, with the deadline of the settings for a
// whole answer.
func (e *Engine) provider(api string) (llm.Provider, error) {
	p, err := e.cfg.Provider(api)
	if err != nil {
		return nil, err
	}
	if d := e.cfg.Settings.StreamDeadline(); d > 0 {
		return deadlined{p, d}, nil
	}
	return p, nil
}

// deadlined is a provider whose answers may take only so long. It comes beside the
// limits for the first byte and for silence: a stream that trickles for ever keeps
// both of those.
type deadlined struct {
	llm.Provider
	limit time.Duration
}

// Stream implements llm.Provider. At the deadline the answer fails as a cut connection
// does, which is tried again.
func (d deadlined) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		inner, cancel := context.WithTimeout(ctx, d.limit)
		defer cancel()
		late := &llm.Error{Kind: llm.ErrTransport, Message: fmt.Sprintf(textDeadline, d.limit)}
		for ev, err := range d.Provider.Stream(inner, req) {
			expired := inner.Err() != nil && ctx.Err() == nil
			if err != nil && expired {
				err = late
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
