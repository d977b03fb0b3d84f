package anthropic

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

const benchDeltas = 20000

// longStream is an answer of many small deltas.
func longStream(n int) []byte {
	var b bytes.Buffer
	event := func(typ, rest string) { fmt.Fprintf(&b, "event: %s\ndata: {\"type\":\"%s\"%s}\n\n", typ, typ, rest) }
	event("message_start", `,"message":{"id":"msg_1","model":"mock","usage":{"input_tokens":1,"output_tokens":1}}`)
	event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
	for range n {
		event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"twenty bytes of text"}`)
	}
	event("content_block_stop", `,"index":0`)
	event("message_delta", `,"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}`)
	event("message_stop", "")
	return b.Bytes()
}

func play(tb testing.TB, body []byte) *llm.AssistantMessage {
	p := New(wire.New(wire.Options{Transport: &llmtest.Answer{Pieces: [][]byte{body}}}))
	b := llm.NewBuilder(model(), llm.ThinkingOff, 1)
	for e, err := range p.Stream(tb.Context(), protocol().Request()) {
		if err != nil {
			tb.Fatal(err)
		}
		b.Add(e)
	}
	return b.Finish(nil, 0)
}

func BenchmarkStream(b *testing.B) {
	body := longStream(benchDeltas)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		play(b, body)
	}
	runtime.ReadMemStats(&after)
	events := float64(b.N) * benchDeltas
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/events, "allocs/event")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/events, "B/event")
}

// The budget of a delta does not depend on the machine: at most two allocations, and
// as many bytes as hold its text a few times.
func TestStreamBudget(t *testing.T) {
	if llmtest.Race {
		t.Skip("the race detector allocates")
	}
	body := longStream(benchDeltas)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m := play(t, body)
	runtime.ReadMemStats(&after)
	if want := strings.Repeat("twenty bytes of text", benchDeltas); m.Content.PlainText("") != want {
		t.Fatal("the text is not what was sent")
	}
	allocs := float64(after.Mallocs-before.Mallocs) / benchDeltas
	size := float64(after.TotalAlloc-before.TotalAlloc) / benchDeltas
	if allocs > 2 || size > 250 {
		t.Errorf("%.2f allocations and %.0f bytes an event", allocs, size)
	}
}
