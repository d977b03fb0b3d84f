package llm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func TestStrictSchemas(t *testing.T) {
	on := StrictRule{On: true}
	noMinimum := StrictRule{On: true, Refuses: func(name string, _ jsonx.Raw) bool { return name == "minimum" }}
	for _, tt := range []struct {
		name   string
		rule   StrictRule
		schema string
		want   string // "" when it cannot be strict
		fault  string
	}{
		{
			"members that may be left out may be null", on,
			`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"number","description":"d"}},"required":["path"]}`,
			`{"type":"object","properties":{"path":{"type":"string"},"limit":{"anyOf":[{"type":"number","description":"d"},{"type":"null"}]}},"required":["path","limit"],"additionalProperties":false}`, "",
		},
		{
			"those that may be null already stay", on,
			`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"enum":[1,null]},"c":{"anyOf":[{"type":"string"},{"type":"null"}]},"d":{"type":"string","const":null}}}`,
			`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"enum":[1,null]},"c":{"anyOf":[{"type":"string"},{"type":"null"}]},"d":{"type":"string","const":null}},"required":["a","b","c","d"],"additionalProperties":false}`, "",
		},
		{
			"objects in lists", on,
			`{"type":"object","required":["edits"],"additionalProperties":false,"properties":{"edits":{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}}}}`,
			`{"type":"object","required":["edits"],"additionalProperties":false,"properties":{"edits":{"type":"array","items":{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["x"],"additionalProperties":false}}}}`, "",
		},
		{"no members", on, `{"type":"object"}`, `{"type":"object","properties":{},"required":[],"additionalProperties":false}`, ""},
		{"the provider takes no strict tools", StrictRule{}, `{"type":"object"}`, "", "strict tools are unsupported"},
		{"no schema", on, ``, "", "boolean schemas are unsupported"},
		{"true", on, `{"type":"object","properties":{"a":true}}`, "", "boolean schemas are unsupported"},
		{"no object", on, `{"type":"string"}`, "", "root schema must have type object"},
		{"references", on, `{"type":"object","properties":{"a":{"$ref":"#/x"}}}`, "", "$ref schemas are unsupported"},
		{"without a type", on, `{"type":"object","properties":{"a":{"const":1}}}`, "", "schemas without a type are unsupported"},
		{"other members", on, `{"type":"object","additionalProperties":true}`, "", "schema-valued or true additionalProperties is unsupported"},
		{"unions of objects", on, `{"type":"object","properties":{"a":{"anyOf":[{"type":"object"},{"type":"null"}]}}}`, "", "object and array unions are unsupported"},
		{"an empty union", on, `{"type":"object","properties":{"a":{"anyOf":[]}}}`, "", "anyOf must contain at least one schema"},
		{"tuples", on, `{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`, "", "tuple schemas are unsupported"},
		{"members of no object", on, `{"type":"object","properties":{"a":{"type":"array","properties":{}}}}`, "", "properties require type object"},
		{"odd lists of members", on, `{"type":"object","properties":[]}`, "", "object properties must be a schema map"},
		{"odd lists of names", on, `{"type":"object","required":[1]}`, "", "object required must be a string array"},
		{"unknown names", on, `{"type":"object","required":["a"]}`, "", "required contains an unknown property"},
		{"what a provider refuses", noMinimum, `{"type":"object","properties":{"a":{"type":"number","minimum":1}}}`, "", "minimum: 1 is unsupported"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := ToolSpec{Name: "t", Parameters: jsonx.Raw(tt.schema), Sampling: SamplingPrefer}
			got, err := tt.rule.Schemas([]ToolSpec{spec, {Name: "plain", Parameters: spec.Parameters}})
			if err != nil || got[1] != nil {
				t.Fatalf("%s, %v", got[1], err)
			}
			if diff := cmp.Diff(tt.want, string(got[0])); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			spec.Sampling = SamplingRequire
			_, err = tt.rule.Schemas([]ToolSpec{spec})
			if (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), `Tool "t" requires JSON-schema constrained sampling, but `+tt.fault+".") {
				t.Errorf("required: %v, want %q", err, tt.fault)
			}
		})
	}
}

// Beyond a provider's bounds tools that only prefer to be strict are not; those that
// require it come first.
func TestStrictSchemasAreBounded(t *testing.T) {
	tool := func(s Sampling, schema string) ToolSpec {
		return ToolSpec{Name: "t", Sampling: s, Parameters: jsonx.Raw(schema)}
	}
	one := `{"type":"object","properties":{"a":{"type":"string"}}}`
	two := `{"type":"object","properties":{"a":{"type":"string"},"b":{"anyOf":[{"type":"string"},{"type":"number"}]}},"required":["b"]}`
	specs := []ToolSpec{tool(SamplingPrefer, one), tool(SamplingPrefer, two), tool(SamplingPrefer, one), tool(SamplingRequire, one)}
	for _, tt := range []struct {
		rule StrictRule
		want string
	}{
		{StrictRule{On: true}, "ssss"},
		{StrictRule{On: true, Tools: 2}, "s--s"},
		{StrictRule{On: true, Options: 4}, "ss-s"},
		{StrictRule{On: true, Options: 3}, "s-ss"},
		{StrictRule{On: true, Options: 1}, "---s"},
	} {
		schemas, err := tt.rule.Schemas(specs)
		got := ""
		for _, s := range schemas {
			if s != nil {
				got += "s"
			} else {
				got += "-"
			}
		}
		if got != tt.want || err != nil {
			t.Errorf("%+v: %s, want %s (%v)", tt.rule, got, tt.want, err)
		}
	}
}
