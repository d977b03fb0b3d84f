package responses_test

import (
	"slices"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
	"github.com/isotope-agent/isotope/internal/llm/responses"
)

func long(req *llm.Request) { req.Env = map[string]string{"PI_CACHE_RETENTION": "long"} }

func explicit(req *llm.Request) {
	req.Model.Compat = jsonx.Raw(`{"supportsExplicitPromptCacheMode":true}`)
	long(req)
}

// levels is a history whose answer was made with another effort.
func levels(level llm.ThinkingLevel) func(*llm.Request) {
	return func(req *llm.Request) {
		made := &llm.AssistantMessage{
			Content: llm.Content{llm.NewText("a")}, API: req.Model.API, Provider: req.Model.Provider, Model: req.Model.ID,
			StopReason: llm.StopEnd, ProviderThinkingLevel: "high",
		}
		req.System, req.Thinking, req.Messages = "", level, []llm.Message{made, req.Messages[0]}
	}
}

// inert are rows of flags that change nothing.
func inert(names ...string) []llmtest.CompatFlag {
	var out []llmtest.CompatFlag
	for _, name := range names {
		out = append(out, llmtest.CompatFlag{Name: name, Value: "true", Prepare: long}, llmtest.CompatFlag{Name: name, Value: "false", Prepare: long})
	}
	return out
}

func affinity(none, session string) []llmtest.CompatFlag {
	rows := []llmtest.CompatFlag{
		{Name: "sessionAffinityFormat", Value: `"openai"`},
		{Name: "sessionAffinityFormat", Value: `"openai-nosession"`},
		{Name: "sessionAffinityFormat", Value: `"openrouter"`},
	}
	if session != "" {
		rows[1].Want = []string{session}
		rows[2].Want = []string{session, none, "+header.X-Session-Id session-1"}
	}
	return rows
}

// common are the rows of flags that all three protocols honour.
func common() []llmtest.CompatFlag {
	return append([]llmtest.CompatFlag{
		{Name: "supportsDeveloperRole", Value: `false`, Want: []string{`-input.0.role "developer"`, `+input.0.role "system"`}},
		{Name: "promptCacheKeyMode", Value: `"auto"`},
		{Name: "promptCacheKeyMode", Value: `"enabled"`},
		{Name: "promptCacheKeyMode", Value: `"disabled"`, Want: []string{`-prompt_cache_key "session-1"`}},
		{Name: "supportsMaxOutputTokens", Value: `false`, Want: []string{"-max_output_tokens 16384"}},
	}, inert("supportsMidConvoSystemMessages", "supportsOpenAIGrammarTools", "supportsAdditionalTools", "supportsToolSearch")...)
}

// TestCompatFlags shows what every flag of models.json does, and every value of those that
// have a list of them.
func TestCompatFlags(t *testing.T) {
	llmtest.RunCompat(t, protocol(), responses.NewFlags(), slices.Concat(common(),
		affinity("-header.X-Client-Request-Id session-1", "-header.Session-Id session-1"), []llmtest.CompatFlag{
			{Name: "supportsStrictMode", Value: `true`, Want: []string{"+tools.0.strict false"}},
			{Name: "supportsStrictMode", Value: `true`, Prepare: llmtest.PreferStrict, Want: []string{"+tools.0.strict true", "+tools.0.parameters.additionalProperties false"}},
			{Name: "supportsStrictMode", Value: `false`},
			{Name: "supportsLongCacheRetention", Value: `false`, Prepare: long, Want: []string{`-prompt_cache_retention "24h"`}},
			{Name: "supportsLongCacheRetention", Value: `false`, Prepare: explicit, Want: []string{`-prompt_cache_options.ttl "30m"`}},
			{Name: "supportsLongCacheRetention", Value: `false`}, // nobody asked for one
			{Name: "supportsExplicitPromptCacheMode", Value: `true`, Prepare: long, Want: []string{`-prompt_cache_retention "24h"`, `+prompt_cache_options.ttl "30m"`}},
			{Name: "supportsExplicitPromptCacheMode", Value: `true`, Prepare: func(req *llm.Request) { req.NoCache = true }, Want: []string{`+prompt_cache_options.mode "explicit"`}},
			{Name: "supportsExplicitPromptCacheMode", Value: `true`},
			{Name: "supportsMidConvoEffort", Value: `true`, Prepare: levels(llm.ThinkingLow), Want: []string{
				`-reasoning.effort "low"`, `+reasoning.effort "medium"`,
				`-input.0.type "message"`, `-input.0.role "assistant"`, `-input.0.status "completed"`, `-input.0.id "msg_pi_0"`,
				`-input.0.content.0.type "output_text"`, `-input.0.content.0.text "a"`, `-input.0.content.0.annotations []`,
				`-input.1.role "user"`, `-input.1.content.0.type "input_text"`, `-input.1.content.0.text "hello"`,
				`+input.0.type "configuration_update"`, `+input.0.reasoning.effort "high"`,
				`+input.1.type "message"`, `+input.1.role "assistant"`, `+input.1.status "completed"`, `+input.1.id "msg_pi_0"`,
				`+input.1.content.0.type "output_text"`, `+input.1.content.0.text "a"`, `+input.1.content.0.annotations []`,
				`+input.2.role "user"`, `+input.2.content.0.type "input_text"`, `+input.2.content.0.text "hello"`,
				`+input.3.type "configuration_update"`, `+input.3.reasoning.effort "low"`,
			}},
			{Name: "supportsMidConvoEffort", Value: `true`, Prepare: levels(llm.ThinkingOff)},
			{Name: "supportsMidConvoEffort", Value: `true`, Prepare: func(req *llm.Request) { // signed in with ChatGPT
				req.Thinking, req.Model.Provider, req.Model.BaseURL = llm.ThinkingLow, "openai", "https://api.openai.com/v1"
			}},
		},
	))
}

func TestCompatFlagsOfAzure(t *testing.T) {
	llmtest.RunCompat(t, azureProtocol(nil), responses.NewFlags(), slices.Concat(common(), affinity("", ""),
		inert("supportsLongCacheRetention", "supportsExplicitPromptCacheMode", "supportsMidConvoEffort"), []llmtest.CompatFlag{
			{Name: "supportsStrictMode", Value: `false`, Want: []string{"-tools.0.strict false"}},
			{Name: "supportsStrictMode", Value: `false`, Prepare: llmtest.PreferStrict, Want: []string{"-tools.0.strict true", "-tools.0.parameters.additionalProperties false"}},
		},
	))
}

func TestCompatFlagsOfCodex(t *testing.T) {
	llmtest.RunCompat(t, codexProtocol(), responses.NewFlags(), slices.Concat(common(), affinity("", ""),
		inert("supportsLongCacheRetention", "supportsExplicitPromptCacheMode"), []llmtest.CompatFlag{
			{Name: "supportsStrictMode", Value: `false`, Want: []string{"-tools.0.strict null"}},
			{Name: "supportsStrictMode", Value: `false`, Prepare: llmtest.PreferStrict, Want: []string{"-tools.0.strict true", "-tools.0.parameters.additionalProperties false"}},
			{Name: "supportsMidConvoEffort", Value: `true`, Want: []string{ // off is told like any other level
				`-reasoning.effort "none"`, `+reasoning.effort "medium"`,
				`+input.2.type "configuration_update"`, `+input.2.reasoning.effort "none"`,
			}},
		},
	))
}

// The effort that the input told is kept with the answer, for the requests that follow.
func TestToldEffortIsKept(t *testing.T) {
	for name, p := range map[string]llmtest.Protocol{"openai": protocol(), "codex": codexProtocol()} {
		req := p.Request()
		req.Model.Compat, req.Thinking = jsonx.Raw(`{"supportsMidConvoEffort":true}`), llm.ThinkingLow
		answer := `data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"a"}]}]}}` + "\n\n"
		r := p.Stream(t, &llmtest.Answer{Pieces: [][]byte{[]byte(answer)}}, req)
		if r.Err != nil || r.Message.ProviderThinkingLevel != "low" {
			t.Errorf("%s: level %q, error %v", name, r.Message.ProviderThinkingLevel, r.Err)
		}
	}
}

// OpenAI says in which tier of service a request was served; each has its price.
func TestTiersOfServiceArePriced(t *testing.T) {
	for _, tt := range []struct {
		api, model, tier string
		want             float64 // dollars for a million tokens of output
	}{
		{llm.APIOpenAIResponses, "m", "", 8},
		{llm.APIOpenAIResponses, "m", "default", 8},
		{llm.APIOpenAIResponses, "m", "flex", 4},
		{llm.APIOpenAIResponses, "m", "priority", 16},
		{llm.APIOpenAIResponses, "m", "fast", 16},
		{llm.APIOpenAIResponses, "gpt-5.5", "priority", 20},
		{llm.APICodexResponses, "m", "priority", 16},
		{llm.APICodexResponses, "m", "fast", 8},
		{llm.APIAzureResponses, "m", "priority", 8},
	} {
		p := map[string]llmtest.Protocol{
			llm.APIOpenAIResponses: protocol(), llm.APICodexResponses: codexProtocol(), llm.APIAzureResponses: azureProtocol(nil),
		}[tt.api]
		req := p.Request()
		req.Model.ID, req.Model.Cost = tt.model, llm.ModelCost{Input: 2, Output: 8}
		answer := `data: {"type":"response.completed","response":{"id":"r","status":"completed","service_tier":"` + tt.tier +
			`","usage":{"input_tokens":0,"output_tokens":1000000,"total_tokens":1000000},"output":[]}}` + "\n\n"
		r := p.Stream(t, &llmtest.Answer{Pieces: [][]byte{[]byte(answer)}}, req)
		if got := r.Message.Usage.Cost.Total; r.Err != nil || got != tt.want {
			t.Errorf("%s, %s, %q: costs %v, want %v (%v)", tt.api, tt.model, tt.tier, got, tt.want, r.Err)
		}
	}
}
