package scripted_test

import (
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm/scripted"
)

const docs = "../../../docs"

// schema returns the published JSON Schema of scripts.
func schema(t testing.TB) *jsonschema.Resolved {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(docs, "scripted.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := s.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func validate(t testing.TB, s *jsonschema.Resolved, script string) error {
	t.Helper()
	var v any
	if err := jsonx.Unmarshal([]byte(script), &v); err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return s.Validate(v)
}

// The examples of the documentation and the embedded demo are scripts by the schema
// and by the parser.
func TestExamples(t *testing.T) {
	s := schema(t)
	page, err := os.ReadFile(filepath.Join(docs, "scripted.md"))
	if err != nil {
		t.Fatal(err)
	}
	demo, err := os.ReadFile("demo.json")
	if err != nil {
		t.Fatal(err)
	}
	examples := []string{string(demo)}
	text := strings.ReplaceAll(string(page), "\r\n", "\n")
	for _, m := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(text, -1) {
		examples = append(examples, m[1])
	}
	if len(examples) < 5 {
		t.Fatalf("only %d examples found", len(examples))
	}
	for _, e := range examples {
		if _, err := scripted.Parse([]byte(e)); err != nil {
			t.Errorf("%s\nparser: %v", e, err)
		}
		if err := validate(t, s, e); err != nil {
			t.Errorf("%s\nschema: %v", e, err)
		}
	}
}

// The schema refuses what the parser refuses, as far as a schema can see it.
func TestSchemaRefuses(t *testing.T) {
	s := schema(t)
	for _, tt := range badScripts {
		if err := validate(t, s, tt.script); (err == nil) != tt.beyond {
			t.Errorf("%s: the schema says %v", tt.script, err)
		}
	}
}

// The schema knows every member that the parser knows, and no other.
func TestSchemaMembers(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(docs, "scripted.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Properties map[string]jsonx.Raw `json:"properties"`
		Defs       map[string]struct {
			Properties map[string]jsonx.Raw `json:"properties"`
		} `json:"$defs"`
	}
	if err := jsonx.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	types := map[string]reflect.Type{
		"": reflect.TypeFor[scripted.Script](), "model": reflect.TypeFor[scripted.ModelSpec](),
		"turn": reflect.TypeFor[scripted.Turn](), "step": reflect.TypeFor[scripted.Step](),
		"toolCall": reflect.TypeFor[scripted.ToolCall](), "repeat": reflect.TypeFor[scripted.Repeat](),
		"meta": reflect.TypeFor[scripted.Meta](), "error": reflect.TypeFor[scripted.Error](),
	}
	for name, typ := range types {
		members := doc.Properties
		if name != "" {
			members = doc.Defs[name].Properties
		}
		var want []string
		for f := range fields(typ) {
			if member, _, _ := strings.Cut(f.Tag.Get("json"), ","); member != "" {
				want = append(want, member)
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(members))); diff != "" {
			t.Errorf("%q (-parser +schema):\n%s", name, diff)
		}
	}
}

func fields(t reflect.Type) iter.Seq[reflect.StructField] {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}
