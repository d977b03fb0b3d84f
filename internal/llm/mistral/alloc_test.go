//go:build !race

// The race detector empties pools, so it counts other allocations.

package mistral

import (
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// A delta costs its text and little more.
func TestAllocationsPerDelta(t *testing.T) {
	const n = 5_000
	var b strings.Builder
	for range n {
		b.WriteString("data: {\"id\":\"m-1\",\"object\":\"chat.completion.chunk\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"twenty bytes of text\"},\"finish_reason\":null}],\"p\":\"abc\"}\n\n")
	}
	b.WriteString("data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	body := []byte(b.String())
	perDelta := testing.AllocsPerRun(1, func() {
		client := wire.New(wire.Options{Transport: &llmtest.Answer{Pieces: [][]byte{body}}})
		for _, err := range New(client).Stream(t.Context(), request(model(), user(llm.NewText("hi")))) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}) / n
	if perDelta > 10 {
		t.Errorf("%.1f allocations a delta, want at most 10", perDelta)
	}
	t.Logf("%.1f allocations a delta", perDelta)
}
