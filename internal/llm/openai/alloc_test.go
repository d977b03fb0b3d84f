//go:build !race

// The race detector empties pools, so it counts other allocations.

package openai_test

import (
	"testing"

	"github.com/isotope-agent/isotope/internal/llm/openai"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// A delta costs its text and at most two allocations more.
func TestAllocationsPerDelta(t *testing.T) {
	const n = 20_000
	for name, c := range map[string]struct {
		delta string
		max   float64
	}{"text": {textDelta, 3}, "arguments": {callDelta, 5}} {
		p := openai.New(wire.New(wire.Options{Transport: replay(deltas(n, c.delta))}))
		perEvent := testing.AllocsPerRun(1, func() { consume(t, p) }) / n
		if perEvent > c.max {
			t.Errorf("%s: %.2f allocations a delta, want at most %.0f", name, perEvent, c.max)
		}
	}
}
