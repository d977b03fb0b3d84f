//go:build !race

// The race detector empties pools, so it counts other allocations.

package bedrock

import (
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Most of what a delta costs is the frame around it.
func TestAllocationsPerDelta(t *testing.T) {
	const n = 5_000
	var b strings.Builder
	for range n {
		b.WriteString("event contentBlockDelta {\"contentBlockIndex\":0,\"delta\":{\"text\":\"twenty bytes of text\"},\"p\":\"abc\"}\n")
	}
	b.WriteString("event messageStop {\"stopReason\":\"end_turn\"}\nevent metadata {\"usage\":{}}\n")
	body, err := encode([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	perDelta := testing.AllocsPerRun(1, func() {
		client := wire.New(wire.Options{Transport: &llmtest.Answer{Pieces: [][]byte{body}}})
		for _, err := range New(client, Options{}).Stream(t.Context(), request(model("m", ""), user(llm.NewText("hi")))) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}) / n
	if perDelta > 45 {
		t.Errorf("%.1f allocations a delta, want at most 45", perDelta)
	}
	t.Logf("%.1f allocations a delta", perDelta)
}
