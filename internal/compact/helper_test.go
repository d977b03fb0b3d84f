package compact

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-update writes it anew):\n%s", path, diff)
	}
}

// testModel is a model of 100,000 tokens.
func testModel() *llm.Model {
	return &llm.Model{ID: "mod", Provider: "prov", API: llm.APIOpenAICompletions, ContextWindow: 100_000, MaxTokens: 4000, Reasoning: true}
}

// talk builds a conversation in memory. Ids are e1, e2, …; time goes on by a second
// with each message and entry.
type talk struct {
	t  testing.TB
	s  *session.Store
	ms int64
}

// failer is what tests and property tests have in common.
type failer interface {
	Fatal(args ...any)
}

func newTalk(t testing.TB) *talk {
	t.Helper()
	k := &talk{t: t, ms: 1_700_000_000_000}
	n := 0
	s, err := session.Create(session.Config{
		MemoryOnly: true, Dir: t.TempDir(), Cwd: "/proj", Now: func() time.Time { return time.UnixMilli(k.tick()) },
		NewID: func() string { n++; return fmt.Sprintf("e%d", n) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	k.s = s
	return k
}

func (k *talk) tick() int64 { k.ms += 1000; return k.ms }

func (k *talk) add(b session.Body) string {
	k.t.Helper()
	id, err := k.s.Append(b)
	if err != nil {
		k.t.Fatal(err)
	}
	return id
}

func (k *talk) message(m llm.Message) string { return k.add(session.Message{Message: m}) }

func (k *talk) user(text string) string {
	return k.message(&llm.UserMessage{Content: llm.Content{llm.NewText(text)}, Timestamp: k.tick()})
}

func (k *talk) answer(text string, calls ...*llm.ToolCall) string {
	m := &llm.AssistantMessage{API: llm.APIOpenAICompletions, Provider: "prov", Model: "mod", StopReason: llm.StopEnd, Timestamp: k.tick()}
	if text != "" {
		m.Content = append(m.Content, llm.NewText(text))
	}
	for _, c := range calls {
		m.Content = append(m.Content, c)
		m.StopReason = llm.StopToolUse
	}
	return k.message(m)
}

func (k *talk) failed(text string) string {
	return k.message(&llm.AssistantMessage{
		API: llm.APIOpenAICompletions, Provider: "prov", Model: "mod", Content: llm.Content{}, StopReason: llm.StopError,
		ErrorMessage: text, Timestamp: k.tick(),
	})
}

func (k *talk) result(id, text string) string {
	return k.message(&llm.ToolResultMessage{ToolCallID: id, ToolName: "bash", Content: llm.Content{llm.NewText(text)}, Timestamp: k.tick()})
}

func call(id, name, args string) *llm.ToolCall {
	return &llm.ToolCall{ID: id, Name: name, Arguments: jsonx.Raw(args)}
}

func (k *talk) branch() *Branch {
	k.t.Helper()
	b, err := Load(k.s.View())
	if err != nil {
		k.t.Fatal(err)
	}
	return b
}

// input is an Input with the defaults of the settings.
func (k *talk) input() *Input {
	k.t.Helper()
	return &Input{
		Branch: k.branch(), Model: testModel(), Thinking: llm.ThinkingMedium,
		Options: Options{KeepRecentTokens: 20_000, Ratio: 0.5, PreserveRecent: 2},
	}
}

// context returns the messages of the context.
func (k *talk) context() []llm.Message {
	k.t.Helper()
	c, err := k.s.View().Context()
	if err != nil {
		k.t.Fatal(err)
	}
	return c.Messages
}

// lines returns n numbered lines.
func lines(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d\n", prefix, i+1)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// script answers requests in order, and remembers them.
type script struct {
	answers  []*llm.AssistantMessage
	errs     []error
	requests []*llm.Request
}

// say is an answer of 10 tokens in, 5 out.
func say(text string) *llm.AssistantMessage {
	return &llm.AssistantMessage{
		Content: llm.Content{llm.NewText(text)}, StopReason: llm.StopEnd, Usage: llm.Usage{Input: 10, Output: 5, TotalTokens: 15},
	}
}

// stopped is an answer that ended with that reason.
func stopped(reason llm.StopReason, text string) *llm.AssistantMessage {
	m := say(text)
	m.StopReason = reason
	return m
}

// broken is an answer that failed.
func broken(kind llm.ErrorKind, text string) *llm.AssistantMessage {
	return &llm.AssistantMessage{
		Content: llm.Content{}, StopReason: llm.StopError, ErrorMessage: text,
		Err: &llm.Error{Kind: kind, Message: text, Status: 400},
	}
}

func answers(list ...*llm.AssistantMessage) *script { return &script{answers: list} }

func (s *script) complete(_ context.Context, r *llm.Request) (*llm.AssistantMessage, error) {
	n := len(s.requests)
	s.requests = append(s.requests, r)
	if n < len(s.errs) && s.errs[n] != nil {
		return nil, s.errs[n]
	}
	if n >= len(s.answers) {
		return nil, fmt.Errorf("request %d was not expected", n+1)
	}
	return s.answers[n], nil
}

// requestTextOf returns a request as text, for golden files.
func requestTextOf(r *llm.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "model: %s\nthinking: %s\nno cache: %v\n\n-- system --\n%s\n", r.Model.Ref(), r.Thinking, r.NoCache, r.System)
	for _, m := range r.Messages {
		for _, block := range m.(*llm.UserMessage).Content {
			fmt.Fprintf(&b, "\n-- %s --\n%s\n", m.Role(), block.(*llm.Text).Text)
		}
	}
	return b.String()
}

// mustRun prepares and runs a compaction.
func mustRun(t testing.TB, s Strategy, in *Input, c Completer) *Outcome {
	t.Helper()
	p, err := s.Prepare(in)
	if err != nil {
		t.Fatal(err)
	}
	o, err := p.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// encode returns v as JSON.
func encode(t testing.TB, v any) string {
	t.Helper()
	b, err := jsonx.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// checkReplay fails unless what a model is sent of msgs is in order: it goes through
// llm.Replay unchanged.
func checkReplay(t failer, msgs []llm.Message) {
	m := testModel()
	once := llm.Replay(llm.ForModel(msgs), m)
	if diff := cmp.Diff(once, llm.Replay(once, m)); diff != "" {
		t.Fatal("the context is not in order: " + diff)
	}
}
