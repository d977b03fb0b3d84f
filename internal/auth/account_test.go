package auth

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// accounts returns Keys over two empty layers whose flows talk to the test's server.
func (a *authority) accounts(t testing.TB, s setup) *Keys {
	t.Helper()
	k := s.keys(t)
	c := newClock()
	k.opt.Now = c.Now
	at := map[string]Endpoints{
		"anthropic": a.endpoints(), "openai-codex": a.endpoints(), "xai": a.deviceEndpoints(), "github-copilot": a.copilotEndpoints(),
	}
	k.opt.Flows = Flows(FlowOptions{Endpoints: at, Now: c.Now, Sleep: c.Sleep})
	return k
}

func (k *Keys) content(t testing.TB, layer int) string {
	t.Helper()
	data, err := os.ReadFile(k.store.layers[layer].path)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func encoded(t testing.TB, v any) string {
	t.Helper()
	b, err := jsonx.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestLogin(t *testing.T) {
	a := newAuthority(t)
	k := a.accounts(t, setup{below: `{"anthropic":{"type":"api_key","key":"below"}}`})
	p := &person{t: t, browse: true, answers: map[string]string{MethodSelect: methodBrowser}}
	got, err := k.Login(t.Context(), LoginRequest{Provider: "anthropic", Type: "oauth"}, p)
	p.open.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if got := encoded(t, got); got != `{"provider":"anthropic","cancelled":false}` {
		t.Error(got)
	}
	c, err := k.Provider(t.Context(), "anthropic")
	if err != nil || c.APIKey != "access-2" || c.Source != SourceStored {
		t.Errorf("%+v, %v", c, err)
	}
	if k.content(t, 1) != `{"anthropic":{"type":"api_key","key":"below"}}` {
		t.Error("a layer below was changed")
	}
	want := "{\n  \"anthropic\": {\n    \"type\": \"oauth\",\n    \"refresh\": \"refresh-2\",\n    \"access\": \"access-2\",\n    \"expires\": 1772369700000\n  }\n}\n"
	if diff := cmp.Diff(want, k.content(t, 0)); diff != "" {
		t.Error(diff)
	}
	for _, n := range p.notices {
		if text := encoded(t, n); strings.Contains(text, "access-") || strings.Contains(text, "refresh-") {
			t.Errorf("a notice shows a token: %s", text)
		}
	}
}

func TestKeyLogin(t *testing.T) {
	a := newAuthority(t)
	for _, typ := range []string{"", "api_key"} {
		k := a.accounts(t, setup{})
		got, err := k.Login(t.Context(), LoginRequest{Provider: "groq", Type: typ}, &person{t: t, answers: map[string]string{MethodPrompt: " gsk-1 \n"}})
		if err != nil || encoded(t, got) != `{"provider":"groq","cancelled":false,"type":"api_key"}` {
			t.Errorf("%+v, %v", got, err)
		}
		if c, err := k.Provider(t.Context(), "groq"); c.APIKey != "gsk-1" || err != nil {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// The texts are those that clients know (atomic-facts.md 1.6).
func TestLoginErrors(t *testing.T) {
	a := newAuthority(t)
	someone := &person{t: t}
	tests := []struct {
		q    LoginRequest
		ui   UI
		want string
	}{
		{LoginRequest{Provider: "openai-codex"}, someone, "Provider does not support API-key login: openai-codex"},
		{LoginRequest{Provider: "nobody"}, someone, "Provider does not support API-key login: nobody"},
		{LoginRequest{Provider: "scripted"}, someone, "Provider does not support API-key login: scripted"},
		{LoginRequest{Provider: ""}, someone, "Provider does not support API-key login: "},
		{LoginRequest{Provider: "groq"}, nil, "Provider login requires an interactive input host"},
		{LoginRequest{Provider: "groq", Type: "oauth"}, someone, "Unknown OAuth provider: groq"},
		{LoginRequest{Provider: "anthropic", Type: "oauth"}, nil, "OAuth login requires an interactive host"},
		{LoginRequest{Provider: "anthropic", Type: "password"}, someone, `authType must be "api_key" or "oauth"`},
	}
	k := a.accounts(t, setup{})
	for _, tt := range tests {
		got, err := k.Login(t.Context(), tt.q, tt.ui)
		if err == nil || err.Error() != tt.want || got.Cancelled {
			t.Errorf("%+v: %v", tt.q, err)
		}
	}
	if len(a.seen()) != 0 || k.content(t, 0) != "" {
		t.Error("something was asked or stored")
	}
}

// A provider of models.json takes a key, too.
func TestKeyLoginOfACustomProvider(t *testing.T) {
	k := newAuthority(t).accounts(t, setup{})
	k.opt.Known = func(provider string) bool { return provider == "mine" }
	if types, err := k.LoginTypes("mine"); !slices.Equal(types, []string{LoginKey}) || err != nil {
		t.Errorf("%s, %v", types, err)
	}
	if _, err := k.Login(t.Context(), LoginRequest{Provider: "mine"}, &person{t: t, answers: map[string]string{MethodPrompt: "k"}}); err != nil {
		t.Error(err)
	}
}

func TestLoginTypes(t *testing.T) {
	k := newAuthority(t).accounts(t, setup{})
	for provider, want := range map[string]string{
		"anthropic": "oauth api_key", "openai-codex": "oauth", "groq": "api_key", "google": "oauth api_key", "google-vertex": "oauth api_key", "amazon-bedrock": "api_key",
	} {
		if got, err := k.LoginTypes(provider); strings.Join(got, " ") != want || err != nil {
			t.Errorf("%s: %s, %v", provider, got, err)
		}
	}
	if _, err := k.LoginTypes("nobody"); err == nil || err.Error() != "Unknown provider: nobody" {
		t.Error(err)
	}
}

// Of one provider one login runs; it can be cancelled by its id, or with all others.
func TestCancelLogin(t *testing.T) {
	tests := []struct {
		name         string
		provider, id string
		cancels      bool
	}{
		{"its id", "anthropic", "login-1", true},
		{"all of the provider", "anthropic", "", true},
		{"another id", "anthropic", "login-2", false},
		{"its id with another provider", "openai-codex", "login-1", false},
		{"another provider", "xai", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAuthority(t)
			k := a.accounts(t, setup{})
			asked, done := make(chan struct{}, 2), make(chan error, 1)
			var got LoginResult
			p := &person{t: t, answers: map[string]string{MethodSelect: methodCopy}, onAsk: func(q Question) {
				if q.Method == MethodCode {
					asked <- struct{}{}
				}
			}}
			go func() {
				var err error
				got, err = k.Login(t.Context(), LoginRequest{Provider: "anthropic", Type: "oauth", ID: "login-1"}, p)
				done <- err
			}()
			<-asked
			_, err := k.Login(t.Context(), LoginRequest{Provider: "anthropic", Type: "oauth", ID: "login-2"}, p)
			if err == nil || err.Error() != "Login already in progress: anthropic" {
				t.Errorf("a second login: %v", err)
			}
			k.CancelLogin(tt.provider, tt.id)
			if !tt.cancels {
				select {
				case err := <-done:
					t.Errorf("it ended: %v", err)
				case <-time.After(20 * time.Millisecond):
				}
				k.CancelLogin("anthropic", "login-1")
			}
			if err := <-done; err != nil || encoded(t, got) != `{"provider":"anthropic","cancelled":true}` {
				t.Errorf("%+v, %v", got, err)
			}
			if k.content(t, 0) != "" {
				t.Error("a cancelled login was stored")
			}
			if _, err := k.Login(t.Context(), LoginRequest{Provider: "groq"}, &person{t: t, answers: map[string]string{MethodPrompt: "k"}}); err != nil {
				t.Errorf("after that: %v", err)
			}
			k.CancelLogin("groq", "") // nothing runs: no error
		})
	}
}

func TestLoginGivenUp(t *testing.T) {
	a := newAuthority(t)
	k := a.accounts(t, setup{})
	for _, q := range []LoginRequest{{Provider: "anthropic", Type: "oauth"}, {Provider: "groq"}} {
		got, err := k.Login(t.Context(), q, &person{t: t, answers: map[string]string{MethodSelect: "(cancel)", MethodPrompt: "(cancel)"}})
		if err != nil || !got.Cancelled {
			t.Errorf("%+v: %+v, %v", q, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := k.Login(ctx, LoginRequest{Provider: "groq"}, &person{t: t}); err != nil || !got.Cancelled {
		t.Errorf("%+v, %v", got, err)
	}
}

// A login that failed is an error, and the next one may begin.
func TestLoginFails(t *testing.T) {
	a := newAuthority(t)
	k := a.accounts(t, setup{})
	a.pending = []string{"access_denied"}
	if _, err := k.Login(t.Context(), LoginRequest{Provider: "xai", Type: "oauth"}, &person{t: t}); err == nil || err.Error() != "xAI: the login was denied" {
		t.Error(err)
	}
	if _, err := k.Login(t.Context(), LoginRequest{Provider: "xai", Type: "oauth"}, &person{t: t}); err != nil {
		t.Error(err)
	}
}

// Once the server gave a token, giving up does not throw it away.
func TestLoginThatArrivedIsStored(t *testing.T) {
	a := newAuthority(t)
	k := a.accounts(t, setup{})
	p := &person{t: t, answers: map[string]string{MethodPrompt: "key"}}
	p.onAsk = func(Question) {}
	k.store.layers[0].path = filepath.Join(t.TempDir(), "new", "auth.json")
	if _, err := k.Login(t.Context(), LoginRequest{Provider: "groq"}, p); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(k.content(t, 0), `"key": "key"`) {
		t.Error(k.content(t, 0))
	}
	broken := a.accounts(t, setup{own: `{"x":`})
	_, err := broken.Login(t.Context(), LoginRequest{Provider: "groq"}, &person{t: t, answers: map[string]string{MethodPrompt: "top-secret"}})
	if !errors.Is(err, ErrBroken) || !strings.HasPrefix(err.Error(), "the login worked, but it could not be stored: ") || strings.Contains(err.Error(), "top-secret") {
		t.Error(err)
	}
}

func TestSaveCredential(t *testing.T) {
	tests := []struct{ name, provider, credential, want string }{
		{"key", "groq", `{"type":"api_key","key":"k"}`, ""},
		{"variables", "cloudflare-workers-ai", `{"type":"api_key","env":{"A":"b"}}`, ""},
		{"login", "anthropic", `{"type":"oauth","access":"a","refresh":"r","expires":1,"extra":{"x":[1]}}`, ""},
		{"unknown provider", "anything", `{"type":"api_key","key":"k"}`, ""},
		{"no provider", "", `{"type":"api_key","key":"k"}`, "provider must be a text that is not empty"},
		{"no object", "groq", `"top-secret"`, "credential must be an object"},
		{"nothing", "groq", ``, "credential must be an object"},
		{"no type", "groq", `{"key":"top-secret"}`, `credential.type must be "api_key" or "oauth"`},
		{"wrong type", "groq", `{"type":5,"key":"top-secret"}`, `credential.type must be "api_key" or "oauth"`},
		{"other type", "groq", `{"type":"password","key":"top-secret"}`, `credential.type must be "api_key" or "oauth"`},
		{"empty key", "groq", `{"type":"api_key","key":""}`, errCredKey},
		{"key of another type", "groq", `{"type":"api_key","key":["top-secret"]}`, errCredKey},
		{"variables of another type", "groq", `{"type":"api_key","env":{"A":5}}`, errCredKey},
		{"login without access", "xai", `{"type":"oauth","refresh":"top-secret","expires":1}`, errCredTokens},
		{"login without an end", "xai", `{"type":"oauth","access":"top-secret","refresh":"r"}`, errCredTokens},
		{"login with a date", "xai", `{"type":"oauth","access":"a","refresh":"r","expires":"2026"}`, errCredTokens},
		{"login with null", "xai", `{"type":"oauth","access":"a","refresh":null,"expires":1}`, errCredTokens},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := setup{}.keys(t)
			err := k.SaveCredential(t.Context(), tt.provider, jsonx.Raw(tt.credential))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Fatalf("%q, want %q", got, tt.want)
			}
			if err != nil {
				if k.content(t, 0) != "" {
					t.Error("something was stored")
				}
				return
			}
			e, _, ok := k.store.entry(tt.provider)
			if compact, _ := jsonx.Compact(e.raw); !ok || string(compact) != tt.credential {
				t.Errorf("stored %s", e.raw)
			}
		})
	}
	if err := New(Options{}).SaveCredential(t.Context(), "groq", jsonx.Raw(`{"type":"api_key","key":"k"}`)); err == nil || err.Error() != "no file for credentials" {
		t.Error(err)
	}
}

func TestLogout(t *testing.T) {
	tests := []struct {
		name, provider string
		s              setup
		want           string
	}{
		{"nothing stored", "groq", setup{}, `{"configured":false}`},
		{"both layers", "groq", setup{own: `{"groq":{"type":"api_key","key":"a"}}`, below: `{"groq":{"type":"api_key","key":"b"}}`}, `{"configured":false}`},
		{
			"a variable is left", "groq",
			setup{own: `{"groq":{"type":"api_key","key":"a"}}`, env: map[string]string{"GROQ_API_KEY": "k"}},
			`{"configured":true,"source":"environment","label":"GROQ_API_KEY"}`,
		},
		{"models.json is left", "groq", setup{own: `{"groq":{"type":"api_key","key":"a"}}`, apiKey: "k"}, `{"configured":true,"source":"models_json_key"}`},
		{"a command is left", "groq", setup{own: `{"groq":{"type":"api_key","key":"a"}}`, apiKey: "!k"}, `{"configured":true,"source":"models_json_command"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := tt.s.keys(t)
			k.SetRuntime(tt.provider, "flag")
			got, err := k.Logout(t.Context(), tt.provider)
			if err != nil || encoded(t, got) != tt.want {
				t.Errorf("%s, %v", encoded(t, got), err)
			}
			if stored := k.Stored(); len(stored) != 0 {
				t.Errorf("still there: %v", stored)
			}
		})
	}
	if _, err := (setup{}).keys(t).Logout(t.Context(), ""); err == nil || err.Error() != errNoProvider {
		t.Error(err)
	}
}

// A file that cannot be changed is said, and the others are changed all the same.
func TestLogoutOfABrokenFile(t *testing.T) {
	k := setup{own: `{"groq":`, below: `{"groq":{"type":"api_key","key":"b"}}`}.keys(t)
	if _, err := k.Logout(t.Context(), "groq"); !errors.Is(err, ErrBroken) {
		t.Error(err)
	}
	if k.content(t, 1) != "{}" {
		t.Error(k.content(t, 1))
	}
}

func TestAuthStatus(t *testing.T) {
	k := setup{own: `{"groq":{"type":"api_key","key":"a"},"xai":{"type":"oauth","access":"a","refresh":"r","expires":1}}`}.keys(t)
	k.SetRuntime("openai", "k")
	for provider, want := range map[string]string{
		"groq": `{"configured":true,"source":"stored"}`, "xai": `{"configured":true,"source":"stored"}`,
		"openai": `{"configured":true,"source":"runtime"}`, "mistral": `{"configured":false}`, "scripted": `{"configured":true,"source":"none"}`,
	} {
		if got := encoded(t, k.AuthStatus(provider)); got != want {
			t.Errorf("%s: %s", provider, got)
		}
	}
}

func TestList(t *testing.T) {
	k := setup{
		own:   `{"xai":{"type":"oauth","access":"secret-1","refresh":"secret-2","expires":5000},"groq":{"type":"api_key","key":"secret-3"}}`,
		below: `{"groq":{"type":"api_key","key":"secret-4"},"mine":{"type":"api_key","key":"secret-5"}}`,
		env:   map[string]string{"GROQ_API_KEY": "secret-6", "OPENAI_API_KEY": "secret-7"},
	}.keys(t)
	own, below := k.store.layers[0].path, k.store.layers[1].path
	want := []Account{
		{Provider: "groq", Type: "api_key", Source: SourceStored, File: own},
		{Provider: "groq", Type: "api_key", Source: SourceStored, File: below, Shadowed: true},
		{Provider: "groq", Source: SourceEnvironment, Label: "GROQ_API_KEY", Shadowed: true},
		{Provider: "mine", Type: "api_key", Source: SourceStored, File: below},
		{Provider: "openai", Source: SourceEnvironment, Label: "OPENAI_API_KEY"},
		{Provider: "xai", Type: "oauth", Source: SourceStored, File: own, Expires: 5000},
	}
	got := k.List([]string{"openai", "groq", "xai", "mistral", "scripted"})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := encoded(t, got); strings.Contains(text, "secret") {
		t.Errorf("a secret is listed: %s", text)
	}
	if got := k.List(nil); len(got) != 4 {
		t.Errorf("the stored ones alone: %+v", got)
	}
	for apiKey, source := range map[string]Source{"k": SourceModelsKey, "!cmd": SourceModelsCmd} {
		if got := (setup{apiKey: apiKey}).keys(t).List([]string{"p"}); len(got) != 1 || got[0].Source != source {
			t.Errorf("%s: %+v", apiKey, got)
		}
	}
	if got := (setup{apiKey: "$NOT_SET"}).keys(t).List([]string{"p"}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAvailableModels(t *testing.T) {
	k := setup{own: `{"a":{"type":"oauth","access":"x","availableModelIds":["m1","m2"]},"b":{"type":"oauth","access":"x"},"c":{"type":"oauth","access":"x","availableModelIds":[]},
		"d":{"type":"api_key","key":"k","availableModelIds":["m"]},"e":{"type":"oauth","access":"x","availableModelIds":"m"}}`}.keys(t)
	for provider, want := range map[string]string{"a": "[m1 m2] true", "b": "[] false", "c": "[] true", "d": "[] false", "e": "[] false", "f": "[] false"} {
		ids, ok := k.AvailableModels(provider)
		got := "[" + strings.Join(ids, " ") + "] " + map[bool]string{true: "true", false: "false"}[ok]
		if got != want {
			t.Errorf("%s: %s, want %s", provider, got, want)
		}
	}
}

// What a login says of its server goes along with the key.
func TestBaseURLOfALogin(t *testing.T) {
	a := newAuthority(t)
	k := a.accounts(t, setup{own: `{"github-copilot":{"type":"oauth","access":"tid=1;proxy-ep=proxy.x.test","refresh":"r","expires":9999999999999},
		"anthropic":{"type":"oauth","access":"a","refresh":"r","expires":9999999999999}}`})
	k.opt.Flows = nil
	k.opt.Flow = FlowOptions{}
	k = New(k.opt)
	if c, err := k.Provider(t.Context(), "github-copilot"); c.BaseURL != "https://api.x.test" || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := k.Provider(t.Context(), "anthropic"); c.BaseURL != "" || err != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestOAuthProviders(t *testing.T) {
	want := `[{"id":"anthropic","name":"Anthropic (Claude Pro/Max)","usesCallbackServer":true,"isSubscription":true},` +
		`{"id":"openai-codex","name":"OpenAI (ChatGPT Plus/Pro)","usesCallbackServer":true,"isSubscription":true},` +
		`{"id":"github-copilot","name":"GitHub Copilot","isSubscription":true},` +
		`{"id":"openai","name":"OpenAI (ChatGPT subscription)","loginLabel":"Sign in with ChatGPT","usesCallbackServer":true,"isSubscription":true},` +
		`{"id":"xai","name":"xAI (Grok/X subscription)","loginLabel":"Sign in with SuperGrok or X Premium","isSubscription":true},` +
		`{"id":"kimi-coding","name":"Kimi Code (subscription)","loginLabel":"Sign in with Kimi Code","isSubscription":true},` +
		`{"id":"meta","name":"Meta (Muse subscription)","loginLabel":"Sign in with Meta","isSubscription":true},` +
		`{"id":"openrouter","name":"OpenRouter OAuth","loginLabel":"Sign in with OpenRouter","usesCallbackServer":true},` +
		`{"id":"google","name":"Google (Gemini API)","loginLabel":"Sign in with Google","usesCallbackServer":true},` +
		`{"id":"google-vertex","name":"Google Cloud (Vertex AI)","loginLabel":"Sign in with Google Cloud","usesCallbackServer":true}]`
	k := setup{}.keys(t)
	if diff := cmp.Diff(want, encoded(t, k.OAuthProviders())); diff != "" {
		t.Error(diff)
	}
	k = New(Options{Flows: []Flow{}})
	if got := encoded(t, k.OAuthProviders()); got != "[]" {
		t.Error(got)
	}
}

func TestPath(t *testing.T) {
	home := t.TempDir()
	k := New(Options{Files: []string{filepath.Join(home, ".isotope", "agent", "auth.json")}})
	if got, want := k.Path(home), filepath.Join("~", ".isotope", "agent", "auth.json"); got != want {
		t.Error(got)
	}
	if got := k.Path(filepath.Join(home, "other")); got != k.store.layers[0].path {
		t.Error(got)
	}
	if got := New(Options{}).Path(home); got != "" {
		t.Error(got)
	}
}
