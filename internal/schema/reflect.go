package schema

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// generator turns Go types into definitions.
type generator struct {
	dialect dialect.Dialect
	facts   facts
	defs    *jsonx.Object
	names   map[string]reflect.Type
	err     error
}

func newGenerator(d dialect.Dialect) *generator {
	return &generator{dialect: d, facts: knownFacts(d), defs: &jsonx.Object{}, names: map[string]reflect.Type{}}
}

func typeOf(v any) reflect.Type {
	t, ok := v.(reflect.Type)
	if !ok {
		t = reflect.TypeOf(v)
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// define adds a definition and returns a reference to it.
func (g *generator) define(name string, s *jsonx.Object) *jsonx.Object {
	g.defs.Set(name, s)
	return ref(name)
}

// of describes the type of a value.
func (g *generator) of(v any) *jsonx.Object { return g.typ(typeOf(v)) }

var (
	rawType  = reflect.TypeFor[jsonx.Raw]()
	textType = reflect.TypeFor[encoding.TextMarshaler]()
)

// typ describes a type as it is encoded where it stands.
func (g *generator) typ(t reflect.Type) *jsonx.Object {
	if s := g.facts.types[t]; s != nil {
		return s
	}
	if words := g.facts.words[t]; words != nil {
		return enum(words)
	}
	if union := g.facts.unions[t]; union != nil {
		return g.union(t, union)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return anyOf(g.typ(t.Elem()), null())
	case reflect.Struct:
		if t.NumField() == 0 && t.Implements(textType) { // a discriminator
			text, _ := reflect.Zero(t).Interface().(encoding.TextMarshaler).MarshalText()
			return constant(string(text))
		}
		return g.object(t)
	case reflect.Slice:
		if t == rawType {
			return &jsonx.Object{}
		}
		return array(g.typ(elem(t)))
	case reflect.Map:
		s := typed("object")
		s.Set("additionalProperties", g.typ(t.Elem()))
		return s
	case reflect.Interface:
		return &jsonx.Object{}
	case reflect.String:
		if t.PkgPath() != "" {
			g.fail("the values of %s are not known", t)
		}
		return typed("string")
	case reflect.Bool:
		return typed("boolean")
	case reflect.Float32, reflect.Float64:
		return typed("number")
	case reflect.Int, reflect.Int64, reflect.Int32:
		return typed("integer")
	}
	g.fail("%s is a kind of type that was not thought of", t)
	return &jsonx.Object{}
}

// elem is the element of a list. One that is a pointer is never null.
func elem(t reflect.Type) reflect.Type {
	if t = t.Elem(); t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func (g *generator) fail(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf(format, args...)
	}
}

// object describes a struct, as a definition of its own when it has an exported name.
func (g *generator) object(t reflect.Type) *jsonx.Object {
	name := t.Name()
	if name == "" || name[0] < 'A' || name[0] > 'Z' {
		o := newObject("")
		g.fields(o, t)
		return o.closed()
	}
	if at := strings.LastIndexByte(t.PkgPath(), '/'); g.names[name] != nil && g.names[name] != t {
		name = t.PkgPath()[at+1:] + "." + name
	}
	if g.names[name] == nil {
		g.names[name] = t
		g.defs.Set(name, &jsonx.Object{}) // keeps its place; it may refer to itself
		o := newObject("")
		g.fields(o, t)
		g.defs.Set(name, o.closed())
	}
	return ref(name)
}

// fields adds the members that a struct is encoded to.
func (g *generator) fields(o *object, t reflect.Type) {
	for f := range t.Fields() {
		tag, has := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case name == "-", !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && !has:
			inner, optional := f.Type, false
			if inner.Kind() == reflect.Pointer {
				inner, optional = inner.Elem(), true
			}
			before := len(o.required)
			if g.fields(o, inner); optional {
				o.required = o.required[:before]
			}
			continue
		case name == "" && options == "embed":
			o.isOpen = true
			continue
		case name == "":
			name = f.Name
		}
		optional := strings.Contains(options, "omit")
		if r, ok := g.facts.required[t.Name()+"."+name]; ok {
			optional = !r
		}
		o.member(name, g.field(t, f, name, strings.Contains(options, "omit")), !optional)
	}
}

// field describes what stands in a field.
func (g *generator) field(t reflect.Type, f reflect.StructField, name string, optional bool) *jsonx.Object {
	if fact := g.facts.fields[t.Name()+"."+name]; fact != nil {
		return fact(g)
	}
	if f.Type.Kind() == reflect.Pointer && (optional || g.facts.never[t.Name()+"."+name]) {
		return g.typ(f.Type.Elem()) // absent instead of null
	}
	return g.typ(f.Type)
}

// union describes an interface by the types that stand in it.
func (g *generator) union(t reflect.Type, members []any) *jsonx.Object {
	if g.names[t.Name()] == nil {
		g.names[t.Name()] = t
		g.defs.Set(t.Name(), &jsonx.Object{})
		var list []any
		for _, m := range members {
			list = append(list, g.of(m))
		}
		g.defs.Set(t.Name(), anyOf(list...))
	}
	return ref(t.Name())
}

// nullModel describes a struct whose member "model" is null when there is none.
func (g *generator) nullModel(v any) *jsonx.Object {
	o := newObject("")
	g.fields(o, typeOf(v))
	o.properties.Set("model", anyOf(o.properties.Get("model"), null()))
	o.required = append([]string{"model"}, o.required...)
	return o.closed()
}
