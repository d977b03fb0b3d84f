package mistral

import (
	"testing"

	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

// TestCompatFlags shows what every flag of models.json does.
func TestCompatFlags(t *testing.T) {
	llmtest.RunCompat(t, protocol(), new(compat), []llmtest.CompatFlag{
		{Name: "supportsMidConvoSystemMessages", Value: `true`},
		{Name: "supportsStrictMode", Value: `true`}, // no tool asks for it
		{Name: "supportsStrictMode", Value: `true`, Prepare: llmtest.PreferStrict, Want: []string{
			"-tools.0.function.strict false", "+tools.0.function.strict true", "+tools.0.function.parameters.additionalProperties false",
		}},
	})
}
