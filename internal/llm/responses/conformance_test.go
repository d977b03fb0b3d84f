package responses_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
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
// block (112: text-in-the-first-event), calls that are cut (105).
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

// names returns the names of the recordings of this protocol.
func names(t *testing.T) []string {
	raw, err := os.ReadFile(filepath.Join(filepath.FromSlash(recordings), "index.json"))
	if err != nil {
		t.Skip("no recorded streams here")
	}
	var index []struct {
		Name string `json:"name"`
		API  string `json:"api"`
	}
	if err := jsonx.Unmarshal(raw, &index); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, it := range index {
		if it.API == "openai-responses" {
			out = append(out, it.Name)
		}
	}
	return out
}

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
	special := map[string]func(*llmtest.Expected){
		"openai/responses-incomplete-max-output": func(e *llmtest.Expected) {
			e.RawStopReason, e.Stop = "incomplete.max_output_tokens", llm.StopLength
		},
		"openai/responses-incomplete-content-filter": func(e *llmtest.Expected) { e.RawStopReason = "incomplete.content_filter" },
		// The error event comes first; nothing is read after it.
		"openai/responses-error-then-failed": func(e *llmtest.Expected) { e.RawStopReason = "" },
		"openai/responses-refusal":           func(e *llmtest.Expected) { e.Text = refusal(t, "openai/responses-refusal") },
		"openai/responses-custom-tool": func(e *llmtest.Expected) {
			e.Calls[0].Arguments = `{"input":` + e.Calls[0].Arguments + `}`
		},
	}
	c := llmtest.Corpus{
		APIs: []string{"openai-responses"},
		Stop: map[string]llm.StopReason{
			"completed": llm.StopEnd, "incomplete": llm.StopError, "failed": llm.StopError, "": llm.StopError,
		},
		Deviations: map[string]llmtest.Deviation{},
	}
	for _, name := range names(t) {
		c.Deviations[name] = llmtest.Deviation{Why: "a complete response with calls stops for them", Apply: func(e *llmtest.Expected) {
			if f := special[name]; f != nil {
				f(e)
			}
			if len(e.Calls) > 0 && e.Stop == llm.StopEnd {
				e.Stop = llm.StopToolUse
			}
		}}
	}
	for name, p := range map[string]llmtest.Protocol{"openai": protocol(), "azure": azureProtocol(nil), "codex": codexProtocol()} {
		made := p.New
		p.New = func(c *wire.Client) llm.Provider { return bareIDs{made(c)} }
		t.Run(name, func(t *testing.T) { llmtest.RunCorpus(t, p, c) })
	}
}
