package responses_test

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
	"github.com/isotope-agent/isotope/internal/llm/responses"
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
		if e.Replace != nil {
			s += fmt.Sprintf(" = %q", *e.Replace)
		}
		out = append(out, s)
	}
	return out
}

// A block ends when its item is done, and each part of a reasoning summary ends with
// a blank line that its end takes back.
func TestOrderOfEvents(t *testing.T) {
	body, err := os.ReadFile(filepath.Join("testdata", "reasoning-summary-and-tool.sse"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"meta ", "meta r1", `thinking_start 0 ""`, `thinking_delta 0 "First"`, `thinking_delta 0 "\n\n"`, `thinking_delta 0 "Second"`,
		`thinking_delta 0 "\n\n"`, `thinking_end 0 "" = "First\n\nSecond"`,
		"toolcall_start 1 c1|fc1 read", `toolcall_delta 1 "{\"path\":"`, `toolcall_delta 1 "\"a\"}"`, `toolcall_end 1 ""`,
		"meta ", "done toolUse",
	}
	if diff := cmp.Diff(want, shown(protocol().Play(t, body).Events)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Azure sends the encrypted content of a reasoning item only with the whole response.
func TestLateEncryptedContent(t *testing.T) {
	body := []byte(`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs1"}}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs1","summary":[{"text":"Hm"}]}}

data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"reasoning","id":"rs1","summary":[],"encrypted_content":"AA"}]}}

`)
	p := protocol()
	for url, want := range map[string]string{
		"https://name.openai.azure.com/openai/v1": `{"type":"reasoning","id":"rs1","summary":[{"text":"Hm"}],"encrypted_content":"AA"}`,
		"http://mock.invalid/v1":                  `{"type":"reasoning","id":"rs1","summary":[{"text":"Hm"}]}`,
	} {
		p.Model.BaseURL = url
		r := p.Play(t, body)
		th, ok := r.Message.Content[0].(*llm.Thinking)
		if !ok || th.Thinking != "Hm" || th.ThinkingSignature != want {
			t.Errorf("%s: %+v, want signature %s", url, r.Message.Content[0], want)
		}
	}
}

// The text of an abort in mid-stream is the reference's (pi-facts.md section 2).
func TestAbortTexts(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := `data: {"type":"response.created","response":{"id":"r1"}}` + "\n\n"
	p := responses.New(wire.New(wire.Options{Transport: &llmtest.Answer{Pieces: [][]byte{[]byte(first)}, Hang: true}}))
	var failed *llm.Error
	for e, err := range p.Stream(ctx, protocol().Request()) {
		if e.ResponseID != "" {
			cancel()
		}
		failed = llm.AsError(err)
	}
	if failed == nil || failed.Kind != llm.ErrAborted || failed.Message != "OpenAI Responses stream ended before a terminal response event" {
		t.Errorf("got %+v", failed)
	}
}

// replay is a transport that answers with a body.
type replay string

func (r replay) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(r)))}, nil
}

// deltas is an answer of n deltas of 20 bytes.
func deltas(n int) string {
	var b strings.Builder
	b.WriteString(`data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1"}}` + "\n\n")
	for i := range n {
		fmt.Fprintf(&b, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":%d,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"twenty bytes of text\",\"logprobs\":[]}\n\n", i)
	}
	b.WriteString(`data: {"type":"response.completed","response":{"status":"completed"}}` + "\n\n")
	return b.String()
}

func consume(tb testing.TB, p llm.Provider) {
	req := protocol().Request()
	b := llm.NewBuilder(req.Model, llm.ThinkingOff, 1)
	for e, err := range p.Stream(tb.Context(), req) {
		if err != nil {
			tb.Fatal(err)
		}
		b.Add(e)
	}
	b.Finish(nil, 0)
}

func BenchmarkStream(b *testing.B) {
	const n = 20_000
	p := responses.New(wire.New(wire.Options{Transport: replay(deltas(n))}))
	b.ReportAllocs()
	for b.Loop() {
		consume(b, p)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/event")
}
