package settings

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// samples are values of a kind: what it takes, and what it does not.
func samples(k key) (good, bad []string) {
	switch k.kind {
	case kindText:
		return []string{`"x"`, `""`}, []string{`5`, `[]`, `true`}
	case kindFlag:
		return []string{`true`, `false`}, []string{`"yes"`, `1`}
	case kindChoice:
		for _, w := range k.words {
			good = append(good, strconv.Quote(w))
		}
		return good, []string{`"none of them"`, `7`, `""`}
	case kindCount:
		return []string{`0`, `1`, `9007199254740992`, `1e3`}, []string{`-1`, `1.5`, `"1"`, `1e300`}
	case kindNumber:
		return []string{`0`, `-3`, `2.7`}, []string{`"2"`, `[]`}
	case kindRatio:
		return []string{`0.5`, `0.001`}, []string{`0`, `1`, `-1`, `"0.5"`}
	case kindTimeout:
		return []string{`0`, `1500`, `"1500"`, `"disabled"`, `"Disabled"`, `" 30s "`, `"1h30m"`, `"1.5s"`, `"1e3"`}, []string{`-1`, `"soon"`, `"-5s"`, `"10 s"`, `true`, `""`}
	case kindTexts, kindSkills:
		return []string{`[]`, `["a","b"]`}, []string{`"a"`, `[1]`}
	case kindExtensions:
		return []string{`[]`, `["a","b"]`, `{"paths":["a"],"isolation":"process"}`, `{}`}, []string{`"a"`, `[1]`}
	case kindPackages:
		return []string{`[]`, `["npm:a"]`, `[{"source":"git:b"}]`, `[{"source":"git:b","skills":["x"],"autoload":false}]`}, []string{`"npm:a"`, `[5]`}
	}
	return []string{`{}`}, []string{`5`, `"x"`, `[]`}
}

// document puts a value at the place of a key.
func document(k key, value string) string {
	path := strings.Split(k.name, ".")
	for i, p := range path {
		if p == any1 && i > 0 && path[i-1] == "thinkingBudgets" {
			path[i] = "high"
		} else if p == any1 {
			path[i] = "p/m"
		}
	}
	for _, p := range slices.Backward(path) {
		value = `{` + strconv.Quote(p) + `:` + value + `}`
	}
	return value
}

func TestEveryKeyIsReadAndChecked(t *testing.T) {
	for _, k := range keys() {
		good, bad := samples(k)
		for _, v := range good {
			if w := open("", document(k, v), "").Warnings(); len(w) != 0 {
				t.Errorf("%s: %s: %v", k.name, v, w)
			}
		}
		for _, v := range bad {
			w := open("", document(k, v), "").Warnings()
			name := strings.NewReplacer("thinkingBudgets.*", "thinkingBudgets.high", any1, "p/m").Replace(k.name)
			switch k.name {
			case "skills.customDirectories":
				name = Skills
			case "extensions.paths":
				name = Extensions
			}
			if len(w) != 1 || !strings.Contains(w[0], ": "+name+" must be ") && !strings.Contains(w[0], ": "+name+"[0] must be ") {
				t.Errorf("%s: %s gives %v", k.name, v, w)
			}
		}
		if w := open("", document(k, "null"), "").Warnings(); len(w) != 0 {
			t.Errorf("%s: null: %v", k.name, w)
		}
	}
}

// Settings of the user alone are not taken from a project, not even to be checked.
func TestUserKeysInAProject(t *testing.T) {
	for _, k := range keys() {
		if !k.user {
			continue
		}
		good, bad := samples(k)
		s := open(document(k, good[len(good)-1]), "", "")
		if s.HTTPProxy() != "" || s.DefaultProjectTrust() != "ask" || s.DeviceID() != "" {
			t.Errorf("%s of a project counts", k.name)
		}
		if w := open(document(k, bad[0]), "", "").Warnings(); len(w) != 0 {
			t.Errorf("%s: %v", k.name, w)
		}
	}
}

// Every name that a getter looks for is in the table.
func TestNamesAreInTheTable(t *testing.T) {
	asks := []string{"look", "text", "path", "flag", "count", "timeout", "texts", "orOld"}
	seen := 0
	for _, file := range []string{"get.go", "value.go", "list.go", "settings.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains(asks, sel.Sel.Name) {
				return true
			}
			for i, arg := range call.Args {
				lit, ok := arg.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING || i > 0 && sel.Sel.Name != "orOld" {
					continue
				}
				name, _ := strconv.Unquote(lit.Value)
				seen++
				if index()[name] == nil {
					t.Errorf("%s: %q is not in the table", file, name)
				}
			}
			return true
		})
	}
	if seen < 30 {
		t.Errorf("only %d names found: the getters look for them in another way", seen)
	}
	if k := find("no such setting"); k.def != nil || k.kind != 0 {
		t.Errorf("%+v", k)
	}
}

func TestTable(t *testing.T) {
	known := map[string]bool{}
	for _, k := range keys() {
		if known[k.name] {
			t.Errorf("%s is there twice", k.name)
		}
		known[k.name] = true
		if i := strings.LastIndexByte(k.name, '.'); i > 0 && !known[k.name[:i]] {
			t.Errorf("%s stands before its object", k.name)
		}
		if len(k.doc) < 8 || !strings.HasSuffix(k.doc, ".") && !strings.HasSuffix(k.doc, `".`) && !strings.HasSuffix(k.doc, `level".`) {
			t.Errorf("%s: %q says too little", k.name, k.doc)
		}
		if (k.kind == kindChoice) != (k.words != nil && k.kind != kindMap) {
			t.Errorf("%s: words %v", k.name, k.words)
		}
		if word, ok := k.def.(string); ok && k.kind == kindChoice && !slices.Contains(k.words, word) {
			t.Errorf("%s: the default %q is none of its words", k.name, word)
		}
	}
}

// The names that the other programs' documents have and that mean something here.
func TestNamesOfTheOtherPrograms(t *testing.T) {
	for _, name := range strings.Fields(`defaultProvider defaultModel defaultThinkingLevel modelThinkingLevels thinkingBudgets enabledModels steeringMode followUpMode
		defaultProjectTrust defaultTools sessionDir compaction.enabled compaction.reserveTokens compaction.keepRecentTokens compaction.modelOverrides
		branchSummary.reserveTokens branchSummary.skipPrompt images.autoResize images.blockImages transport httpProxy httpIdleTimeoutMs
		websocketConnectTimeoutMs streamDeadlineMs retry.enabled retry.maxRetries retry.baseDelayMs retry.maxAgentDelayMs retry.provider.timeoutMs
		retry.provider.maxRetries retry.provider.maxRetryDelayMs shellPath shellCommandPrefix packages extensions skills prompts enableSkillCommands
		fallbackModels compaction.compression_ratio compaction.preserve_recent compaction.query compaction.strategy compactionModel deviceId queueMode websockets`) {
		if index()[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestOldWebsockets(t *testing.T) {
	for text, want := range map[string]string{
		`{"websockets":true}`: "websocket", `{"websockets":false}`: "sse", `{"websockets":true,"transport":"auto"}`: "auto", `{"websockets":"x"}`: "auto", `{}`: "auto",
	} {
		if got := open("", text, "").Transport(); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// An old name takes the default of the new one, and leaves the table as it is.
func TestOldNamesAndDefaults(t *testing.T) {
	s := open("", `{"queueMode":"never","retry":{"maxDelayMs":-1},"skills":{"enableSkillCommands":0}}`, "")
	if s.SteeringMode() != ModeOneByOne || s.Retry().MaxRetryDelay.Milliseconds() != 60000 || !s.EnableSkillCommands() {
		t.Error("the default of the new name does not count")
	}
	want := []string{
		`u/settings.json:1:14: queueMode must be "all" or "one-at-a-time", not "never"; using one-at-a-time`,
		`u/settings.json:1:44: retry.maxDelayMs must be a whole number of 0 or more; using 60000`,
		`u/settings.json:1:80: skills.enableSkillCommands must be true or false, not a number; using true`,
	}
	if diff := cmp.Diff(want, s.Warnings()); diff != "" {
		t.Error(diff)
	}
	if find("queueMode").def != nil {
		t.Error("the table was changed")
	}
}

// schema is the schema as a validator takes it.
func schema(t testing.TB) *jsonschema.Resolved {
	t.Helper()
	b, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := s.UnmarshalJSON(b); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func validate(t testing.TB, r *jsonschema.Resolved, text string) error {
	t.Helper()
	var v any
	if err := jsonx.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r.Validate(v)
}

// The schema takes and refuses what the getters take and refuse.
func TestSchemaAgreesWithTheGetters(t *testing.T) {
	r := schema(t)
	for _, k := range keys() {
		good, bad := samples(k)
		for _, v := range good {
			if err := validate(t, r, document(k, v)); err != nil {
				t.Errorf("%s: %s: %v", k.name, v, err)
			}
		}
		for _, v := range bad {
			if validate(t, r, document(k, v)) == nil {
				t.Errorf("%s: the schema takes %s", k.name, v)
			}
		}
	}
	if validate(t, r, `{"packages":[{"skills":[]}]}`) == nil {
		t.Error("a package without a source")
	}
	if validate(t, r, `{"thinkingBudgets":{"huge":5}}`) == nil {
		t.Error("a level that is none")
	}
	if validate(t, r, `[]`) == nil {
		t.Error("a file that is no object")
	}
}

// Other programs' settings in the file are no fault.
func TestSchemaTakesOtherNames(t *testing.T) {
	for _, text := range []string{`{}`, `{"theme":"dark","terminal":{"showImages":true},"$schema":"https://example.test/s.json"}`, `{"retry":{"new":1},"compaction":{"x":[]}}`} {
		if err := validate(t, schema(t), text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSchemaIsComplete(t *testing.T) {
	b, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Schema     string               `json:"$schema"`
		Type       string               `json:"type"`
		Properties map[string]jsonx.Raw `json:"properties"`
	}
	if err := jsonx.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	if s.Schema != "https://json-schema.org/draft/2020-12/schema" || s.Type != "object" || b[len(b)-1] != '\n' {
		t.Errorf("%.200s", b)
	}
	for _, k := range keys() {
		if head, _, _ := strings.Cut(k.name, "."); s.Properties[head] == nil {
			t.Errorf("%s is missing", k.name)
		}
	}
	var retry struct {
		Properties map[string]struct {
			Default    any    `json:"default"`
			Deprecated bool   `json:"deprecated"`
			Doc        string `json:"description"`
		} `json:"properties"`
	}
	if err := jsonx.Unmarshal(s.Properties["retry"], &retry); err != nil {
		t.Fatal(err)
	}
	if p := retry.Properties; p["maxRetries"].Default != 3.0 || p["enabled"].Default != true || !p["maxDelayMs"].Deprecated || p["maxRetries"].Doc == "" {
		t.Errorf("%+v", p)
	}
	if !strings.Contains(string(s.Properties["httpProxy"]), "Counts in the user's settings only.") {
		t.Errorf("%s", s.Properties["httpProxy"])
	}
	again, err := Schema()
	if diff := cmp.Diff(string(b), string(again)); diff != "" || err != nil {
		t.Errorf("not the same twice: %s, %v", diff, err)
	}
}
