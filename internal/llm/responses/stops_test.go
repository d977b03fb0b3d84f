package responses_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

// The stop reasons are those of docs/stop-reasons.md.
func TestStopReasons(t *testing.T) {
	for _, p := range []llmtest.Protocol{protocol(), azureProtocol(nil), codexProtocol()} {
		llmtest.RunStops(t, p, func(raw string, call bool) []byte {
			item := `{"type":"message","id":"m1","role":"assistant","content":[{"type":"output_text","text":"hi"}]}`
			if call {
				item = `{"type":"function_call","id":"f1","call_id":"c1","name":"read","arguments":"{}"}`
			}
			body := "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":" + item + "}\n\n"
			if raw == llmtest.StopNone {
				return []byte(body)
			}
			status, reason, ok := strings.Cut(raw, ".")
			details, event := "null", "completed"
			if ok {
				details = fmt.Sprintf(`{"reason":%q}`, reason)
			}
			if status == "incomplete" || status == "failed" {
				event = status
			}
			return fmt.Appendf(nil, "%sdata: {\"type\":\"response.%s\",\"response\":{\"id\":\"r1\",\"status\":%q,\"incomplete_details\":%s}}\n\n", body, event, status, details)
		})
	}
}

// The bodies of one conversation are those of the golden files.
func TestGoldenRequest(t *testing.T) {
	for _, p := range []llmtest.Protocol{protocol(), azureProtocol(nil), codexProtocol()} {
		llmtest.RunRequest(t, p)
	}
}
