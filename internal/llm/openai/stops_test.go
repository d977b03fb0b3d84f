package openai_test

import (
	"testing"

	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

// The stop reasons are those of docs/stop-reasons.md.
func TestStopReasons(t *testing.T) { llmtest.RunStops(t, protocol(), llmtest.ChatStop) }

// The body of one conversation is that of the golden file.
func TestGoldenRequest(t *testing.T) { llmtest.RunRequest(t, protocol()) }
