package auth

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// copilotModels is an account's list: usable, without tools, hidden, disabled, waiting.
const accountModels = `{"data":[
 {"id":"ready","model_picker_enabled":true,"policy":{"state":"enabled"}},
 {"id":"open","model_picker_enabled":true},
 {"id":"no-tools","model_picker_enabled":true,"capabilities":{"supports":{"tool_calls":false}}},
 {"id":"hidden","model_picker_enabled":false,"policy":{"state":"enabled"}},
 {"id":"off","model_picker_enabled":true,"policy":{"state":"disabled"}},
 {"id":"waits","model_picker_enabled":true,"policy":{"state":"unconfigured"},"capabilities":{"supports":{"tool_calls":true}}},
 {"name":"no id"}, "odd"]}`

func (a *authority) copilotEndpoints() Endpoints {
	a.answer["/api/models"] = func() (int, string) { return 200, accountModels }
	a.answer["/api/models/waits/policy"] = func() (int, string) { return 200, `{}` }
	return Endpoints{Device: a.URL + "/device", Token: a.URL + "/poll", DeviceToken: a.URL + "/copilot", API: a.URL + "/api"}
}

func TestCopilotLogin(t *testing.T) {
	a, c := newAuthority(t), newClock()
	a.pending = []string{"authorization_pending", "slow_down:10"}
	flow := a.flowFor("github-copilot", c, a.copilotEndpoints())
	p := &person{t: t, answers: map[string]string{MethodPrompt: " "}}
	login, err := flow.Login(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	token := "tid=2;exp=1;proxy-ep=proxy.business.githubcopilot.com;x=y"
	want := map[string]any{
		"type": "oauth", "access": token, "refresh": "access-1", "expires": millis(25 * time.Minute),
		"availableModelIds": []any{"ready", "open", "waits"},
	}
	if diff := cmp.Diff(want, entryOf(t, login.Raw)); diff != "" {
		t.Error(diff)
	}
	wantRequests := []string{
		"POST /device", "POST /poll", "POST /poll", "POST /poll", "GET /copilot", "GET /api/models", "POST /api/models/waits/policy",
	}
	if diff := cmp.Diff(wantRequests, a.seen()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]time.Duration{2 * time.Second, 2 * time.Second, 10 * time.Second}, c.waits()); diff != "" {
		t.Error(diff)
	}
	asked, header := a.last("/device")
	checkFields(t, "device", asked, map[string]string{"client_id": copilotClient, "scope": "read:user"})
	if header.Get("User-Agent") != copilotAgent {
		t.Errorf("%v", header)
	}
	_, header = a.last("/copilot")
	for name, value := range map[string]string{
		"Authorization": "Bearer access-1", "Editor-Version": "vscode/1.107.0", "Editor-Plugin-Version": "copilot-chat/0.35.0",
		"Copilot-Integration-Id": "vscode-chat", "User-Agent": copilotAgent,
	} {
		if header.Get(name) != value {
			t.Errorf("exchange: %s is %q", name, header.Get(name))
		}
	}
	_, header = a.last("/api/models")
	if header.Get("X-Github-Api-Version") != copilotVersion || header.Get("Authorization") != "Bearer "+token {
		t.Errorf("models: %v", header)
	}
	consent, header := a.last("/api/models/waits/policy")
	if consent.Get("state") != "enabled" || header.Get("Openai-Intent") != "chat-policy" || header.Get("X-Interaction-Type") != "chat-policy" {
		t.Errorf("consent: %v %v", consent, header)
	}
	if diff := cmp.Diff([]string{MethodPrompt, MethodDevice, MethodProgress}, p.methods()); diff != "" {
		t.Error(diff)
	}
}

// At an enterprise everything happens at its domain.
func TestCopilotEnterprise(t *testing.T) {
	f := &copilotFlow{}
	want := Endpoints{
		Device: "https://acme.ghe.com/login/device/code", Token: "https://acme.ghe.com/login/oauth/access_token",
		DeviceToken: "https://api.acme.ghe.com/copilot_internal/v2/token",
	}
	if diff := cmp.Diff(want, f.places("acme.ghe.com")); diff != "" {
		t.Error(diff)
	}
	if got := f.places("").DeviceToken; got != "https://api.github.com/copilot_internal/v2/token" {
		t.Error(got)
	}
	a := newAuthority(t)
	p := &person{t: t, answers: map[string]string{MethodPrompt: "https://Acme.GHE.com/some/page"}}
	login, err := a.flowFor("github-copilot", newClock(), a.copilotEndpoints()).Login(t.Context(), p)
	if err != nil || login.member("enterpriseUrl") != "acme.ghe.com" {
		t.Errorf("%s, %v", login.Raw, err)
	}
}

func TestCopilotDomains(t *testing.T) {
	tests := []struct {
		in, want string
		ok       bool
	}{
		{"", "", true},
		{"  ", "", true},
		{"company.ghe.com", "company.ghe.com", true},
		{"https://Company.ghe.com:8443/x", "company.ghe.com", true},
		{"not a domain", "", false},
		{"https://", "", false},
		{"%zz", "", false},
	}
	for _, tt := range tests {
		if got, ok := copilotDomain(tt.in); got != tt.want || ok != tt.ok {
			t.Errorf("%q: %q, %v", tt.in, got, ok)
		}
	}
	_, err := (&copilotFlow{}).Login(t.Context(), &person{t: t, answers: map[string]string{MethodPrompt: "not a domain"}})
	if err == nil || err.Error() != "Invalid GitHub Enterprise URL/domain" {
		t.Error(err)
	}
	if _, err := (&copilotFlow{}).Login(t.Context(), &person{t: t, answers: map[string]string{MethodPrompt: "(cancel)"}}); !errors.Is(err, ErrCancelled) {
		t.Error(err)
	}
}

func TestCopilotBaseURL(t *testing.T) {
	tests := []struct{ token, domain, want string }{
		{"tid=1;proxy-ep=proxy.individual.githubcopilot.com;exp=2", "", "https://api.individual.githubcopilot.com"},
		{"tid=1;proxy-ep=proxy.enterprise.githubcopilot.com", "acme.ghe.com", "https://api.enterprise.githubcopilot.com"},
		{"proxy-ep=other.example", "", "https://other.example"},
		{"tid=1", "acme.ghe.com", "https://copilot-api.acme.ghe.com"},
		{"tid=1;proxy-ep=", "", "https://api.individual.githubcopilot.com"},
		{"tid=1;proxy-ep=evil.test/path?", "", "https://api.individual.githubcopilot.com"},
		{"tid=1;proxy-ep=user@evil.test", "", "https://api.individual.githubcopilot.com"},
		{"", "", "https://api.individual.githubcopilot.com"},
	}
	for _, tt := range tests {
		login := newLogin(tt.token, "", start)
		if tt.domain != "" {
			login = newLogin(tt.token, "", start, "enterpriseUrl", tt.domain)
		}
		if got := (&copilotFlow{}).baseURL(login); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.token, got, tt.want)
		}
	}
}

func TestCopilotPick(t *testing.T) {
	model := func(id, state string, picker bool) copilotModel {
		m := copilotModel{ID: id, Picker: picker}
		m.Policy.State = state
		return m
	}
	nonePicked := []copilotModel{model("a", "enabled", false), model("b", "unconfigured", false), model("c", "", false)}
	tests := []struct {
		name            string
		models          []copilotModel
		individual      bool
		usable, waiting []string
	}{
		{"none", nil, true, nil, nil},
		{"nothing in the picker of an individual: the policies decide", nonePicked, true, []string{"a"}, []string{"b"}},
		{"nothing in the picker of a company", nonePicked, false, nil, nil},
		{
			"the picker decides",
			[]copilotModel{model("a", "enabled", false), model("b", "unconfigured", true), model("c", "disabled", true), model("d", "", true)},
			true,
			[]string{"b", "d"},
			[]string{"b"},
		},
	}
	for _, tt := range tests {
		usable, waiting := copilotPick(tt.models, tt.individual)
		if diff := cmp.Diff([][]string{tt.usable, tt.waiting}, [][]string{usable, waiting}); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestCopilotConsentStopsWhenTheServerHasEnough(t *testing.T) {
	a := newAuthority(t)
	at := a.copilotEndpoints()
	a.answer["/api/models"] = func() (int, string) {
		return 200, `{"data":[{"id":"one","model_picker_enabled":true,"policy":{"state":"unconfigured"}},{"id":"two","model_picker_enabled":true,"policy":{"state":"unconfigured"}}]}`
	}
	a.answer["/api/models/one/policy"] = func() (int, string) { return 429, `{}` }
	login, err := a.flowFor("github-copilot", newClock(), at).Login(t.Context(), &person{t: t, answers: map[string]string{MethodPrompt: ""}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range a.seen() {
		if strings.Contains(r, "/two/") {
			t.Error("asked again after 429")
		}
	}
	if diff := cmp.Diff([]any{"one", "two"}, entryOf(t, login.Raw)["availableModelIds"]); diff != "" {
		t.Error(diff)
	}
}

// A list of models that cannot be had costs neither a login nor a renewal.
func TestCopilotWithoutModels(t *testing.T) {
	for _, body := range []string{`503 busy`, `200 {}`, `200 no`} {
		a := newAuthority(t)
		at := a.copilotEndpoints()
		a.answer["/api/models"] = func() (int, string) {
			if body[0] == '5' {
				return 503, body[4:]
			}
			return 200, body[4:]
		}
		flow := a.flowFor("github-copilot", newClock(), at)
		login, err := flow.Login(t.Context(), &person{t: t, answers: map[string]string{MethodPrompt: ""}})
		if _, listed := entryOf(t, login.Raw)["availableModelIds"]; err != nil || listed {
			t.Errorf("%s: %s, %v", body, login.Raw, err)
		}
		if _, err := flow.Renew(t.Context(), login); err != nil {
			t.Errorf("%s: renewal: %v", body, err)
		}
	}
}

func TestCopilotRenewal(t *testing.T) {
	a := newAuthority(t)
	flow := a.flowFor("github-copilot", newClock(), a.copilotEndpoints())
	old := newLogin("old", "access-7", start, "enterpriseUrl", "acme.ghe.com")
	login, err := flow.Renew(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	if login.Refresh != "access-7" || login.member("enterpriseUrl") != "acme.ghe.com" || !strings.HasPrefix(login.Access, "tid=") {
		t.Errorf("%s", login.Raw)
	}
	for _, r := range a.seen() {
		if strings.HasSuffix(r, "/policy") {
			t.Error("a renewal gave consent to a model")
		}
	}
	_, err = flow.Renew(t.Context(), Login{Refresh: "revoked-token"})
	if err == nil || err.Error() != "GitHub Copilot: token exchange failed (HTTP 401): Bad credentials" {
		t.Error(err)
	}
}

func TestCopilotTokensThatCannotBeUsed(t *testing.T) {
	for _, body := range []string{`{}`, `{"token":"t"}`, `{"token":"t","expires_at":-1}`, `{"token":"t","expires_at":1e300}`} {
		a := newAuthority(t)
		at := a.copilotEndpoints()
		a.answer["/copilot"] = func() (int, string) { return 200, body }
		_, err := a.flowFor("github-copilot", newClock(), at).Renew(context.Background(), Login{Refresh: "r"})
		if err == nil || err.Error() != "GitHub Copilot: token exchange: the answer holds no usable token" {
			t.Errorf("%s: %v", body, err)
		}
	}
}
