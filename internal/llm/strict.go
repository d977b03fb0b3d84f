package llm

import (
	"errors"
	"fmt"
	"slices"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Sampling says whether a provider is to hold a model to a tool's schema while it writes
// the arguments.
type Sampling string

// The values of ToolSpec.Sampling; "" leaves it to the provider.
const (
	SamplingPrefer  Sampling = "prefer"  // where the provider can
	SamplingRequire Sampling = "require" // or the request fails
)

// errStrict is the text of a request with a tool that requires strict sampling.
const errStrict = "Tool \"%s\" requires JSON-schema constrained sampling, but %s."

// StrictRule is what a provider's strict tools may be.
type StrictRule struct {
	// On says that the model takes strict tools at all.
	On bool
	// Refuses reports members of a schema that the provider rejects; nil for none.
	Refuses func(name string, value jsonx.Raw) bool
	// Tools and Options bound the strict tools of a request, and their members that may
	// be left out, in all; 0 is no bound. Tools that only prefer to be strict give way.
	Tools, Options int
}

// Schemas returns the strict schema of each tool, nil for those that are not strict:
// every member required, null in place of one left out, and no other members. The error
// names a tool that requires to be strict and cannot be.
func (r StrictRule) Schemas(specs []ToolSpec) ([]jsonx.Raw, error) {
	out := make([]jsonx.Raw, len(specs))
	tools, options := 0, 0
	for _, wanted := range []Sampling{SamplingRequire, SamplingPrefer} {
		for i, spec := range specs {
			if spec.Sampling != wanted {
				continue
			}
			s := stricter{rule: r}
			schema, err := s.schema(spec.Parameters)
			if err == nil && !r.On {
				err = errors.New("strict tools are unsupported")
			}
			full := r.Tools > 0 && tools+1 > r.Tools || r.Options > 0 && options+s.options > r.Options
			switch {
			case wanted == SamplingRequire && err != nil:
				return nil, fmt.Errorf(errStrict, spec.Name, err.Error())
			case err == nil && (wanted == SamplingRequire || !full):
				out[i], tools, options = schema, tools+1, options+s.options
			}
		}
	}
	return out, nil
}

// notStrict are members of schemas that no strict schema may have.
func notStrict() []string {
	return []string{
		"$ref", "$defs", "definitions", "allOf", "oneOf", "patternProperties", "dependentSchemas", "dependencies",
		"unevaluatedProperties", "propertyNames", "contains", "prefixItems", "not", "if", "then", "else",
	}
}

// stricter makes schemas strict.
type stricter struct {
	rule    StrictRule
	options int // members that may be left out, or have more than one type
}

// schema returns the strict form of the schema of all arguments.
func (s *stricter) schema(raw jsonx.Raw) (jsonx.Raw, error) {
	n, err := s.node(raw)
	if err != nil {
		return nil, err
	}
	if n.typ != "object" {
		return nil, errors.New("root schema must have type object")
	}
	return jsonx.Marshal(n.members)
}

// node is one schema, strict when it comes from stricter.node.
type node struct {
	members *jsonx.Object
	list    []jsonx.Member
	raw     map[string]jsonx.Raw
	typ     string // "" when it is none, or several
}

func (n *node) has(name string) bool { _, ok := n.raw[name]; return ok }

func parseNode(raw jsonx.Raw) (*node, error) {
	members, err := jsonx.Members(raw)
	if err != nil {
		return nil, errors.New("boolean schemas are unsupported")
	}
	n := &node{members: &jsonx.Object{}, list: members, raw: map[string]jsonx.Raw{}}
	for _, m := range members {
		n.members.Set(m.Name, m.Value)
		n.raw[m.Name] = m.Value
	}
	if jsonx.Unmarshal(n.raw["type"], &n.typ) != nil {
		n.typ = ""
	}
	return n, nil
}

func (s *stricter) node(raw jsonx.Raw) (*node, error) {
	n, err := parseNode(raw)
	if err != nil {
		return nil, err
	}
	for _, name := range notStrict() {
		if n.has(name) {
			return nil, fmt.Errorf("%s schemas are unsupported", name)
		}
	}
	for _, m := range n.list {
		if s.rule.Refuses != nil && s.rule.Refuses(m.Name, m.Value) {
			return nil, fmt.Errorf("%s: %s is unsupported", m.Name, m.Value)
		}
	}
	if !n.has("type") && !n.has("anyOf") && !n.has("enum") {
		return nil, errors.New("schemas without a type are unsupported")
	}
	if err := s.parts(n); err != nil {
		return nil, err
	}
	if n.typ != "object" {
		if n.has("properties") {
			return nil, errors.New("properties require type object")
		}
		return n, nil
	}
	return n, s.object(n)
}

// parts makes the alternatives and the items of a schema strict.
func (s *stricter) parts(n *node) error {
	if n.has("anyOf") {
		var variants []jsonx.Raw
		if jsonx.Unmarshal(n.raw["anyOf"], &variants) != nil || len(variants) == 0 {
			return errors.New("anyOf must contain at least one schema")
		}
		for i, v := range variants {
			alt, err := s.node(v)
			switch {
			case err != nil:
				return err
			case alt.typ == "object" || alt.typ == "array" || alt.has("items"):
				return errors.New("object and array unions are unsupported")
			}
			if variants[i], err = jsonx.Marshal(alt.members); err != nil {
				return err
			}
		}
		n.members.Set("anyOf", variants)
	}
	if n.has("items") {
		if n.raw["items"].Kind() == '[' {
			return errors.New("tuple schemas are unsupported")
		}
		items, err := s.node(n.raw["items"])
		if err != nil {
			return err
		}
		n.members.Set("items", items.members)
	}
	return nil
}

// object requires all members of an object and allows no others.
func (s *stricter) object(n *node) error {
	if extra, ok := n.raw["additionalProperties"]; ok && string(extra) != "false" {
		return errors.New("schema-valued or true additionalProperties is unsupported")
	}
	var required []string
	if n.has("required") && jsonx.Unmarshal(n.raw["required"], &required) != nil {
		return errors.New("object required must be a string array")
	}
	var members []jsonx.Member
	if n.has("properties") {
		var err error
		if members, err = jsonx.Members(n.raw["properties"]); err != nil {
			return errors.New("object properties must be a schema map")
		}
	}
	properties, names := &jsonx.Object{}, make([]string, 0, len(members))
	for _, m := range members {
		prop, err := s.node(m.Value)
		if err != nil {
			return err
		}
		names = append(names, m.Name)
		switch null := prop.allowsNull(); {
		case slices.Contains(required, m.Name) || null:
			if null || prop.has("anyOf") {
				s.options++
			}
			properties.Set(m.Name, prop.members)
		default:
			s.options++
			properties.Set(m.Name, map[string]any{"anyOf": []any{prop.members, map[string]string{"type": "null"}}})
		}
	}
	for _, name := range required {
		if !slices.Contains(names, name) {
			return errors.New("required contains an unknown property")
		}
	}
	n.members.Set("properties", properties)
	n.members.Set("required", names)
	n.members.Set("additionalProperties", false)
	return nil
}

// allowsNull reports whether null fits a schema.
func (n *node) allowsNull() bool {
	var types, values, variants []jsonx.Raw
	_ = jsonx.Unmarshal(n.raw["type"], &types)     // a single type
	_ = jsonx.Unmarshal(n.raw["enum"], &values)    // none
	_ = jsonx.Unmarshal(n.raw["anyOf"], &variants) // none
	isNull := func(raw jsonx.Raw) bool { return string(raw) == "null" }
	return n.typ == "null" || isNull(n.raw["const"]) || slices.ContainsFunc(values, isNull) ||
		slices.ContainsFunc(types, func(t jsonx.Raw) bool { return string(t) == `"null"` }) ||
		slices.ContainsFunc(variants, func(v jsonx.Raw) bool {
			alt, err := parseNode(v)
			return err == nil && alt.allowsNull()
		})
}
