package tool

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// schemaGen makes small random schemas and values that often nearly fit.
type schemaGen struct{ *rand.Rand }

func (g schemaGen) pick(s ...string) string { return s[g.IntN(len(s))] }

func (g schemaGen) schema(depth int) string {
	if depth > 3 {
		return g.pick(`{"type":"string"}`, `{"type":"number"}`, `{}`, `true`)
	}
	sub := func() string { return g.schema(depth + 1) }
	switch g.IntN(14) {
	case 0:
		return fmt.Sprintf(`{"type":"string","minLength":%d,"maxLength":%d}`, g.IntN(3), 1+g.IntN(4))
	case 1:
		return fmt.Sprintf(`{"type":%q,"minimum":%d,"exclusiveMaximum":%d}`, g.pick("number", "integer"), g.IntN(3), 2+g.IntN(9))
	case 2:
		return g.pick(`{"type":"boolean"}`, `{"type":"null"}`, `{"type":["integer","null"]}`, `{"type":["string","boolean"]}`)
	case 3:
		return fmt.Sprintf(`{"enum":[%s,%s,%s]}`, g.value(2), g.value(2), g.value(3))
	case 4:
		return fmt.Sprintf(`{"const":%s}`, g.value(2))
	case 5:
		return fmt.Sprintf(`{"type":"array","items":%s,"minItems":%d,"uniqueItems":%t}`, sub(), g.IntN(3), g.IntN(3) == 0)
	case 6:
		return fmt.Sprintf(`{"type":"array","prefixItems":[%s,%s],"items":%s}`, sub(), sub(), sub())
	case 7:
		return fmt.Sprintf(`{"%s":[%s,%s,%s]}`, g.pick("anyOf", "oneOf", "allOf"), sub(), sub(), sub())
	case 8:
		return fmt.Sprintf(`{"not":%s}`, sub())
	case 9:
		return g.pick(`{"type":"string","pattern":"^a"}`, `{"type":"number","multipleOf":2}`, `{"type":"object","minProperties":1,"maxProperties":2}`)
	default:
		return fmt.Sprintf(`{"type":"object","required":[%s],"properties":{"a":%s,"b":%s,"k":{"const":%q}},"additionalProperties":%s}`,
			g.pick(`"a"`, `"a","b"`, ``, `"z"`), sub(), sub(), g.pick("x", "y"), g.pick("true", "false", sub()))
	}
}

func (g schemaGen) value(depth int) string {
	n := 9
	if depth > 3 {
		n = 7
	}
	switch g.IntN(n) {
	case 0:
		return g.pick("null", "true", "false")
	case 1:
		return g.pick("0", "1", "2.5", "-3", "4", "1e2", "6.0")
	case 2, 3:
		return g.pick(`""`, `"a"`, `"ab"`, `"5"`, `"2.5"`, `"true"`, `"x"`, `"äöü"`, `"[1]"`, `"{\"a\":1}"`)
	case 4, 5, 6:
		return g.pick("1", `"1"`, "2", "true")
	case 7:
		return fmt.Sprintf("[%s,%s]", g.value(depth+1), g.value(depth+1))
	default:
		return fmt.Sprintf(`{"a":%s,%q:%s,"k":%s}`, g.value(depth+1), g.pick("b", "c", "z"), g.value(depth+1), g.pick(`"x"`, `"y"`, "1"))
	}
}

// FuzzSchema compares the check with another implementation, and holds Prepare to
// what it promises: what it returns fits, what fits is returned as it is.
func FuzzSchema(f *testing.F) {
	for i := range 200 {
		f.Add(uint64(i), uint64(i*7))
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		g := schemaGen{rand.New(rand.NewPCG(a, b))}
		schemaText, valueText := g.schema(0), g.value(0)
		fits := reference(t, schemaText)
		s, err := compileSchema(jsonx.Raw(schemaText))
		if err != nil {
			t.Fatal(err)
		}
		v, err := parseValue([]byte(valueText))
		if err != nil {
			t.Fatal(err)
		}
		want := fits(valueText)
		if got := new(checker).fits(v, s); got != want {
			t.Fatalf("schema %s\nvalue %s\nfits = %v, want %v", schemaText, valueText, got, want)
		}
		got, err := Prepare(llm.ToolSpec{Parameters: jsonx.Raw(schemaText)}, &llm.ToolCall{Arguments: jsonx.Raw(valueText)})
		switch {
		case err != nil && want:
			t.Fatalf("schema %s\nvalue %s\n%v", schemaText, valueText, err)
		case err == nil && want && string(got) != valueText:
			t.Fatalf("changed %s to %s", valueText, got)
		case err == nil && !fits(string(got)):
			t.Fatalf("schema %s\nvalue %s\ncoerced to %s, which does not fit", schemaText, valueText, got)
		case err != nil && !strings.Contains(err.Error(), "\n  - "):
			t.Fatalf("an error without a fault: %v", err)
		}
	})
}

func reference(t *testing.T, schemaText string) func(string) bool {
	t.Helper()
	var js jsonschema.Schema
	if err := jsonx.Unmarshal([]byte(schemaText), &js); err != nil {
		t.Fatalf("%s: %v", schemaText, err)
	}
	resolved, err := js.Resolve(nil)
	if err != nil {
		t.Skip(err)
	}
	return func(valueText string) bool {
		var v any
		if err := jsonx.Unmarshal([]byte(valueText), &v); err != nil {
			t.Fatalf("%s: %v", valueText, err)
		}
		return resolved.Validate(v) == nil
	}
}

func FuzzJSONFault(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `[1,`, "\"\xff\"", `{"a":"\u00`, `-`, "[1e5]", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if fault := jsonx.Fault(s); (fault == "") != jsonx.Valid([]byte(s)) {
			t.Errorf("%q: fault %q, valid %v", s, fault, jsonx.Valid([]byte(s)))
		}
	})
}

func BenchmarkPrepare(b *testing.B) {
	spec := llm.ToolSpec{Name: "edit", Parameters: jsonx.Raw(editSchema)}
	call := &llm.ToolCall{Arguments: jsonx.Raw(`{"path":"a","edits":[{"oldText":"x","newText":"y"},{"oldText":"z","newText":""}]}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Prepare(spec, call); err != nil {
			b.Fatal(err)
		}
	}
}
