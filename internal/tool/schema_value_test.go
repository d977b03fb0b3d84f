package tool

import (
	"math"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func parsed(tb testing.TB, text string) *value {
	tb.Helper()
	v, err := parseValue([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func TestValueKeepsItsText(t *testing.T) {
	for _, text := range []string{
		`null`, `-0.10e+3`, `"a\u00e9\n"`, `[]`, `{}`, `[1,[2,{"b":null,"a":[true,false]}]]`, `{"z":1,"a":{"z":2},"":3}`, `"\ud800"`,
	} {
		if got := string(parsed(t, text).append(nil)); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	for _, text := range []string{``, `{`, `[1`, `{"a"}`, `1 2`, `nul`} {
		if _, err := parseValue([]byte(text)); err == nil {
			t.Errorf("%q accepted", text)
		}
	}
}

func TestValueEquality(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true},
		{`100`, `1e2`, true},
		{`1`, `"1"`, false},
		{`"\u0061"`, `"a"`, true},
		{`{"a":1,"b":[2]}`, `{"b":[2.0],"a":1}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":1,"b":2}`, `{"a":1,"c":2}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`true`, `false`, false},
		{`null`, `null`, true},
	} {
		a, b := parsed(t, tt.a), parsed(t, tt.b)
		if got := a.equal(b); got != tt.want {
			t.Errorf("%s and %s: %v", tt.a, tt.b, got)
		}
		if got := a.canonical() == b.canonical(); got != tt.want {
			t.Errorf("canonical %s and %s: %v", tt.a, tt.b, got)
		}
		if string(a.append(nil)) != tt.a {
			t.Errorf("%s was changed by comparing", tt.a)
		}
	}
}

func TestValueMembers(t *testing.T) {
	v := parsed(t, `{"a":1,"b":2,"c":3}`)
	copied := v.clone()
	v.remove("b")
	v.set("a", boolValue(true))
	v.set("d", stringValue("x"))
	if got := string(v.append(nil)); got != `{"a":true,"c":3,"d":"x"}` {
		t.Errorf("%s", got)
	}
	if got := string(copied.append(nil)); got != `{"a":1,"b":2,"c":3}` {
		t.Errorf("the copy changed too: %s", got)
	}
	if v.get("b") != nil || v.get("c") == nil || (*value)(nil).get("a") != nil {
		t.Error("get")
	}
}

func TestValueTypes(t *testing.T) {
	for text, want := range map[string]string{
		`null`: "null", `true`: "boolean", `false`: "boolean", `""`: "string", `[]`: "array", `{}`: "object",
		`1`: "integer", `-2.0`: "integer", `1e3`: "integer", `1.5`: "number", `1e400`: "number",
	} {
		v := parsed(t, text)
		if got := v.typeName(); got != want || !v.is(want) {
			t.Errorf("%s: %s", text, got)
		}
		if number := want == "integer" || want == "number"; v.is("number") != number {
			t.Errorf("%s: a number %v", text, !number)
		}
	}
}

func TestNumberOf(t *testing.T) {
	for text, want := range map[string]float64{
		"5": 5, " -2.5 ": -2.5, "1e3": 1000, "+7": 7, ".5": 0.5, "0x1F": 31, "0b11": 3, "0o17": 15, "007": 7,
	} {
		if got, ok := numberOf(text); !ok || got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", " ", "five", "1_000", "0x", "0x1_0", "Infinity", "NaN", "1 2", "--1", "1e", "0xfffffffffffffffff"} {
		if got, ok := numberOf(text); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestFormatNumber(t *testing.T) {
	for f, want := range map[float64]string{5: "5", 2.5: "2.5", 1e21: "1e+21", 1e-7: "1e-7", 100: "100", math.Inf(1): "0"} {
		if got := formatNumber(f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}

func TestPatternsAndCounts(t *testing.T) {
	schema := `{"type":"object","patternProperties":{"^n":{"type":"number"}},"additionalProperties":{"type":"boolean"},"minProperties":1,"maxProperties":2}`
	for args, want := range map[string]string{
		`{"n1":"5","x":"true"}`: `{"n1":5,"x":true}`,
		`{"n":1}`:               `{"n":1}`,
	} {
		if got, err := prepare(schema, args); err != nil || got != want {
			t.Errorf("%s: %s, %v", args, got, err)
		}
	}
	for args, want := range map[string]string{
		`{}`:                    "root: expected at least 1 properties",
		`{"n":"a"}`:             "n: expected number, got string",
		`{"x":"a"}`:             "x: expected boolean, got string",
		`{"n":1,"n2":2,"n3":3}`: "root: expected at most 2 properties",
	} {
		if _, err := prepare(schema, args); err == nil || !strings.Contains(err.Error(), "\n  - "+want+"\n") {
			t.Errorf("%s: %v", args, err)
		}
	}
	// A pattern that Go cannot express is not checked.
	if _, err := prepare(`{"properties":{"a":{"type":"string","pattern":"^(?!x)"}},"patternProperties":{"(?=y)":false}}`, `{"a":"x","y":1}`); err != nil {
		t.Error(err)
	}
}

func TestReferences(t *testing.T) {
	schema := `{"type":"object","properties":{"a":{"$ref":"#/definitions/x~1y/0"},"b":{"$ref":"#/definitions/deep"},"c":{"$ref":"http://elsewhere/"}},
		"definitions":{"x/y":[{"type":"integer"}],"deep":{"$ref":"#/definitions/deeper"},"deeper":{"type":"boolean"}}}`
	if got, err := prepare(schema, `{"a":"7","b":"false"}`); err != nil || got != `{"a":7,"b":false}` {
		t.Errorf("%s, %v", got, err)
	}
	for _, args := range []string{`{"a":"x"}`, `{"b":"x"}`, `{"c":1}`} {
		if got, err := prepare(schema, args); err == nil {
			t.Errorf("%s accepted as %s", args, got)
		}
	}
}

func TestUnions(t *testing.T) {
	schema := `{"properties":{"u":{"anyOf":[{"type":"object","required":["id"],"properties":{"id":{"type":"number"}}},{"type":"string","minLength":3}]},
		"one":{"oneOf":[{"type":"number"},{"type":"integer"}]},"all":{"allOf":[{"type":"number"},{"minimum":3}]},"not":{"not":{"type":"string"}}}}`
	for args, want := range map[string]string{
		`{"u":{"id":"1"}}`: `{"u":{"id":1}}`,
		`{"u":"abc"}`:      `{"u":"abc"}`,
		`{"u":1234}`:       `{"u":"1234"}`,
		`{"one":"1.5"}`:    `{"one":1.5}`,
		`{"all":"4"}`:      `{"all":4}`,
	} {
		if got, err := prepare(schema, args); err != nil || got != want {
			t.Errorf("%s: %s, %v", args, got, err)
		}
	}
	for args, want := range map[string]string{
		`{"u":{"id":"x"}}`: "u.id: expected number, got string",
		`{"one":2}`:        "one: matches more than one alternative",
		`{"all":2}`:        "all: expected >= 3",
		`{"not":"x"}`:      "not: must not match the schema in not",
	} {
		if _, err := prepare(schema, args); err == nil || !strings.Contains(err.Error(), "\n  - "+want+"\n") {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestLongEnumsAreCut(t *testing.T) {
	values := strings.TrimSuffix(strings.Repeat("0,", 25), ",")
	_, err := prepare(`{"enum":[`+values+`]}`, `1`)
	if err == nil || !strings.Contains(err.Error(), "expected one of ["+values[:39]+", ... and 5 more]") {
		t.Errorf("%v", err)
	}
}

func TestLargeArgumentsAreChecked(t *testing.T) {
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 300_000), ",") + "]"
	if got, err := prepare(`{"type":"array","items":{"type":"integer"}}`, list); err != nil || got != list {
		t.Errorf("%v", err)
	}
	if _, err := prepare(`{"type":"array","items":{"type":"integer"}}`, list[:len(list)-1]+`,"x"]`); err == nil || !strings.Contains(err.Error(), "300000: expected integer, got string") {
		t.Errorf("%.200v", err)
	}
	var names strings.Builder
	for i := range 20_000 {
		names.WriteString(`"k` + formatNumber(float64(i)) + `":1,`)
	}
	object := jsonx.Raw("{" + strings.TrimSuffix(names.String(), ",") + "}")
	if got, err := prepare(`{"type":"object"}`, string(object)); err != nil || got != string(object) {
		t.Errorf("%v", err)
	}
}
