//go:build !race

// The race detector empties pools, so it counts other allocations.

package google

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Chunks are few and large here; each may cost some allocations, but not ever more.
func TestAllocationsPerChunk(t *testing.T) {
	const n = 5_000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"twenty bytes of text\"}],\"role\": \"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 8,\"candidatesTokenCount\": %d,\"totalTokenCount\": 9},\"modelVersion\": \"m\",\"responseId\": \"r\"}\r\n\r\n", i)
	}
	b.WriteString("data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":8}}\r\n\r\n")
	body := []byte(b.String())
	perChunk := testing.AllocsPerRun(1, func() {
		client := wire.New(wire.Options{Transport: &llmtest.Answer{Pieces: [][]byte{body}}})
		for _, err := range New(client).Stream(t.Context(), request(model("m"), user(llm.NewText("hi")))) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}) / n
	if perChunk > 16 {
		t.Errorf("%.1f allocations a chunk, want at most 16", perChunk)
	}
	t.Logf("%.1f allocations a chunk", perChunk)
}
