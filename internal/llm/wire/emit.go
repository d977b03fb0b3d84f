package wire

import "github.com/isotope-agent/isotope/internal/llm"

// Emitter is the end of a provider's stream that its consumer holds. Nothing is sent any
// more once the consumer is gone or the sequence has ended.
type Emitter struct {
	Yield   func(llm.Event, error) bool
	Stopped bool // the consumer is gone, or the sequence has ended
	Blocks  int  // content blocks that were begun
}

// Emit sends an event.
func (e *Emitter) Emit(ev llm.Event) {
	if !e.Stopped && !e.Yield(ev, nil) {
		e.Stopped = true
	}
}

// Fail ends the sequence with an error.
func (e *Emitter) Fail(err error) {
	if !e.Stopped {
		e.Stopped = true
		e.Yield(llm.Event{}, err)
	}
}

// NewBlock returns the index of another content block.
func (e *Emitter) NewBlock() int {
	e.Blocks++
	return e.Blocks - 1
}
