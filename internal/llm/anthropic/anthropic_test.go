package anthropic

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func model() *llm.Model {
	return &llm.Model{
		ID: "mock", Name: "Mock", API: llm.APIAnthropicMessages, Provider: "mock-anthropic", BaseURL: "http://mock.invalid",
		Reasoning: true, Input: []string{"text", "image"}, ContextWindow: 200000, MaxTokens: 16384,
	}
}

func protocol() llmtest.Protocol { return llmtest.Protocol{New: New, Model: model()} }

// Among the fixtures: arguments that are cut or null (field reports 105 and 106), calls with one id and
// text in the event that opens its block (107, 112: parallel-calls-one-id).
func TestConformance(t *testing.T) { llmtest.Run(t, protocol()) }

func TestCorpus(t *testing.T) {
	llmtest.RunCorpus(t, protocol(), llmtest.Corpus{APIs: []string{"anthropic"}})
}
