package mistral

import (
	"testing"

	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

// TestCompatFlags shows what every flag of models.json does.
func TestCompatFlags(t *testing.T) {
	llmtest.RunCompat(t, protocol(), new(struct{}), []llmtest.CompatFlag{
		{Name: "supportsMidConvoSystemMessages", Value: `true`},
		{Name: "supportsStrictMode", Value: `true`},
	})
}
