package openai

import (
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// usage is what servers report of tokens and cost. Cached tokens have three places:
// OpenAI's and OpenRouter's details, DeepSeek's prompt_cache_hit_tokens, Kimi's
// cached_tokens. Values are raw because other servers use the same names for other
// things (Perplexity's cost is an object).
type usage struct {
	PromptTokens      jsonx.Raw    `json:"prompt_tokens"`
	CompletionTokens  jsonx.Raw    `json:"completion_tokens"`
	TotalTokens       jsonx.Raw    `json:"total_tokens"`
	ReasoningTokens   jsonx.Raw    `json:"reasoning_tokens"`
	CacheHitTokens    jsonx.Raw    `json:"prompt_cache_hit_tokens"`
	CachedTokens      jsonx.Raw    `json:"cached_tokens"`
	PromptDetails     tokenDetails `json:"prompt_tokens_details"`
	CompletionDetails tokenDetails `json:"completion_tokens_details"`
	Cost              jsonx.Raw    `json:"cost"`
	IsByok            jsonx.Raw    `json:"is_byok"`
	CostDetails       costDetails  `json:"cost_details"`
}

type tokenDetails struct {
	CachedTokens     jsonx.Raw `json:"cached_tokens"`
	CacheWriteTokens jsonx.Raw `json:"cache_write_tokens"`
	ReasoningTokens  jsonx.Raw `json:"reasoning_tokens"`
}

type costDetails struct {
	Upstream            jsonx.Raw `json:"upstream_inference_cost"`
	UpstreamPrompt      jsonx.Raw `json:"upstream_inference_prompt_cost"`
	UpstreamCompletions jsonx.Raw `json:"upstream_inference_completions_cost"`
}

// number returns the first of some raw values that is a number not below 0.
func number(raws ...jsonx.Raw) (float64, bool) {
	for _, raw := range raws {
		if n, err := strconv.ParseFloat(string(raw), 64); err == nil && n >= 0 && n < 1e15 {
			return n, true
		}
	}
	return 0, false
}

func tokens(raws ...jsonx.Raw) int64 {
	n, _ := number(raws...)
	return int64(n)
}

// parseUsage returns the usage in raw, nil when there is none. Input leaves out what
// was read from and written to the cache. Output has the reasoning: some servers (xAI)
// count that apart, which their total tells.
func parseUsage(raw jsonx.Raw, m *llm.Model) *llm.Usage {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	var u usage
	if jsonx.Unmarshal(raw, &u) != nil {
		return nil
	}
	reasoning := tokens(u.CompletionDetails.ReasoningTokens)
	if reasoning == 0 {
		reasoning = tokens(u.ReasoningTokens)
	}
	out := &llm.Usage{
		Output:     tokens(u.CompletionTokens),
		CacheRead:  tokens(u.PromptDetails.CachedTokens, u.CacheHitTokens, u.CachedTokens),
		CacheWrite: tokens(u.PromptDetails.CacheWriteTokens),
		Reasoning:  &reasoning,
	}
	if total := tokens(u.TotalTokens); reasoning > 0 && total == tokens(u.PromptTokens)+out.Output+reasoning {
		out.Output += reasoning
	}
	out.Input = max(0, tokens(u.PromptTokens)-out.CacheRead-out.CacheWrite)
	if m.Provider == "openrouter" || strings.Contains(m.BaseURL, "openrouter.ai") {
		if cost, ok := u.billed(); ok {
			yes := true
			out.Cost.Total, out.Cost.TotalFromProvider = cost, &yes
		}
	}
	return out
}

// billed returns what OpenRouter charged in US dollars; with the user's own key at
// the upstream provider, that provider's price is part of it.
func (u *usage) billed() (float64, bool) {
	cost, ok := number(u.Cost)
	if !ok || string(u.IsByok) == "false" {
		return cost, ok
	}
	if string(u.IsByok) != "true" {
		return 0, false
	}
	d := u.CostDetails
	upstream, ok := number(d.Upstream)
	if !ok {
		prompt, ok1 := number(d.UpstreamPrompt)
		completions, ok2 := number(d.UpstreamCompletions)
		upstream, ok = prompt+completions, ok1 && ok2
	}
	return cost + upstream, ok
}

// blank reports whether a usage counts nothing: some servers end with one.
func blank(u *llm.Usage) bool {
	return u.Input == 0 && u.Output == 0 && u.CacheRead == 0 && u.CacheWrite == 0
}

func sameUsage(a, b *llm.Usage) bool {
	return a != nil && a.Input == b.Input && a.Output == b.Output && a.CacheRead == b.CacheRead &&
		a.CacheWrite == b.CacheWrite && *a.Reasoning == *b.Reasoning && a.Cost.Total == b.Cost.Total
}
