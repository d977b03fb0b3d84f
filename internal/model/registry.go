package model

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/isotope-agent/isotope/internal/llm"
)

// errNotFound is the text of a set_model that names no model.
const errNotFound = "Model not found: %s/%s"

// Options of a Registry.
type Options struct {
	// Files are the models.json to read, the one that wins first. Missing ones are fine.
	Files []string
	// HasKey reports whether requests to a provider can be authenticated. It may call
	// the Registry. Nil: none can, apart from the scripted provider.
	HasKey func(provider string) bool
	// Allowed returns the ids of a provider's models that its login may use; ok is false
	// when it does not say. It may call the Registry. Nil: no login says.
	Allowed func(provider string) (ids []string, ok bool)
	// ReadFile is os.ReadFile when nil.
	ReadFile func(path string) ([]byte, error)
}

// Registry is all models there are. See the package comment.
type Registry struct {
	opt Options

	mu       sync.Mutex
	state    *state   // nil until something is asked
	scripted []string // ids of scripted models that were chosen, in that order
	extra    []config // what Register added, the newest first
}

// state is what was read; Reload drops it.
type state struct {
	configs     []config // as Options.Files
	diagnostics []Diagnostic
	order       []string // provider ids: the catalogue's, then those of models.json
	builtin     map[string]catalogueProvider
	providers   map[string]*provider // composed so far
}

// New returns a Registry. It reads nothing yet.
func New(opt Options) *Registry {
	if opt.ReadFile == nil {
		opt.ReadFile = os.ReadFile
	}
	if opt.HasKey == nil {
		opt.HasKey = func(string) bool { return false }
	}
	return &Registry{opt: opt}
}

// Reload forgets what was read, so that changed files count. Scripted models that
// were chosen stay chosen.
func (r *Registry) Reload() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = nil
}

// Diagnostics returns what is wrong with the models.json files, each once.
func (r *Registry) Diagnostics() []Diagnostic {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.load()
	for _, c := range s.configs { // faults of a provider show when it is composed
		for _, id := range c.order {
			s.provider(id)
		}
	}
	return slices.Clone(s.diagnostics)
}

// load returns the state, reading the files first when that was not done. The
// caller holds r.mu.
func (r *Registry) load() *state {
	if r.state != nil {
		return r.state
	}
	s := &state{builtin: map[string]catalogueProvider{}, providers: map[string]*provider{}}
	idx, err := catalogue()
	if err != nil { // cannot happen: the catalogue is part of the binary and tested
		s.diagnostics = append(s.diagnostics, Diagnostic{Message: err.Error()})
	}
	for _, p := range idx.Providers {
		s.order = append(s.order, p.ID)
		s.builtin[p.ID] = p
	}
	s.configs = slices.Clone(r.extra)
	for _, path := range r.opt.Files {
		cfg, faults := readConfig(path, r.opt.ReadFile)
		cfg.file = path
		s.configs = append(s.configs, cfg)
		s.diagnostics = append(s.diagnostics, faults...)
	}
	for _, cfg := range s.configs {
		for _, id := range cfg.order {
			if !slices.Contains(s.order, id) && id != ScriptedProvider {
				s.order = append(s.order, id)
			}
		}
	}
	r.state = s
	return s
}

// provider returns the provider of that exact id with everything merged, nil when
// there is none.
func (s *state) provider(id string) *provider {
	if p, done := s.providers[id]; done {
		return p
	}
	p := &provider{id: id, name: id}
	base, known := s.builtin[id]
	if known {
		models, err := base.decode()
		if err != nil {
			s.diagnostics = append(s.diagnostics, Diagnostic{Message: err.Error()})
		}
		p.name, p.models = base.Name, models
	}
	if id == ScriptedProvider {
		known, p.name, p.models = true, "Scripted", []*llm.Model{scriptedModel(ScriptedDemo)}
	}
	for i := len(s.configs) - 1; i >= 0; i-- {
		cfg := s.configs[i].providers[id]
		if cfg == nil {
			continue
		}
		known = true
		if err := p.apply(cfg); err != nil {
			s.diagnostics = append(s.diagnostics, diagnostic(s.configs[i].file, "%s", err.Error()))
		}
	}
	if !known {
		return nil // not remembered: any text may be asked for
	}
	p.byID = make(map[string]*llm.Model, len(p.models))
	for _, m := range p.models {
		p.byID[m.ID] = m
	}
	s.providers[id] = p
	return p
}

// Known reports whether there is a provider of that exact id.
func (r *Registry) Known(providerID string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.load()
	return providerID == ScriptedProvider || slices.Contains(s.order, providerID)
}

// Find returns the model of that exact provider and id. Of the provider scripted
// every id exists: demo, or the path of a script.
func (r *Registry) Find(providerID, id string) (*llm.Model, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.find(providerID, id)
}

func (r *Registry) find(providerID, id string) (*llm.Model, bool) {
	p := r.load().provider(providerID)
	if p == nil || id == "" {
		return nil, false
	}
	m, ok := p.byID[id]
	if !ok && providerID == ScriptedProvider {
		m, ok = scriptedModel(id), true
		p.byID[id] = m
	}
	return m, ok
}

// Select is Find for a choice of the user (set_model): a scripted model that is
// selected is listed and cycled from then on. The error is what clients see.
func (r *Registry) Select(providerID, id string) (*llm.Model, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.find(providerID, id)
	if !ok {
		return nil, fmt.Errorf(errNotFound, providerID, id)
	}
	r.note(m)
	return m, nil
}

// note remembers that a scripted model was chosen.
func (r *Registry) note(m *llm.Model) {
	if m.Provider == ScriptedProvider && !slices.Contains(r.scripted, m.ID) {
		r.scripted = append(r.scripted, m.ID)
	}
}

// Usable reports whether the provider's requests can be authenticated.
func (r *Registry) Usable(providerID string) bool {
	return providerID == ScriptedProvider || r.opt.HasKey(providerID)
}

// Available returns the models whose provider has a key, and whose login allows them, in
// the order of the catalogue, then of models.json; scripted models last, and only when
// one of them was chosen.
func (r *Registry) Available() []*llm.Model {
	models := r.list(r.opt.HasKey)
	if r.opt.Allowed == nil {
		return models
	}
	type choice struct {
		ids []string
		ok  bool
	}
	asked := map[string]choice{}
	return slices.DeleteFunc(models, func(m *llm.Model) bool {
		c, done := asked[m.Provider]
		if !done {
			c.ids, c.ok = r.opt.Allowed(m.Provider)
			asked[m.Provider] = c
		}
		return c.ok && !slices.Contains(c.ids, m.ID)
	})
}

// All returns every model, scripted ones as in Available. It decodes the whole
// catalogue.
func (r *Registry) All() []*llm.Model {
	return r.list(func(string) bool { return true })
}

func (r *Registry) list(use func(provider string) bool) []*llm.Model {
	r.mu.Lock()
	order := r.load().order
	r.mu.Unlock()
	// HasKey may look into the registry, so it is asked without the lock.
	var wanted []string
	for _, id := range order {
		if use(id) {
			wanted = append(wanted, id)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	models := []*llm.Model{}
	s := r.load()
	for _, id := range wanted {
		if p := s.provider(id); p != nil {
			models = append(models, p.models...)
		}
	}
	if len(r.scripted) > 0 {
		models = append(models, r.scriptedModels()...)
	}
	return models
}

// scriptedModels returns the demo, those of models.json, and those chosen.
func (r *Registry) scriptedModels() []*llm.Model {
	p := r.load().provider(ScriptedProvider)
	models := slices.Clone(p.models)
	for _, id := range r.scripted {
		if m, ok := r.find(ScriptedProvider, id); ok && !slices.Contains(models, m) {
			models = append(models, m)
		}
	}
	return models
}

// RequestConfig returns what models.json says about requests to a model, as config
// values that are not resolved yet: the key, the headers (the model's over the
// provider's), and whether the key goes into an Authorization header. Package auth
// asks for it.
func (r *Registry) RequestConfig(providerID, id string) (apiKey string, headers map[string]string, authHeader bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.load().configured(providerID)
	if p == nil {
		return "", nil, false
	}
	headers = p.headers
	if extra := p.modelExtra[id]; len(extra) > 0 {
		headers = merged(headers, extra)
	}
	return p.apiKey, headers, p.authHeader
}

// configured is provider for those that a models.json mentions, so that a question
// about a key decodes no catalogue.
func (s *state) configured(id string) *provider {
	for _, c := range s.configs {
		if c.providers[id] != nil {
			return s.provider(id)
		}
	}
	return nil
}

// ProviderName returns the name that people know a provider by, its id when there is
// no other.
func (r *Registry) ProviderName(providerID string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.load()
	if p := s.configured(providerID); p != nil {
		return p.name
	}
	if base, ok := s.builtin[providerID]; ok {
		return base.Name
	}
	return providerID
}

// Ref splits "provider/id" at the first slash.
func Ref(text string) (providerID, id string, ok bool) { return strings.Cut(text, "/") }
