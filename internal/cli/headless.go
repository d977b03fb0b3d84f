package cli

import (
	"context"
	"errors"
	"sync"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
)

// headless runs prompts one after the other without a client that could answer: the
// JSON and print modes. It is an engine.Output in front of the mode's own.
type headless struct {
	next    engine.Output
	settled chan struct{} // one value for every settled run

	mu   sync.Mutex
	last *llm.AssistantMessage
}

func newHeadless(next engine.Output) *headless {
	return &headless{next: next, settled: make(chan struct{}, 1)}
}

// Emit implements engine.Output.
func (h *headless) Emit(ev event.Event) {
	h.note(ev)
	h.next.Emit(ev)
}

// Post implements engine.Output.
func (h *headless) Post(ev event.Event) {
	h.note(ev)
	h.next.Post(ev)
	if _, ok := ev.(event.AgentSettled); ok {
		select {
		case h.settled <- struct{}{}:
		default: // nobody waits any more
		}
	}
}

// note remembers the last assistant message, which decides about the exit code.
func (h *headless) note(ev event.Event) {
	end, ok := ev.(event.MessageEnd)
	if !ok {
		return
	}
	if m, ok := end.Message.(*llm.AssistantMessage); ok {
		h.mu.Lock()
		h.last = m
		h.mu.Unlock()
	}
}

// run sends the prompts and waits for each to settle. The error is that of a prompt
// that was refused, or of ctx.
func (h *headless) run(ctx context.Context, eng *engine.Engine, list []engine.Input) error {
	type outcome struct {
		disposition engine.Disposition
		err         error
	}
	for _, in := range list {
		accepted := make(chan outcome, 1)
		eng.Submit(in, func(d engine.Disposition, err error) { accepted <- outcome{d, err} })
		select {
		case o := <-accepted:
			if o.err != nil {
				return o.err
			}
			if o.disposition != engine.Started {
				continue
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		select {
		case <-h.settled:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// errCutOff says that the last answer hit the token limit.
var errCutOff = errors.New("the answer was cut off at the output token limit")

// verdict returns how the last answer ended: nil when it ended well.
func (h *headless) verdict() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.last == nil:
		return nil
	case h.last.StopReason == llm.StopLength:
		return errCutOff
	case h.last.Failed() && h.last.ErrorMessage == "":
		return errors.New("the request ended with " + string(h.last.StopReason))
	case h.last.Failed():
		return errors.New(string(h.last.ErrorMessage))
	}
	return nil
}

// errReaderGone is the cause of a run that ends because nobody reads its output.
var errReaderGone = errors.New("the reader of the output is gone")

// prompt reads the prompts and runs them. A refused prompt and a missing one are told
// on stderr. failed reports whether the program did not do what it was asked for.
func (a *app) prompt(ctx context.Context, eng *engine.Engine, h *headless, first engine.Input, broken <-chan struct{}, ready func()) (failed bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-broken:
			cancel(errReaderGone)
		case <-ctx.Done():
		}
	}()
	list, err := a.prompts(ctx, first)
	if err == nil {
		ready()
		err = h.run(ctx, eng, list)
	}
	if err != nil {
		if ctx.Err() == nil {
			a.note("Error: " + err.Error())
		}
		return true
	}
	return h.verdict() != nil
}
