package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/llm"
)

func TestResolve(t *testing.T) {
	tests := []struct {
		name  string
		flags Flags
		keys  string // space separated
		want  string // provider/id[ @level]
		warn  string
		err   string
	}{
		{name: "nothing asked"},
		{name: "provider/id", flags: Flags{Model: "chat/think"}, keys: "chat", want: "chat/think"},
		{name: "provider/id without a key", flags: Flags{Model: "chat/think"}, want: "chat/think"},
		{name: "slashes in the id", flags: Flags{Model: "chat/org/deep-model"}, keys: "chat", want: "chat/org/deep-model"},
		{name: "raw id with a slash", flags: Flags{Model: "org/deep-model"}, want: "chat/org/deep-model"},
		{name: "level", flags: Flags{Model: "chat/think:high"}, keys: "chat", want: "chat/think @high"},
		{name: "level word is part of an id", flags: Flags{Model: "gate/way/x:high"}, want: "gate/way/x:high"},
		{name: "level word is part of a bare id", flags: Flags{Model: "x:high"}, want: "gate/way/x:high"},
		{name: "level after a level word", flags: Flags{Model: "x:high:low"}, want: "gate/way/x:high @low"},
		{name: "provider with a slash", flags: Flags{Model: "gate/way/odd[1m]"}, want: "gate/way/odd[1m]"},
		{name: "case", flags: Flags{Model: "CHAT/Small"}, want: "chat/small"},
		{name: "blanks around the slash", flags: Flags{Model: "chat / org/deep-model:high"}, keys: "chat", want: "chat/org/deep-model @high"},
		{name: "blanks", flags: Flags{Model: " chat/small "}, keys: "chat", want: "chat/small"},
		{name: "provider flag", flags: Flags{Provider: "Messages", Model: "think"}, keys: "chat", want: "messages/think"},
		{name: "provider flag and prefix", flags: Flags{Provider: "chat", Model: "chat/think"}, want: "chat/think"},
		{name: "part of a name", flags: Flags{Model: "chat/deep one"}, keys: "chat", want: "chat/org/deep-model"},
		{name: "the line before its snapshots", flags: Flags{Provider: "messages", Model: "lin"}, want: "messages/line"},
		{name: "the newest snapshot", flags: Flags{Provider: "messages", Model: "line-20"}, want: "messages/line-20260101"},
		{name: "a bare id of the only provider with a key", flags: Flags{Model: "think"}, keys: "messages", want: "messages/think"},
		{
			name: "a bare id of no provider with a key", flags: Flags{Model: "think"},
			err: `Model "think" is ambiguous across providers: chat/think, messages/think. No matching provider is authenticated. Use --provider or provider/model.`,
		},
		{
			name: "a bare id of two providers with keys", flags: Flags{Model: "think"}, keys: "chat messages",
			err: `Model "think" is ambiguous across providers: chat/think, messages/think. More than one matching provider is authenticated. Use --provider or provider/model.`,
		},
		{
			name: "--api-key does not choose", flags: Flags{Model: "think", APIKey: true}, keys: "chat",
			err: `Model "think" is ambiguous across providers: chat/think, messages/think. --api-key does not choose a provider. Use --provider or provider/model.`,
		},
		{name: "named provider with a key before a raw id", flags: Flags{Model: "chat/small"}, keys: "chat gate/way", want: "chat/small"},
		{name: "raw id whose provider has the only key", flags: Flags{Model: "chat/small"}, keys: "gate/way", want: "gate/way/chat/small"},
		{name: "named provider when none has a key", flags: Flags{Model: "chat/small"}, want: "chat/small"},
		{
			name: "custom id", flags: Flags{Model: "messages/new-one:high"}, keys: "messages", want: "messages/new-one @high",
			warn: `Model "new-one" not found for provider "messages". Using custom model id.`,
		},
		{
			name: "custom id with --thinking", flags: Flags{Model: "messages/new-one:high", Thinking: "low"}, want: "messages/new-one:high",
			warn: `Model "new-one:high" not found for provider "messages". Using custom model id.`,
		},
		{
			name: "custom id by flag", flags: Flags{Provider: "chat", Model: "a/b"}, want: "chat/a/b",
			warn: `Model "a/b" not found for provider "chat". Using custom model id.`,
		},
		{name: "unknown level stays in the id", flags: Flags{Model: "chat/think:huge"}, want: "chat/think:huge", warn: `Model "think:huge" not found for provider "chat". Using custom model id.`},
		{name: "unknown", flags: Flags{Model: "nowhere/nothing"}, err: `Model "nowhere/nothing" not found. Use --list-models to see available models.`},
		{name: "unknown provider", flags: Flags{Provider: "nowhere", Model: "x"}, err: `Unknown provider "nowhere". Use --list-models to see available providers/models.`},
		{name: "provider alone", flags: Flags{Provider: "chat"}, err: `--provider requires --model (for example: --provider chat --model <pattern>)`},
		{name: "blank", flags: Flags{Model: "  "}, err: `Model "  " not found. Use --list-models to see available models.`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := registry(t, local, strings.Fields(tt.keys)...)
			r.load().order = []string{"chat", "messages", "gate/way"} // these tests are not about the catalogue
			sel, err := r.Resolve(tt.flags)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != tt.err {
				t.Errorf("error %q, want %q", text, tt.err)
			}
			got := ""
			if sel.Model != nil {
				got = sel.Model.Ref()
				if sel.Thinking != "" {
					got += " @" + string(sel.Thinking)
				}
			}
			if got != tt.want || sel.Warning != tt.warn {
				t.Errorf("got %q (%s), want %q (%s)", got, sel.Warning, tt.want, tt.warn)
			}
		})
	}
}

// Field report 37: "--model claude/claude-opus-5" must not be taken apart.
func TestFieldReport37FullStringFirst(t *testing.T) {
	r := registry(t, `{"providers":{"hub":{"baseUrl":"http://x","api":"openai-completions","models":[{"id":"claude/claude-opus-5"}]}}}`, "hub")
	sel, err := r.Resolve(Flags{Model: "claude/claude-opus-5"})
	if err != nil || sel.Model.Ref() != "hub/claude/claude-opus-5" {
		t.Fatalf("%+v, %v", sel, err)
	}
	sel, err = r.Resolve(Flags{Model: "hub/claude/claude-opus-5"})
	if err != nil || sel.Model.Ref() != "hub/claude/claude-opus-5" {
		t.Fatalf("%+v, %v", sel, err)
	}
}

func TestResolveWithTheCatalogue(t *testing.T) {
	tests := []struct{ model, keys, want string }{
		{"claude-opus-5-5", "anthropic", "anthropic/claude-opus-5-5"},
		{"anthropic/opus", "", "anthropic/claude-opus-5-5"},
		{"openrouter/anthropic/claude-opus-5:high", "openrouter", "openrouter/anthropic/claude-opus-5"},
		{"gpt-6.2-sol", "openai", "openai/gpt-6.2-sol"},
		// Signs sort before digits and letters, capitals with small letters.
		{"openrouter/google/gemini", "", "openrouter/google/gemini-nano-banana-2.1"},
		{"openrouter/ai/gpt-5.4-nano", "", "openrouter/openai/gpt-5.4-nano:batch"},
		{"tencent/h", "", "huggingface/tencent/Hy4-preview"},
	}
	for _, tt := range tests {
		sel, err := registry(t, "", strings.Fields(tt.keys)...).Resolve(Flags{Model: tt.model})
		if err != nil || sel.Model.Ref() != tt.want {
			t.Errorf("%s: %v, %v; want %s", tt.model, sel.Model, err, tt.want)
		}
	}
}

func TestCustomIDs(t *testing.T) {
	r := registry(t, local, "chat")
	sel, err := r.Resolve(Flags{Model: "chat/brand-new:high"})
	if err != nil {
		t.Fatal(err)
	}
	if m := sel.Model; m.API != "openai-completions" || m.BaseURL != "http://localhost:1/v1" || m.Name != "brand-new" || !m.Reasoning {
		t.Errorf("%+v", m)
	}
	if m, ok := r.Find("chat", "brand-new"); !ok || m != sel.Model {
		t.Error("the custom model is not found again")
	}
}

func TestScope(t *testing.T) {
	tests := []struct {
		name     string
		patterns []string
		want     []string
		warnings []string
	}{
		{name: "refs and order", patterns: []string{"messages/line", "chat/small:low", "chat/small:high"}, want: []string{"messages/line", "chat/small @low"}},
		{name: "glob over refs", patterns: []string{"chat/*:high"}, want: []string{"chat/small @high", "chat/think @high", "gate/way/chat/small @high"}},
		{name: "glob over ids", patterns: []string{"LINE*"}, want: []string{"messages/line-20250101", "messages/line-20260101", "messages/line"}},
		{name: "glob over folders", patterns: []string{"**/deep-*"}, want: []string{"chat/org/deep-model"}},
		{name: "turned round", patterns: []string{"!**/*{th,sm,dee}*"}, want: []string{"messages/line-20250101", "messages/line-20260101", "messages/line", "gate/way/odd[1m]", "gate/way/x:high"}},
		{name: "turned round twice", patterns: []string{"!!lin?"}, want: []string{"messages/line"}},
		{name: "one character", patterns: []string{"lin?"}, want: []string{"messages/line"}},
		{name: "an id that looks like a glob", patterns: []string{"odd[1m]"}, want: []string{"gate/way/odd[1m]"}},
		{name: "part", patterns: []string{"deep"}, want: []string{"chat/org/deep-model"}},
		{
			name: "several providers", patterns: []string{"think"}, want: []string{"chat/think", "messages/think"},
			warnings: []string{`Pattern "think" matches several providers: chat, messages. Use provider/id to choose one.`},
		},
		{
			name: "bad level", patterns: []string{"chat/small:huge"}, want: []string{"chat/small"},
			warnings: []string{`Invalid thinking level "huge" in pattern "chat/small:huge". Using default instead.`},
		},
		{name: "none", patterns: []string{"zzz", "q*", ""}, warnings: []string{`No models match pattern "zzz"`, `No models match pattern "q*"`}},
		{name: "bad glob", patterns: []string{"[a"}, warnings: []string{`No models match pattern "[a"`}},
		{name: "scripted", patterns: []string{"chat/small", "scripted/demo:low"}, want: []string{"chat/small", "scripted/demo @low"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			scope, warnings := registry(t, local, "chat", "messages", "gate/way").Scope(tt.patterns)
			if diff := cmp.Diff(tt.want, scopeText(scope)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.warnings, warnings); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func scopeText(scope []Scoped) []string {
	var out []string
	for _, s := range scope {
		text := s.Model.Ref()
		if s.Thinking != "" {
			text += " @" + string(s.Thinking)
		}
		out = append(out, text)
	}
	return out
}

func TestCycle(t *testing.T) {
	r := registry(t, local, "chat")
	find := func(ref string) *llm.Model {
		p, id, _ := Ref(ref)
		m, _ := r.Find(p, id)
		return m
	}
	scope, _ := r.Scope([]string{"chat/think:low", "chat/small"})
	noKey := []Scoped{{Model: find("messages/think")}, {Model: find("chat/small")}}
	tests := []struct {
		name     string
		current  string
		scope    []Scoped
		backward bool
		want     string
	}{
		{"forward", "chat/small", nil, false, "chat/think"},
		{"wraps", "chat/org/deep-model", nil, false, "chat/small"},
		{"backward wraps", "chat/small", nil, true, "chat/org/deep-model"},
		{"not in the list", "messages/think", nil, false, "chat/small"},
		{"not in the list, backward", "messages/think", nil, true, "chat/org/deep-model"},
		{"none yet", "", nil, false, "chat/small"},
		{"scoped", "chat/small", scope, false, "chat/think @low"},
		{"scoped without key", "chat/think", noKey, false, "chat/small"},
		{"the only one", "chat/small", noKey, false, ""},
	}
	for _, tt := range tests {
		next, ok := r.Cycle(find(tt.current), tt.scope, tt.backward)
		got := ""
		if ok {
			got = scopeText([]Scoped{next})[0]
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if _, ok := registry(t, local).Cycle(nil, nil, false); ok {
		t.Error("cycled without any key")
	}
}

func TestInitial(t *testing.T) {
	perModel := func(p, id string) llm.ThinkingLevel {
		if p+"/"+id == "chat/think" {
			return "high"
		}
		return ""
	}
	scope := func(patterns ...string) []string { return patterns }
	tests := []struct {
		name    string
		start   Start
		scope   []string
		keys    string
		want    string
		message string
		reason  string
		blocked bool
	}{
		{name: "first available", keys: "chat", want: "chat/small @off"},
		{name: "known default of a provider", keys: "chat anthropic", want: "anthropic/claude-opus-5-5 @medium"},
		{name: "saved default", start: Start{Saved: Saved{Provider: "chat", Model: "think"}}, keys: "chat", want: "chat/think @medium"},
		{name: "saved level", start: Start{Saved: Saved{Provider: "chat", Model: "think", Thinking: "low"}}, keys: "chat", want: "chat/think @low"},
		{name: "level of the model", start: Start{Saved: Saved{Provider: "chat", Model: "think", Thinking: "low", ModelThinking: perModel}}, keys: "chat", want: "chat/think @high"},
		{name: "flag beats saved", start: Start{Flags: Flags{Model: "chat/small"}, Saved: Saved{Provider: "chat", Model: "think"}}, keys: "chat", want: "chat/small @off"},
		{name: "level of the pattern", start: Start{Flags: Flags{Model: "chat/think:minimal"}, Saved: Saved{Thinking: "low"}}, keys: "chat", want: "chat/think @minimal"},
		{name: "--thinking clamps", start: Start{Flags: Flags{Model: "chat/think", Thinking: "max"}}, keys: "chat", want: "chat/think @high"},
		{name: "scope, first", scope: scope("chat/think:low", "chat/small"), keys: "chat", want: "chat/think @low"},
		{name: "scope, saved inside", scope: scope("chat/think:low", "chat/small"), start: Start{Saved: Saved{Provider: "chat", Model: "small"}}, keys: "chat", want: "chat/small @off"},
		{name: "scope, saved outside", scope: scope("chat/think:low"), start: Start{Saved: Saved{Provider: "chat", Model: "small"}}, keys: "chat", want: "chat/think @low"},
		{name: "flag beats scope", scope: scope("chat/think:low"), start: Start{Flags: Flags{Model: "chat/small"}}, keys: "chat", want: "chat/small @off"},
		{
			name: "restored", keys: "chat messages", scope: scope("chat/small"), want: "chat/think @low",
			start: Start{HasMessages: true, SessionProvider: "chat", SessionModel: "think", SessionThinking: "low"},
		},
		{name: "restored without a level", keys: "chat", want: "chat/think @medium", start: Start{HasMessages: true, SessionProvider: "chat", SessionModel: "think"}},
		{
			name: "not restored", keys: "chat", want: "chat/think @low", message: "Could not restore model gone/gone. Using chat/think", reason: ReasonSessionRestore,
			start: Start{HasMessages: true, SessionProvider: "gone", SessionModel: "gone", SessionThinking: "low", Saved: Saved{Provider: "chat", Model: "think"}},
		},
		{
			name: "not restored for want of a key", keys: "chat", want: "chat/small @off", message: "Could not restore model messages/think. Using chat/small", reason: ReasonSessionRestore,
			start: Start{HasMessages: true, SessionProvider: "messages", SessionModel: "think"},
		},
		{
			name: "unknown saved id", keys: "chat", want: "chat/small @off", message: "Could not find default model chat/gone. Using chat/small",
			start: Start{Saved: Saved{Provider: "chat", Model: "gone"}},
		},
		{
			name: "unknown saved provider", keys: "chat", want: "chat/small @off", message: UnsupportedDefault, reason: ReasonUnsupportedProvider, blocked: true,
			start: Start{Saved: Saved{Provider: "gone", Model: "m"}},
		},
		{name: "a flag makes the saved default unimportant", keys: "chat", want: "chat/small @off", start: Start{Flags: Flags{Model: "chat/small"}, Saved: Saved{Provider: "gone", Model: "m"}}},
		{name: "none", want: "", message: NoModels, reason: ReasonNoModels},
		{name: "saved default without a key", start: Start{Saved: Saved{Provider: "chat", Model: "think"}}, want: "", message: NoModels, reason: ReasonNoModels},
		{name: "saved scripted", start: Start{Saved: Saved{Provider: "scripted", Model: "demo"}}, want: "scripted/demo @medium"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := registry(t, local, strings.Fields(tt.keys)...)
			tt.start.Scope, _ = r.Scope(tt.scope)
			got, err := r.Initial(tt.start)
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			if got.Model != nil {
				text = got.Model.Ref() + " @" + string(got.Thinking)
			} else if got.Thinking != "off" {
				t.Errorf("level %s without a model", got.Thinking)
			}
			if text != tt.want || got.FallbackMessage != tt.message || got.FallbackReason != tt.reason || (got.Blocked != "") != tt.blocked {
				t.Errorf("got %q %+v, want %q", text, got, tt.want)
			}
			if got.Model != nil && got.Model.Provider == ScriptedProvider && !slices.Contains(r.Available(), got.Model) {
				t.Error("a saved scripted default is not listed")
			}
		})
	}
	if _, err := registry(t, local).Initial(Start{Flags: Flags{Model: "no/such"}}); err == nil {
		t.Error("a bad --model is no error")
	}
}

func TestSwitchThinking(t *testing.T) {
	r := registry(t, local)
	think, _ := r.Find("chat", "think")
	small, _ := r.Find("chat", "small")
	perModel := func(string, string) llm.ThinkingLevel { return "minimal" }
	tests := []struct {
		saved             Saved
		target            *llm.Model
		explicit, current llm.ThinkingLevel
		want              llm.ThinkingLevel
	}{
		{Saved{}, think, "", "off", "off"}, // switching from a model without reasoning keeps off
		{Saved{}, think, "", "high", "high"},
		{Saved{}, think, "", "max", "high"},
		{Saved{}, small, "", "high", "off"},
		{Saved{Thinking: "low"}, think, "", "high", "low"},
		{Saved{Thinking: "low", ModelThinking: perModel}, think, "", "high", "minimal"},
		{Saved{Thinking: "low", ModelThinking: perModel}, think, "medium", "high", "medium"},
		{Saved{}, think, "", "", "medium"},
		{Saved{ModelThinking: perModel}, nil, "", "high", "off"},
	}
	for i, tt := range tests {
		if got := tt.saved.SwitchThinking(tt.target, tt.explicit, tt.current); got != tt.want {
			t.Errorf("%d: %s, want %s", i, got, tt.want)
		}
	}
}
