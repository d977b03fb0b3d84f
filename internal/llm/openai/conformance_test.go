package openai_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
	"github.com/isotope-agent/isotope/internal/llm/openai"
)

func protocol() llmtest.Protocol {
	return llmtest.Protocol{
		New: openai.New,
		Model: &llm.Model{
			ID: "test-model", API: llm.APIOpenAICompletions, Provider: "test", Reasoning: true,
			Input: []string{"text", "image"}, ContextWindow: 200_000, MaxTokens: 16_384,
		},
	}
}

// Among the fixtures: an answer without a finish reason (field report 103: done-without-*),
// an echo of empty custom tools beside a call (104: tool-custom-echo), arguments that are
// cut or null (105, 106), calls with one id (107), thinking and text in one chunk (112).
func TestConformance(t *testing.T) { llmtest.Run(t, protocol()) }

func stop(reason llm.StopReason) func(*llmtest.Expected) {
	return func(e *llmtest.Expected) { e.Stop = reason }
}

// refusal lets the refusal of a recorded stream be its text.
func refusal(t *testing.T, name string) func(*llmtest.Expected) {
	body, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "data", "streams", name+".response.sse"))
	if err != nil {
		t.Log(err)
	}
	var said strings.Builder
	for _, m := range regexp.MustCompile(`"refusal":"([^"]*)"`).FindAllSubmatch(body, -1) {
		said.Write(m[1])
	}
	return func(e *llmtest.Expected) { e.Text = said.String() }
}

func TestCorpus(t *testing.T) {
	done := llmtest.Deviation{Why: "[DONE] after a complete call: dialects.md, last row", Apply: stop(llm.StopToolUse)}
	apart := llmtest.Deviation{Why: "the server counts reasoning apart; it is billed as output", Apply: func(e *llmtest.Expected) {
		e.Usage.Output += *e.Usage.Reasoning
	}}
	llmtest.RunCorpus(t, protocol(), llmtest.Corpus{
		APIs:  []string{"openai-chat"},
		Other: map[string]string{"azure-openai/json-content-filter": ""},
		Deviations: map[string]llmtest.Deviation{
			"openrouter/tool-kimi-args-twice": done,
			"openrouter/tool-kimi-no-finish":  done,
			"snowflake/text-no-finish-reason": {Why: "[DONE] after text: dialects.md, last row", Apply: stop(llm.StopEnd)},
			"openai/chat-refusal":             {Why: "a refusal is shown", Apply: refusal(t, "openai/chat-refusal")},
			"openai/chat-refusal-logprobs":    {Why: "a refusal is shown", Apply: refusal(t, "openai/chat-refusal-logprobs")},
			"xai/reasoning-text":              apart,
			"xai/reasoning-tool":              apart,
			"xai/tools-parallel":              apart,
			"cloudflare/text": {Why: "a last usage of zeros does not take back an earlier one", Apply: func(e *llmtest.Expected) {
				e.Usage = &llmtest.Tokens{Input: 45, Output: 2}
			}},
		},
	})
}
