package openai

import (
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// flags are the compat flags of models.json for this protocol, as written there:
// nil (or empty) where a file says nothing. Flags of wrong type are an error.
type flags struct {
	SupportsStore                               *bool                `json:"supportsStore"`
	SupportsDeveloperRole                       *bool                `json:"supportsDeveloperRole"`
	SupportsReasoningEffort                     *bool                `json:"supportsReasoningEffort"`
	SupportsUsageInStreaming                    *bool                `json:"supportsUsageInStreaming"`
	SupportsFinishReason                        *bool                `json:"supportsFinishReason"`
	MaxTokensField                              string               `json:"maxTokensField"`
	RequiresToolResultName                      *bool                `json:"requiresToolResultName"`
	RequiresAssistantAfterToolResult            *bool                `json:"requiresAssistantAfterToolResult"`
	RequiresNonNullAssistantContent             *bool                `json:"requiresNonNullAssistantContent"`
	RequiresToolsWithToolHistory                *bool                `json:"requiresToolsWithToolHistory"`
	RequiresThinkingAsText                      *bool                `json:"requiresThinkingAsText"`
	RequiresReasoningContentOnAssistantMessages *bool                `json:"requiresReasoningContentOnAssistantMessages"`
	ThinkingFormat                              string               `json:"thinkingFormat"`
	ChatTemplateKwargs                          map[string]jsonx.Raw `json:"chatTemplateKwargs"`
	ChatTemplateArgs                            map[string]jsonx.Raw `json:"chatTemplateArgs"`
	OpenRouterRouting                           jsonx.Raw            `json:"openRouterRouting"`
	VercelGatewayRouting                        *gatewayRouting      `json:"vercelGatewayRouting"`
	ZaiToolStream                               *bool                `json:"zaiToolStream"`
	ThinkingTokenBudgetField                    string               `json:"thinkingTokenBudgetField"`
	SupportsThinkingTokenBudget                 *bool                `json:"supportsThinkingTokenBudget"`
	SupportsStrictMode                          *bool                `json:"supportsStrictMode"`
	CacheControlFormat                          string               `json:"cacheControlFormat"`
	SendSessionAffinityHeaders                  *bool                `json:"sendSessionAffinityHeaders"`
	SessionAffinityFormat                       string               `json:"sessionAffinityFormat"`
	PromptCacheKeyMode                          string               `json:"promptCacheKeyMode"`
	SupportsLongCacheRetention                  *bool                `json:"supportsLongCacheRetention"`
	VLLMPriority                                *float64             `json:"vllmPriority"`
}

type gatewayRouting struct {
	Only  []string `json:"only,omitempty"`
	Order []string `json:"order,omitempty"`
}

// compat is what a server wants and understands.
type compat struct {
	flags
	store, developerRole, reasoningEffort, streamUsage, finishReason bool
	toolResultName, assistantAfterResult, nonNullContent, emptyTools bool
	thinkingAsText, reasoningContent, toolStream, strict, affinity   bool
	longCache                                                        bool
	maxTokensField, thinkingFormat, budgetField                      string
	cacheControl, affinityFormat                                     string
}

// Names of thinkingFormat (providers.md, "Thinking switches").
const (
	formatOpenAI         = "openai"
	formatOpenRouter     = "openrouter"
	formatDeepSeek       = "deepseek"
	formatTogether       = "together"
	formatBaseten        = "baseten"
	formatZai            = "zai"
	formatQwen           = "qwen"
	formatQwenTemplate   = "qwen-chat-template"
	formatChatTemplate   = "chat-template"
	formatStringThinking = "string-thinking"
	formatAntLing        = "ant-ling"
)

// Values of other flags.
const (
	affinityOpenAI        = "openai"
	affinityOpenRouter    = "openrouter"
	fieldMaxTokens        = "max_tokens"
	fieldMaxCompletion    = "max_completion_tokens"
	cacheControlAnthropic = "anthropic"
	cacheKeyEnabled       = "enabled"
	cacheKeyDisabled      = "disabled"
	fieldThinkingBudget   = "thinking_token_budget"
)

// hostOpenAI is the one server that has all of OpenAI's own extensions.
const hostOpenAI = "api.openai.com"

// serverKind tells servers apart by provider id and base URL.
type serverKind struct {
	zai, together, moonshot, openRouter, workersAI, gateway, nvidia, antLing bool
	cerebras, deepSeek, xai, chutes, openCode, openAI                        bool
}

func kindOf(m *llm.Model) serverKind {
	url := strings.ToLower(m.BaseURL)
	is := func(providers, hosts []string) bool {
		for _, p := range providers {
			if m.Provider == p {
				return true
			}
		}
		for _, h := range hosts {
			if strings.Contains(url, h) {
				return true
			}
		}
		return false
	}
	one := func(s ...string) []string { return s }
	return serverKind{
		zai:        is(one("zai", "zai-coding-cn"), one("api.z.ai", "open.bigmodel.cn")),
		together:   is(one("together"), one("api.together.ai", "api.together.xyz")),
		moonshot:   is(one("moonshotai", "moonshotai-cn"), one("api.moonshot.")),
		openRouter: is(one("openrouter"), one("openrouter.ai")),
		workersAI:  is(one("cloudflare-workers-ai"), one("api.cloudflare.com")),
		gateway:    is(one("cloudflare-ai-gateway"), one("gateway.ai.cloudflare.com")),
		nvidia:     is(one("nvidia"), one("integrate.api.nvidia.com")),
		antLing:    is(one("ant-ling"), one("api.ant-ling.com")),
		cerebras:   is(one("cerebras"), one("cerebras.ai")),
		deepSeek:   is(one("deepseek"), one("deepseek.com")),
		xai:        is(one("xai"), one("api.x.ai")),
		chutes:     is(nil, one("chutes.ai")),
		openCode:   is(one("opencode"), one("opencode.ai")),
		openAI:     is(one("openai"), one(hostOpenAI)),
	}
}

// compatOf returns what the model's server wants: the flags of its compat where they
// are set, else what its provider id and base URL suggest.
func compatOf(m *llm.Model) (*compat, error) {
	c := &compat{}
	if len(m.Compat) > 0 {
		if err := jsonx.Unmarshal(m.Compat, &c.flags); err != nil {
			return nil, fmt.Errorf("compat of %s: %w", m.Ref(), err)
		}
	}
	k := kindOf(m)
	plainStore := k.nvidia || k.cerebras || k.xai || k.together || k.chutes || k.deepSeek || k.zai ||
		k.moonshot || k.openCode || k.workersAI || k.gateway || k.antLing
	oldMaxTokens := k.chutes || k.deepSeek || k.moonshot || k.gateway || k.together || k.nvidia || k.antLing || k.zai
	noEffort := k.xai || k.zai || k.moonshot || k.together || k.gateway || k.nvidia || k.antLing

	c.store = flag(c.SupportsStore, !plainStore)
	c.developerRole = flag(c.SupportsDeveloperRole, k.openAI)
	c.reasoningEffort = flag(c.SupportsReasoningEffort, !noEffort)
	c.streamUsage = flag(c.SupportsUsageInStreaming, true)
	c.finishReason = flag(c.SupportsFinishReason, true)
	c.toolResultName = flag(c.RequiresToolResultName, false)
	c.assistantAfterResult = flag(c.RequiresAssistantAfterToolResult, false)
	c.nonNullContent = c.assistantAfterResult || flag(c.RequiresNonNullAssistantContent, false)
	c.emptyTools = flag(c.RequiresToolsWithToolHistory, false)
	c.thinkingAsText = flag(c.RequiresThinkingAsText, false)
	c.reasoningContent = flag(c.RequiresReasoningContentOnAssistantMessages, k.deepSeek)
	c.toolStream = flag(c.ZaiToolStream, false)
	c.strict = flag(c.SupportsStrictMode, false)
	c.affinity = flag(c.SendSessionAffinityHeaders, k.openRouter)
	c.affinityFormat = pick(k.openRouter, affinityOpenRouter, affinityOpenAI, c.SessionAffinityFormat)
	c.maxTokensField = pick(oldMaxTokens, fieldMaxTokens, fieldMaxCompletion, c.MaxTokensField)
	c.thinkingFormat = or(c.ThinkingFormat, k.thinkingFormat())
	c.budgetField = or(c.ThinkingTokenBudgetField, pick(flag(c.SupportsThinkingTokenBudget, false), fieldThinkingBudget, "", ""))
	c.cacheControl = pick(m.Provider == "openrouter" && strings.HasPrefix(m.ID, "anthropic/"), cacheControlAnthropic, "", c.CacheControlFormat)
	c.longCache = flag(c.SupportsLongCacheRetention, !(k.together || k.workersAI || k.gateway || k.nvidia || k.antLing))
	return c, nil
}

// namesSession reports whether a request names its session for the prompt cache; long
// says that the cache is to last.
func (c *compat) namesSession(m *llm.Model, long bool) bool {
	switch c.PromptCacheKeyMode {
	case cacheKeyEnabled:
		return true
	case cacheKeyDisabled:
		return false
	}
	return long || strings.Contains(m.BaseURL, hostOpenAI)
}

func (k serverKind) thinkingFormat() string {
	switch {
	case k.deepSeek:
		return formatDeepSeek
	case k.zai:
		return formatZai
	case k.together:
		return formatTogether
	case k.antLing:
		return formatAntLing
	case k.openRouter:
		return formatOpenRouter
	}
	return formatOpenAI
}

func flag(set *bool, guess bool) bool {
	if set != nil {
		return *set
	}
	return guess
}

func or(set, guess string) string {
	if set != "" {
		return set
	}
	return guess
}

// pick returns set, or when it is empty yes or no by the guess.
func pick(guess bool, yes, no, set string) string {
	switch {
	case set != "":
		return set
	case guess:
		return yes
	}
	return no
}
