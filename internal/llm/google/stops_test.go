package google

import (
	"fmt"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

// The stop reasons are those of docs/stop-reasons.md.
func TestStopReasons(t *testing.T) {
	for _, p := range []llmtest.Protocol{protocol(), vertexProtocol()} {
		llmtest.RunStops(t, p, func(raw string, call bool) []byte {
			part := `{"text":"hi"}`
			if call {
				part = `{"functionCall":{"name":"read","args":{}}}`
			}
			stop := fmt.Sprintf(`,"finishReason":%q`, raw)
			if raw == llmtest.StopNone {
				stop = ""
			}
			return fmt.Appendf(nil, "data: {\"candidates\":[{\"content\":{\"parts\":[%s],\"role\":\"model\"}%s}]}\n\n", part, stop)
		})
	}
}

// The bodies of one conversation are those of the golden files.
func TestGoldenRequest(t *testing.T) {
	llmtest.RunRequest(t, protocol())
	llmtest.RunRequest(t, vertexProtocol())
}
