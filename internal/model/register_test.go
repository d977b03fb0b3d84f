package model

import (
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// A provider that is registered at run time has models like any other, replaces itself,
// and is gone when it is taken away; one that makes no sense changes nothing.
func TestRegister(t *testing.T) {
	r := New(Options{HasKey: func(string) bool { return true }})
	const good = `{"baseUrl":"https://x.test/v1","api":"openai-completions","apiKey":"k","models":[{"id":"one","contextWindow":1000}]}`
	if err := r.Register("mine", jsonx.Raw(good)); err != nil {
		t.Fatal(err)
	}
	m, ok := r.Find("mine", "one")
	if !ok || m.BaseURL != "https://x.test/v1" || m.ContextWindow != 1000 {
		t.Fatalf("%+v", m)
	}
	if sel, err := r.Resolve(Flags{Model: "mine/one"}); err != nil || sel.Model.Ref() != "mine/one" {
		t.Fatal(sel, err)
	}
	if key, _, _ := r.RequestConfig("mine", "one"); key != "k" {
		t.Errorf("key %q", key)
	}
	for bad, want := range map[string]string{
		`{"models":[{"id":"two"}]}`:                          `no "api" specified`,
		`{"api":"openai-completions","models":[{"id":"x"}]}`: `"baseUrl" is required`,
		`{"baseUrl":5}`:                                      "baseUrl",
		`[]`:                                                 "providers.mine",
	} {
		if err := r.Register("mine", jsonx.Raw(bad)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), registered) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := r.Register(ScriptedProvider, jsonx.Raw(good)); err == nil {
		t.Error("the scripted provider was replaced")
	}
	if err := r.Register("mine", jsonx.Raw(strings.ReplaceAll(good, `"one"`, `"other"`))); err != nil {
		t.Fatal(err)
	}
	if _, ok := r.Find("mine", "one"); ok {
		t.Error("the first registration is still there")
	}
	if err := r.Register("anthropic", jsonx.Raw(`{"baseUrl":"https://proxy.test"}`)); err != nil {
		t.Fatal(err)
	}
	if m := r.All()[0]; m == nil {
		t.Fatal("no models")
	}
	for _, m := range r.All() {
		if m.Provider == "anthropic" && m.BaseURL != "https://proxy.test" {
			t.Fatalf("%s at %s", m.ID, m.BaseURL)
		}
	}
	r.Reload()
	r.Unregister("mine")
	if r.Known("mine") {
		t.Error("mine is still there")
	}
}

// What a login may not use is not offered; where it does not say, all is.
func TestAvailableAsTheLoginAllows(t *testing.T) {
	r := New(Options{
		HasKey: func(p string) bool { return p == "github-copilot" || p == "groq" },
		Allowed: func(p string) ([]string, bool) {
			return []string{"gpt-5-mini", "not-in-the-catalogue"}, p == "github-copilot"
		},
	})
	groq := 0
	for _, m := range r.Available() {
		switch m.Provider {
		case "groq":
			groq++
		case "github-copilot":
			if m.ID != "gpt-5-mini" {
				t.Errorf("%s is offered", m.ID)
			}
		}
	}
	if groq == 0 {
		t.Error("nothing of a provider that says nothing")
	}
}
