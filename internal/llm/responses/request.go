package responses

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

const (
	// path is added to a model's base URL.
	path = "/responses"
	// maxCacheKey is the longest prompt_cache_key, in characters.
	maxCacheKey = 64
	// minOutput is the least max_output_tokens that OpenAI accepts.
	minOutput = 16
)

// compat is the part of a model's compat flags that this protocol knows
// (models.json, openai-responses).
type compat struct {
	SupportsDeveloperRole           *bool  `json:"supportsDeveloperRole"`
	SessionAffinityFormat           string `json:"sessionAffinityFormat"`
	PromptCacheKeyMode              string `json:"promptCacheKeyMode"`
	SupportsStrictMode              *bool  `json:"supportsStrictMode"`
	SupportsExplicitPromptCacheMode bool   `json:"supportsExplicitPromptCacheMode"`
	SupportsMaxOutputTokens         *bool  `json:"supportsMaxOutputTokens"`
	SupportsLongCacheRetention      *bool  `json:"supportsLongCacheRetention"`
	SupportsMidConvoEffort          bool   `json:"supportsMidConvoEffort"`
}

func compatOf(m *llm.Model) (*compat, error) {
	c := &compat{}
	if len(m.Compat) > 0 {
		if err := jsonx.Unmarshal(m.Compat, c); err != nil {
			return nil, fmt.Errorf("compat of %s: %w", m.Ref(), err)
		}
	}
	if c.SessionAffinityFormat == "" {
		c.SessionAffinityFormat = "openai"
		if m.Provider == "openrouter" || strings.Contains(m.BaseURL, "openrouter.ai") {
			c.SessionAffinityFormat = "openrouter"
		}
	}
	return c, nil
}

func allowed(flag *bool) bool { return flag == nil || *flag }

// signedIn reports whether the key is a "Sign in with ChatGPT" token, which has fewer
// request fields.
func signedIn(req *llm.Request) bool {
	m := req.Model
	return m.Provider == "openai" && strings.TrimRight(m.BaseURL, "/") == "https://api.openai.com/v1" &&
		req.APIKey != "" && !strings.HasPrefix(req.APIKey, "sk-")
}

func onAzure(m *llm.Model) bool {
	return strings.HasPrefix(m.Provider, "azure") || strings.Contains(m.BaseURL, ".azure.com")
}

// tool is a tool's declaration.
type tool struct {
	Type        string    `json:"type"`
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Parameters  jsonx.Raw `json:"parameters"`
	Strict      jsonx.Raw `json:"strict,omitzero"`
}

type reasoning struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary,omitzero"`
}

type cacheOptions struct {
	Mode string `json:"mode,omitzero"`
	TTL  string `json:"ttl,omitzero"`
}

// body returns the request's JSON (pi-facts.md section 7). The model's sampling
// parameters come last and win over every other member.
func body(req *llm.Request, c *compat) (*jsonx.Object, error) {
	limited := signedIn(req)
	var o jsonx.Object
	o.Set("model", req.Model.ID)
	update := c.update(req)
	o.Set("input", input(req, c, update))
	o.Set("stream", true)
	setCacheKey(&o, req, c)
	if !limited {
		setRetention(&o, req, c)
	}
	o.Set("store", false)
	if !limited {
		setCap(&o, req, c)
	}
	if err := setTools(&o, req, c.SupportsStrictMode != nil && *c.SupportsStrictMode, jsonx.Raw("false")); err != nil {
		return nil, err
	}
	think(&o, req, update)
	return &o, req.Model.Sampling(level(req), &o)
}

// update returns the effort that an item of the input is to tell, "" for none: Azure and
// sign-ins take no such items.
func (c *compat) update(req *llm.Request) string {
	switch l := level(req); {
	case !c.SupportsMidConvoEffort || req.Model.API == llm.APIAzureResponses || signedIn(req):
	case req.Model.API == llm.APICodexResponses:
		return codexEffort(req)
	case l != llm.ThinkingOff:
		return req.Model.ProviderThinking(l)
	}
	return ""
}

// setRetention says how long the prompt cache is to last. Models with explicit caches
// have words of their own for that, and cache nothing only when told so.
func setRetention(o *jsonx.Object, req *llm.Request, c *compat) {
	long := allowed(c.SupportsLongCacheRetention) && wire.LongCache(req, nil)
	switch {
	case c.SupportsExplicitPromptCacheMode && req.NoCache:
		o.Set("prompt_cache_options", cacheOptions{Mode: "explicit"})
	case c.SupportsExplicitPromptCacheMode && long:
		o.Set("prompt_cache_options", cacheOptions{TTL: "30m"})
	case long:
		o.Set("prompt_cache_retention", "24h")
	}
}

// setCacheKey names the session for the prompt cache.
func setCacheKey(o *jsonx.Object, req *llm.Request, c *compat) {
	if req.SessionID != "" && !req.NoCache && c.PromptCacheKeyMode != "disabled" {
		o.Set("prompt_cache_key", wire.FirstRunes(req.SessionID, maxCacheKey))
	}
}

// setCap caps the answer.
func setCap(o *jsonx.Object, req *llm.Request, c *compat) {
	if n := llm.AnswerBudget(req); n > 0 && allowed(c.SupportsMaxOutputTokens) {
		o.Set("max_output_tokens", max(n, minOutput))
	}
}

// setTools declares the tools. Where the model takes strict ones, each says whether it is
// one; lax is what those say that are not.
func setTools(o *jsonx.Object, req *llm.Request, strict bool, lax jsonx.Raw) error {
	schemas, err := llm.StrictRule{On: strict}.Schemas(req.Tools)
	if err != nil || len(req.Tools) == 0 {
		return err
	}
	tools := make([]tool, 0, len(req.Tools))
	for i, s := range req.Tools {
		t := tool{Type: "function", Name: s.Name, Description: s.Description, Parameters: s.Parameters}
		switch {
		case schemas[i] != nil:
			t.Parameters, t.Strict = schemas[i], jsonx.Raw("true")
		case strict:
			t.Strict = lax
		}
		tools = append(tools, t)
	}
	o.Set("tools", tools)
	return nil
}

func level(req *llm.Request) llm.ThinkingLevel {
	if req.Thinking == "" || !req.Model.Reasoning {
		return llm.ThinkingOff
	}
	return req.Thinking
}

// updatedEffort is the effort of a request whose input tells the real one: it never
// changes, so that a change of level leaves the prompt cache valid.
const updatedEffort = "medium"

// think sets how much the model is to reason; update is the effort that the input tells.
func think(o *jsonx.Object, req *llm.Request, update string) {
	m := req.Model
	if !m.Reasoning {
		return
	}
	include := []string{"reasoning.encrypted_content"}
	if l := level(req); l != llm.ThinkingOff {
		effort := m.ProviderThinking(l)
		if update != "" {
			effort = updatedEffort
		}
		o.Set("reasoning", reasoning{Effort: effort, Summary: "auto"})
		o.Set("include", include)
	} else if word, named := m.ThinkingLevelMap[l]; m.Provider != "github-copilot" && (!named || word != nil) {
		effort := "none"
		if word != nil {
			effort = *word
		}
		o.Set("reasoning", reasoning{Effort: effort})
	}
	if m.Provider == "xai" { // reasons whatever it is told
		o.Set("include", include)
	}
}

// headers returns the request's headers: the model's own, those that keep a session
// on one server, then the request's.
func headers(req *llm.Request, c *compat) (http.Header, *llm.Error) {
	affinity := map[string]string{}
	if req.SessionID != "" && !req.NoCache {
		if c.SessionAffinityFormat == "openrouter" {
			affinity["x-session-id"] = req.SessionID
		} else {
			if c.SessionAffinityFormat == "openai" {
				affinity["session-id"] = req.SessionID
			}
			affinity["x-client-request-id"] = req.SessionID
		}
	}
	return wire.BearerHeaders(req, affinity)
}
