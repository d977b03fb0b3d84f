package model

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/llm"
)

// Texts about a --model that does not resolve (atomic-facts.md 10.3).
const (
	errNoModels        = "No models available. Check your installation or add models to models.json."
	errUnknownProvider = "Unknown provider \"%s\". Use --list-models to see available providers/models."
	errUnknownModel    = "Model \"%s\" not found. Use --list-models to see available models."
	errAmbiguous       = "Model \"%s\" is ambiguous across providers: %s. %s Use --provider or provider/model."
	errProviderAlone   = "--provider requires --model (for example: --provider %s --model <pattern>)"
	hintNoKey          = "No matching provider is authenticated."
	hintManyKeys       = "More than one matching provider is authenticated."
	hintInlineKey      = "--api-key does not choose a provider."
	warnCustomID       = "Model \"%s\" not found for provider \"%s\". Using custom model id."
	warnBadLevel       = "Invalid thinking level \"%s\" in pattern \"%s\". Using default instead."
)

// Selection is a model that a text resolved to, with the thinking level that the text
// asked for ("" when it did not) and a warning for stderr or "".
type Selection struct {
	Model    *llm.Model
	Thinking llm.ThinkingLevel
	Warning  string
}

// Flags are what the command line says about the model.
type Flags struct {
	Provider string            // --provider
	Model    string            // --model: provider/id, id, part of an id or name; each with an optional :level
	Thinking llm.ThinkingLevel // --thinking, "" when not given
	APIKey   bool              // --api-key was given: keys at hand do not choose the provider
}

// Resolve finds the model that the flags name. Flags without a model give a zero
// Selection. The whole text counts first as provider/id, then as an id with slashes,
// then without its ":level". A model is found without a key, too; keys only choose
// between providers that have the same id. The errors are start-up errors.
func (r *Registry) Resolve(f Flags) (Selection, error) {
	text := strings.TrimSpace(f.Model)
	if f.Model == "" {
		if f.Provider != "" {
			return Selection{}, fmt.Errorf(errProviderAlone, f.Provider)
		}
		return Selection{}, nil
	}
	if sel, ok := r.resolveScripted(f.Provider, text); ok {
		return sel, nil
	}
	usable := r.Usable
	if f.APIKey {
		usable = func(string) bool { return false }
	}
	if f.Provider != "" {
		id, ok := r.providerID(f.Provider)
		if !ok {
			return Selection{}, fmt.Errorf(errUnknownProvider, f.Provider)
		}
		models := r.list(func(p string) bool { return p == id })
		return r.resolveIn(f, text, slices.DeleteFunc(models, func(m *llm.Model) bool { return m.Provider != id }), usable)
	}
	if m, ok := r.exact(text, usable); ok {
		return Selection{Model: m}, nil
	}
	models := r.All()
	if len(models) == 0 {
		return Selection{}, errors.New(errNoModels)
	}
	return r.resolveIn(f, text, models, usable)
}

// exact finds provider/id of a provider with a key, without decoding all others: such
// a model wins over every other reading of the text.
func (r *Registry) exact(text string, usable func(string) bool) (*llm.Model, bool) {
	providerID, id, ok := Ref(text)
	if !ok || !usable(providerID) {
		return nil, false
	}
	for _, other := range r.ProviderIDs() { // ids with slashes: the longest provider counts
		if len(other) > len(providerID) && hasPrefixFold(text, other+"/") {
			return nil, false
		}
	}
	return r.Find(providerID, id)
}

// ProviderIDs returns the ids of all providers, the catalogue's, then those of
// models.json.
func (r *Registry) ProviderIDs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.load().order
}

// providerID returns the known provider that text names, without regard to case.
func (r *Registry) providerID(text string) (string, bool) {
	for _, id := range r.ProviderIDs() {
		if strings.EqualFold(id, text) {
			return id, true
		}
	}
	return "", false
}

// resolveScripted takes every id of the provider scripted: a path of a script needs
// no entry anywhere.
func (r *Registry) resolveScripted(providerFlag, text string) (Selection, bool) {
	id := text
	switch {
	case strings.EqualFold(providerFlag, ScriptedProvider):
		if rest, ok := cutPrefixFold(id, ScriptedProvider+"/"); ok {
			id = rest
		}
	case providerFlag == "":
		rest, ok := cutPrefixFold(id, ScriptedProvider+"/")
		if !ok {
			return Selection{}, false
		}
		id = rest
	default:
		return Selection{}, false
	}
	id, level := splitLevel(id)
	if id == "" {
		return Selection{}, false
	}
	m, err := r.Select(ScriptedProvider, id)
	return Selection{Model: m, Thinking: level}, err == nil
}

// resolveIn resolves text among models, all of one provider when the flags name one.
func (r *Registry) resolveIn(f Flags, text string, models []*llm.Model, usable func(string) bool) (Selection, error) {
	q := query{models: models, usable: usable, fuzzy: true, levels: levelsStrict}
	found := q.resolve(text)
	switch {
	case len(found.candidates) == 1:
		return Selection{Model: found.candidates[0], Thinking: found.level}, nil
	case len(found.candidates) > 1:
		hint := hintManyKeys
		if f.APIKey {
			hint = hintInlineKey
		} else if found.usable == 0 {
			hint = hintNoKey
		}
		return Selection{}, fmt.Errorf(errAmbiguous, f.Model, refs(found.candidates), hint)
	}
	return r.custom(f, text, models)
}

// custom makes a model of an id that a named provider does not list.
func (r *Registry) custom(f Flags, text string, models []*llm.Model) (Selection, error) {
	providerID, rest := splitProvider(text, models)
	if f.Provider != "" && len(models) > 0 {
		providerID = models[0].Provider
	}
	if providerID == "" || rest == "" {
		return Selection{}, fmt.Errorf(errUnknownModel, f.Model)
	}
	id, level := rest, llm.ThinkingLevel("")
	if f.Thinking == "" { // with --thinking a level word stays part of the id
		id, level = splitLevel(rest)
	}
	own := slices.DeleteFunc(slices.Clone(models), func(m *llm.Model) bool { return m.Provider != providerID })
	m := *like(own, defaultModel(providerID))
	m.ID, m.Name = id, id
	if asked := cmp.Or(f.Thinking, level); asked != "" && asked != llm.ThinkingOff {
		m.Reasoning = true
	}
	r.adopt(&m)
	return Selection{Model: &m, Thinking: level, Warning: fmt.Sprintf(warnCustomID, id, providerID)}, nil
}

// adopt makes a custom model known, so that it can be found again by its id.
func (r *Registry) adopt(m *llm.Model) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.load().provider(m.Provider); p != nil && p.byID[m.ID] == nil {
		p.byID[m.ID] = m
	}
}

func like(models []*llm.Model, id string) *llm.Model {
	if i := slices.IndexFunc(models, func(m *llm.Model) bool { return m.ID == id }); i >= 0 {
		return models[i]
	}
	return models[0]
}

// How a query treats ":level" at the end of a text.
type levelRule uint8

const (
	levelsNone    levelRule = iota // part of the id
	levelsStrict                   // cut when it is a level, else part of the id
	levelsLenient                  // cut; a warning when it is no level
)

// query looks a text up in a list of models.
type query struct {
	models []*llm.Model
	usable func(provider string) bool
	fuzzy  bool
	levels levelRule
}

// match is the outcome of a query: no candidate, one, or several of which none can be
// preferred; usable counts those with a key.
type match struct {
	candidates []*llm.Model
	usable     int
	level      llm.ThinkingLevel
	warning    string
}

// resolve tries the text whole, first exactly, then as a part of an id or name, then
// without its last ":suffix".
func (q query) resolve(text string) match {
	if text == "" {
		return match{}
	}
	if m := q.exact(text); len(m.candidates) > 0 {
		return m
	}
	if q.fuzzy {
		if m := q.part(text, q.models); len(m.candidates) > 0 {
			return m
		}
	}
	colon := strings.LastIndexByte(text, ':')
	if q.levels == levelsNone || colon < 0 {
		return match{}
	}
	base, suffix := text[:colon], llm.ThinkingLevel(text[colon+1:])
	if suffix.Valid() {
		m := q.resolve(base)
		if m.warning == "" {
			m.level = suffix
		}
		return m
	}
	if q.levels == levelsStrict {
		return match{} // rather no model than another one
	}
	m := q.resolve(base)
	if len(m.candidates) > 0 {
		m.level, m.warning = "", fmt.Sprintf(warnBadLevel, string(suffix), text)
	}
	return m
}

// exact reads the text as provider/rest and as an id of its own. The provider that
// the text names wins when it has a key; else the only other reading with a key;
// else the named provider, so that a first key can be set up for it.
func (q query) exact(text string) match {
	var raw []*llm.Model
	for _, m := range q.models {
		if strings.EqualFold(m.ID, text) {
			raw = append(raw, m)
		}
	}
	named := q.named(text, raw)
	others := slices.DeleteFunc(raw, func(m *llm.Model) bool { return m == named })
	all := others
	if named != nil {
		all = append([]*llm.Model{named}, others...)
	}
	if len(all) == 0 {
		return match{}
	}
	if sameProvider(all) {
		return match{candidates: all[:1]}
	}
	if named != nil && q.usable(named.Provider) {
		return match{candidates: []*llm.Model{named}}
	}
	var withKey []*llm.Model
	for _, m := range others {
		if q.usable(m.Provider) {
			withKey = append(withKey, m)
		}
	}
	if len(withKey) == 1 {
		return match{candidates: withKey}
	}
	if len(withKey) == 0 && named != nil {
		return match{candidates: []*llm.Model{named}}
	}
	return match{candidates: all, usable: len(withKey)}
}

// named returns the model that "provider/rest" names; raw are the models whose whole
// id is the text.
func (q query) named(text string, raw []*llm.Model) *llm.Model {
	providerID, rest := splitProvider(text, q.models)
	if providerID == "" || rest == "" || rest == text {
		return nil
	}
	var own []*llm.Model
	for _, m := range q.models {
		if m.Provider == providerID {
			own = append(own, m)
		}
	}
	if i := slices.IndexFunc(own, func(m *llm.Model) bool { return strings.EqualFold(m.ID, rest) }); i >= 0 {
		return own[i]
	}
	if i := slices.IndexFunc(raw, func(m *llm.Model) bool { return m.Provider == providerID }); i >= 0 {
		return raw[i]
	}
	if q.fuzzy {
		return best(containing(rest, own))
	}
	return nil
}

// part finds models that have text in their id or name. Of one provider, or of those
// with a key, the best is taken; the same id with several of them is ambiguous.
func (q query) part(text string, models []*llm.Model) match {
	found := containing(text, models)
	if len(found) == 0 {
		return match{}
	}
	pool, withKey := found, 0
	if !sameProvider(found) {
		usable := slices.DeleteFunc(slices.Clone(found), func(m *llm.Model) bool { return !q.usable(m.Provider) })
		if len(usable) > 0 {
			pool, withKey = usable, len(usable)
		}
	}
	top := best(pool)
	var tied []*llm.Model
	for _, m := range pool {
		if m.ID == top.ID {
			tied = append(tied, m)
		}
	}
	if sameProvider(tied) {
		return match{candidates: []*llm.Model{top}}
	}
	return match{candidates: tied, usable: min(withKey, len(tied))}
}

func containing(text string, models []*llm.Model) []*llm.Model {
	text = strings.ToLower(text)
	var out []*llm.Model
	for _, m := range models {
		if strings.Contains(strings.ToLower(m.ID), text) || strings.Contains(strings.ToLower(m.Name), text) {
			out = append(out, m)
		}
	}
	return out
}

// dated reports whether an id is that of one snapshot of a model: it ends in
// "-20250101".
func dated(id string) bool {
	const n = len("-20250101")
	if len(id) < n || id[len(id)-n] != '-' {
		return false
	}
	return strings.Trim(id[len(id)-n+1:], "0123456789") == ""
}

// best prefers names of a line of models over dated snapshots, then the greatest id.
func best(models []*llm.Model) *llm.Model {
	lines := slices.DeleteFunc(slices.Clone(models), func(m *llm.Model) bool { return dated(m.ID) })
	if len(lines) == 0 {
		lines = models
	}
	var top *llm.Model
	for _, m := range lines {
		if top == nil || collate(m.ID, top.ID) > 0 {
			top = m
		}
	}
	return top
}

// splitProvider cuts "provider/rest" with the longest provider among the models that
// fits; ids of providers may have slashes, and there may be blanks around the slash.
func splitProvider(text string, models []*llm.Model) (providerID, rest string) {
	rest = text
	for _, m := range models {
		if len(m.Provider) <= len(providerID) || !hasPrefixFold(text, m.Provider) {
			continue
		}
		after, ok := strings.CutPrefix(strings.TrimLeft(text[len(m.Provider):], " "), "/")
		if after = strings.TrimSpace(after); ok && after != "" {
			providerID, rest = m.Provider, after
		}
	}
	return providerID, rest
}

// splitLevel cuts ":level" off when it is a level.
func splitLevel(text string) (string, llm.ThinkingLevel) {
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		if l := llm.ThinkingLevel(text[i+1:]); l.Valid() {
			return text[:i], l
		}
	}
	return text, ""
}

func sameProvider(models []*llm.Model) bool {
	return !slices.ContainsFunc(models, func(m *llm.Model) bool { return m.Provider != models[0].Provider })
}

func refs(models []*llm.Model) string {
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = m.Ref()
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if !hasPrefixFold(s, prefix) {
		return s, false
	}
	return s[len(prefix):], true
}
