package responses_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
	"github.com/isotope-agent/isotope/internal/llm/responses"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

func protocol() llmtest.Protocol {
	return llmtest.Protocol{
		New: responses.New,
		Model: &llm.Model{
			ID: "test-model", API: llm.APIOpenAIResponses, Provider: "test", Reasoning: true,
			Input: []string{"text", "image"}, ContextWindow: 200_000, MaxTokens: 16_384,
		},
	}
}

// Among the fixtures: calls that come without an index, also interleaved (field report
// 109: tools-without-index*), calls with one id (107), text in the event that opens its
// block (112: text-in-the-first-event), calls that are cut, or whose arguments are null (105, 106).
func TestConformance(t *testing.T) { llmtest.Run(t, protocol()) }

// bareIDs shows tool call ids as the recordings' index has them: without the item id.
type bareIDs struct{ llm.Provider }

func (p bareIDs) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for e, err := range p.Provider.Stream(ctx, req) {
			e.ID, _, _ = strings.Cut(e.ID, "|")
			if !yield(e, err) {
				return
			}
		}
	}
}

const recordings = "../../../../shared/data/streams"

// refusal returns the text of a recorded refusal.
func refusal(t *testing.T, name string) string {
	body, err := os.ReadFile(filepath.Join(filepath.FromSlash(recordings), filepath.FromSlash(name)+".response.sse"))
	if err != nil {
		t.Log(err)
	}
	_, rest, _ := strings.Cut(string(body), `"type":"response.refusal.done"`)
	_, rest, _ = strings.Cut(rest, `"refusal":"`)
	said, _, _ := strings.Cut(rest, `"`)
	return said
}

func TestCorpus(t *testing.T) {
	c := llmtest.Corpus{
		APIs: []string{"openai-responses"},
		Deviations: map[string]llmtest.Deviation{
			"openai/responses-incomplete-max-output": {Why: "the raw reason has its cause", Apply: func(e *llmtest.Expected) {
				e.RawStopReason = "incomplete.max_output_tokens"
			}},
			"openai/responses-incomplete-content-filter": {Why: "the raw reason has its cause", Apply: func(e *llmtest.Expected) {
				e.RawStopReason = "incomplete.content_filter"
			}},
			"openai/responses-error-then-failed": {Why: "the error event comes first, nothing is read after it", Apply: func(e *llmtest.Expected) {
				e.RawStopReason = ""
			}},
			"openai/responses-refusal": {Why: "a refusal is shown", Apply: func(e *llmtest.Expected) {
				e.Text = refusal(t, "openai/responses-refusal")
			}},
			"openai/responses-custom-tool": {Why: "free text is the argument of a custom tool", Apply: func(e *llmtest.Expected) {
				e.Calls[0].Arguments = `{"input":` + e.Calls[0].Arguments + `}`
			}},
		},
	}
	for name, p := range map[string]llmtest.Protocol{"openai": protocol(), "azure": azureProtocol(nil), "codex": codexProtocol()} {
		made := p.New
		p.New = func(c *wire.Client) llm.Provider { return bareIDs{made(c)} }
		t.Run(name, func(t *testing.T) { llmtest.RunCorpus(t, p, c) })
	}
}
