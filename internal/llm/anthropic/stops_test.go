package anthropic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

// The stop reasons are those of docs/stop-reasons.md.
func TestStopReasons(t *testing.T) {
	llmtest.RunStops(t, protocol(), func(raw string, call bool) []byte {
		block, delta := `{"type":"text","text":""}`, `{"type":"text_delta","text":"hi"}`
		if call {
			block, delta = `{"type":"tool_use","id":"c1","name":"read","input":{}}`, `{"type":"input_json_delta","partial_json":"{}"}`
		}
		stop := fmt.Sprintf("%q", raw)
		if raw == llmtest.StopNone {
			stop = "null"
		}
		return []byte("data: " + strings.Join([]string{
			`{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":` + block + `}`,
			`{"type":"content_block_delta","index":0,"delta":` + delta + `}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":` + stop + `},"usage":{"output_tokens":2}}`,
			`{"type":"message_stop"}`,
		}, "\n\ndata: ") + "\n\n")
	})
}

// The body of one conversation is that of the golden file.
func TestGoldenRequest(t *testing.T) { llmtest.RunRequest(t, protocol()) }
