package settings

import (
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

const (
	dialect2020 = "https://json-schema.org/draft/2020-12/schema"
	onlyUser    = " Counts in the user's settings only."
	// timePattern is what a time may look like as a text: milliseconds, durations, or a
	// word for none.
	timePattern = `^\s*([Dd][Ii][Ss][Aa][Bb][Ll][Ee][Dd]|\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)\s*$`
)

// Schema returns the JSON Schema (2020-12) of settings.json, indented, for editors. It
// is made from the table that the getters use. Names that are not in it are allowed:
// other programs share the file.
func Schema() ([]byte, error) {
	root := object("Settings of Isotope, pi and Atomic.")
	at := map[string]*jsonx.Object{"": root}
	for _, k := range keys() {
		parent, name := "", k.name
		if i := strings.LastIndexByte(k.name, '.'); i >= 0 {
			parent, name = k.name[:i], k.name[i+1:]
		}
		if at[parent] == nil { // members of a list's old form: the list says them
			continue
		}
		s := k.schema()
		at[k.name] = s
		if name == any1 {
			at[parent].Set("additionalProperties", s)
			continue
		}
		properties, ok := at[parent].Get("properties").(*jsonx.Object)
		if !ok {
			properties = &jsonx.Object{}
			at[parent].Set("properties", properties)
		}
		properties.Set(name, s)
		if k.kind != kindObject && k.kind != kindMap {
			delete(at, k.name)
		}
	}
	b, err := jsonx.MarshalIndent(headed(root))
	return append(b, '\n'), err
}

// headed returns a schema with what stands at the top of a schema file.
func headed(root *jsonx.Object) *jsonx.Object {
	out := &jsonx.Object{}
	out.Set("$schema", dialect2020)
	out.Set("title", "settings.json")
	for _, name := range []string{"description", "type", "properties"} {
		out.Set(name, root.Get(name))
	}
	properties := root.Get("properties").(*jsonx.Object)
	schema := &jsonx.Object{}
	schema.Set("description", "Address of the schema, for editors.")
	schema.Set("type", "string")
	properties.Set("$schema", schema)
	return out
}

func object(doc string) *jsonx.Object {
	o := &jsonx.Object{}
	o.Set("description", doc)
	o.Set("type", "object")
	return o
}

// schema returns the key's schema, without members that have rows of their own.
func (k key) schema() *jsonx.Object {
	o := &jsonx.Object{}
	doc := k.doc
	if k.user {
		doc += onlyUser
	}
	o.Set("description", doc)
	switch k.kind {
	case kindText:
		o.Set("type", "string")
	case kindFlag:
		o.Set("type", "boolean")
	case kindChoice:
		o.Set("enum", k.words)
	case kindCount:
		o.Set("type", "integer")
		o.Set("minimum", 0)
		o.Set("maximum", maxCount)
	case kindNumber:
		o.Set("type", "number")
	case kindRatio:
		o.Set("type", "number")
		o.Set("exclusiveMinimum", 0)
		o.Set("exclusiveMaximum", 1)
	case kindTimeout:
		o.Set("anyOf", []any{raw(`{"type":"number","minimum":0}`), pattern(timePattern)})
	case kindTexts:
		list(o)
	case kindPackages:
		o.Set("type", "array")
		o.Set("items", raw(packageSchema))
	case kindSkills:
		o.Set("anyOf", []any{raw(listSchema), raw(oldSkillsSchema)})
	case kindExtensions:
		o.Set("anyOf", []any{raw(listSchema), raw(extensionsSchema)})
	case kindObject:
		o.Set("type", "object")
	case kindMap:
		o.Set("type", "object")
		if k.words != nil {
			names := &jsonx.Object{}
			names.Set("enum", k.words)
			o.Set("propertyNames", names)
		}
	}
	if k.def != nil {
		o.Set("default", k.def)
	}
	if k.old {
		o.Set("deprecated", true)
	}
	return o
}

func raw(text string) jsonx.Raw { return jsonx.Raw(text) }

func pattern(p string) *jsonx.Object {
	o := &jsonx.Object{}
	o.Set("type", "string")
	o.Set("pattern", p)
	return o
}

func list(o *jsonx.Object) {
	o.Set("type", "array")
	o.Set("items", raw(`{"type":"string"}`))
}

// The schemas that no row has.
const (
	listSchema       = `{"type":"array","items":{"type":"string"}}`
	oldSkillsSchema  = `{"type":"object","deprecated":true,"description":"The old form.","properties":{"enableSkillCommands":{"type":"boolean"},"customDirectories":` + listSchema + `}}`
	extensionsSchema = `{"type":"object","properties":{"paths":` + listSchema + `,"isolation":{"description":"` + isolationDoc + onlyUser + `","enum":["` + IsolationNone + `","` + IsolationProcess + `"],"default":"` + IsolationNone + `"}}}`
	packageSchema    = `{"anyOf":[{"type":"string","description":"A package with all it has."},{"type":"object","description":"A package and what to take of it.","required":["source"],` +
		`"properties":{"source":{"type":"string"},"autoload":{"type":"boolean","default":true},"extensions":` + listSchema + `,"skills":` + listSchema + `,"prompts":` + listSchema + `,"themes":` + listSchema + `}}]}`
)
