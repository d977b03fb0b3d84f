package schema

import "github.com/isotope-agent/isotope/internal/jsonx"

// object is the schema of a JSON object under construction.
type object struct {
	doc        string
	properties *jsonx.Object
	required   []string
	isOpen     bool // it may have members that are not described
}

func newObject(doc string) *object { return &object{doc: doc, properties: &jsonx.Object{}} }

func (o *object) member(name string, s *jsonx.Object, required bool) {
	o.properties.Set(name, s)
	if required {
		o.required = append(o.required, name)
	}
}

func (o *object) open() *jsonx.Object {
	o.isOpen = true
	return o.closed()
}

// closed returns the schema; it is open when a field made it so.
func (o *object) closed() *jsonx.Object {
	s := typed("object")
	if o.doc != "" {
		s.Set("description", o.doc)
	}
	s.Set("properties", o.properties)
	if len(o.required) > 0 {
		s.Set("required", o.required)
	}
	if !o.isOpen {
		s.Set("additionalProperties", false)
	}
	return s
}

func typed(names ...string) *jsonx.Object {
	s := &jsonx.Object{}
	if len(names) == 1 {
		s.Set("type", names[0])
	} else {
		s.Set("type", names)
	}
	return s
}

func null() *jsonx.Object { return typed("null") }

func constant(v any) *jsonx.Object {
	s := &jsonx.Object{}
	s.Set("const", v)
	return s
}

func enum(words []string) *jsonx.Object {
	s := typed("string")
	s.Set("enum", words)
	return s
}

func array(items *jsonx.Object) *jsonx.Object {
	s := typed("array")
	s.Set("items", items)
	return s
}

func anyOf(list ...any) *jsonx.Object {
	s := &jsonx.Object{}
	s.Set("anyOf", list)
	return s
}

func ref(name string) *jsonx.Object {
	s := &jsonx.Object{}
	s.Set("$ref", "#/$defs/"+name)
	return s
}

func anything(doc string) *jsonx.Object { return described(&jsonx.Object{}, doc) }

func described(s *jsonx.Object, doc string) *jsonx.Object {
	if doc != "" {
		s.Set("description", doc)
	}
	return s
}
