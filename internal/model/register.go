package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// registered is where a provider of Register says it comes from.
const registered = "registered at run time"

// Register adds a provider at run time, or lays more over one there is: cfg has the form
// of a provider in models.json and wins over the files, until Unregister. A second
// Register of an id replaces the first. The error says what is wrong with cfg; then
// nothing has changed.
func (r *Registry) Register(id string, cfg jsonx.Raw) error {
	if id == "" || id == ScriptedProvider {
		return fmt.Errorf("a provider cannot be called %q", id)
	}
	text := append(append([]byte(`{"providers":{`), jsonx.String(id)...), ':')
	parsed, faults, err := parseConfig(append(append(text, cfg...), "}}"...))
	if err == nil && len(faults) > 0 {
		err = errors.New(strings.Join(faults, "\n"))
	}
	if err != nil {
		return fmt.Errorf("provider %s: %w", id, err)
	}
	parsed.file = registered
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.extra
	r.extra = append([]config{parsed}, without(r.extra, id)...)
	r.state = nil
	s := r.load()
	s.provider(id)
	for _, d := range s.diagnostics {
		if d.File == registered {
			r.extra, r.state = before, nil
			return errors.New(strings.TrimSuffix(d.Message, "\n\nFile: "+registered))
		}
	}
	return nil
}

// Unregister takes a provider of Register away again.
func (r *Registry) Unregister(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.extra = without(r.extra, id)
	r.state = nil
}

func without(list []config, id string) []config {
	return slices.DeleteFunc(slices.Clone(list), func(c config) bool { return c.providers[id] != nil })
}
