package bedrock

import (
	"fmt"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

// The stop reasons are those of docs/stop-reasons.md.
func TestStopReasons(t *testing.T) {
	llmtest.RunStops(t, protocol(), func(raw string, call bool) []byte {
		lines := []string{
			`event messageStart {"role":"assistant"}`,
			`event contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"hi"}}`,
			`event contentBlockStop {"contentBlockIndex":0}`,
		}
		if call {
			lines = append(lines[:1], `event contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"c1","name":"read"}}}`,
				`event contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}`, `event contentBlockStop {"contentBlockIndex":0}`)
		}
		if raw != llmtest.StopNone {
			lines = append(lines, fmt.Sprintf(`event messageStop {"stopReason":%q}`, raw))
		}
		body, err := encode([]byte(strings.Join(lines, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		return body
	})
}

// The body of one conversation is that of the golden file.
func TestGoldenRequest(t *testing.T) { llmtest.RunRequest(t, protocol()) }
