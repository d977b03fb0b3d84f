package mistral

import (
	"fmt"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

// The stop reasons are those of docs/stop-reasons.md.
func TestStopReasons(t *testing.T) {
	llmtest.RunStops(t, protocol(), func(raw string, call bool) []byte {
		delta := `{"content":"hi"}`
		if call {
			delta = `{"tool_calls":[{"index":0,"id":"aX2gaLIyo","function":{"name":"read","arguments":"{}"}}]}`
		}
		body := fmt.Sprintf("data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta)
		switch raw {
		case llmtest.StopNone:
			return []byte(body)
		case llmtest.StopDone:
			return []byte(body + "data: [DONE]\n\n")
		}
		return fmt.Appendf(nil, "%sdata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", body, raw)
	})
}

// The body of one conversation is that of the golden file.
func TestGoldenRequest(t *testing.T) { llmtest.RunRequest(t, protocol()) }
