package tool

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// schema is a compiled JSON Schema of the kind that tools use: what TypeBox writes,
// and what MCP servers and extensions add to it. Keywords that are not here are
// ignored, as are patterns that Go's regexp cannot express.
type schema struct {
	never    bool     // the schema false
	types    []string // empty: any
	required []string
	props    []property
	patterns []patternProperty
	extra    *schema // additionalProperties; nil: anything
	prefix   []*schema
	items    *schema // items after the prefix; nil: anything
	enum     []*value
	constant *value
	anyOf    []*schema
	oneOf    []*schema
	allOf    []*schema
	not      *schema

	minimum, maximum, above, below, multipleOf *float64
	minLength, maxLength                       *float64
	minItems, maxItems                         *float64
	minProps, maxProps                         *float64
	unique                                     bool
	pattern                                    string
	patternRE                                  *regexp.Regexp

	ref    string
	target *schema // what ref names; nil when it names nothing
}

type property struct {
	name string
	s    *schema
}

type patternProperty struct {
	re *regexp.Regexp
	s  *schema
}

func (s *schema) prop(name string) *schema {
	for i := range s.props {
		if s.props[i].name == name {
			return s.props[i].s
		}
	}
	return nil
}

func (s *schema) requires(name string) bool {
	for _, r := range s.required {
		if r == name {
			return true
		}
	}
	return false
}

// schemaCache keeps compiled schemas by their text. Tools live long and are few; a
// full cache starts over.
type schemaCache struct {
	mu   sync.Mutex
	byID map[string]*schema
}

const schemaCacheSize = 512

var schemas = sync.OnceValue(func() *schemaCache { return &schemaCache{byID: make(map[string]*schema)} })

func (c *schemaCache) get(raw jsonx.Raw) (*schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.byID[string(raw)]; ok {
		return s, nil
	}
	s, err := compileSchema(raw)
	if err != nil {
		return nil, err
	}
	if len(c.byID) >= schemaCacheSize {
		clear(c.byID)
	}
	c.byID[string(raw)] = s
	return s, nil
}

// compileSchema reads a schema. Empty text accepts everything.
func compileSchema(raw jsonx.Raw) (*schema, error) {
	if len(raw) == 0 {
		return &schema{}, nil
	}
	root, err := parseValue(raw)
	if err != nil {
		return nil, err
	}
	c := compiler{root: root, done: make(map[*value]*schema)}
	return c.compile(root), nil
}

// compiler turns schema values into schemas; done makes shared and recursive parts
// one schema.
type compiler struct {
	root *value
	done map[*value]*schema
}

func (c *compiler) compile(v *value) *schema {
	if v == nil {
		return nil
	}
	if s, ok := c.done[v]; ok {
		return s
	}
	s := &schema{never: v.kind == 'f'}
	c.done[v] = s
	if v.kind != '{' {
		return s
	}
	c.compileShape(s, v)
	c.compileBounds(s, v)
	if r := v.get("$ref"); r != nil {
		s.ref = r.text()
		s.target = c.compile(c.resolve(s.ref))
	}
	return s
}

func (c *compiler) compileShape(s *schema, v *value) {
	switch t := v.get("type"); {
	case t == nil:
	case t.kind == '[':
		s.types = texts(t)
	default:
		s.types = []string{t.text()}
	}
	s.required = texts(v.get("required"))
	if p := v.get("properties"); p != nil {
		for _, m := range p.members {
			s.props = append(s.props, property{m.name, c.compile(m.val)})
		}
	}
	if p := v.get("patternProperties"); p != nil {
		for _, m := range p.members {
			if re, err := regexp.Compile(m.name); err == nil {
				s.patterns = append(s.patterns, patternProperty{re, c.compile(m.val)})
			}
		}
	}
	s.extra = c.compile(v.get("additionalProperties"))
	items, prefix := v.get("items"), v.get("prefixItems")
	if items != nil && items.kind == '[' { // the tuples of draft 7
		items, prefix = v.get("additionalItems"), items
	}
	s.items, s.prefix = c.compile(items), c.compileAll(prefix)
	if e := v.get("enum"); e != nil {
		s.enum = e.items
	}
	s.constant = v.get("const")
	s.anyOf, s.oneOf, s.allOf = c.compileAll(v.get("anyOf")), c.compileAll(v.get("oneOf")), c.compileAll(v.get("allOf"))
	s.not = c.compile(v.get("not"))
}

func (c *compiler) compileBounds(s *schema, v *value) {
	for name, dst := range map[string]**float64{
		"minimum": &s.minimum, "maximum": &s.maximum, "exclusiveMinimum": &s.above, "exclusiveMaximum": &s.below,
		"multipleOf": &s.multipleOf, "minLength": &s.minLength, "maxLength": &s.maxLength, "minItems": &s.minItems,
		"maxItems": &s.maxItems, "minProperties": &s.minProps, "maxProperties": &s.maxProps,
	} {
		if f, ok := v.get(name).number(); ok {
			*dst = &f
		}
	}
	if u := v.get("uniqueItems"); u != nil {
		s.unique = u.kind == 't'
	}
	if p := v.get("pattern"); p != nil {
		s.pattern = p.text()
		s.patternRE, _ = regexp.Compile(s.pattern)
	}
}

func (c *compiler) compileAll(v *value) []*schema {
	if v == nil {
		return nil
	}
	var all []*schema
	for _, item := range v.items {
		all = append(all, c.compile(item))
	}
	return all
}

// resolve follows a reference inside the document: "#" or "#/a/b".
func (c *compiler) resolve(ref string) *value {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	v := c.root
	if path == "" {
		return v
	}
	for _, step := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		if v.kind == '[' {
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v.items) {
				return nil
			}
			v = v.items[i]
		} else if v = v.get(step); v == nil {
			return nil
		}
	}
	return v
}

func texts(v *value) []string {
	if v == nil {
		return nil
	}
	var all []string
	for _, item := range v.items {
		all = append(all, item.text())
	}
	return all
}
