package google

import (
	"slices"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// schemaOf returns a tool's schema as Gemini reads it: it ignores "const", so a text
// or number there becomes an "enum" of one value.
func schemaOf(raw jsonx.Raw) (jsonx.Raw, error) {
	if len(raw) == 0 {
		return jsonx.Raw(`{"type":"object","properties":{}}`), nil
	}
	return withoutConst(raw, false)
}

// withoutConst rewrites one schema, or an object of named ones.
func withoutConst(raw jsonx.Raw, named bool) (jsonx.Raw, error) {
	switch raw.Kind() {
	case '[':
		return eachElement(raw)
	case '{':
	default:
		return raw, nil
	}
	members, err := jsonx.Members(raw)
	if err != nil {
		return nil, err
	}
	var o jsonx.Object
	hasEnum := slices.ContainsFunc(members, func(m jsonx.Member) bool { return m.Name == "enum" })
	for _, m := range members {
		value := m.Value
		switch {
		case named || holdsSchema(m.Name):
			value, err = withoutConst(value, false)
		case holdsNamed(m.Name):
			value, err = withoutConst(value, true)
		case m.Name == "const" && !hasEnum && (value.Kind() == '"' || value.Kind() == '0'):
			m.Name, value = "enum", jsonx.Raw("["+string(value)+"]")
		}
		if err != nil {
			return nil, err
		}
		o.Set(m.Name, value)
	}
	return jsonx.Marshal(&o)
}

func eachElement(raw jsonx.Raw) (jsonx.Raw, error) {
	var elements []jsonx.Raw
	if err := jsonx.Unmarshal(raw, &elements); err != nil {
		return nil, err
	}
	for i, e := range elements {
		var err error
		if elements[i], err = withoutConst(e, false); err != nil {
			return nil, err
		}
	}
	return jsonx.Marshal(elements)
}

// holdsSchema reports whether a keyword's value is a schema or an array of them.
func holdsSchema(keyword string) bool {
	switch keyword {
	case "additionalProperties", "unevaluatedProperties", "propertyNames", "items", "prefixItems", "additionalItems",
		"unevaluatedItems", "contains", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contentSchema":
		return true
	}
	return false
}

// holdsNamed reports whether a keyword's value is an object of schemas by name.
func holdsNamed(keyword string) bool {
	switch keyword {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return true
	}
	return false
}
