package mistral

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func model() *llm.Model {
	return &llm.Model{
		ID: "test-model", API: llm.APIMistral, Provider: "mistral", BaseURL: "http://provider.invalid", Reasoning: true,
		Input: []string{"text", "image"}, ContextWindow: 200_000, MaxTokens: 16_384,
	}
}

func protocol() llmtest.Protocol { return llmtest.Protocol{New: New, Model: model()} }

// Among the fixtures: an answer without a finish reason (field report 103: no-end,
// no-finish-*), an echo of empty custom tools (104), arguments that are cut or null (105, 106), calls with one id or index (107, 109).
func TestConformance(t *testing.T) { llmtest.Run(t, protocol()) }

// No recording deviates.
func TestCorpus(t *testing.T) {
	llmtest.RunCorpus(t, protocol(), llmtest.Corpus{APIs: []string{"mistral"}})
}

// Whatever a server sends, the events keep their contract.
func FuzzStream(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.sse"))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) { protocol().Play(t, body) })
}

// An answer that has its finish reason is complete, however its body ends.
func TestEndsWithoutDone(t *testing.T) {
	body, err := os.ReadFile(filepath.Join("testdata", "tool.sse"))
	if err != nil {
		t.Fatal(err)
	}
	body = bytes.TrimSuffix(body, []byte("data: [DONE]\n\n"))
	want := protocol().Play(t, body).Text(t)
	if !strings.Contains(want, `"stopReason": "toolUse"`) {
		t.Errorf("an end without [DONE]: %s", want)
	}
	reset := &llmtest.Answer{Pieces: [][]byte{body}, Err: errors.New("read: connection reset by peer")}
	if got := protocol().Stream(t, reset, nil).Text(t); got != want {
		t.Errorf("a reset behind the end: %s", got)
	}
}
