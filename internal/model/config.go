package model

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonc"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// What a model of models.json has when it does not say (pi-facts.md section 1).
const (
	defaultContextWindow = 128000
	defaultMaxTokens     = 16384
)

// Texts of the diagnostics about models.json. Each is followed by a blank line and
// "File: PATH".
const (
	errConfigLoad   = "Failed to load models.json: %s"
	errConfigParse  = "Failed to parse models.json: %s"
	errConfigSchema = "Invalid models.json schema:\n%s"
)

// A Diagnostic says what is wrong with a file of the user. The program goes on
// without the part at fault.
type Diagnostic struct {
	File    string
	Message string // names the file too
}

// config is one file's providers, in the file's order.
type config struct {
	file      string
	order     []string
	providers map[string]*providerConfig
}

// providerConfig is what one file says about a provider. Nil and empty mean unsaid.
type providerConfig struct {
	name, baseURL, apiKey, api string
	oauth                      string
	headers                    map[string]string
	compat                     jsonx.Raw
	authHeader                 *bool
	models                     []modelConfig
	overrides                  map[string]fields
}

// modelConfig defines a model; fields are shared with overrides.
type modelConfig struct {
	id, api, baseURL string
	fields
}

type fields struct {
	name             string
	reasoning        *bool
	thinkingLevelMap map[llm.ThinkingLevel]*string
	input            []string
	cost             costConfig
	contextWindow    int64
	maxTokens        int64
	inputLimits      jsonx.Raw
	promptCache      jsonx.Raw
	sampling         jsonx.Raw
	samplingByLevel  jsonx.Raw
	headers          map[string]string
	compat           jsonx.Raw
}

type costConfig struct {
	input, output, cacheRead, cacheWrite *float64
	tiers                                []llm.CostTier
	hasTiers                             bool
}

// readConfig reads one models.json. A file that is not there is no fault. Faulty
// providers and models are left out, the others are kept.
func readConfig(path string, read func(string) ([]byte, error)) (config, []Diagnostic) {
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return config{}, nil
	}
	if err != nil {
		return config{}, []Diagnostic{diagnostic(path, errConfigLoad, err.Error())}
	}
	cfg, faults, err := parseConfig(data)
	if err != nil {
		return config{}, []Diagnostic{diagnostic(path, errConfigParse, err.Error())}
	}
	if len(faults) > 0 {
		return cfg, []Diagnostic{diagnostic(path, errConfigSchema, strings.Join(faults, "\n"))}
	}
	return cfg, nil
}

func diagnostic(path, format, text string) Diagnostic {
	return Diagnostic{File: path, Message: fmt.Sprintf(format, text) + "\n\nFile: " + path}
}

// parseConfig reads the text of a models.json. The error is that it is no JSON;
// faults are the lines of a schema diagnostic.
func parseConfig(data []byte) (config, []string, error) {
	doc, err := jsonc.Parse(data)
	if err != nil {
		return config{}, nil, err
	}
	c := &checker{doc: doc}
	cfg := config{providers: map[string]*providerConfig{}}
	if doc.Root.Kind != jsonc.Object {
		c.fault(doc.Root, "root", "must be an object")
		return cfg, c.faults, nil
	}
	if len(doc.Root.Members) == 0 {
		return cfg, nil, nil
	}
	providers := c.object(doc.Root.Get("providers"), "providers")
	if doc.Root.Get("providers") == nil {
		c.fault(doc.Root, "providers", "is missing")
	}
	for _, m := range providers {
		before := len(c.faults)
		p := c.provider(m.Value, "providers."+m.Key)
		if p == nil || len(c.faults) > before && c.fatal {
			c.fatal = false
			continue
		}
		if _, dup := cfg.providers[m.Key]; !dup {
			cfg.order = append(cfg.order, m.Key)
		}
		cfg.providers[m.Key] = p
	}
	return cfg, c.faults, nil
}

// checker turns values into typed ones and collects what is wrong.
type checker struct {
	doc    *jsonc.Doc
	faults []string
	fatal  bool // the provider at hand cannot be used
}

func (c *checker) fault(v *jsonc.Value, path, message string) {
	line, column := c.doc.Position(v.Start)
	c.faults = append(c.faults, fmt.Sprintf("  - %s: %s (line %d, column %d)", path, message, line, column))
}

func (c *checker) kind(v *jsonc.Value, path string, want jsonc.Kind) bool {
	if v == nil {
		return false
	}
	if v.Kind != want {
		c.fault(v, path, "must be "+want.String()+", not "+v.Kind.String())
		return false
	}
	return true
}

func (c *checker) object(v *jsonc.Value, path string) []jsonc.Member {
	if !c.kind(v, path, jsonc.Object) {
		return nil
	}
	return v.Members
}

func (c *checker) raw(v *jsonc.Value, path string) jsonx.Raw {
	if !c.kind(v, path, jsonc.Object) {
		return nil
	}
	return c.doc.Raw(v)
}

// text returns a string that must not be empty.
func (c *checker) text(v *jsonc.Value, path string) string {
	if !c.kind(v, path, jsonc.String) {
		return ""
	}
	if v.Text == "" {
		c.fault(v, path, "must not be empty")
	}
	return v.Text
}

func (c *checker) flag(v *jsonc.Value, path string) *bool {
	if !c.kind(v, path, jsonc.Bool) {
		return nil
	}
	b := v.Text == "true"
	return &b
}

func (c *checker) number(v *jsonc.Value, path string) *float64 {
	if !c.kind(v, path, jsonc.Number) {
		return nil
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	if err != nil {
		c.fault(v, path, "is out of range")
		return nil
	}
	return &f
}

// tokens returns a number of tokens, 0 when unsaid.
func (c *checker) tokens(v *jsonc.Value, path string) int64 {
	f := c.number(v, path)
	if f == nil {
		return 0
	}
	if !(*f >= 1 && *f <= 1<<53) {
		c.fault(v, path, "must be a number greater than 0")
		return 0
	}
	return int64(*f)
}

func (c *checker) texts(v *jsonc.Value, path string) map[string]string {
	if !c.kind(v, path, jsonc.Object) {
		return nil
	}
	out := make(map[string]string, len(v.Members))
	for _, m := range v.Members {
		if c.kind(m.Value, path+"."+m.Key, jsonc.String) {
			out[m.Key] = m.Value.Text
		}
	}
	return out
}

// provider reads a provider. A fault outside its models makes the whole provider
// unusable: half of it could send a key to the wrong place.
func (c *checker) provider(v *jsonc.Value, path string) *providerConfig {
	if !c.kind(v, path, jsonc.Object) {
		return nil
	}
	before := len(c.faults)
	p := &providerConfig{
		name:       c.text(v.Get("name"), path+".name"),
		baseURL:    c.text(v.Get("baseUrl"), path+".baseUrl"),
		apiKey:     c.text(v.Get("apiKey"), path+".apiKey"),
		api:        c.text(v.Get("api"), path+".api"),
		oauth:      c.text(v.Get("oauth"), path+".oauth"),
		headers:    c.texts(v.Get("headers"), path+".headers"),
		compat:     c.raw(v.Get("compat"), path+".compat"),
		authHeader: c.flag(v.Get("authHeader"), path+".authHeader"),
	}
	list := v.Get("models")
	if list != nil {
		c.kind(list, path+".models", jsonc.Array)
	}
	overrides := c.object(v.Get("modelOverrides"), path+".modelOverrides")
	c.fatal = len(c.faults) > before
	if list != nil {
		for i, e := range list.Elems {
			if m, ok := c.model(e, path+".models."+strconv.Itoa(i)); ok {
				p.models = append(p.models, m)
			}
		}
	}
	for _, m := range overrides {
		at := path + ".modelOverrides." + m.Key
		before := len(c.faults)
		if !c.kind(m.Value, at, jsonc.Object) {
			continue
		}
		if f := c.fields(m.Value, at); len(c.faults) == before {
			if p.overrides == nil {
				p.overrides = map[string]fields{}
			}
			p.overrides[m.Key] = f
		}
	}
	return p
}

func (c *checker) model(v *jsonc.Value, path string) (modelConfig, bool) {
	before := len(c.faults)
	if !c.kind(v, path, jsonc.Object) {
		return modelConfig{}, false
	}
	m := modelConfig{
		id:      c.text(v.Get("id"), path+".id"),
		api:     c.text(v.Get("api"), path+".api"),
		baseURL: c.text(v.Get("baseUrl"), path+".baseUrl"),
		fields:  c.fields(v, path),
	}
	if v.Get("id") == nil {
		c.fault(v, path+".id", "is missing")
	}
	return m, len(c.faults) == before
}

func (c *checker) fields(v *jsonc.Value, path string) fields {
	return fields{
		name:             c.text(v.Get("name"), path+".name"),
		reasoning:        c.flag(v.Get("reasoning"), path+".reasoning"),
		thinkingLevelMap: c.levels(v.Get("thinkingLevelMap"), path+".thinkingLevelMap"),
		input:            c.input(v.Get("input"), path+".input"),
		cost:             c.cost(v.Get("cost"), path+".cost"),
		contextWindow:    c.tokens(v.Get("contextWindow"), path+".contextWindow"),
		maxTokens:        c.tokens(v.Get("maxTokens"), path+".maxTokens"),
		inputLimits:      c.raw(v.Get("inputLimits"), path+".inputLimits"),
		promptCache:      c.raw(v.Get("promptCache"), path+".promptCache"),
		sampling:         c.raw(v.Get("samplingParams"), path+".samplingParams"),
		samplingByLevel:  c.raw(v.Get("samplingParamsByThinkingLevel"), path+".samplingParamsByThinkingLevel"),
		headers:          c.texts(v.Get("headers"), path+".headers"),
		compat:           c.raw(v.Get("compat"), path+".compat"),
	}
}

func (c *checker) levels(v *jsonc.Value, path string) map[llm.ThinkingLevel]*string {
	members := c.object(v, path)
	if members == nil {
		return nil
	}
	out := make(map[llm.ThinkingLevel]*string, len(members))
	for _, m := range members {
		at, level := path+"."+m.Key, llm.ThinkingLevel(m.Key)
		switch {
		case !level.Valid():
			c.fault(m.Value, at, "is no thinking level: use off, minimal, low, medium, high, xhigh or max")
		case m.Value.Kind == jsonc.Null:
			out[level] = nil
		case m.Value.Kind == jsonc.String:
			word := m.Value.Text
			out[level] = &word
		default:
			c.fault(m.Value, at, "must be a string or null, not "+m.Value.Kind.String())
		}
	}
	return out
}

func (c *checker) input(v *jsonc.Value, path string) []string {
	if !c.kind(v, path, jsonc.Array) {
		return nil
	}
	out := []string{}
	for i, e := range v.Elems {
		if e.Kind != jsonc.String || e.Text != "text" && e.Text != "image" {
			c.fault(e, path+"."+strconv.Itoa(i), `must be "text" or "image"`)
			continue
		}
		out = append(out, e.Text)
	}
	return out
}

func (c *checker) cost(v *jsonc.Value, path string) costConfig {
	if !c.kind(v, path, jsonc.Object) {
		return costConfig{}
	}
	out := costConfig{
		input:      c.number(v.Get("input"), path+".input"),
		output:     c.number(v.Get("output"), path+".output"),
		cacheRead:  c.number(v.Get("cacheRead"), path+".cacheRead"),
		cacheWrite: c.number(v.Get("cacheWrite"), path+".cacheWrite"),
	}
	list := v.Get("tiers")
	if !c.kind(list, path+".tiers", jsonc.Array) {
		return out
	}
	out.hasTiers = true
	for i, e := range list.Elems {
		at, before := path+".tiers."+strconv.Itoa(i), len(c.faults)
		if !c.kind(e, at, jsonc.Object) {
			continue
		}
		above := c.number(e.Get("inputTokensAbove"), at+".inputTokensAbove")
		if above == nil {
			if len(c.faults) == before {
				c.fault(e, at+".inputTokensAbove", "is missing")
			}
			continue
		}
		rate := func(name string) float64 { return value(c.number(e.Get(name), at+"."+name)) }
		out.tiers = append(out.tiers, llm.CostTier{
			InputTokensAbove: int64(*above), Input: rate("input"), Output: rate("output"),
			CacheRead: rate("cacheRead"), CacheWrite: rate("cacheWrite"),
		})
	}
	return out
}

func value(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}
