package model

import (
	"testing"

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
