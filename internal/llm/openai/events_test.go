package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
	"github.com/isotope-agent/isotope/internal/llm/openai"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// shown returns a stream's events, one short line each.
func shown(events []llm.Event) []string {
	names := map[llm.EventKind]string{
		llm.EventMeta: "meta", llm.EventDone: "done",
		llm.EventTextStart: "text_start", llm.EventTextDelta: "text_delta", llm.EventTextEnd: "text_end",
		llm.EventThinkingStart: "thinking_start", llm.EventThinkingDelta: "thinking_delta", llm.EventThinkingEnd: "thinking_end",
		llm.EventToolCallStart: "toolcall_start", llm.EventToolCallDelta: "toolcall_delta", llm.EventToolCallEnd: "toolcall_end",
	}
	var out []string
	for _, e := range events {
		s := names[e.Kind]
		switch e.Kind {
		case llm.EventMeta:
			s += " " + e.ResponseID
		case llm.EventDone:
			s += " " + string(e.StopReason)
		case llm.EventToolCallStart:
			s += fmt.Sprintf(" %d %s %s", e.Index, e.ID, e.Name)
		default:
			s += fmt.Sprintf(" %d %q", e.Index, e.Delta)
		}
		out = append(out, s)
	}
	return out
}

// Blocks end at the end of the stream, in their order; a call's first delta may be empty.
// Of a chunk with thinking and text the thinking comes first (field report 112).
func TestOrderOfEvents(t *testing.T) {
	for name, want := range map[string][]string{
		"thinking-and-text-in-one-chunk": {
			"meta ", "meta cc-1", `thinking_start 0 ""`, `thinking_delta 0 "Hm."`, `text_start 1 ""`, `text_delta 1 "Yes"`,
			`thinking_delta 0 " Sure."`, `text_delta 1 "!"`, `thinking_end 0 ""`, `text_end 1 ""`, "done stop",
		},
		"tools-parallel": {
			"meta ", "meta cc-1", "toolcall_start 0 c1 read", `toolcall_delta 0 ""`, `toolcall_delta 0 "{\"path\":"`,
			"toolcall_start 1 c2 bash", `toolcall_delta 1 ""`, `toolcall_delta 0 "\"a\"}"`, `toolcall_delta 1 "{}"`, "meta ",
			`toolcall_end 0 ""`, `toolcall_end 1 ""`, "done toolUse",
		},
	} {
		body, err := os.ReadFile(filepath.Join("testdata", name+".sse"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, shown(protocol().Play(t, body).Events)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An abort in mid-stream ends the blocks; its text is the reference's (pi-facts.md
// section 2).
func TestAbortInMidStream(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := `data: {"id":"c1","choices":[{"delta":{"content":"half"}}]}` + "\n\n"
	p := openai.New(wire.New(wire.Options{Transport: &llmtest.Answer{Pieces: [][]byte{[]byte(first)}, Hang: true}}))
	var events []llm.Event
	var failed *llm.Error
	for e, err := range p.Stream(ctx, protocol().Request()) {
		if failed = llm.AsError(err); failed != nil {
			break
		}
		events = append(events, e)
		if e.Kind == llm.EventTextDelta {
			cancel()
		}
	}
	want := []string{"meta ", "meta c1", `text_start 0 ""`, `text_delta 0 "half"`, `text_end 0 ""`}
	if diff := cmp.Diff(want, shown(events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if failed == nil || failed.Kind != llm.ErrAborted || failed.Message != "Request was aborted" {
		t.Errorf("got %+v", failed)
	}
}

// replay is a transport that answers with a body.
type replay string

func (r replay) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(r)))}, nil
}

// deltas is an answer of n deltas of 20 bytes.
func deltas(n int, delta string) string {
	var b strings.Builder
	for range n {
		b.WriteString(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}` + "\n\n")
	}
	b.WriteString(`data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n")
	return b.String()
}

func consume(tb testing.TB, p llm.Provider) *llm.AssistantMessage {
	req := protocol().Request()
	b := llm.NewBuilder(req.Model, llm.ThinkingOff, 1)
	for e, err := range p.Stream(tb.Context(), req) {
		if err != nil {
			tb.Fatal(err)
		}
		b.Add(e)
	}
	return b.Finish(nil, 0)
}

const (
	textDelta = `{"content":"twenty bytes of text"}`
	callDelta = `{"tool_calls":[{"index":0,"function":{"arguments":"twenty bytes of text"}}]}`
)

func BenchmarkStream(b *testing.B) {
	const n = 20_000
	for name, delta := range map[string]string{"text": textDelta, "arguments": callDelta} {
		p := openai.New(wire.New(wire.Options{Transport: replay(deltas(n, delta))}))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				consume(b, p)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
		})
	}
}
