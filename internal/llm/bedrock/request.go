package bedrock

import (
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Features that must be asked for in the model's own fields.
const (
	betaInterleaved = "interleaved-thinking-2025-05-14"
	betaBinding     = "thinking-binding-controls-2026-08-01"
	minAnswer       = 1024 // tokens left for the answer beside its thinking
	minBudget       = 1024 // smaller thinking budgets are rejected
)

type (
	requestBody struct {
		Messages  []message   `json:"messages"`
		System    []block     `json:"system,omitzero"`
		Inference inference   `json:"inferenceConfig"`
		Tools     *toolConfig `json:"toolConfig,omitzero"`
		Fields    *fields     `json:"additionalModelRequestFields,omitzero"`
	}
	inference struct {
		MaxTokens int64 `json:"maxTokens,omitzero"`
	}
	toolConfig struct {
		Tools []tool `json:"tools"`
	}
	tool struct {
		Spec toolSpec `json:"toolSpec"`
	}
	toolSpec struct {
		Name        string `json:"name"`
		Description string `json:"description,omitzero"`
		Schema      schema `json:"inputSchema"`
		Strict      bool   `json:"strict,omitzero"`
	}
	schema struct {
		JSON jsonx.Raw `json:"json"`
	}
	// fields are those of a model itself, which Bedrock hands on.
	fields struct {
		Thinking  *thinking `json:"thinking,omitzero"`
		Output    *effort   `json:"output_config,omitzero"`
		Beta      []string  `json:"anthropic_beta,omitzero"`
		Effort    string    `json:"reasoning_effort,omitzero"`
		Reasoning *effort   `json:"reasoning,omitzero"`
	}
	thinking struct {
		Type    string   `json:"type"`
		Budget  int64    `json:"budget_tokens,omitzero"`
		Display string   `json:"display,omitzero"`
		Binding *binding `json:"block_binding,omitzero"`
	}
	binding struct {
		Mismatch string `json:"prefix_mismatch_behavior"`
	}
	effort struct {
		Effort string `json:"effort"`
	}
	cachePoint struct {
		Type string `json:"type"`
		TTL  string `json:"ttl,omitzero"`
	}
)

// body returns the request's JSON.
func (c *call) body() (*requestBody, error) {
	b := &requestBody{Inference: inference{llm.AnswerBudget(c.req)}}
	b.Fields = c.think(&b.Inference.MaxTokens)
	cache := c.cachePoint()
	b.Messages = messages(c.req, cache)
	if strings.TrimSpace(c.req.System) != "" {
		b.System = []block{{Text: c.req.System}}
		if cache != nil {
			b.System = append(b.System, block{Cache: cache})
		}
	}
	var err error
	b.Tools, err = tools(c.req, b.Messages)
	return b, err
}

// compat are the flags of Model.Compat that this protocol knows.
type compat struct {
	Strict bool `json:"supportsStrictMode"`
}

// strictRule returns what strict tools may be. More of them, or more optional members in
// all, make Claude reject the request.
func strictRule(m *llm.Model) (llm.StrictRule, error) {
	var c compat
	if len(m.Compat) > 0 {
		if err := jsonx.Unmarshal(m.Compat, &c); err != nil {
			return llm.StrictRule{}, fmt.Errorf("compat of %s: %w", m.Ref(), err)
		}
	}
	r := llm.StrictRule{On: c.Strict}
	if isClaude(m) {
		r.Tools, r.Options = 20, 16
	}
	return r, nil
}

// tools declares the tools. A history with calls needs a declaration even where the
// request has no tools (summaries).
func tools(req *llm.Request, history []message) (*toolConfig, error) {
	rule, err := strictRule(req.Model)
	if err != nil {
		return nil, err
	}
	schemas, err := rule.Schemas(req.Tools)
	if err != nil {
		return nil, err
	}
	empty := jsonx.Raw(`{"type":"object","properties":{}}`)
	t := &toolConfig{}
	for i, spec := range req.Tools {
		parameters, strict := spec.Parameters, schemas[i] != nil
		switch {
		case strict:
			parameters = schemas[i]
		case parameters.Kind() != '{':
			parameters = empty
		}
		t.Tools = append(t.Tools, tool{toolSpec{spec.Name, spec.Description, schema{parameters}, strict}})
	}
	if len(t.Tools) == 0 {
		seen := map[string]bool{}
		for _, m := range history {
			for _, b := range m.Content {
				if b.Use != nil && !seen[b.Use.Name] {
					seen[b.Use.Name] = true
					t.Tools = append(t.Tools, tool{toolSpec{b.Use.Name, "Not to be called.", schema{empty}, false}})
				}
			}
		}
	}
	if len(t.Tools) == 0 {
		return nil, nil
	}
	return t, nil
}

// cachePoint returns the marker of what is to be cached, nil for none.
func (c *call) cachePoint() *cachePoint {
	m := c.req.Model
	forced := !like(m, "claude") && c.getenv("AWS_BEDROCK_FORCE_CACHE") == "1"
	if c.req.NoCache || !caches(m) && !forced {
		return nil
	}
	p := &cachePoint{Type: "default"}
	if wire.LongCache(c.req, c.getenv) {
		p.TTL = "1h"
	}
	return p
}

// think returns the model's own fields for a thinking level, nil for none, and adds the
// thinking to the cap of the answer where that contains both.
func (c *call) think(maxTokens *int64) *fields {
	m, level := c.req.Model, c.req.Thinking
	if !m.Reasoning || level == "" || level == llm.ThinkingOff {
		return nil
	}
	switch {
	case isClaude(m) && adaptive(m):
		return c.thinkAdaptively(level)
	case isClaude(m):
		return c.thinkWithin(level, maxTokens)
	case like(m, "gpt-oss"):
		return &fields{Effort: c.say(level, gptOSSEffort(level))}
	case like(m, "gpt-"):
		word := gptEffort(level)
		if v := m.ThinkingLevelMap[level]; v != nil {
			word = *v
		}
		return &fields{Reasoning: &effort{c.say(level, word)}}
	}
	return nil
}

// say remembers what the provider calls a level.
func (c *call) say(level llm.ThinkingLevel, word string) string {
	if word != string(level) {
		c.level = word
	}
	return word
}

func (c *call) thinkAdaptively(level llm.ThinkingLevel) *fields {
	m := c.req.Model
	word := claudeEffort(m, level)
	f := &fields{Thinking: &thinking{Type: "adaptive", Display: c.display()}, Output: &effort{c.say(level, word)}}
	if bindsBlocks(m) && !c.onGovCloud() {
		// Signed reasoning of before a change of tools or prompt is dropped, not refused.
		f.Thinking.Binding, f.Beta = &binding{"drop_block"}, []string{betaBinding}
	}
	return f
}

func (c *call) thinkWithin(level llm.ThinkingLevel, maxTokens *int64) *fields {
	budget := level.Budget()
	most := *maxTokens + budget
	if limit := c.req.Model.MaxTokens; limit > 0 {
		most = min(most, limit)
	}
	*maxTokens = llm.FitAnswer(c.req, most)
	budget = min(budget, *maxTokens-minAnswer)
	if budget < minBudget {
		return nil // no room for any
	}
	return &fields{
		Thinking: &thinking{Type: "enabled", Budget: budget, Display: c.display()},
		Beta:     []string{betaInterleaved},
	}
}

// display asks for reasoning as a summary, which the government's regions do not know.
func (c *call) display() string {
	if c.onGovCloud() {
		return ""
	}
	return "summarized"
}

func (c *call) onGovCloud() bool {
	id := strings.ToLower(c.req.Model.ID)
	return strings.HasPrefix(strings.ToLower(c.configuredRegion()), "us-gov-") || strings.HasPrefix(id, "us-gov.") ||
		strings.HasPrefix(id, "arn:aws-us-gov:")
}

// claudeEffort returns the effort of a level for a Claude that decides itself.
func claudeEffort(m *llm.Model, l llm.ThinkingLevel) string {
	if l == llm.ThinkingXHigh && bindsBlocks(m) {
		return "xhigh"
	}
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

// gptEffort returns the effort of a level for OpenAI's models, which know no minimal.
func gptEffort(l llm.ThinkingLevel) string {
	if l == llm.ThinkingMinimal {
		return "low"
	}
	return string(l)
}

// gptOSSEffort returns the effort of a level for gpt-oss, which knows three.
func gptOSSEffort(l llm.ThinkingLevel) string {
	switch l {
	case llm.ThinkingMinimal, llm.ThinkingLow:
		return "low"
	case llm.ThinkingMedium:
		return "medium"
	}
	return "high"
}
