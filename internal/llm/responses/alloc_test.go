//go:build !race

// The race detector empties pools, so it counts other allocations.

package responses_test

import (
	"testing"

	"github.com/isotope-agent/isotope/internal/llm/responses"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// A delta costs its text and at most two allocations more.
func TestAllocationsPerDelta(t *testing.T) {
	const n = 20_000
	p := responses.New(wire.New(wire.Options{Transport: replay(deltas(n))}))
	if perEvent := testing.AllocsPerRun(1, func() { consume(t, p) }) / n; perEvent > 3 {
		t.Errorf("%.2f allocations a delta, want at most 3", perEvent)
	}
}
