// Package llmtest is the conformance suite of the provider protocols. Every
// protocol's test calls Run with its own fixtures, and RunCorpus, which replays
// recorded traffic where it is present.
//
// It knows the contract of llm.Provider (order of events, errors, cancelling) and no
// wire format. It replaces the network below wire.Client, so a fixture can be cut at
// every byte in no time.
package llmtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Protocol is what the suite needs to know of the protocol under test.
type Protocol struct {
	// New makes the provider on a client of the suite.
	New func(*wire.Client) llm.Provider
	// Model is used for all requests; BaseURL need not be reachable.
	Model *llm.Model
	// Dir holds the fixtures, "testdata" when empty: NAME.sse is an answer's body,
	// NAME.json what must come of it (Outcome). With UPDATE_GOLDEN=1 in the
	// environment the JSON files are written anew, to be reviewed.
	Dir string
	// Framing is set by a protocol whose answers are no text.
	Framing *Framing
}

// Framing tells the suite of answers that are binary frames, which have no line ends
// and whose damage is found by checksums.
type Framing struct {
	// Ext is what the names of fixtures end in, in place of ".sse". They are text;
	// Encode makes a body of one.
	Ext    string
	Encode func(fixture []byte) ([]byte, error)
	// Split cuts a body into its frames.
	Split func(body []byte) [][]byte
}

// ext is what the names of fixtures end in.
func (p Protocol) ext() string {
	if p.Framing != nil {
		return p.Framing.Ext
	}
	return ".sse"
}

// body reads a fixture.
func (p Protocol) body(t *testing.T, file string) []byte {
	t.Helper()
	body, err := os.ReadFile(file)
	if err == nil && p.Framing != nil {
		body, err = p.Framing.Encode(body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// events splits a body behind each of its events.
func (p Protocol) events(body []byte) []string {
	if p.Framing == nil {
		return events(body)
	}
	var out []string
	for _, frame := range p.Framing.Split(body) {
		out = append(out, string(frame))
	}
	return out
}

// Outcome is what a fixture must give: the message without times and prices, and the
// kind of its error.
type Outcome struct {
	Content       llm.Content    `json:"content"`
	ResponseID    string         `json:"responseId,omitzero"`
	ResponseModel string         `json:"responseModel,omitzero"`
	StopReason    llm.StopReason `json:"stopReason"`
	RawStopReason string         `json:"rawStopReason,omitzero"`
	EndTurn       *bool          `json:"endTurn,omitzero"`
	Usage         Tokens         `json:"usage"`
	ErrorMessage  string         `json:"errorMessage,omitzero"`
	ErrorKind     llm.ErrorKind  `json:"errorKind,omitzero"`
	// InvalidArguments are the arguments of calls that are no JSON, by call id.
	InvalidArguments map[string]string `json:"invalidArguments,omitzero"`
}

// Tokens is llm.Usage without prices.
type Tokens struct {
	Input        int64  `json:"input"`
	Output       int64  `json:"output"`
	CacheRead    int64  `json:"cacheRead"`
	CacheWrite   int64  `json:"cacheWrite"`
	CacheWrite1h *int64 `json:"cacheWrite1h,omitzero"`
	Reasoning    *int64 `json:"reasoning,omitzero"`
}

// Run runs the suite: every fixture whole, in pieces, damaged and cut; cancelling;
// error statuses.
func Run(t *testing.T, p Protocol) {
	if p.Dir == "" {
		p.Dir = "testdata"
	}
	files, err := filepath.Glob(filepath.Join(p.Dir, "*"+p.ext()))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures in %s: %v", p.Dir, err)
	}
	for _, file := range files {
		body := p.body(t, file)
		t.Run(strings.TrimSuffix(filepath.Base(file), p.ext()), func(t *testing.T) {
			want := p.golden(t, strings.TrimSuffix(file, p.ext())+".json", body)
			t.Run("pieces", func(t *testing.T) { p.pieces(t, body, want) })
			t.Run("cut", func(t *testing.T) { p.cut(t, body, want) })
			t.Run("damaged", func(t *testing.T) { p.damaged(t, body) })
			t.Run("cancel", func(t *testing.T) { p.cancel(t, body) })
		})
	}
	t.Run("statuses", p.statuses)
	t.Run("no stream", p.noStream)
	t.Run("sockets", func(t *testing.T) { p.sockets(t, files) })
}

// golden compares the outcome of a whole body with its file.
func (p Protocol) golden(t *testing.T, file string, body []byte) string {
	got := p.Play(t, body).Text(t)
	compareGolden(t, file, got)
	return got
}

// Result is what one stream gave.
type Result struct {
	Message *llm.AssistantMessage
	Err     *llm.Error
	Events  []llm.Event
}

// Play sends a request that is answered by the pieces of a body and checks the
// contract of the events.
func (p Protocol) Play(t testing.TB, pieces ...[]byte) Result {
	t.Helper()
	return p.collect(t, t.Context(), &Answer{Pieces: pieces}, nil)
}

// Stream returns the result of the request req (nil: one with a short user message)
// that is answered by a. Its events must keep the contract.
func (p Protocol) Stream(t testing.TB, a *Answer, req *llm.Request) Result {
	t.Helper()
	return p.collect(t, t.Context(), a, req)
}

func (p Protocol) collect(t testing.TB, ctx context.Context, a *Answer, req *llm.Request) Result {
	t.Helper()
	if req == nil {
		req = p.Request()
	}
	provider := p.New(wire.New(wire.Options{Transport: a}))
	b := llm.NewBuilder(req.Model, llm.ThinkingOff, 1)
	c := contract{t: t}
	var r Result
	for e, err := range provider.Stream(ctx, req) {
		if err != nil {
			c.failed(err)
			r.Err = asError(ctx, err)
			continue
		}
		c.event(e)
		b.Add(e)
		r.Events = append(r.Events, e)
	}
	c.end()
	a.mustBeClosed(t)
	r.Message = b.Finish(r.Err, 0)
	return r
}

// asError allows a provider to end with the error of the context that was cancelled.
func asError(ctx context.Context, err error) *llm.Error {
	var e *llm.Error
	if !errors.As(err, &e) && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return &llm.Error{Kind: llm.ErrAborted, Message: err.Error(), Err: err}
	}
	return llm.AsError(err)
}

// Request returns a request of the suite's model with a system prompt, a user message
// and a tool.
func (p Protocol) Request() *llm.Request {
	m := *p.Model
	if m.BaseURL == "" {
		m.BaseURL = "http://provider.invalid/v1"
	}
	return &llm.Request{
		Model:    &m,
		System:   "Be brief.",
		Messages: []llm.Message{&llm.UserMessage{Content: llm.Content{llm.NewText("hello")}, Timestamp: 1}},
		Tools:    []llm.ToolSpec{{Name: "read", Description: "Reads a file", Parameters: jsonx.Raw(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}},
		Thinking: llm.ThinkingOff,
		APIKey:   apiKey,
	}
}

// apiKey must never show in an error.
const apiKey = "llmtest-secret-key"

// Outcome returns what of the result is compared.
func (r Result) Outcome() Outcome {
	m := r.Message
	o := Outcome{
		Content: m.Content, ResponseID: m.ResponseID, ResponseModel: m.ResponseModel,
		StopReason: m.StopReason, RawStopReason: m.RawStopReason, EndTurn: m.EndTurn, ErrorMessage: m.ErrorMessage,
		Usage: Tokens{m.Usage.Input, m.Usage.Output, m.Usage.CacheRead, m.Usage.CacheWrite, m.Usage.CacheWrite1h, m.Usage.Reasoning},
	}
	if r.Err != nil {
		o.ErrorKind = r.Err.Kind
	}
	for _, c := range m.Content.ToolCalls() {
		if c.ArgumentsError != "" {
			if o.InvalidArguments == nil {
				o.InvalidArguments = map[string]string{}
			}
			o.InvalidArguments[c.ID] = c.SentArguments()
		}
	}
	return o
}

// Text returns the outcome as indented JSON.
func (r Result) Text(t testing.TB) string {
	t.Helper()
	b, err := jsonx.MarshalIndent(r.Outcome())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// soon fails the test when f does not return within a time that is long for any
// machine.
func soon(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: still not back after 20 s", what)
	}
}
