package bedrock

import (
	"testing"

	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

// TestCompatFlags shows what every flag of models.json does.
func TestCompatFlags(t *testing.T) {
	llmtest.RunCompat(t, protocol(), new(compat), []llmtest.CompatFlag{
		{Name: "supportsStrictMode", Value: `true`}, // no tool asks for it
		{Name: "supportsStrictMode", Value: `true`, Prepare: llmtest.PreferStrict, Want: []string{
			"+toolConfig.tools.0.toolSpec.strict true", "+toolConfig.tools.0.toolSpec.inputSchema.json.additionalProperties false",
		}},
	})
}
