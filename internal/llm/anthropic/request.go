package anthropic

import (
	"net/http"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Features that must be asked for in the header anthropic-beta.
const (
	version         = "2023-06-01"
	betaOAuth       = "claude-code-20250219,oauth-2025-04-20"
	betaInterleaved = "interleaved-thinking-2025-05-14"
	betaFineGrained = "fine-grained-tool-streaming-2025-05-14"
	betaFallback    = "server-side-fallback-2026-07-01"
	betaEffort      = "mid-conversation-output-config-2026-07-01,thinking-binding-controls-2026-08-01"
	identityOfOAuth = "You are Claude Code, Anthropic's official CLI for Claude."
	oauthKey        = "sk-ant-oat"
	envAuthToken    = "ANTHROPIC_AUTH_TOKEN"
	thinkingDisplay = "summarized"
	minAnswer       = 1024 // tokens left for the answer beside its thinking
	minBudget       = 1024 // smaller thinking budgets are rejected
)

// compat are the flags of Model.Compat that this protocol knows.
type compat struct {
	Eager            *bool     `json:"supportsEagerToolInputStreaming"`
	LongCache        *bool     `json:"supportsLongCacheRetention"`
	CacheOnTools     *bool     `json:"supportsCacheControlOnTools"`
	SessionAffinity  *bool     `json:"sendSessionAffinityHeaders"`
	AffinityFormat   string    `json:"sessionAffinityFormat"`
	EmptySignature   bool      `json:"allowEmptySignature"`
	AdaptiveThinking bool      `json:"forceAdaptiveThinking"`
	MidConvoEffort   bool      `json:"supportsMidConvoEffort"`
	StrictTools      bool      `json:"supportsStrictTools"`
	Fallbacks        []allowed `json:"allowedFallbackModels"`
}

// on returns a flag, or def when it is not set.
func on(flag *bool, def bool) bool {
	if flag == nil {
		return def
	}
	return *flag
}

// call is one request in the making.
type call struct {
	req    *llm.Request
	compat compat
	oauth  bool
	cache  *cacheControl // nil: no markers

	maxTokens int64
	thinking  *thinking
	output    *outputConfig
	schemas   []jsonx.Raw // of strict tools, nil for the others
	effort    string      // told by a message at the end, "" for none
	level     string      // what the provider calls the thinking level, when it differs or is told
}

// newCall decides what a request asks for; the error is an *llm.Error.
func newCall(req *llm.Request) (*call, error) {
	c := &call{req: req}
	if len(req.Model.Compat) > 0 {
		if err := jsonx.Unmarshal(req.Model.Compat, &c.compat); err != nil {
			return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: textBadRequest + "compat of " + req.Model.Ref() + ": " + err.Error(), Err: err}
		}
	}
	if req.APIKey == "" && !ownsAuth(c.extra()) {
		return nil, wire.NoKey(req.Model)
	}
	var err error
	if c.schemas, err = strictRule(c.compat.StrictTools).Schemas(req.Tools); err != nil {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: textBadRequest + err.Error(), Err: err}
	}
	c.oauth = strings.Contains(req.APIKey, oauthKey) && req.Model.Provider != "github-copilot"
	if !req.NoCache {
		c.cache = &cacheControl{Type: "ephemeral"}
		if on(c.compat.LongCache, true) && wire.LongCache(req, nil) {
			c.cache.TTL = "1h"
		}
	}
	c.think()
	return c, nil
}

// path is what follows the base URL: some are given with the version, as those of
// other protocols are.
func path(base string) string {
	if strings.HasSuffix(strings.TrimRight(base, "/"), "/v1") {
		return "/messages"
	}
	return "/v1/messages"
}

// extra returns the headers of the model and of the request.
func (c *call) extra() http.Header { return wire.Headers(c.req.Model.Headers, c.req.Headers) }

// ownsAuth reports whether headers carry a credential of their own.
func ownsAuth(h http.Header) bool {
	return h.Get("Authorization") != "" || h.Get("X-Api-Key") != "" || h.Get("Cf-Aig-Authorization") != ""
}

// header returns the request's headers. Headers of the model and of the request win
// over those made here; a beta header of theirs replaces ours, an empty one removes it.
func (c *call) header() http.Header {
	own := map[string]string{
		"anthropic-version": version,
		"anthropic-beta":    strings.Join(c.betas(), ","),
	}
	if key := c.req.APIKey; key != "" {
		if c.bearer() {
			own["Authorization"] = "Bearer " + key
		} else {
			own["x-api-key"] = key
		}
	}
	if name := c.affinity(); name != "" {
		own[name] = c.req.SessionID
	}
	return wire.Headers(own, c.req.Model.Headers, c.req.Headers)
}

// bearer reports whether the key is a token for the header Authorization.
func (c *call) bearer() bool {
	return c.oauth || c.req.Model.Provider == "github-copilot" ||
		c.req.Model.Provider == "anthropic" && c.req.APIKey == wire.Getenv(c.req, envAuthToken)
}

// affinity returns the header that keeps a session on one machine, "" for none.
func (c *call) affinity() string {
	openrouter := isOpenRouter(c.req.Model)
	if c.req.SessionID == "" || c.req.NoCache || !on(c.compat.SessionAffinity, openrouter) {
		return ""
	}
	if c.compat.AffinityFormat == "openrouter" || c.compat.AffinityFormat == "" && openrouter {
		return "x-session-id"
	}
	return "x-session-affinity"
}

func isOpenRouter(m *llm.Model) bool {
	return m.Provider == "openrouter" || strings.Contains(m.BaseURL, "openrouter.ai")
}

func (c *call) betas() []string {
	var betas []string
	if c.oauth {
		betas = append(betas, betaOAuth)
	}
	if len(c.req.Tools) > 0 && !on(c.compat.Eager, true) {
		betas = append(betas, betaFineGrained)
	}
	if c.thinking != nil && c.thinking.Type == "enabled" {
		betas = append(betas, betaInterleaved)
	}
	if len(c.compat.Fallbacks) > 0 {
		betas = append(betas, betaFallback)
	}
	if c.compat.MidConvoEffort {
		betas = append(betas, betaEffort)
	}
	return betas
}

// think sets the thinking parameters and the cap on the answer, which contains both.
func (c *call) think() {
	m, level := c.req.Model, c.req.Thinking
	c.maxTokens = llm.AnswerBudget(c.req)
	if !m.Reasoning {
		return
	}
	if level == "" || level == llm.ThinkingOff {
		if off, named := m.ThinkingLevelMap[llm.ThinkingOff]; !named || off != nil {
			c.thinking = &thinking{Type: "disabled"}
		}
		return
	}
	if c.compat.MidConvoEffort {
		// The effort of an answer is told before it, so that a change of level leaves the
		// prompt cache valid; that of the request stays the lowest, which no organisation
		// forbids. Reasoning that no longer fits its place is dropped, not refused.
		c.effort = effort(m, level)
		c.level = c.effort
		c.thinking = &thinking{Type: "adaptive", Display: thinkingDisplay, Binding: &binding{"drop_block"}}
		c.output = &outputConfig{Effort: "low"}
		return
	}
	if c.compat.AdaptiveThinking {
		c.thinking = &thinking{Type: "adaptive", Display: thinkingDisplay}
		c.output = &outputConfig{Effort: effort(m, level)}
		if c.output.Effort != string(level) {
			c.level = c.output.Effort
		}
		return
	}
	budget := level.Budget()
	most := c.maxTokens + budget
	if m.MaxTokens > 0 {
		most = min(most, m.MaxTokens)
	}
	c.maxTokens = llm.FitAnswer(c.req, most)
	budget = min(budget, c.maxTokens-minAnswer)
	if budget < minBudget {
		c.thinking = &thinking{Type: "disabled"} // no room for any
		return
	}
	c.thinking = &thinking{Type: "enabled", Budget: budget, Display: thinkingDisplay}
}

// prices returns those of another model of this provider that may answer in place of the
// request's, nil for all others.
func (c *call) prices(model string) *llm.ModelCost {
	for _, a := range c.compat.Fallbacks {
		if m := c.req.Model; a.Model == model && a.Model != m.ID && a.Provider == m.Provider {
			return &a.Cost
		}
	}
	return nil
}

// effort returns the effort of a level for models that decide themselves how much to
// think.
func effort(m *llm.Model, l llm.ThinkingLevel) string {
	if v := m.ThinkingLevelMap[l]; v != nil {
		return *v
	}
	switch l {
	case llm.ThinkingMinimal, llm.ThinkingLow:
		return "low"
	case llm.ThinkingMedium:
		return "medium"
	}
	return "high"
}

type (
	thinking struct {
		Type    string `json:"type"`
		Budget  int64  `json:"budget_tokens,omitzero"`
		Display string `json:"display,omitzero"`
		// Binding says what becomes of signed reasoning behind a changed prompt.
		Binding *binding `json:"block_binding,omitzero"`
	}
	binding struct {
		Mismatch string `json:"prefix_mismatch_behavior"`
	}
	outputConfig struct {
		Effort string `json:"effort"`
	}
	cacheControl struct {
		Type string `json:"type"`
		TTL  string `json:"ttl,omitzero"`
	}
	requestBody struct {
		Model     string        `json:"model"`
		Messages  []message     `json:"messages"`
		MaxTokens int64         `json:"max_tokens"`
		Stream    bool          `json:"stream"`
		System    []block       `json:"system,omitempty"`
		Tools     []tool        `json:"tools,omitempty"`
		Thinking  *thinking     `json:"thinking,omitzero"`
		Output    *outputConfig `json:"output_config,omitzero"`
		Fallbacks []fallback    `json:"fallbacks,omitempty"`
	}
	// fallback is a model that may answer where this one refuses.
	fallback struct {
		Model string `json:"model"`
	}
	// allowed is a fallback as models.json states it: with its prices.
	allowed struct {
		Provider string        `json:"provider"`
		Model    string        `json:"model"`
		Cost     llm.ModelCost `json:"cost"`
	}
	tool struct {
		Name        string        `json:"name"`
		Description string        `json:"description"`
		Eager       bool          `json:"eager_input_streaming,omitzero"`
		Strict      bool          `json:"strict,omitzero"`
		Schema      any           `json:"input_schema"` // inputSchema, or a strict schema
		Cache       *cacheControl `json:"cache_control,omitzero"`
	}
	// inputSchema is what the provider accepts at the root of a schema.
	inputSchema struct {
		Type        string    `json:"type"`
		Properties  jsonx.Raw `json:"properties"`
		Required    jsonx.Raw `json:"required"`
		Additional  jsonx.Raw `json:"additionalProperties,omitzero"`
		Defs        jsonx.Raw `json:"$defs,omitzero"`
		Definitions jsonx.Raw `json:"definitions,omitzero"`
	}
)

// body returns the request's body.
func (c *call) body() *requestBody {
	var fallbacks []fallback
	for _, a := range c.compat.Fallbacks {
		fallbacks = append(fallbacks, fallback{a.Model})
	}
	return &requestBody{
		Model: c.req.Model.ID, Messages: c.messages(), MaxTokens: c.maxTokens, Stream: true,
		System: c.system(), Tools: c.tools(), Thinking: c.thinking, Output: c.output, Fallbacks: fallbacks,
	}
}

func (c *call) system() []block {
	var out []block
	if c.oauth {
		out = append(out, block{Type: "text", Text: identityOfOAuth, Cache: c.cache})
	}
	if strings.TrimSpace(c.req.System) != "" {
		out = append(out, block{Type: "text", Text: c.req.System, Cache: c.cache})
	}
	return out
}

func (c *call) tools() []tool {
	out := make([]tool, 0, len(c.req.Tools))
	for i, spec := range c.req.Tools {
		t := tool{Name: spec.Name, Description: spec.Description, Eager: on(c.compat.Eager, true), Schema: laxSchema(spec.Parameters)}
		if c.schemas[i] != nil {
			t.Schema, t.Strict = c.schemas[i], true
		}
		out = append(out, t)
	}
	if n := len(out); n > 0 && on(c.compat.CacheOnTools, true) {
		out[n-1].Cache = c.cache
	}
	return out
}

// laxSchema returns a schema as the provider accepts it. One that does not decode becomes
// one without properties: the provider would reject the whole request for it.
func laxSchema(parameters jsonx.Raw) inputSchema {
	var s inputSchema
	if len(parameters) == 0 || jsonx.Unmarshal(parameters, &s) != nil {
		s = inputSchema{}
	}
	s.Type = "object"
	if s.Properties.Kind() != '{' {
		s.Properties = jsonx.Raw("{}")
	}
	if s.Required.Kind() != '[' {
		s.Required = jsonx.Raw("[]")
	}
	return s
}
