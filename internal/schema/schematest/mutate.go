package schematest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Unnoticed changes a record, in all of its depth, in every way that a contract must
// notice: a required member dropped, a member added, a value of another type. It returns
// the changes that validate all the same, and the objects that may have any member. The
// record is left as it was.
func (c *Contract) Unnoticed(name string, record map[string]any) (unnoticed, open []string) {
	m := &mutator{c: c, name: name, record: record}
	m.object(c.Root.Defs[name], record, "")
	return m.unnoticed, m.open
}

type mutator struct {
	c               *Contract
	name            string
	record          map[string]any
	unnoticed, open []string
}

// try validates the record as it stands, changed.
func (m *mutator) try(path, what string) {
	if m.c.Validate(m.name, m.record) == nil {
		m.unnoticed = append(m.unnoticed, strings.TrimPrefix(path, ".")+": "+what)
	}
}

// value changes a value of a record, by put, and what is in it.
func (m *mutator) value(s *jsonschema.Schema, v any, path string, put func(any)) {
	if s = m.branch(s, v); s == nil {
		return // any value
	}
	other := any(true)
	if _, ok := v.(bool); ok {
		other = 7.5
	}
	put(other)
	m.try(path, fmt.Sprintf("%v instead of %.40v", other, v))
	put(v)
	switch v := v.(type) {
	case map[string]any:
		m.object(s, v, path)
	case []any:
		seen := map[*jsonschema.Schema]bool{}
		for i, e := range v {
			if kind := m.branch(s.Items, e); !seen[kind] { // one of each kind is enough
				seen[kind] = true
				m.value(s.Items, e, path+"[]", func(x any) { v[i] = x })
			}
		}
	}
}

func (m *mutator) object(s *jsonschema.Schema, v map[string]any, path string) {
	v["surplus"] = 1.0
	if s.AdditionalProperties == nil {
		m.open = append(m.open, strings.TrimPrefix(path, "."))
	} else {
		m.try(path, "a member more")
	}
	delete(v, "surplus")
	for _, key := range s.Required {
		was, ok := v[key]
		delete(v, key)
		m.try(path+"."+key, "missing")
		if ok {
			v[key] = was
		}
	}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		member := s.Properties[key]
		if member == nil {
			member = s.AdditionalProperties
		}
		if member != nil {
			m.value(member, v[key], path+"."+key, func(x any) { v[key] = x })
		}
	}
}

// branch returns the schema that says what v is: behind references, and the member of a
// union that v is. It is nil for a schema that allows anything.
func (m *mutator) branch(s *jsonschema.Schema, v any) *jsonschema.Schema {
	switch {
	case s == nil:
		return nil
	case s.Ref != "":
		return m.branch(m.c.Root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")], v)
	case len(s.AnyOf) > 0:
		for _, a := range s.AnyOf {
			key := fmt.Sprintf("%p", a)
			if a.Ref != "" {
				key = a.Ref
			}
			if r, err := m.c.resolved(key, a); err == nil && r.Validate(v) == nil {
				return m.branch(a, v)
			}
		}
	case s.Type == "" && len(s.Types) == 0 && s.Const == nil && len(s.Enum) == 0:
		return nil
	}
	return s
}
