package llm

import (
	"slices"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// The wire protocols that a model can speak (Model.API).
const (
	APIOpenAICompletions = "openai-completions"
	APIOpenAIResponses   = "openai-responses"
	APIAzureResponses    = "azure-openai-responses"
	APICodexResponses    = "openai-codex-responses"
	APIAnthropicMessages = "anthropic-messages"
	APIBedrockConverse   = "bedrock-converse-stream"
	APIGoogleGenerative  = "google-generative-ai"
	APIGoogleVertex      = "google-vertex"
	APIMistral           = "mistral-conversations"
	APIScripted          = "scripted"
)

// Model describes one model of one provider, as clients see it (seeds/000, Model).
// ContextWindow and MaxTokens are tokens. Compat is raw: each protocol decodes the
// flags it knows; so are InputLimits, PromptCache and the sampling parameters, which
// are as models.json states them. Headers may hold secrets and are never shown to
// clients.
type Model struct {
	ID               string                    `json:"id"`
	Name             string                    `json:"name"`
	API              string                    `json:"api"`
	Provider         string                    `json:"provider"`
	BaseURL          string                    `json:"baseUrl"`
	Reasoning        bool                      `json:"reasoning"`
	ThinkingLevelMap map[ThinkingLevel]*string `json:"thinkingLevelMap,omitzero"`
	Input            []string                  `json:"input"`
	InputLimits      jsonx.Raw                 `json:"inputLimits,omitzero"`
	Cost             ModelCost                 `json:"cost"`
	PromptCache      jsonx.Raw                 `json:"promptCache,omitzero"`
	ContextWindow    int64                     `json:"contextWindow"`
	MaxTokens        int64                     `json:"maxTokens"`
	SamplingParams   jsonx.Raw                 `json:"samplingParams,omitzero"`
	SamplingByLevel  jsonx.Raw                 `json:"samplingParamsByThinkingLevel,omitzero"`
	Compat           jsonx.Raw                 `json:"compat,omitzero"`
	Headers          map[string]string         `json:"-"`
}

// Rates are US dollars per million tokens.
type Rates struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// ModelCost is the price list of a model: base rates and, for some models, tiers
// that apply to a whole request once its input exceeds a number of tokens.
type ModelCost struct {
	Input      float64    `json:"input"`
	Output     float64    `json:"output"`
	CacheRead  float64    `json:"cacheRead"`
	CacheWrite float64    `json:"cacheWrite"`
	Tiers      []CostTier `json:"tiers,omitempty"`
}

// CostTier replaces the rates of a request with more than InputTokensAbove tokens
// of input (cached ones included).
type CostTier struct {
	InputTokensAbove int64   `json:"inputTokensAbove"`
	Input            float64 `json:"input"`
	Output           float64 `json:"output"`
	CacheRead        float64 `json:"cacheRead"`
	CacheWrite       float64 `json:"cacheWrite"`
}

// at returns the rates for a request with that many input tokens: the highest tier
// that it exceeds, else the base rates.
func (c ModelCost) at(inputTokens int64) Rates {
	rates, floor := Rates{c.Input, c.Output, c.CacheRead, c.CacheWrite}, int64(-1)
	for _, t := range c.Tiers {
		if inputTokens > t.InputTokensAbove && t.InputTokensAbove > floor {
			rates, floor = Rates{t.Input, t.Output, t.CacheRead, t.CacheWrite}, t.InputTokensAbove
		}
	}
	return rates
}

// Times returns the price list with all prices multiplied.
func (c ModelCost) Times(factor float64) ModelCost {
	out := ModelCost{factor * c.Input, factor * c.Output, factor * c.CacheRead, factor * c.CacheWrite, nil}
	for _, t := range c.Tiers {
		out.Tiers = append(out.Tiers, CostTier{
			t.InputTokensAbove, factor * t.Input, factor * t.Output, factor * t.CacheRead, factor * t.CacheWrite,
		})
	}
	return out
}

// AcceptsImages reports whether the model takes pictures as input.
func (m *Model) AcceptsImages() bool { return slices.Contains(m.Input, "image") }

// Ref returns "provider/id", the form in which people name a model.
func (m *Model) Ref() string { return m.Provider + "/" + m.ID }

// ThinkingLevel is how much a model is asked to reason.
type ThinkingLevel string

// The thinking levels in ascending order.
const (
	ThinkingOff     ThinkingLevel = "off"
	ThinkingMinimal ThinkingLevel = "minimal"
	ThinkingLow     ThinkingLevel = "low"
	ThinkingMedium  ThinkingLevel = "medium"
	ThinkingHigh    ThinkingLevel = "high"
	ThinkingXHigh   ThinkingLevel = "xhigh"
	ThinkingMax     ThinkingLevel = "max"
)

// ThinkingLevels returns all levels in ascending order.
func ThinkingLevels() []ThinkingLevel {
	return []ThinkingLevel{ThinkingOff, ThinkingMinimal, ThinkingLow, ThinkingMedium, ThinkingHigh, ThinkingXHigh, ThinkingMax}
}

// Valid reports whether l is one of the seven levels.
func (l ThinkingLevel) Valid() bool { return slices.Contains(ThinkingLevels(), l) }

// ThinkingLevels returns the levels that the model supports, in cycle order: only
// off without reasoning; else all that its map does not exclude, xhigh and max
// only when the map names them (atomic-facts.md 10.1). A nil model supports off.
func (m *Model) ThinkingLevels() []ThinkingLevel {
	if m == nil || !m.Reasoning {
		return []ThinkingLevel{ThinkingOff}
	}
	var out []ThinkingLevel
	for _, l := range ThinkingLevels() {
		mapped, named := m.ThinkingLevelMap[l]
		if named && mapped == nil || !named && (l == ThinkingXHigh || l == ThinkingMax) {
			continue
		}
		out = append(out, l)
	}
	return out
}

// ClampThinking returns the supported level nearest to l: itself, else the next
// one upward, else downward, else the first.
func (m *Model) ClampThinking(l ThinkingLevel) ThinkingLevel {
	all, have := ThinkingLevels(), m.ThinkingLevels()
	at := slices.Index(all, l)
	if at < 0 || len(have) == 0 {
		return ThinkingOff
	}
	for _, up := range all[at:] {
		if slices.Contains(have, up) {
			return up
		}
	}
	for i := at - 1; i >= 0; i-- {
		if slices.Contains(have, all[i]) {
			return all[i]
		}
	}
	return have[0]
}

// ProviderThinking returns what the provider calls level l: the model's own word
// for it, else the level's name.
func (m *Model) ProviderThinking(l ThinkingLevel) string {
	if v := m.ThinkingLevelMap[l]; v != nil {
		return *v
	}
	return string(l)
}
