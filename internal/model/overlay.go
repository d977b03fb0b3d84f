package model

import (
	"fmt"
	"maps"
	"slices"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// Texts about a provider of models.json that does not make sense as a whole.
const (
	errNoAPI     = "Provider %s, model %s: no \"api\" specified. Set at provider or model level."
	errNoBaseURL = "Provider %s: \"baseUrl\" is required when defining custom models."
	errNothing   = "Provider %s: must specify \"baseUrl\", \"headers\", \"compat\", \"modelOverrides\", or \"models\"."
)

// provider is a provider with everything merged.
type provider struct {
	id, name   string
	apiKey     string            // config value of models.json, "" when there is none
	headers    map[string]string // config values
	authHeader bool
	models     []*llm.Model
	byID       map[string]*llm.Model
	modelExtra map[string]map[string]string // config values of headers by model id
}

// apply lays one file's words over the provider. An error leaves it as it was.
func (p *provider) apply(cfg *providerConfig) error {
	if cfg.baseURL == "" && cfg.apiKey == "" && cfg.oauth == "" && cfg.headers == nil && cfg.compat == nil &&
		cfg.authHeader == nil && len(cfg.models) == 0 && len(cfg.overrides) == 0 {
		return fmt.Errorf(errNothing, p.id)
	}
	models := make([]*llm.Model, len(p.models), len(p.models)+len(cfg.models))
	for i, old := range p.models {
		m := *old
		if cfg.baseURL != "" {
			m.BaseURL = cfg.baseURL
		}
		if err := mergeInto(&m.Compat, cfg.compat, mergeCompat); err != nil {
			return err
		}
		models[i] = &m
	}
	for _, def := range cfg.models {
		m, err := p.define(def, cfg, models)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(models, func(old *llm.Model) bool { return old.ID == m.ID }); i >= 0 {
			models[i] = m
		} else {
			models = append(models, m)
		}
	}
	for i, old := range models {
		if f, ok := cfg.overrides[old.ID]; ok {
			m := *old
			if err := f.override(&m); err != nil {
				return err
			}
			models[i] = &m
		}
	}
	p.models = models
	p.take(cfg)
	return nil
}

// take takes over what is not about single models.
func (p *provider) take(cfg *providerConfig) {
	if cfg.name != "" {
		p.name = cfg.name
	}
	if cfg.apiKey != "" {
		p.apiKey = cfg.apiKey
	}
	if cfg.authHeader != nil {
		p.authHeader = *cfg.authHeader
	}
	if len(cfg.headers) > 0 {
		p.headers = merged(p.headers, cfg.headers)
	}
	for id, f := range cfg.overrides {
		p.addHeaders(id, f.headers)
	}
	for _, def := range cfg.models {
		p.addHeaders(def.id, def.headers)
	}
}

func (p *provider) addHeaders(id string, headers map[string]string) {
	if len(headers) == 0 {
		return
	}
	if p.modelExtra == nil {
		p.modelExtra = map[string]map[string]string{}
	}
	p.modelExtra[id] = merged(p.modelExtra[id], headers)
}

func merged(base, over map[string]string) map[string]string {
	out := maps.Clone(base)
	if out == nil {
		out = make(map[string]string, len(over))
	}
	maps.Copy(out, over)
	return out
}

// define makes a model from its definition; what neither it nor its provider says
// about api and baseUrl comes from the provider's other models.
func (p *provider) define(def modelConfig, cfg *providerConfig, models []*llm.Model) (*llm.Model, error) {
	api, baseURL := first(def.api, cfg.api), first(def.baseURL, cfg.baseURL)
	if like := likeModel(models, def.id, api); like != nil {
		api, baseURL = first(api, like.API), first(baseURL, like.BaseURL)
	}
	if api == "" {
		return nil, fmt.Errorf(errNoAPI, p.id, def.id)
	}
	if baseURL == "" && api != llm.APIScripted {
		return nil, fmt.Errorf(errNoBaseURL, p.id)
	}
	m := &llm.Model{
		ID: def.id, Name: def.id, API: api, Provider: p.id, BaseURL: baseURL,
		Input: []string{"text"}, ContextWindow: defaultContextWindow, MaxTokens: defaultMaxTokens,
	}
	if err := mergeInto(&m.Compat, cfg.compat, mergeCompat); err != nil {
		return nil, err
	}
	return m, def.override(m)
}

// likeModel returns the model whose api and baseUrl a definition may leave out: the
// one it replaces, else one of its api, else any of Chat Completions, else the first.
func likeModel(models []*llm.Model, id, api string) *llm.Model {
	for _, match := range []func(*llm.Model) bool{
		func(m *llm.Model) bool { return m.ID == id },
		func(m *llm.Model) bool { return api != "" && m.API == api },
		func(m *llm.Model) bool { return m.API == llm.APIOpenAICompletions },
		func(*llm.Model) bool { return true },
	} {
		if i := slices.IndexFunc(models, match); i >= 0 {
			return models[i]
		}
	}
	return nil
}

// override writes what is said into m: objects are merged member by member, other
// values replaced.
func (f fields) override(m *llm.Model) error {
	if f.name != "" {
		m.Name = f.name
	}
	if f.reasoning != nil {
		m.Reasoning = *f.reasoning
	}
	if f.thinkingLevelMap != nil {
		levels := maps.Clone(m.ThinkingLevelMap)
		if levels == nil {
			levels = map[llm.ThinkingLevel]*string{}
		}
		maps.Copy(levels, f.thinkingLevelMap)
		m.ThinkingLevelMap = levels
	}
	if f.input != nil {
		m.Input = f.input
	}
	if f.contextWindow > 0 {
		m.ContextWindow = f.contextWindow
	}
	if f.maxTokens > 0 {
		m.MaxTokens = f.maxTokens
	}
	f.cost.override(&m.Cost)
	for _, part := range []struct {
		to    *jsonx.Raw
		from  jsonx.Raw
		merge func(base, over jsonx.Raw) (jsonx.Raw, error)
	}{
		{&m.InputLimits, f.inputLimits, deepMerge},
		{&m.PromptCache, f.promptCache, shallowMerge},
		{&m.SamplingParams, f.sampling, shallowMerge},
		{&m.SamplingByLevel, f.samplingByLevel, deepMerge},
		{&m.Compat, f.compat, mergeCompat},
	} {
		if err := mergeInto(part.to, part.from, part.merge); err != nil {
			return err
		}
	}
	return nil
}

func (c costConfig) override(cost *llm.ModelCost) {
	for _, rate := range []struct {
		to   *float64
		from *float64
	}{{&cost.Input, c.input}, {&cost.Output, c.output}, {&cost.CacheRead, c.cacheRead}, {&cost.CacheWrite, c.cacheWrite}} {
		if rate.from != nil {
			*rate.to = *rate.from
		}
	}
	if c.hasTiers {
		cost.Tiers = c.tiers
	}
}

func mergeInto(to *jsonx.Raw, over jsonx.Raw, merge func(base, over jsonx.Raw) (jsonx.Raw, error)) error {
	if len(over) == 0 {
		return nil
	}
	out, err := merge(*to, over)
	if err == nil {
		*to = out
	}
	return err
}

func shallowMerge(base, over jsonx.Raw) (jsonx.Raw, error) {
	var o jsonx.Object
	if err := o.Merge(base); err != nil {
		return nil, err
	}
	if err := o.Merge(over); err != nil {
		return nil, err
	}
	return jsonx.Marshal(&o)
}

// deepMerge merges objects all the way down; other values of over win.
func deepMerge(base, over jsonx.Raw) (jsonx.Raw, error) {
	return mergeMembers(base, over, func(string) bool { return true }, deepMerge)
}

// mergeCompat merges compat flags member by member; the four members that are
// objects of settings themselves are merged one level deeper.
func mergeCompat(base, over jsonx.Raw) (jsonx.Raw, error) {
	nested := func(name string) bool {
		switch name {
		case "openRouterRouting", "vercelGatewayRouting", "chatTemplateKwargs", "chatTemplateArgs":
			return true
		}
		return false
	}
	// The alias counts as the name it stands for, before the merge: a file that turns
	// one off must not be outvoted by the other from below.
	over, err := withAliases(over)
	if err != nil {
		return nil, err
	}
	return mergeMembers(base, over, nested, shallowMerge)
}

func mergeMembers(base, over jsonx.Raw, nested func(string) bool, merge func(base, over jsonx.Raw) (jsonx.Raw, error)) (jsonx.Raw, error) {
	var o jsonx.Object
	if err := o.Merge(base); err != nil {
		return nil, err
	}
	members, err := jsonx.Members(over)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		old, _ := o.Get(m.Name).(jsonx.Raw)
		if nested(m.Name) && isObject(old) && isObject(m.Value) {
			if m.Value, err = merge(old, m.Value); err != nil {
				return nil, err
			}
		}
		o.Set(m.Name, m.Value)
	}
	return jsonx.Marshal(&o)
}

func isObject(raw jsonx.Raw) bool { return len(raw) > 0 && raw[0] == '{' }

// Two names of one flag: clients know both.
const (
	flagGrammar      = "supportsOpenAIGrammarTools"
	flagGrammarAlias = "supportsGrammarTools"
)

// withAliases returns compat with both names of the grammar flag when it has one.
func withAliases(compat jsonx.Raw) (jsonx.Raw, error) {
	if len(compat) == 0 {
		return nil, nil
	}
	var o jsonx.Object
	if err := o.Merge(compat); err != nil {
		return nil, err
	}
	if v := o.Get(flagGrammar); v != nil {
		o.Set(flagGrammarAlias, v)
	} else if v := o.Get(flagGrammarAlias); v != nil {
		o.Set(flagGrammar, v)
	} else {
		return compat, nil
	}
	return jsonx.Marshal(&o)
}

func first(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}
