package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/isotope-agent/isotope/internal/llm"
)

// Texts about scope patterns (atomic-facts.md 10.4). They are warnings.
const (
	warnNoMatch  = "No models match pattern \"%s\""
	warnSeveral  = "Pattern \"%s\" matches several providers: %s. Use provider/id to choose one."
	defaultLevel = llm.ThinkingMedium
)

// Scoped is a model of the scope; Thinking is "" when its pattern named no level.
type Scoped struct {
	Model    *llm.Model        `json:"model"`
	Thinking llm.ThinkingLevel `json:"thinkingLevel,omitzero"`
}

// Scope resolves the patterns of --models or enabledModels among the available
// models: provider/id, globs over provider/id or id, parts of an id or name; each
// with an optional ":level". Models come in the order of their first pattern.
// scripted/… patterns choose scripted models. Warnings are for stderr.
func (r *Registry) Scope(patterns []string) (scope []Scoped, warnings []string) {
	s := scoper{registry: r}
	for _, pattern := range patterns {
		if pattern = strings.TrimSpace(pattern); pattern != "" {
			s.pattern(pattern)
		}
	}
	return s.scope, s.warnings
}

type scoper struct {
	registry *Registry
	models   []*llm.Model // available, once asked for
	scope    []Scoped
	warnings []string
}

func (s *scoper) available() []*llm.Model {
	if s.models == nil {
		s.models = s.registry.Available()
	}
	return s.models
}

func (s *scoper) pattern(pattern string) {
	if sel, ok := s.registry.resolveScripted("", pattern); ok {
		s.add(sel.Thinking, sel.Model)
		return
	}
	isGlob := strings.ContainsAny(pattern, "*?[")
	q := query{models: s.available(), usable: func(string) bool { return true }, fuzzy: !isGlob, levels: levelsLenient}
	text, level := pattern, llm.ThinkingLevel("")
	if isGlob { // ids such as name[1m] are no globs: an exact match comes first
		text, level = splitLevel(pattern)
		q.levels = levelsNone
	}
	m := q.resolve(text)
	if m.warning != "" {
		s.warnings = append(s.warnings, m.warning)
	}
	if isGlob && len(m.candidates) == 0 {
		m.candidates = globbed(text, s.available())
	} else if len(m.candidates) > 1 {
		s.warnings = append(s.warnings, fmt.Sprintf(warnSeveral, pattern, providersOf(m.candidates)))
	}
	if len(m.candidates) == 0 {
		s.warnings = append(s.warnings, fmt.Sprintf(warnNoMatch, pattern))
	}
	s.add(cmp.Or(level, m.level), m.candidates...)
}

func (s *scoper) add(level llm.ThinkingLevel, models ...*llm.Model) {
	for _, m := range models {
		if !slices.ContainsFunc(s.scope, func(have Scoped) bool { return same(have.Model, m) }) {
			s.scope = append(s.scope, Scoped{Model: m, Thinking: level})
		}
	}
}

// globbed matches provider/id and the id alone, without regard to case. A "!" before the
// pattern turns it round. A pattern that is no glob matches nothing.
func globbed(pattern string, models []*llm.Model) []*llm.Model {
	rest := strings.TrimLeft(pattern, "!")
	other := (len(pattern)-len(rest))%2 == 1
	rest = strings.ToLower(rest)
	matches := func(name string) bool {
		ok, err := doublestar.Match(rest, strings.ToLower(name))
		return ok != other && err == nil
	}
	var out []*llm.Model
	for _, m := range models {
		if matches(m.Ref()) || matches(m.ID) {
			out = append(out, m)
		}
	}
	return out
}

func providersOf(models []*llm.Model) string {
	var ids []string
	for _, m := range models {
		if !slices.Contains(ids, m.Provider) {
			ids = append(ids, m.Provider)
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, ", ")
}

func same(a, b *llm.Model) bool {
	return a != nil && b != nil && a.Provider == b.Provider && a.ID == b.ID
}

// Cycle returns the model after (or before) current: in the scope when there is one,
// else among the available models, always among those with a key. ok is false when
// there is no other.
func (r *Registry) Cycle(current *llm.Model, scope []Scoped, backward bool) (next Scoped, ok bool) {
	var candidates []Scoped
	if len(scope) > 0 {
		for _, s := range scope {
			if r.Usable(s.Model.Provider) {
				candidates = append(candidates, s)
			}
		}
	} else {
		for _, m := range r.Available() {
			candidates = append(candidates, Scoped{Model: m})
		}
	}
	n := len(candidates)
	at := slices.IndexFunc(candidates, func(s Scoped) bool { return same(s.Model, current) })
	switch {
	case n == 0 || n == 1 && at == 0:
		return Scoped{}, false
	case at < 0 && backward:
		return candidates[n-1], true
	case at < 0:
		return candidates[0], true
	case backward:
		return candidates[(at-1+n)%n], true
	}
	return candidates[(at+1)%n], true
}

// Saved is what settings say about the model to start with.
type Saved struct {
	Provider, Model string            // defaultProvider, defaultModel
	Thinking        llm.ThinkingLevel // defaultThinkingLevel, "" when unset
	// ModelThinking returns modelThinkingLevels["provider/id"], "" when unset. May be nil.
	ModelThinking func(provider, id string) llm.ThinkingLevel
}

func (s Saved) modelThinking(m *llm.Model) llm.ThinkingLevel {
	if s.ModelThinking == nil || m == nil {
		return ""
	}
	return s.ModelThinking(m.Provider, m.ID)
}

// SwitchThinking returns the level after a switch to target: what was asked for
// explicitly, else the setting for that model, else the default of the settings, else
// the current level; clamped to the model.
func (s Saved) SwitchThinking(target *llm.Model, explicit, current llm.ThinkingLevel) llm.ThinkingLevel {
	return target.ClampThinking(cmp.Or(explicit, s.modelThinking(target), s.Thinking, current, defaultLevel))
}
