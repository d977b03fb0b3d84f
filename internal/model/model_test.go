package model

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// registry returns a Registry over one models.json and providers with keys.
func registry(t testing.TB, modelsJSON string, keys ...string) *Registry {
	t.Helper()
	return New(Options{
		Files:  []string{"models.json"},
		HasKey: func(p string) bool { return slices.Contains(keys, p) },
		ReadFile: func(string) ([]byte, error) {
			if modelsJSON == "" {
				return nil, fs.ErrNotExist
			}
			return []byte(modelsJSON), nil
		},
	})
}

// local has three providers of its own; two of them share an id.
const local = `{ // for tests
  "providers": {
    "chat": {
      "baseUrl": "http://localhost:1/v1", "apiKey": "k", "api": "openai-completions",
      "models": [
        {"id": "small"},
        {"id": "think", "reasoning": true, "input": ["text", "image"]},
        {"id": "org/deep-model", "name": "Deep One"},
      ],
    },
    "messages": {
      "baseUrl": "http://localhost:1", "api": "anthropic-messages",
      "models": [{"id": "think"}, {"id": "line-20250101"}, {"id": "line-20260101"}, {"id": "line"}],
    },
    "gate/way": {
      "baseUrl": "http://localhost:2", "api": "openai-completions",
      "models": [{"id": "odd[1m]"}, {"id": "x:high"}, {"id": "chat/small"}],
    },
  },
}`

func ids(models []*llm.Model) []string {
	out := []string{}
	for _, m := range models {
		out = append(out, m.Ref())
	}
	return out
}

func TestNewReadsNothing(t *testing.T) {
	reads := 0
	r := New(Options{Files: []string{"a", "b"}, ReadFile: func(string) ([]byte, error) { reads++; return nil, fs.ErrNotExist }})
	if reads != 0 || r.state != nil {
		t.Fatalf("New read %d files", reads)
	}
	r.Available()
	r.Available()
	if reads != 2 {
		t.Errorf("two questions made %d reads, want 2", reads)
	}
	r.Reload()
	r.Available()
	if reads != 4 {
		t.Errorf("after Reload: %d reads, want 4", reads)
	}
}

func TestOnlyUsedProvidersAreDecoded(t *testing.T) {
	r := registry(t, local, "chat")
	if sel, err := r.Resolve(Flags{Model: "chat/small"}); err != nil || sel.Model.Ref() != "chat/small" {
		t.Fatal(sel, err)
	}
	r.Available()
	if len(r.state.providers) != 1 {
		t.Errorf("%d providers were composed for a question about one", len(r.state.providers))
	}
}

func TestModelDefaultsAndKeyOrder(t *testing.T) {
	r := registry(t, local, "chat")
	m, ok := r.Find("chat", "small")
	if !ok {
		t.Fatal("not found")
	}
	got, err := jsonx.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"small","name":"small","api":"openai-completions","provider":"chat","baseUrl":"http://localhost:1/v1","reasoning":false,"input":["text"],"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0},"contextWindow":128000,"maxTokens":16384}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestAvailable(t *testing.T) {
	r := registry(t, local, "messages", "chat", "gate/way")
	want := []string{"chat/small", "chat/think", "chat/org/deep-model", "messages/think", "messages/line-20250101", "messages/line-20260101", "messages/line", "gate/way/odd[1m]", "gate/way/x:high", "gate/way/chat/small"}
	if diff := cmp.Diff(want, ids(r.Available())); diff != "" {
		t.Error(diff)
	}
	if got := registry(t, local).Available(); got == nil || len(got) != 0 {
		t.Errorf("without keys: %v, want an empty list", got)
	}
	// A catalogue provider keeps its place before those of models.json.
	both := ids(registry(t, local, "chat", "cerebras").Available())
	if !strings.HasPrefix(both[0], "cerebras/") || both[len(both)-1] != "chat/org/deep-model" {
		t.Errorf("order: %v", both)
	}
}

func TestScriptedIsListedOnlyWhenChosen(t *testing.T) {
	r := registry(t, local, "chat")
	if slices.ContainsFunc(r.Available(), func(m *llm.Model) bool { return m.Provider == ScriptedProvider }) {
		t.Fatal("listed before it was chosen")
	}
	if next, _ := r.Cycle(nil, nil, true); next.Model.Provider == ScriptedProvider {
		t.Fatal("cycled before it was chosen")
	}
	m, err := r.Select("scripted", "dir/turns.json")
	if err != nil {
		t.Fatal(err)
	}
	want := &llm.Model{
		ID: "dir/turns.json", Name: "dir/turns.json", API: "scripted", Provider: "scripted", Reasoning: true,
		Input: []string{"text", "image"}, ContextWindow: 128000, MaxTokens: 16384,
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	got := ids(r.Available())
	if diff := cmp.Diff([]string{"chat/small", "chat/think", "chat/org/deep-model", "scripted/demo", "scripted/dir/turns.json"}, got); diff != "" {
		t.Error(diff)
	}
	r.Reload()
	if again := ids(r.Available()); !slices.Equal(again, got) {
		t.Errorf("after Reload: %v", again)
	}
	if demo, err := r.Resolve(Flags{Model: "scripted/demo:low"}); err != nil || demo.Model.ID != "demo" || demo.Thinking != "low" {
		t.Errorf("scripted/demo:low: %+v, %v", demo, err)
	}
	if demo, err := r.Resolve(Flags{Provider: "scripted", Model: "a/b.json"}); err != nil || demo.Model.ID != "a/b.json" {
		t.Errorf("--provider scripted: %+v, %v", demo, err)
	}
}

func TestSelectUnknown(t *testing.T) {
	r := registry(t, local)
	for _, ref := range [][2]string{{"chat", "nope"}, {"nope", "small"}, {"scripted", ""}} {
		_, err := r.Select(ref[0], ref[1])
		if want := "Model not found: " + ref[0] + "/" + ref[1]; err == nil || err.Error() != want {
			t.Errorf("Select(%v): %v, want %s", ref, err, want)
		}
	}
}

func TestOverlays(t *testing.T) {
	r := registry(t, `{"providers": {
	  "anthropic": {
	    "baseUrl": "http://proxy", "compat": {"supportsTemperature": false},
	    "headers": {"X-A": "1"}, "authHeader": true,
	    "modelOverrides": {
	      "claude-opus-5-5": {"contextWindow": 1000, "cost": {"input": 9}, "headers": {"X-A": "2", "X-B": "$B"}, "thinkingLevelMap": {"max": null}},
	      "no-such-model": {"name": "x"}
	    },
	    "models": [{"id": "mine"}, {"id": "claude-haiku-4-5", "name": "Replaced", "compat": {"supportsGrammarTools": true}}]
	  }
	}}`)
	opus, _ := r.Find("anthropic", "claude-opus-5-5")
	if opus.BaseURL != "http://proxy" || opus.ContextWindow != 1000 || opus.Cost.Input != 9 || opus.Cost.Output == 0 {
		t.Errorf("override: %+v", opus)
	}
	if level, named := opus.ThinkingLevelMap["max"]; !named || level != nil {
		t.Error("thinkingLevelMap was not merged")
	}
	if !strings.Contains(string(opus.Compat), `"supportsTemperature":false`) {
		t.Errorf("compat %s", opus.Compat)
	}
	mine, _ := r.Find("anthropic", "mine")
	if mine.API != "anthropic-messages" || mine.BaseURL != "http://proxy" {
		t.Errorf("inherited: %+v", mine)
	}
	haiku, _ := r.Find("anthropic", "claude-haiku-4-5")
	if haiku.Name != "Replaced" || haiku.ContextWindow != 128000 {
		t.Errorf("replaced: %+v", haiku)
	}
	if want := `{"supportsTemperature":false,"supportsGrammarTools":true,"supportsOpenAIGrammarTools":true}`; string(haiku.Compat) != want {
		t.Errorf("compat %s, want %s", haiku.Compat, want)
	}
	key, headers, bearer := r.RequestConfig("anthropic", "claude-opus-5-5")
	if diff := cmp.Diff(map[string]string{"X-A": "2", "X-B": "$B"}, headers); diff != "" || key != "" || !bearer {
		t.Errorf("RequestConfig: %q, %v, %v", key, headers, bearer)
	}
	if _, headers, _ := r.RequestConfig("anthropic", "mine"); headers["X-A"] != "1" || len(headers) != 1 {
		t.Errorf("provider headers: %v", headers)
	}
	if d := r.Diagnostics(); len(d) != 0 {
		t.Errorf("diagnostics: %v", d)
	}
}

func TestMergeCompat(t *testing.T) {
	tests := []struct{ base, over, want string }{
		{``, `{"a":1}`, `{"a":1}`},
		{`{"a":1,"b":2}`, `{"b":3,"c":4}`, `{"a":1,"b":3,"c":4}`},
		{`{"openRouterRouting":{"x":1,"y":2}}`, `{"openRouterRouting":{"y":3}}`, `{"openRouterRouting":{"x":1,"y":3}}`},
		{`{"other":{"x":1}}`, `{"other":{"y":3}}`, `{"other":{"y":3}}`},
		{`{"supportsOpenAIGrammarTools":true,"supportsGrammarTools":true}`, `{"supportsGrammarTools":false}`, `{"supportsOpenAIGrammarTools":false,"supportsGrammarTools":false}`},
	}
	for _, tt := range tests {
		got, err := mergeCompat(jsonx.Raw(tt.base), jsonx.Raw(tt.over))
		if err != nil || string(got) != tt.want {
			t.Errorf("mergeCompat(%s, %s) = %s, %v; want %s", tt.base, tt.over, got, err, tt.want)
		}
	}
}

func TestLayers(t *testing.T) {
	files := map[string]string{
		"own":   `{"providers":{"p":{"apiKey":"own","models":[{"id":"b","name":"own b"}]}}}`,
		"below": `{"providers":{"p":{"apiKey":"below","baseUrl":"http://x","api":"openai-completions","models":[{"id":"a"},{"id":"b"}]},"q":{"baseUrl":"http://y","api":"openai-completions","models":[{"id":"c"}]}}}`,
	}
	r := New(Options{
		Files: []string{"own", "below", "missing"}, HasKey: func(string) bool { return true },
		ReadFile: func(p string) ([]byte, error) {
			if text, ok := files[p]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		},
	})
	b, _ := r.Find("p", "b")
	key, _, _ := r.RequestConfig("p", "b")
	if b == nil || b.Name != "own b" || b.BaseURL != "http://x" || key != "own" {
		t.Errorf("b = %+v, key %q", b, key)
	}
	if _, ok := r.Find("q", "c"); !ok {
		t.Error("the lower layer's provider is missing")
	}
}

func TestDiagnostics(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"syntax", "{\n  \"providers\": {,}\n}", "Failed to parse models.json: unexpected ',' where a name or '}' is due at line 2, column 17\n\nFile: models.json"},
		{"no object", `[]`, "Invalid models.json schema:\n  - root: must be an object (line 1, column 1)\n\nFile: models.json"},
		{"no providers", `{"models":1}`, "Invalid models.json schema:\n  - providers: is missing (line 1, column 1)\n\nFile: models.json"},
		{"provider", `{"providers":{"p":3}}`, "Invalid models.json schema:\n  - providers.p: must be an object, not a number (line 1, column 19)\n\nFile: models.json"},
		{"fields", `{"providers":{"p":{"baseUrl":1,"apiKey":"","models":{}}}}`, "Invalid models.json schema:\n  - providers.p.baseUrl: must be a string, not a number (line 1, column 30)\n  - providers.p.apiKey: must not be empty (line 1, column 41)\n  - providers.p.models: must be an array, not an object (line 1, column 53)\n\nFile: models.json"},
		{"model", `{"providers":{"p":{"baseUrl":"u","api":"a","models":[{"contextWindow":-1,"input":["sound"],"thinkingLevelMap":{"huge":"x","low":1}}]}}}`, "Invalid models.json schema:\n" +
			"  - providers.p.models.0.thinkingLevelMap.huge: is no thinking level: use off, minimal, low, medium, high, xhigh or max (line 1, column 119)\n" +
			"  - providers.p.models.0.thinkingLevelMap.low: must be a string or null, not a number (line 1, column 129)\n" +
			"  - providers.p.models.0.input.0: must be \"text\" or \"image\" (line 1, column 83)\n" +
			"  - providers.p.models.0.contextWindow: must be a number greater than 0 (line 1, column 71)\n" +
			"  - providers.p.models.0.id: is missing (line 1, column 54)\n\nFile: models.json"},
		{"no api", `{"providers":{"p":{"baseUrl":"u","models":[{"id":"m"}]}}}`, "Provider p, model m: no \"api\" specified. Set at provider or model level.\n\nFile: models.json"},
		{"no base URL", `{"providers":{"p":{"api":"openai-completions","models":[{"id":"m"}]}}}`, "Provider p: \"baseUrl\" is required when defining custom models.\n\nFile: models.json"},
		{"nothing said", `{"providers":{"p":{"name":"P"}}}`, "Provider p: must specify \"baseUrl\", \"headers\", \"compat\", \"modelOverrides\", or \"models\".\n\nFile: models.json"},
		{"empty", ``, ""},
		{"only a comment", "// later\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := registry(t, tt.in, "p")
			got := []string{}
			for _, d := range r.Diagnostics() {
				got = append(got, d.Message)
			}
			want := []string{}
			if tt.want != "" {
				want = append(want, tt.want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if n := len(r.Diagnostics()); n != len(got) {
				t.Errorf("asked again: %d diagnostics", n)
			}
		})
	}
}

func TestFaultyPartsAreLeftOut(t *testing.T) {
	r := registry(t, `{"providers":{
	  "bad": {"baseUrl": 5, "apiKey": "secret-key", "api": "openai-completions", "models": [{"id": "x"}]},
	  "good": {"baseUrl": "http://x", "api": "openai-completions", "models": [{"id": "ok"}, {"id": "no", "maxTokens": "many"}]}
	}}`, "bad", "good")
	if diff := cmp.Diff([]string{"good/ok"}, ids(r.Available())); diff != "" {
		t.Error(diff)
	}
	for _, d := range r.Diagnostics() {
		if strings.Contains(d.Message, "secret-key") {
			t.Error("a diagnostic shows a key")
		}
	}
}

func TestUnreadableFile(t *testing.T) {
	r := New(Options{Files: []string{"f"}, ReadFile: func(string) ([]byte, error) { return nil, errors.New("no permission") }})
	d := r.Diagnostics()
	if len(d) != 1 || d[0].Message != "Failed to load models.json: no permission\n\nFile: f" {
		t.Errorf("%v", d)
	}
}

func TestCatalogue(t *testing.T) {
	r := registry(t, "")
	models := r.All()
	if len(models) < 1000 {
		t.Fatalf("%d models", len(models))
	}
	seen := map[string]bool{}
	for _, m := range models {
		if m.ID == "" || m.Name == "" || m.Provider == "" || m.API == "" || m.ContextWindow <= 0 || m.MaxTokens <= 0 || len(m.Input) == 0 {
			t.Errorf("incomplete: %+v", m)
		}
		if seen[m.Ref()] {
			t.Errorf("%s is there twice", m.Ref())
		}
		seen[m.Ref()] = true
	}
	for _, ref := range []string{"anthropic/claude-opus-5-5", "openai/gpt-6.2-sol", "openrouter/moonshotai/kimi-k2.7-code"} {
		if !seen[ref] {
			t.Errorf("%s is missing", ref)
		}
	}
	if source, date := CatalogueSource(); source == "" || len(date) != len("2006-01-02") {
		t.Errorf("source %q, date %q", source, date)
	}
	if d := r.Diagnostics(); len(d) != 0 {
		t.Error(d)
	}
	for _, d := range defaultModels() {
		if !seen[d.provider+"/"+d.id] {
			t.Errorf("default %s/%s is not in the catalogue", d.provider, d.id)
		}
	}
}

// Facts of single models, read off the file of facts.
func TestCatalogueFacts(t *testing.T) {
	r := registry(t, "")
	o3, _ := r.Find("openai", "o3-pro")
	if o3 == nil || o3.API != "openai-responses" || o3.BaseURL != "https://api.openai.com/v1" || o3.Cost.Output != 80 || o3.ContextWindow != 200000 {
		t.Fatalf("o3-pro: %+v", o3)
	}
	if diff := cmp.Diff([]llm.ThinkingLevel{"low", "medium", "high"}, o3.ThinkingLevels()); diff != "" {
		t.Error(diff)
	}
	copilot, _ := r.Find("github-copilot", "claude-fable-5")
	if copilot == nil || copilot.Headers["Copilot-Integration-Id"] != "vscode-chat" || copilot.API != "anthropic-messages" {
		t.Errorf("copilot: %+v", copilot)
	}
	if r.ProviderName("openai") != "OpenAI" || r.ProviderName("nobody") != "nobody" {
		t.Error("names of providers")
	}
}

func FuzzParseConfig(f *testing.F) {
	for _, seed := range []string{local, `{}`, `[]`, "\ufeff{\"providers\":{}}", `{"providers":{"p":{"models":[{"id":"x","cost":{"tiers":[{}]}}],"modelOverrides":{"x":null}}}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := registry(t, text, "p", "chat")
		for _, m := range r.Available() {
			if m.ID == "" || m.Provider == "" || m.API == "" || m.ContextWindow <= 0 || m.MaxTokens <= 0 {
				t.Fatalf("incomplete model %+v", m)
			}
			if _, err := jsonx.Marshal(m); err != nil {
				t.Fatal(err)
			}
		}
		r.Diagnostics()
	})
}

func BenchmarkAll(b *testing.B) {
	for b.Loop() {
		registry(b, "").All()
	}
}

func BenchmarkResolveOne(b *testing.B) {
	for b.Loop() {
		if _, err := registry(b, local, "chat").Resolve(Flags{Model: "chat/small"}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestCatalogueFilesAreComplete(t *testing.T) {
	idx, err := catalogue()
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir("catalogue")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(idx.Providers)+1 {
		t.Errorf("%d files for %d providers", len(files), len(idx.Providers))
	}
	for _, p := range idx.Providers {
		models, err := p.decode()
		if err != nil || len(models) != p.Models {
			t.Errorf("%s: %d models, index says %d (%v)", p.ID, len(models), p.Models, err)
		}
	}
	if _, err := os.Stat(filepath.Join("gen", "main.go")); err != nil {
		t.Error("the generator is gone")
	}
}
