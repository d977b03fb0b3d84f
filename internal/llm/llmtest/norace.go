//go:build !race

package llmtest

// Race says that the race detector is on: it drops pooled memory at random, so
// budgets of allocations do not hold, and slows everything down.
const Race = false
