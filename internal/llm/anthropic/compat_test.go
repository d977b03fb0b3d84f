package anthropic

import (
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
)

// TestCompatFlags shows what every flag of models.json does.
func TestCompatFlags(t *testing.T) {
	long := func(req *llm.Request) { req.Env = map[string]string{"PI_CACHE_RETENTION": "long"} }
	high := func(req *llm.Request) { req.Thinking = llm.ThinkingHigh }
	said := func(level string, blocks ...llm.Block) func(*llm.Request) {
		return func(req *llm.Request) {
			made := &llm.AssistantMessage{
				Content: blocks, API: req.Model.API, Provider: req.Model.Provider, Model: req.Model.ID,
				StopReason: llm.StopEnd, ProviderThinkingLevel: level,
			}
			req.Thinking, req.Messages = llm.ThinkingHigh, []llm.Message{made, req.Messages[0]}
		}
	}
	const adaptive, budget, display = `+thinking.type "adaptive"`, "-thinking.budget_tokens 15360", `-thinking.type "enabled"`
	const interleaved = "-header.Anthropic-Beta " + betaInterleaved
	llmtest.RunCompat(t, protocol(), new(compat), []llmtest.CompatFlag{
		{Name: "supportsEagerToolInputStreaming", Value: `false`, Want: []string{"-tools.0.eager_input_streaming true", "+header.Anthropic-Beta " + betaFineGrained}},
		{Name: "supportsLongCacheRetention", Value: `false`, Prepare: long, Want: []string{
			`-system.0.cache_control.ttl "1h"`, `-tools.0.cache_control.ttl "1h"`, `-messages.0.content.0.cache_control.ttl "1h"`,
		}},
		{Name: "sendSessionAffinityHeaders", Value: `true`, Want: []string{"+header.X-Session-Affinity session-1"}},
		{Name: "sendSessionAffinityHeaders", Value: `false`, Prepare: func(req *llm.Request) { req.Model.Provider = "openrouter" }, Want: []string{"-header.X-Session-Id session-1"}},
		{
			Name: "sessionAffinityFormat", Value: `"openrouter"`, Prepare: func(req *llm.Request) { req.Model.Compat = jsonx.Raw(`{"sendSessionAffinityHeaders":true}`) },
			Want: []string{"-header.X-Session-Affinity session-1", "+header.X-Session-Id session-1"},
		},
		{Name: "supportsCacheControlOnTools", Value: `false`, Want: []string{`-tools.0.cache_control.type "ephemeral"`}},
		{Name: "supportsTemperature", Value: `false`},
		{Name: "forceAdaptiveThinking", Value: `true`, Prepare: high, Want: []string{display, budget, adaptive, `+output_config.effort "high"`, interleaved}},
		{Name: "allowEmptySignature", Value: `true`, Prepare: said("", &llm.Thinking{Thinking: "hm", ThinkingSignature: " "}), Want: []string{
			`-messages.0.content.0.type "text"`, `-messages.0.content.0.text "hm"`,
			`+messages.0.content.0.type "thinking"`, `+messages.0.content.0.thinking "hm"`, `+messages.0.content.0.signature ""`,
		}},
		{Name: "supportsStrictTools", Value: `true`}, // no tool asks for it
		{Name: "supportsStrictTools", Value: `true`, Prepare: llmtest.PreferStrict, Want: []string{"+tools.0.strict true", "+tools.0.input_schema.additionalProperties false"}},
		{Name: "supportsMidConvoEffort", Value: `true`, Prepare: said("low", llm.NewText("a")), Want: []string{
			display, budget, adaptive, `+thinking.block_binding.prefix_mismatch_behavior "drop_block"`, `+output_config.effort "low"`,
			interleaved, "+header.Anthropic-Beta " + betaEffort,
			`-messages.0.role "assistant"`, `-messages.0.content.0.type "text"`, `-messages.0.content.0.text "a"`,
			`-messages.1.role "user"`, `-messages.1.content.0.text "hello"`, `-messages.1.content.0.cache_control.type "ephemeral"`,
			`+messages.0.role "system"`, `+messages.0.content []`, `+messages.0.output_config.effort "low"`,
			`+messages.1.role "assistant"`, `+messages.1.content.0.text "a"`,
			`+messages.2.role "user"`, `+messages.2.content.0.type "text"`, `+messages.2.content.0.text "hello"`, `+messages.2.content.0.cache_control.type "ephemeral"`,
			`+messages.3.role "system"`, `+messages.3.content []`, `+messages.3.output_config.effort "high"`,
		}},
		// Without reasoning an effort cannot be told.
		{Name: "supportsMidConvoEffort", Value: `true`, Want: []string{"+header.Anthropic-Beta " + betaEffort}},
		{Name: "supportsMidConvoSystemMessages", Value: `true`},
		{Name: "supportsMidConvoToolChanges", Value: `true`},
		{Name: "supportsMessageThreads", Value: `true`},
		{
			Name: "allowedFallbackModels", Value: `[{"provider":"mock-anthropic","model":"calmer","cost":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4}}]`,
			Want: []string{"+header.Anthropic-Beta " + betaFallback, `+fallbacks.0.model "calmer"`},
		},
	})
}

// An answer of a fallback model has that model's prices; any other model's has the request's.
func TestFallbacksArePriced(t *testing.T) {
	for answered, want := range map[string]float64{"mock": 3, "calmer": 1, "elsewhere": 3, "unknown": 3} {
		req := protocol().Request()
		req.Model.Cost = llm.ModelCost{Input: 3}
		req.Model.Compat = jsonx.Raw(`{"allowedFallbackModels":[{"provider":"mock-anthropic","model":"calmer","cost":{"input":1}},{"provider":"other","model":"elsewhere","cost":{"input":2}}]}`)
		body := `event: message_start` + "\n" +
			`data: {"type":"message_start","message":{"id":"m","model":"` + answered + `","usage":{"input_tokens":1000000,"output_tokens":0}}}` + "\n\n" +
			`event: message_delta` + "\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}` + "\n\n" +
			`event: message_stop` + "\n" + `data: {"type":"message_stop"}` + "\n\n"
		r := protocol().Stream(t, &llmtest.Answer{Pieces: [][]byte{[]byte(body)}}, req)
		if got := r.Message.Usage.Cost.Total; r.Err != nil || got != want {
			t.Errorf("%s answers: costs %v, want %v (%v)", answered, got, want, r.Err)
		}
	}
}
