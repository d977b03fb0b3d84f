package openai

import (
	"net/http"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// path is added to a model's base URL.
const path = "/chat/completions"

// maxCacheKey is the longest prompt_cache_key, in characters.
const maxCacheKey = 64

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitzero"`
}

// tool is a tool's declaration.
type tool struct {
	Type         string        `json:"type"`
	Function     toolFunction  `json:"function"`
	CacheControl *cacheControl `json:"cache_control,omitzero"`
}

type toolFunction struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Parameters  jsonx.Raw `json:"parameters"`
	Strict      *bool     `json:"strict,omitzero"`
}

// body returns the request's JSON (pi-facts.md section 7). The model's sampling
// parameters come last and win over every other member.
func body(req *llm.Request, c *compat) (*jsonx.Object, error) {
	m := req.Model
	history := llm.Replay(req.Messages, m)
	maxTokens := llm.AnswerBudget(req)
	msgs := messages(req.System, history, m, c)
	tools, err := declare(req.Tools, c)
	if err != nil {
		return nil, err
	}
	long := c.longCache && wire.LongCache(req, nil)
	if c.cacheControl == cacheControlAnthropic && !req.NoCache {
		mark := &cacheControl{Type: "ephemeral"}
		if long {
			mark.TTL = "1h"
		}
		markCache(msgs, tools, mark)
	}

	var o jsonx.Object
	o.Set("model", m.ID)
	o.Set("messages", msgs)
	o.Set("stream", true)
	if !req.NoCache && req.SessionID != "" && c.namesSession(m, long) {
		o.Set("prompt_cache_key", wire.FirstRunes(req.SessionID, maxCacheKey))
	}
	if long {
		o.Set("prompt_cache_retention", "24h")
	}
	if c.streamUsage {
		o.Set("stream_options", streamOptions{IncludeUsage: true})
	}
	if c.store {
		o.Set("store", false)
	}
	if maxTokens > 0 {
		o.Set(c.maxTokensField, maxTokens)
	}
	switch {
	case len(tools) > 0:
		o.Set("tools", tools)
		if c.toolStream {
			o.Set("tool_stream", true)
		}
	case c.emptyTools && hasToolHistory(history):
		o.Set("tools", []tool{})
	}
	if c.VLLMPriority != nil {
		o.Set("priority", *c.VLLMPriority)
	}
	t := thinkingOf(req, c, maxTokens)
	t.set(&o)
	route(&o, c)
	return &o, m.Sampling(t.level, &o)
}

func declare(specs []llm.ToolSpec, c *compat) ([]*tool, error) {
	schemas, err := llm.StrictRule{On: c.strict}.Schemas(specs)
	if err != nil {
		return nil, err
	}
	tools := make([]*tool, 0, len(specs))
	for i, s := range specs {
		t := &tool{Type: "function", Function: toolFunction{Name: s.Name, Description: s.Description, Parameters: s.Parameters}}
		strict := schemas[i] != nil
		if strict {
			t.Function.Parameters = schemas[i]
		}
		if c.strict {
			t.Function.Strict = &strict
		}
		tools = append(tools, t)
	}
	return tools, nil
}

func hasToolHistory(history []llm.Message) bool {
	for _, msg := range history {
		switch msg := msg.(type) {
		case *llm.ToolResultMessage:
			return true
		case *llm.AssistantMessage:
			if len(msg.Content.ToolCalls()) > 0 {
				return true
			}
		}
	}
	return false
}

// route sets what gateways read to choose the server behind them.
func route(o *jsonx.Object, c *compat) {
	if len(c.OpenRouterRouting) > 0 && c.OpenRouterRouting.Kind() == '{' {
		o.Set("provider", c.OpenRouterRouting)
	}
	if r := c.VercelGatewayRouting; r != nil && (r.Only != nil || r.Order != nil) {
		o.Set("providerOptions", map[string]any{"gateway": r})
	}
}

// markCache puts Anthropic's cache markers on the system prompt, the last tool, and
// the last message with text.
func markCache(msgs []*message, tools []*tool, mark *cacheControl) {
	for i, m := range msgs {
		if m.Role == "system" || m.Role == "developer" {
			markText(msgs[i], mark)
			break
		}
	}
	if len(tools) > 0 {
		tools[len(tools)-1].CacheControl = mark
	}
	for i := len(msgs) - 1; i >= 0; i-- {
		if m := msgs[i]; m.Role != "system" && m.Role != "developer" && markText(m, mark) {
			return
		}
	}
}

// markText marks a message's last text; false when it has none.
func markText(m *message, mark *cacheControl) bool {
	switch c := m.Content.(type) {
	case string:
		if c == "" {
			return false
		}
		m.Content = []*part{{Type: "text", Text: c, CacheControl: mark}}
		return true
	case []*part:
		for i := len(c) - 1; i >= 0; i-- {
			if c[i].Type == "text" {
				c[i].CacheControl = mark
				return true
			}
		}
	}
	return false
}

// headers returns the request's headers: the model's own, those that keep a session
// on one server, then the request's.
func headers(req *llm.Request, c *compat) (http.Header, *llm.Error) {
	affinity := map[string]string{}
	if c.affinity && !req.NoCache && req.SessionID != "" {
		if c.affinityFormat == affinityOpenRouter {
			affinity["x-session-id"] = req.SessionID
		} else {
			if c.affinityFormat == affinityOpenAI {
				affinity["session_id"] = req.SessionID
			}
			affinity["x-client-request-id"] = req.SessionID
			affinity["x-session-affinity"] = req.SessionID
		}
	}
	return wire.BearerHeaders(req, affinity)
}
