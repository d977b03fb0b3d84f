package openai_test

import (
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
	"github.com/isotope-agent/isotope/internal/llm/openai"
)

// history has a call, its result, reasoning, and a question behind them.
func history(req *llm.Request) {
	made := func(blocks ...llm.Block) *llm.AssistantMessage {
		return &llm.AssistantMessage{Content: blocks, API: req.Model.API, Provider: req.Model.Provider, Model: req.Model.ID, StopReason: llm.StopEnd}
	}
	req.System = ""
	req.Messages = []llm.Message{
		made(call("c", `{}`)), result("c", llm.NewText("t")), user(llm.NewText("go on")),
		made(&llm.Thinking{Thinking: "hm", ThinkingSignature: "reasoning_content"}, llm.NewText("a")),
	}
}

func thinking(level llm.ThinkingLevel) func(*llm.Request) {
	return func(req *llm.Request) { req.Thinking, req.Model.MaxTokens = level, 5000 }
}

func withFlags(compat string, more func(*llm.Request)) func(*llm.Request) {
	return func(req *llm.Request) {
		if req.Model.Compat = jsonx.Raw(compat); more != nil {
			more(req)
		}
	}
}

func long(req *llm.Request) { req.Env = map[string]string{"PI_CACHE_RETENTION": "long"} }

// stopless is an answer that never tells why it ended.
const stopless = `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n"

// TestCompatFlags shows what every flag of models.json does, and every value of those that
// have a list of them.
func TestCompatFlags(t *testing.T) {
	high := thinking(llm.ThinkingHigh)
	format := func(name string, want ...string) llmtest.CompatFlag {
		return llmtest.CompatFlag{Name: "thinkingFormat", Value: `"` + name + `"`, Prepare: high, Want: want}
	}
	const effort = `-reasoning_effort "high"`
	llmtest.RunCompat(t, protocol(), openai.NewFlags(), []llmtest.CompatFlag{
		{Name: "supportsStore", Value: `false`, Want: []string{"-store false"}},
		{Name: "supportsDeveloperRole", Value: `true`, Want: []string{`-messages.0.role "system"`, `+messages.0.role "developer"`}},
		{Name: "supportsReasoningEffort", Value: `false`, Prepare: high, Want: []string{effort}},
		{Name: "supportsUsageInStreaming", Value: `false`, Want: []string{"-stream_options.include_usage true"}},
		{Name: "supportsFinishReason", Value: `false`, Answer: stopless, Want: []string{
			`-answer.errorKind "transport"`, `-answer.errorMessage "Stream ended without finish_reason"`,
			`-answer.stopReason "error"`, `+answer.stopReason "stop"`,
		}},
		{Name: "maxTokensField", Value: `"max_tokens"`, Want: []string{"-max_completion_tokens 16384", "+max_tokens 16384"}},
		{
			Name: "maxTokensField", Value: `"max_completion_tokens"`, Prepare: func(req *llm.Request) { req.Model.BaseURL = "https://api.moonshot.ai/v1" },
			Want: []string{"-max_tokens 16384", "+max_completion_tokens 16384"},
		},
		{Name: "requiresToolResultName", Value: `true`, Prepare: history, Want: []string{`+messages.1.name "bash"`}},
		{Name: "requiresAssistantAfterToolResult", Value: `true`, Prepare: history, Want: []string{
			"-messages.0.content null", `+messages.0.content ""`,
			`-messages.2.role "user"`, `-messages.2.content.0.type "text"`, `-messages.2.content.0.text "go on"`,
			`+messages.2.role "assistant"`, `+messages.2.content "I have processed the tool results."`,
			`-messages.3.role "assistant"`, `-messages.3.content "a"`, `-messages.3.reasoning_content "hm"`,
			`+messages.3.role "user"`, `+messages.3.content.0.type "text"`, `+messages.3.content.0.text "go on"`,
			`+messages.4.role "assistant"`, `+messages.4.content "a"`, `+messages.4.reasoning_content "hm"`,
		}},
		{Name: "requiresNonNullAssistantContent", Value: `true`, Prepare: history, Want: []string{"-messages.0.content null", `+messages.0.content ""`}},
		{Name: "requiresToolsWithToolHistory", Value: `true`, Prepare: func(req *llm.Request) { history(req); req.Tools = nil }, Want: []string{"+tools []"}},
		{Name: "requiresThinkingAsText", Value: `true`, Prepare: history, Want: []string{
			`-messages.3.content "a"`, `-messages.3.reasoning_content "hm"`, `+messages.3.content.0.type "text"`, `+messages.3.content.0.text "hm"`,
			`+messages.3.content.1.type "text"`, `+messages.3.content.1.text "a"`,
		}},
		{Name: "requiresReasoningContentOnAssistantMessages", Value: `true`, Prepare: history, Want: []string{`+messages.0.reasoning_content ""`}},

		{Name: "thinkingFormat", Value: `"openai"`, Prepare: func(req *llm.Request) { high(req); req.Model.Provider = "openrouter" }, Want: []string{`-reasoning.effort "high"`, `+reasoning_effort "high"`}},
		format("openrouter", effort, `+reasoning.effort "high"`),
		format("deepseek", `+thinking.type "enabled"`),
		format("together", "+reasoning.enabled true"),
		{Name: "thinkingFormat", Value: `"baseten"`, Prepare: withFlags(`{"chatTemplateArgs":{"on":{"$var":"thinking.enabled"}}}`, high), Want: []string{"+chat_template_args.on true"}},
		format("zai", `+thinking.type "enabled"`, "+thinking.clear_thinking false"),
		format("qwen", "+enable_thinking true"),
		{
			Name: "thinkingFormat", Value: `"chat-template"`, Prepare: withFlags(`{"chatTemplateKwargs":{"on":{"$var":"thinking.enabled"}}}`, high),
			Want: []string{effort, "+chat_template_kwargs.on true"},
		},
		format("qwen-chat-template", effort, "+chat_template_kwargs.enable_thinking true", "+chat_template_kwargs.preserve_thinking true"),
		format("string-thinking", effort, `+thinking "high"`),
		format("ant-ling", effort), // the model has no word for it
		{
			Name: "chatTemplateKwargs", Prepare: withFlags(`{"thinkingFormat":"chat-template"}`, high),
			Value: `{"a":1,"b":{"$var":"thinking.enabled"},"c":{"$var":"thinking.effort"},"d":{"$var":"thinking.budget"},"e":{"$var":"odd"}}`,
			Want:  []string{"+chat_template_kwargs.a 1", "+chat_template_kwargs.b true", `+chat_template_kwargs.c "high"`, "+chat_template_kwargs.d 3976"},
		},
		{
			Name: "chatTemplateArgs", Value: `{"b":{"$var":"thinking.enabled","omitWhenOff":true},"c":null}`, Prepare: withFlags(`{"thinkingFormat":"baseten"}`, thinking(llm.ThinkingOff)),
			Want: []string{"+chat_template_args.c null"},
		},
		{Name: "openRouterRouting", Value: `{"only":["a"],"sort":{"by":"price"}}`, Want: []string{`+provider.only.0 "a"`, `+provider.sort.by "price"`}},
		{Name: "vercelGatewayRouting", Value: `{"only":["a"],"order":["b"]}`, Want: []string{`+providerOptions.gateway.only.0 "a"`, `+providerOptions.gateway.order.0 "b"`}},
		{Name: "zaiToolStream", Value: `true`, Want: []string{"+tool_stream true"}},
		{Name: "thinkingTokenBudgetField", Value: `"thinking_token_budget"`, Prepare: high, Want: []string{"+thinking_token_budget 3976"}},
		{Name: "thinkingTokenBudgetField", Value: `"thinking_budget"`, Prepare: thinking(llm.ThinkingLow), Want: []string{"+thinking_budget 2048"}},
		{Name: "thinkingTokenBudgetField", Value: `"thinking_budget_tokens"`, Prepare: thinking(llm.ThinkingLow), Want: []string{"+thinking_budget_tokens 2048"}},
		{Name: "supportsThinkingTokenBudget", Value: `true`, Prepare: high, Want: []string{"+thinking_token_budget 3976"}},
		{Name: "supportsOpenAIGrammarTools", Value: `true`},
		{Name: "supportsMidConvoSystemMessages", Value: `true`},
		{Name: "supportsMidConvoToolAdditions", Value: `true`},
		{Name: "supportsStrictMode", Value: `true`, Want: []string{"+tools.0.function.strict false"}},
		{Name: "supportsStrictMode", Value: `true`, Prepare: llmtest.PreferStrict, Want: []string{
			"+tools.0.function.strict true", "+tools.0.function.parameters.additionalProperties false",
		}},
		{Name: "cacheControlFormat", Value: `"anthropic"`, Want: []string{
			`-messages.0.content "Be brief."`, `+messages.0.content.0.type "text"`, `+messages.0.content.0.text "Be brief."`,
			`+messages.0.content.0.cache_control.type "ephemeral"`, `+messages.1.content.0.cache_control.type "ephemeral"`, `+tools.0.cache_control.type "ephemeral"`,
		}},
		{Name: "sendSessionAffinityHeaders", Value: `true`, Want: []string{
			"+header.Session_id session-1", "+header.X-Client-Request-Id session-1", "+header.X-Session-Affinity session-1",
		}},
		{
			Name: "sessionAffinityFormat", Value: `"openai"`, Prepare: func(req *llm.Request) { req.Model.BaseURL = "https://openrouter.ai/api/v1" },
			Want: []string{"-header.X-Session-Id session-1", "+header.Session_id session-1", "+header.X-Client-Request-Id session-1", "+header.X-Session-Affinity session-1"},
		},
		{Name: "sessionAffinityFormat", Value: `"openai-nosession"`, Prepare: withFlags(`{"sendSessionAffinityHeaders":true}`, nil), Want: []string{"-header.Session_id session-1"}},
		{Name: "sessionAffinityFormat", Value: `"openrouter"`, Prepare: withFlags(`{"sendSessionAffinityHeaders":true}`, nil), Want: []string{
			"-header.Session_id session-1", "-header.X-Client-Request-Id session-1", "-header.X-Session-Affinity session-1", "+header.X-Session-Id session-1",
		}},
		{Name: "promptCacheKeyMode", Value: `"auto"`},
		{Name: "promptCacheKeyMode", Value: `"enabled"`, Want: []string{`+prompt_cache_key "session-1"`}},
		{Name: "promptCacheKeyMode", Value: `"disabled"`, Prepare: long, Want: []string{`-prompt_cache_key "session-1"`}},
		{Name: "supportsLongCacheRetention", Value: `true`}, // nobody asked for one
		{Name: "supportsLongCacheRetention", Value: `false`, Prepare: long, Want: []string{`-prompt_cache_key "session-1"`, `-prompt_cache_retention "24h"`}},
		{
			Name: "supportsLongCacheRetention", Value: `true`,
			Prepare: withFlags(`{"cacheControlFormat":"anthropic"}`, func(req *llm.Request) { long(req); req.Model.Provider = "together" }),
			Want: []string{
				`+prompt_cache_key "session-1"`, `+prompt_cache_retention "24h"`, `+tools.0.cache_control.ttl "1h"`,
				`+messages.0.content.0.cache_control.ttl "1h"`, `+messages.1.content.0.cache_control.ttl "1h"`,
			},
		},
		{Name: "vllmPriority", Value: `-2`, Want: []string{"+priority -2"}},
	})
}
