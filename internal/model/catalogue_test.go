package model

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// The catalogue has every provider and model of the facts it was made from; each model
// has what a request needs.
func TestCatalogueIsWhole(t *testing.T) {
	idx, err := catalogue()
	if err != nil {
		t.Fatal(err)
	}
	if len(idx.Providers) != 42 {
		t.Errorf("%d providers, want 42", len(idx.Providers))
	}
	byAPI := map[string]int{}
	for _, p := range idx.Providers {
		models, err := p.decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range models {
			byAPI[m.API]++
			// Azure's URL is that of the user's own resource.
			if m.ContextWindow <= 0 || len(m.Input) == 0 || m.BaseURL == "" && m.Provider != "azure" {
				t.Errorf("%s: window %d, input %v, URL %q", m.Ref(), m.ContextWindow, m.Input, m.BaseURL)
			}
			if levels := m.ThinkingLevels(); len(levels) == 0 {
				t.Errorf("%s has no thinking level", m.Ref())
			}
		}
	}
	want := map[string]int{
		llm.APIOpenAICompletions: 748, llm.APIAnthropicMessages: 417, llm.APIBedrockConverse: 208, llm.APIOpenAIResponses: 142,
		llm.APIAzureResponses: 47, llm.APIGoogleGenerative: 36, llm.APIMistral: 34, llm.APIGoogleVertex: 17,
		llm.APICodexResponses: 10, "pi-messages": 39,
	}
	for api, n := range want {
		if byAPI[api] != n {
			t.Errorf("%d models of %s, want %d", byAPI[api], api, n)
		}
		delete(byAPI, api)
	}
	if len(byAPI) > 0 {
		t.Errorf("models of unknown protocols: %v", byAPI)
	}
}

// One provider is decoded for a request; all are, for a list.
func BenchmarkDecode(b *testing.B) {
	idx, err := catalogue()
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range idx.Providers {
		switch p.ID {
		case "anthropic", "google", "amazon-bedrock", "openrouter":
			b.Run(p.ID, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.decode(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			New(Options{}).All()
		}
	})
}

// Every model has what the facts say of it: prices with their tiers, windows, levels,
// inputs, flags, headers.
func TestCatalogueSaysWhatTheFactsSay(t *testing.T) {
	data, err := os.ReadFile("../../../shared/data/catalogue/models.json")
	if err != nil {
		t.Skip("no shared facts here")
	}
	var facts struct {
		Providers []struct {
			ID      string           `json:"id"`
			API     string           `json:"api"`
			BaseURL string           `json:"baseUrl"`
			Models  []map[string]any `json:"models"`
		} `json:"providers"`
	}
	if err := jsonx.Unmarshal(data, &facts); err != nil {
		t.Fatal(err)
	}
	idx, err := catalogue()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range facts.Providers {
		models, err := idx.Providers[i].decode()
		if err != nil || len(models) != len(p.Models) || idx.Providers[i].ID != p.ID {
			t.Fatalf("%s: %d models of %s, want %d (%v)", p.ID, len(models), idx.Providers[i].ID, len(p.Models), err)
		}
		for j, m := range models {
			want := p.Models[j]
			for _, unused := range []string{"lab", "enabled", "providers", "free"} { // of the service radius
				delete(want, unused)
			}
			for name, inherited := range map[string]string{"api": p.API, "baseUrl": p.BaseURL} {
				if want[name] == nil {
					want[name] = inherited
				}
			}
			if got := factsOf(t, m, want["headers"]); !cmp.Equal(want, got) {
				t.Errorf("%s (-facts +catalogue):\n%s", m.Ref(), cmp.Diff(want, got))
			}
		}
	}
}

// factsOf returns a model as the facts state one.
func factsOf(t *testing.T, m *llm.Model, headers any) map[string]any {
	t.Helper()
	text, err := jsonx.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	if err := jsonx.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "provider")
	if compat, ok := got["compat"].(map[string]any); ok {
		delete(compat, "supportsGrammarTools") // our own alias
	}
	if headers != nil {
		all := map[string]any{}
		for name, value := range m.Headers {
			all[name] = value
		}
		got["headers"] = all
	}
	return got
}
