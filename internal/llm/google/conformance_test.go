package google

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func model(id string) *llm.Model {
	return &llm.Model{
		ID: id, API: llm.APIGoogleGenerative, Provider: "google", BaseURL: "http://provider.invalid/v1beta", Reasoning: true,
		Input: []string{"text", "image"}, ContextWindow: 200_000, MaxTokens: 16_384,
	}
}

func protocol() llmtest.Protocol { return llmtest.Protocol{New: New, Model: model("test-model")} }

// vertexProtocol is Vertex AI with an API key; what differs is told apart in vertex_test.go.
func vertexProtocol() llmtest.Protocol {
	m := model("test-model")
	m.API, m.Provider = llm.APIGoogleVertex, "google-vertex"
	return llmtest.Protocol{Model: m, New: func(c *wire.Client) llm.Provider { return NewVertex(c, VertexOptions{}) }}
}

// Among the fixtures: an answer without a finish reason (field report 103), arguments
// that are never closed or null (105, 106), calls with one id (107: tools-with-ids).
func TestConformance(t *testing.T) { llmtest.Run(t, protocol()) }

func TestCorpus(t *testing.T) {
	deviations := map[string]llmtest.Deviation{
		"google-vertex/enum-numbers-json-array": {
			Why:   "a finish reason that is a number is shown by its name",
			Apply: func(e *llmtest.Expected) { e.RawStopReason = "STOP" },
		},
	}
	for name, p := range map[string]llmtest.Protocol{"gemini": protocol(), "vertex": vertexProtocol()} {
		t.Run(name, func(t *testing.T) {
			llmtest.RunCorpus(t, p, llmtest.Corpus{APIs: []string{"google"}, Deviations: deviations, Other: map[string]string{
				"google/json-safety": "SAFETY", "google/json-unexpected-tool-call": "UNEXPECTED_TOOL_CALL", "google-vertex/json-model-armor": "MODEL_ARMOR",
			}})
		})
	}
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
