package tool

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

const readSchema = `{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"offset":{"type":"number"},"limit":{"type":"number"}}}`

const editSchema = `{"type":"object","required":["path","edits"],"properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","required":["oldText","newText"],"properties":{"oldText":{"type":"string"},"newText":{"type":"string"}}}}}}`

const wideSchema = `{"type":"object","properties":{
  "n":{"type":"integer"},"f":{"type":"number","minimum":1,"exclusiveMaximum":10,"multipleOf":0.5},
  "b":{"type":"boolean"},"s":{"type":"string","minLength":2,"maxLength":4,"pattern":"^[a-z]+$"},
  "kind":{"enum":["fast","slow",3]},"one":{"const":true},
  "mixed":{"anyOf":[{"type":"number"},{"type":"boolean"},{"type":"null"}]},
  "types":{"type":["integer","null"]},
  "list":{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3,"uniqueItems":true},
  "pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false},
  "shape":{"oneOf":[{"type":"object","required":["r"],"properties":{"t":{"const":"circle"},"r":{"type":"number"}}},{"type":"object","required":["w"],"properties":{"t":{"const":"box"},"w":{"type":"number"}}}]},
  "strict":{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}}},
  "map":{"type":"object","additionalProperties":{"type":"number"}},
  "tree":{"$ref":"#/$defs/node"},"lost":{"$ref":"#/nowhere"}},
 "$defs":{"node":{"type":"object","required":["v"],"properties":{"v":{"type":"number"},"kids":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`

func prepare(schema, args string) (string, error) {
	got, err := Prepare(llm.ToolSpec{Name: "t", Parameters: jsonx.Raw(schema)}, &llm.ToolCall{Name: "t", Arguments: jsonx.Raw(args)})
	return string(got), err
}

func TestPrepareCoerces(t *testing.T) {
	for _, tt := range []struct{ name, schema, args, want string }{
		{"untouched text", readSchema, `{ "path" : "a" }`, `{ "path" : "a" }`},
		{"no arguments", `{"type":"object","properties":{}}`, ``, `{}`},
		{"number for text", readSchema, `{"path":5}`, `{"path":"5"}`},
		{"number for text in JavaScript's form", readSchema, `{"path":1e21}`, `{"path":"1e+21"}`},
		{"boolean for text", readSchema, `{"path":true}`, `{"path":"true"}`},
		{"text for number", readSchema, `{"path":"a","offset":"12","limit":" 3.5 "}`, `{"path":"a","offset":12,"limit":3.5}`},
		{"optional null", readSchema, `{"path":"a","offset":null}`, `{"path":"a"}`},
		{"unknown members and their order", readSchema, `{"z":null,"path":1,"a":[{"b":1.50}]}`, `{"z":null,"path":"1","a":[{"b":1.50}]}`},
		{"the last of two members", readSchema, `{"path":1,"offset":1,"path":2}`, `{"path":"2","offset":1}`},
		{"integer", wideSchema, `{"n":"7.9"}`, `{"n":7}`},
		{"hexadecimal", wideSchema, `{"n":"0x1f"}`, `{"n":31}`},
		{"boolean from text", wideSchema, `{"b":"True"}`, `{"b":true}`},
		{"boolean from number", wideSchema, `{"b":0}`, `{"b":false}`},
		{"enum", wideSchema, `{"kind":"3"}`, `{"kind":3}`},
		{"const", wideSchema, `{"one":"true"}`, `{"one":true}`},
		{"union", wideSchema, `{"mixed":"4"}`, `{"mixed":4}`},
		{"union takes null", wideSchema, `{"mixed":null}`, `{"mixed":null}`},
		{"list of types", wideSchema, `{"types":"9"}`, `{"types":9}`},
		{"items", wideSchema, `{"list":["1",2]}`, `{"list":[1,2]}`},
		{"one item for a list", wideSchema, `{"list":"4"}`, `{"list":[4]}`},
		{"list as text", wideSchema, `{"list":"[1, \"2\"]"}`, `{"list":[1,2]}`},
		{"object as text", wideSchema, `{"strict":"{\"a\":1}"}`, `{"strict":{"a":"1"}}`},
		{"additional members", wideSchema, `{"map":{"x":"1"}}`, `{"map":{"x":1}}`},
		{"tuple", wideSchema, `{"pair":[1,"2"]}`, `{"pair":["1",2]}`},
		{"recursion", wideSchema, `{"tree":{"v":"1","kids":[{"v":"2"}]}}`, `{"tree":{"v":1,"kids":[{"v":2}]}}`},
		{"tagged alternative", wideSchema, `{"shape":{"t":"box","w":"2"}}`, `{"shape":{"t":"box","w":2}}`},
		{"edits as text", editSchema, `{"path":"a","edits":"[{\"oldText\":\"x\",\"newText\":\"y\"}]"}`, `{"path":"a","edits":[{"oldText":"x","newText":"y"}]}`},
		{"edits as text of one object", editSchema, `{"path":"a","edits":"{\"oldText\":\"x\",\"newText\":\"y\"}"}`, `{"path":"a","edits":[{"oldText":"x","newText":"y"}]}`},
		{"edits as one object", editSchema, `{"path":"a","edits":{"oldText":"x","newText":"y"}}`, `{"path":"a","edits":[{"oldText":"x","newText":"y"}]}`},
		{"edit at the top", editSchema, `{"path":"a","oldText":"x","newText":"y","why":"z"}`, `{"path":"a","why":"z","edits":[{"oldText":"x","newText":"y"}]}`},
		{"keys beside the edit", editSchema, `{"path":"a","edits":[{"oldText":"x","newText":"y","n":1}]}`, `{"path":"a","edits":[{"oldText":"x","newText":"y","n":1}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := prepare(tt.schema, tt.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPrepareNamesAllFaults(t *testing.T) {
	for _, tt := range []struct{ name, schema, args, faults string }{
		{"missing", readSchema, `{}`, "path: missing"},
		{"required null is not text", readSchema, `{"path":null}`, "path: expected string, got null"},
		{"several", readSchema, `{"offset":"x","limit":[]}`, "path: missing\noffset: expected number, got string\nlimit: expected number, got array"},
		{"blank is no number", readSchema, `{"path":"a","offset":""}`, "offset: expected number, got string"},
		{"not an object", readSchema, `[]`, "root: expected object, got array"},
		{"nested", editSchema, `{"path":"a","edits":[{"oldText":"x"},{"newText":{}}]}`, "edits.0.newText: missing\nedits.1.oldText: missing\nedits.1.newText: expected string, got object"},
		{"text that is no list", editSchema, `{"path":"a","edits":"x"}`, "edits: expected array, got string"},
		{"half an edit at the top", editSchema, `{"path":"a","oldText":"x"}`, "edits: missing"},
		{"bounds", wideSchema, `{"f":0.7,"s":"A","list":[]}`, "f: expected >= 1\nf: expected a multiple of 0.5\ns: expected at least 2 characters\ns: expected to match ^[a-z]+$\nlist: expected at least 1 items"},
		{"upper bounds", wideSchema, `{"f":10,"s":"abcde","list":[1,2,3,1]}`, "f: expected < 10\ns: expected at most 4 characters\nlist: expected at most 3 items\nlist: expected unique items"},
		{"enum", wideSchema, `{"kind":"x","one":false}`, "kind: expected one of [\"fast\",\"slow\",3]\none: expected true"},
		{"type list", wideSchema, `{"types":"x"}`, "types: expected integer or null, got string"},
		{"tag", wideSchema, `{"shape":{"t":"star"}}`, "shape.t: expected one of [\"circle\",\"box\"]"},
		{"alternative by tag", wideSchema, `{"shape":{"t":"box"}}`, "shape.w: missing"},
		{"closed", wideSchema, `{"strict":{"a":"x","q":1}}`, "strict.q: unknown field"},
		{"tuple", wideSchema, `{"pair":["a",1,2]}`, "pair.2: no value is allowed here"},
		{"recursion", wideSchema, `{"tree":{"v":1,"kids":[{"v":1,"kids":[{}]}]}}`, "tree.kids.0.kids.0.v: missing"},
		{"dangling reference", wideSchema, `{"lost":1}`, "lost: unresolved reference #/nowhere"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := prepare(tt.schema, tt.args)
			if err == nil {
				t.Fatalf("accepted as %s", got)
			}
			want := "Validation failed for tool \"t\":\n  - " + strings.ReplaceAll(tt.faults, "\n", "\n  - ") + "\n\nReceived arguments:\n" + string(jsonx.Indent([]byte(tt.args)))
			if diff := cmp.Diff(want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPrepareTexts(t *testing.T) {
	spec := llm.ToolSpec{Name: "bash", Parameters: jsonx.Raw(`{"type":"object","required":["command"],"properties":{"command":{"type":"string"}}}`)}
	for _, tt := range []struct {
		name string
		call llm.ToolCall
		want string
	}{
		{"validation", llm.ToolCall{Arguments: jsonx.Raw(`{"cmd":"x","n":[1,{"a":{}}]}`)}, "Validation failed for tool \"bash\":\n  - command: missing\n\nReceived arguments:\n{\n  \"cmd\": \"x\",\n  \"n\": [\n    1,\n    {\n      \"a\": {}\n    }\n  ]\n}"},
		{"cut off", llm.ToolCall{Arguments: jsonx.Raw(`{}`), ArgumentsError: llm.ArgumentsFault(`{"command": "echo unterminated`)}, "Invalid arguments for tool \"bash\": Unterminated string in JSON at position 30 (line 1 column 31)\n\nReceived arguments:\n{\"command\": \"echo unterminated"},
		{"no JSON", llm.ToolCall{Arguments: jsonx.Raw(`{}`), ArgumentsError: llm.ArgumentsFault(`not json`)}, "Invalid arguments for tool \"bash\": Unexpected token 'o', \"not json\" is not valid JSON\n\nReceived arguments:\nnot json"},
		{"no object", llm.ToolCall{Arguments: jsonx.Raw(`{}`), ArgumentsError: llm.ArgumentsFault(`null`)}, "Invalid arguments for tool \"bash\": Tool arguments must be a JSON object\n\nReceived arguments:\nnull"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Prepare(spec, &tt.call)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPrepareEndsOnRecursiveSchemas(t *testing.T) {
	loop := `{"$ref":"#"}`
	if _, err := prepare(loop, `{"a":1}`); err == nil || !strings.Contains(err.Error(), textTooDeep) {
		t.Errorf("a schema that refers to itself: %v", err)
	}
	union := `{"$defs":{"n":{"anyOf":[{"type":"object","required":["a","x"],"properties":{"a":{"$ref":"#/$defs/n"}}},{"type":"object","required":["a","y"],"properties":{"a":{"$ref":"#/$defs/n"}}}]}},"$ref":"#/$defs/n"}`
	if _, err := prepare(union, strings.Repeat(`{"a":`, 60)+`1`+strings.Repeat(`}`, 60)); err == nil {
		t.Error("accepted a value that no alternative takes")
	}
}

func TestPrepareKeepsLargeTextAndCompilesOnce(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	args := `{"path":"` + text + `"}`
	if got, err := prepare(readSchema, args); err != nil || got != args {
		t.Fatalf("changed: %v", err)
	}
	raw := jsonx.Raw(readSchema)
	a, _ := schemas().get(raw)
	b, _ := schemas().get(jsonx.Raw(strings.Clone(readSchema)))
	if a != b {
		t.Error("the same schema was compiled twice")
	}
	if _, err := prepare(`{"type":`, `{}`); err == nil || !strings.Contains(err.Error(), "no usable schema") {
		t.Errorf("broken schema: %v", err)
	}
}

// The texts are those of V8 (Node 22).
func TestJSONFault(t *testing.T) {
	for text, want := range map[string]string{
		``:                              `Unexpected end of JSON input`,
		` `:                             `Unexpected end of JSON input`,
		`nul`:                           `Unexpected end of JSON input`,
		`undefined`:                     `"undefined" is not valid JSON`,
		`{`:                             `Expected property name or '}' in JSON at position 1 (line 1 column 2)`,
		`{"a"`:                          `Expected ':' after property name in JSON at position 4 (line 1 column 5)`,
		`{"a":`:                         `Unexpected end of JSON input`,
		`{"a":1`:                        `Expected ',' or '}' after property value in JSON at position 6 (line 1 column 7)`,
		`{"a":1,}`:                      `Expected double-quoted property name in JSON at position 7 (line 1 column 8)`,
		`[`:                             `Unexpected end of JSON input`,
		`[1`:                            `Expected ',' or ']' after array element in JSON at position 2 (line 1 column 3)`,
		`[1,]`:                          `Unexpected token ']', "[1,]" is not valid JSON`,
		`{"a":1}x`:                      `Unexpected non-whitespace character after JSON at position 7 (line 1 column 8)`,
		`"abc`:                          `Unterminated string in JSON at position 4 (line 1 column 5)`,
		"{\"a\":\"x\ny\"}":              `Bad control character in string literal in JSON at position 7 (line 1 column 8)`,
		`{"a":"\q"}`:                    `Bad escaped character in JSON at position 7 (line 1 column 8)`,
		`{"a":"\u12g4"}`:                `Bad Unicode escape in JSON at position 10 (line 1 column 11)`,
		`{"a":"\u12`:                    `Bad Unicode escape in JSON at position 10 (line 1 column 11)`,
		`{"a":"b\`:                      `Unexpected end of JSON input`,
		`-`:                             `No number after minus sign in JSON at position 1 (line 1 column 2)`,
		`1.`:                            `Unterminated fractional number in JSON at position 2 (line 1 column 3)`,
		`{"a":1e+}`:                     `Exponent part is missing a number in JSON at position 8 (line 1 column 9)`,
		`{"a":01}`:                      `Unexpected number in JSON at position 6 (line 1 column 7)`,
		"{\"a\":\n  \"b\",\n c":         `Expected double-quoted property name in JSON at position 14 (line 3 column 2)`,
		`xxxxxxxxxxxxxxxxxxxxxxxxxxxxx`: `Unexpected token 'x', "xxxxxxxxxx"... is not valid JSON`,
		`{"aaaaaaaaaaaaaaaaaaaaaaaa": bbbbbbbbbbbbbbbbbbb}`: `Unexpected token 'b', ..."aaaaaaa": bbbbbbbbbb"... is not valid JSON`,
		`{"aaaaaaaaaaaaaaaaaaaaaaaa": 12345, "b": x}`:       `Unexpected token 'x', ..."345, "b": x}" is not valid JSON`,
		`{"é":"\x"}`: `Bad escaped character in JSON at position 7 (line 1 column 8)`,
		`{"a":[true,false,null,-1.5e3,"\u00e9\n"]} `: ``,
	} {
		if got := jsonx.Fault(text); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
	if got := jsonx.Fault(strings.Repeat("[", 1<<20)); got == "" {
		t.Error("deep nesting accepted")
	}
}
