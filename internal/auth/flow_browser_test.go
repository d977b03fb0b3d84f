package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// jwt returns a token that names a ChatGPT account.
func jwt(account string, n int) string {
	part := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	return part(`{"alg":"none"}`) + "." + part(fmt.Sprintf(`{"n":%d,"https://api.openai.com/auth":{"chatgpt_account_id":%q}}`, n, account)) + ".sig"
}

// prepare makes the server speak like a provider.
func (a *authority) prepare(id string) Endpoints {
	switch id {
	case "openai-codex":
		a.access = func(n int) string { return jwt("account-7", n) }
	case "openai":
		a.clientID = "client-of-this-login"
		a.extra = `,"id_token":"x","scope":"openid chatgpt.tokens.use.direct"`
	case "openrouter":
		at := a.endpoints()
		at.Token, at.Redirect = a.URL+"/key", "http://127.0.0.1:0/oauth/callback/"
		return at
	}
	return a.endpoints()
}

func TestBrowserLogins(t *testing.T) {
	tests := []struct {
		id    string
		entry map[string]any
		asked map[string]string // parameters of the page
		sent  map[string]string // fields of the exchange
		path  string
	}{
		{
			"anthropic",
			map[string]any{"type": "oauth", "access": "access-2", "refresh": "refresh-2", "expires": millis(55 * time.Minute)},
			map[string]string{"client_id": anthropicClient, "code": "true", "response_type": "code", "scope": anthropicScope},
			map[string]string{"client_id": anthropicClient, "grant_type": "authorization_code", "code": "code-1"},
			"/token",
		},
		{
			"openai-codex",
			map[string]any{"type": "oauth", "access": jwt("account-7", 2), "refresh": "refresh-2", "expires": millis(time.Hour), "accountId": "account-7"},
			map[string]string{
				"client_id": codexClient, "scope": codexScope, "originator": "isotope", "codex_cli_simplified_flow": "true", "id_token_add_organizations": "true",
			},
			map[string]string{"client_id": codexClient, "grant_type": "authorization_code", "code": "code-1"},
			"/token",
		},
		{
			"openai",
			map[string]any{
				"type": "oauth", "access": "access-2", "refresh": "refresh-2", "expires": millis(57 * time.Minute),
				"clientId": "client-of-this-login", "scopes": []any{"openid", "chatgpt.tokens.use.direct"},
			},
			map[string]string{
				"client_id": "dynamic_agent_client", "agent_name_hint": "isotope", "ext_agent_host_id": "urn:uuid:0123abcd-4567-4567-8567-0123456789ab",
				"resource": "https://api.openai.com/v1", "scope": chatgptScope,
			},
			map[string]string{"client_id": "client-of-this-login", "resource": "https://api.openai.com/v1", "code": "code-1"},
			"/token",
		},
		{
			"openrouter",
			map[string]any{"type": "oauth", "access": "sk-or-1", "refresh": "", "expires": float64(openrouterEnd)},
			nil,
			map[string]string{"code": "code-1", "code_challenge_method": "S256"},
			"/key",
		},
		{
			"google",
			map[string]any{
				"type": "oauth", "access": "access-2", "refresh": "refresh-2", "expires": millis(59 * time.Minute),
				"clientId": "1-x.apps.googleusercontent.com", "clientSecret": "secret-of-client", "env": map[string]any{"GOOGLE_CLOUD_PROJECT": "my-project"},
			},
			map[string]string{
				"client_id": "1-x.apps.googleusercontent.com", "response_type": "code", "access_type": "offline", "prompt": "consent",
				"scope": "https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/generative-language.retriever",
			},
			map[string]string{"client_id": "1-x.apps.googleusercontent.com", "client_secret": "secret-of-client", "grant_type": "authorization_code", "code": "code-1"},
			"/token",
		},
		{
			"google-vertex",
			map[string]any{
				"type": "oauth", "access": "access-2", "refresh": "refresh-2", "expires": millis(59 * time.Minute),
				"clientId": "1-x.apps.googleusercontent.com", "clientSecret": "secret-of-client",
				"env": map[string]any{"GOOGLE_CLOUD_PROJECT": "my-project", "GOOGLE_CLOUD_LOCATION": "global"},
			},
			map[string]string{"client_id": "1-x.apps.googleusercontent.com", "scope": "https://www.googleapis.com/auth/cloud-platform"},
			map[string]string{"client_id": "1-x.apps.googleusercontent.com", "client_secret": "secret-of-client"},
			"/token",
		},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			a := newAuthority(t)
			flow := a.flowFor(tt.id, newClock(), a.prepare(tt.id))
			p := &person{t: t, browse: true, answers: map[string]string{
				MethodSelect: methodBrowser, askGoogleClient: "1-x.apps.googleusercontent.com", askGoogleSecret: " secret-of-client\n",
				askGoogleProject: "my-project", askGoogleLocation: "",
			}}
			login, err := flow.Login(t.Context(), p)
			p.open.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.entry, entryOf(t, login.Raw)); diff != "" {
				t.Error(diff)
			}
			if float64(login.Expires.UnixMilli()) != tt.entry["expires"] || login.Access != tt.entry["access"] || login.Refresh != tt.entry["refresh"] {
				t.Errorf("the login differs from its entry: %+v", login)
			}
			page, _ := a.last("/authorize")
			checkFields(t, "page", page, tt.asked)
			sent, _ := a.last(tt.path)
			checkFields(t, "exchange", sent, tt.sent)
			if len(p.pages) != 1 || !strings.HasPrefix(p.pages[0], "200 ") || !strings.Contains(p.pages[0], "You can close this page.") {
				t.Errorf("the browser shows %q", p.pages)
			}
			if p.withdrawn != 1 {
				t.Errorf("the question for a code was withdrawn %d times", p.withdrawn)
			}
		})
	}
}

func checkFields(t *testing.T, what string, got url.Values, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got.Get(name) != value {
			t.Errorf("%s: %s is %q, want %q", what, name, got.Get(name), value)
		}
	}
}

func TestBrowserDenied(t *testing.T) {
	for _, id := range []string{"anthropic", "openai-codex", "openai", "openrouter"} {
		t.Run(id, func(t *testing.T) {
			a := newAuthority(t)
			flow := a.flowFor(id, newClock(), a.prepare(id))
			a.deny = true
			p := &person{t: t, browse: true, answers: map[string]string{MethodSelect: methodBrowser}}
			_, err := flow.Login(t.Context(), p)
			p.open.Wait()
			if err == nil || !strings.HasSuffix(err.Error(), ": authorization failed: the person said no") {
				t.Errorf("%v", err)
			}
			if len(p.pages) != 1 || !strings.Contains(p.pages[0], "The login was not allowed: the person said no") {
				t.Errorf("the browser shows %q", p.pages)
			}
		})
	}
}

// A redirect with another login's state changes nothing: the login goes on waiting, here
// until the person pastes the code.
func TestWrongStateIsRefused(t *testing.T) {
	for _, id := range []string{"anthropic", "openai-codex", "openai"} {
		t.Run(id, func(t *testing.T) {
			a := newAuthority(t)
			flow := a.flowFor(id, newClock(), a.prepare(id))
			a.state = func(string) string { return "somebody-elses" }
			ctx, cancel := context.WithCancelCause(t.Context())
			p := &person{t: t, answers: map[string]string{MethodSelect: methodBrowser}}
			p.onTell = func(n Notice) {
				if n.Method == MethodAuth {
					p.open.Go(func() { p.visit(n.Auth.URL); cancel(ErrCancelled) })
				}
			}
			_, err := flow.Login(ctx, p)
			p.open.Wait()
			if !errors.Is(err, ErrCancelled) {
				t.Errorf("%v", err)
			}
			if len(p.pages) != 1 || !strings.HasPrefix(p.pages[0], "400 ") || !strings.Contains(p.pages[0], "This answer belongs to another login.") {
				t.Errorf("the browser shows %q", p.pages)
			}
			for _, r := range a.seen() {
				if r == "POST /token" {
					t.Error("a code of another login was exchanged")
				}
			}
		})
	}
}

// paste makes the person paste what form makes of the answer's address.
func (p *person) paste(form func(back *url.URL) string) {
	p.answers[MethodCode] = ""
	ready := make(chan string, 1)
	p.onTell = func(n Notice) {
		if n.Method != MethodAuth {
			return
		}
		resp, err := noFollow().Get(n.Auth.URL)
		if err != nil {
			p.t.Error(err)
			return
		}
		resp.Body.Close()
		back, err := resp.Location()
		if err != nil {
			p.t.Error(err)
			return
		}
		ready <- form(back)
	}
	p.onAsk = func(q Question) {
		if q.Method == MethodCode {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.answers[MethodCode] = <-ready
		}
	}
}

func TestPastedAnswers(t *testing.T) {
	whole := func(u *url.URL) string { return u.String() }
	forms := map[string]func(*url.URL) string{
		"whole address": whole,
		"code#state":    func(u *url.URL) string { return " " + u.Query().Get("code") + "#" + u.Query().Get("state") + "\n" },
		"parameters":    func(u *url.URL) string { return "?" + u.RawQuery },
		"code alone":    func(u *url.URL) string { return u.Query().Get("code") },
		"wrong state":   func(u *url.URL) string { return u.Query().Get("code") + "#other" },
		"nothing":       func(*url.URL) string { return "  " },
		"denied":        func(u *url.URL) string { return u.Scheme + "://" + u.Host + u.Path + "?error=access_denied" },
		"wrong code":    func(*url.URL) string { return "no-such-code" },
		"bad escape":    func(*url.URL) string { return "code=%zz" },
	}
	tests := []struct{ id, method, form, err string }{
		{"anthropic", methodBrowser, "whole address", ""},
		{"anthropic", methodBrowser, "code alone", ""},
		{"anthropic", methodCopy, "code#state", ""},
		{"anthropic", methodCopy, "parameters", ""},
		{"anthropic", methodCopy, "wrong state", "OAuth state mismatch"},
		{"anthropic", methodCopy, "nothing", "Missing authorization code"},
		{"anthropic", methodCopy, "bad escape", "Missing authorization code"},
		{"anthropic", methodCopy, "denied", "Anthropic: authorization failed: access_denied"},
		{"anthropic", methodCopy, "wrong code", "Anthropic: token exchange failed (HTTP 400): invalid_grant: the code is unknown or was used"},
		{"openai-codex", methodBrowser, "whole address", ""},
		{"openai-codex", methodBrowser, "wrong state", "OAuth state mismatch"},
		{"openai", methodBrowser, "whole address", ""},
		{"openai", methodBrowser, "code alone", "OpenAI: the login brought no client id. Paste the whole address of the last page"},
		{"openrouter", methodBrowser, "whole address", ""},
		{"openrouter", methodBrowser, "code alone", ""},
		{"openrouter", methodBrowser, "wrong code", "OpenRouter: key exchange failed (HTTP 403): the code is unknown or was used"},
	}
	for _, tt := range tests {
		t.Run(tt.id+" "+tt.method+" "+tt.form, func(t *testing.T) {
			a := newAuthority(t)
			flow := a.flowFor(tt.id, newClock(), a.prepare(tt.id))
			p := &person{t: t, answers: map[string]string{MethodSelect: tt.method}}
			p.paste(forms[tt.form])
			login, err := flow.Login(t.Context(), p)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.err || (err == nil) != (login.Access != "") {
				t.Errorf("%q, want %q; %+v", got, tt.err, login)
			}
		})
	}
}

// The copied code is exchanged with the address that shows codes, not with a callback.
func TestCopyCodeNeedsNoServer(t *testing.T) {
	a := newAuthority(t)
	flow := a.flowFor("anthropic", newClock(), a.endpoints())
	p := &person{t: t, answers: map[string]string{MethodSelect: methodCopy}}
	p.paste(func(u *url.URL) string { return u.Query().Get("code") })
	if _, err := flow.Login(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	page, _ := a.last("/authorize")
	if got := page.Get("redirect_uri"); got != anthropicCopy {
		t.Errorf("redirect %s", got)
	}
	if q := p.questions[len(p.questions)-1]; q.Method != MethodCode || q.Prompt.Placeholder != "code#state" {
		t.Errorf("%+v", q)
	}
}

// Whoever has the callback's port: Anthropic takes another one, Codex lets the person
// paste, ChatGPT must not begin.
func TestCallbackPortInUse(t *testing.T) {
	for _, tt := range []struct{ id, err string }{
		{"anthropic", ""},
		{"openai-codex", ""},
		{"openai", errChatgptPort},
	} {
		t.Run(tt.id, func(t *testing.T) {
			a := newAuthority(t)
			other, err := listen("other", "127.0.0.1", "http://localhost:0/callback", "x")
			if err != nil {
				t.Fatal(err)
			}
			defer other.close()
			at := a.prepare(tt.id)
			at.Redirect = other.redirect
			flow := a.flowFor(tt.id, newClock(), at)
			p := &person{t: t, answers: map[string]string{MethodSelect: methodBrowser}}
			p.paste(func(u *url.URL) string { return u.String() })
			_, err = flow.Login(t.Context(), p)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.err {
				t.Fatalf("%q, want %q", got, tt.err)
			}
			if tt.err != "" {
				return
			}
			page, _ := a.last("/authorize")
			if same := page.Get("redirect_uri") == other.redirect; same != (tt.id == "openai-codex") {
				t.Errorf("redirect %s, in use is %s", page.Get("redirect_uri"), other.redirect)
			}
		})
	}
}

func TestUnknownMethods(t *testing.T) {
	a := newAuthority(t)
	for id, want := range map[string]string{"anthropic": "Anthropic: unknown login method: magic", "openai-codex": "OpenAI Codex: unknown login method: magic"} {
		_, err := a.flowFor(id, newClock(), a.endpoints()).Login(t.Context(), &person{t: t, answers: map[string]string{MethodSelect: "magic"}})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", id, err)
		}
		_, err = a.flowFor(id, newClock(), a.endpoints()).Login(t.Context(), &person{t: t, answers: map[string]string{MethodSelect: "(cancel)"}})
		if !errors.Is(err, ErrCancelled) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// Cancelled at any point, a login ends at once with the reason, and leaves no server.
func TestCancelMidway(t *testing.T) {
	for _, id := range []string{"anthropic", "openai-codex", "openai", "openrouter"} {
		t.Run(id, func(t *testing.T) {
			a := newAuthority(t)
			ctx, cancel := context.WithCancelCause(t.Context())
			p := &person{t: t, answers: map[string]string{MethodSelect: methodBrowser}}
			var redirect string
			p.onTell = func(n Notice) {
				if n.Method == MethodAuth {
					u, _ := url.Parse(n.Auth.URL)
					redirect = first(u.Query().Get("redirect_uri"), u.Query().Get("callback_url"))
				}
			}
			p.onAsk = func(q Question) {
				if q.Method == MethodCode {
					cancel(ErrCancelled)
				}
			}
			_, err := a.flowFor(id, newClock(), a.prepare(id)).Login(ctx, p)
			if !errors.Is(err, ErrCancelled) {
				t.Errorf("%v", err)
			}
			if resp, err := noFollow().Get(redirect); err == nil {
				resp.Body.Close()
				t.Errorf("%s still answers", redirect)
			}
		})
	}
}

func TestTokensThatCannotBeUsed(t *testing.T) {
	tests := []struct{ id, body, want string }{
		{"anthropic", `{"access_token":"a","refresh_token":"r"}`, "Anthropic: token exchange: the answer holds no usable token"},
		{"anthropic", `{"access_token":"a","expires_in":5}`, "Anthropic: token exchange: the answer holds no usable token"},
		{"anthropic", `{"access_token":7,"refresh_token":"top-secret"}`, "Anthropic: token exchange: the answer was not understood (HTTP 200)"},
		{"anthropic", `<html>top-secret`, "Anthropic: token exchange: the answer was not understood (HTTP 200)"},
		{"openai-codex", `{"access_token":"opaque","refresh_token":"r","expires_in":5}`, "OpenAI Codex: the token names no ChatGPT account"},
		{"openai-codex", `{"access_token":"a.!!.c","refresh_token":"r","expires_in":5}`, "OpenAI Codex: the token names no ChatGPT account"},
		{"openai-codex", `{"access_token":"a.e30.c","refresh_token":"r","expires_in":5}`, "OpenAI Codex: the token names no ChatGPT account"},
		{"openai", `{"access_token":"a","refresh_token":"r","expires_in":5,"scope":"openid"}`, "OpenAI: the login does not allow API requests (chatgpt.tokens.use.direct)"},
		{"openrouter", `{}`, "OpenRouter: key exchange: the answer holds no usable token"},
	}
	for _, tt := range tests {
		t.Run(tt.id+" "+tt.body, func(t *testing.T) {
			a := newAuthority(t)
			flow := a.flowFor(tt.id, newClock(), a.prepare(tt.id))
			for _, path := range []string{"/token", "/key"} {
				a.answer[path] = func() (int, string) { return 200, tt.body }
			}
			p := &person{t: t, browse: true, answers: map[string]string{MethodSelect: methodBrowser}}
			_, err := flow.Login(t.Context(), p)
			p.open.Wait()
			if err == nil || err.Error() != tt.want {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestChatGPTNeedsAnInstallation(t *testing.T) {
	for _, tt := range []struct {
		id   string
		err  error
		want string
	}{{"", nil, errDeviceID}, {"no-uuid", nil, errDeviceID}, {"0123abcd-4567-4567-8567-0123456789ag", nil, errDeviceID}, {"", errors.New("disk full"), "disk full"}} {
		f := &chatgptFlow{opt: FlowOptions{DeviceID: func() (string, error) { return tt.id, tt.err }}}
		if _, err := f.Login(t.Context(), &person{t: t}); err == nil || err.Error() != tt.want {
			t.Errorf("%q: %v", tt.id, err)
		}
	}
	if id := newUUID(); !isUUID(id) || id[14] != '4' {
		t.Errorf("%s is no UUID of version 4", id)
	}
}

func TestRenewals(t *testing.T) {
	tests := []struct {
		id   string
		old  string // members of the old entry
		want map[string]any
		sent map[string]string
	}{
		{
			"anthropic", ``,
			map[string]any{"type": "oauth", "access": "access-1", "refresh": "refresh-1", "expires": millis(55 * time.Minute)},
			map[string]string{"grant_type": "refresh_token", "client_id": anthropicClient, "refresh_token": "old-token"},
		},
		{
			"openai-codex", ``,
			map[string]any{"type": "oauth", "access": jwt("account-7", 1), "refresh": "refresh-1", "expires": millis(time.Hour), "accountId": "account-7"},
			map[string]string{"grant_type": "refresh_token", "client_id": codexClient, "refresh_token": "old-token"},
		},
		{
			"openai", `,"clientId":"mine"`,
			map[string]any{
				"type": "oauth", "access": "access-1", "refresh": "refresh-1", "expires": millis(57 * time.Minute), "clientId": "mine",
				"scopes": []any{"openid", "chatgpt.tokens.use.direct"},
			},
			map[string]string{"grant_type": "refresh_token", "client_id": "mine", "refresh_token": "old-token", "resource": "https://api.openai.com/v1"},
		},
		{
			"xai", ``,
			map[string]any{"type": "oauth", "access": "access-1", "refresh": "refresh-1", "expires": millis(55 * time.Minute)},
			map[string]string{"grant_type": "refresh_token", "client_id": xaiClient, "refresh_token": "old-token"},
		},
		{
			"kimi-coding", ``,
			map[string]any{"type": "oauth", "access": "access-1", "refresh": "refresh-1", "expires": millis(time.Hour)},
			map[string]string{"grant_type": "refresh_token", "client_id": kimiClient, "refresh_token": "old-token"},
		},
		{
			"google-vertex", `,"clientId":"mine","clientSecret":"s"`,
			map[string]any{"type": "oauth", "access": "access-1", "refresh": "refresh-1", "expires": millis(59 * time.Minute), "clientId": "mine", "clientSecret": "s"},
			map[string]string{"grant_type": "refresh_token", "client_id": "mine", "client_secret": "s", "refresh_token": "old-token"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			a := newAuthority(t)
			flow := a.flowFor(tt.id, newClock(), a.prepare(tt.id))
			a.refresh["old-token"] = true
			old := Login{Refresh: "old-token", Raw: []byte(`{"type":"oauth"` + tt.old + `}`)}
			got, err := flow.Renew(t.Context(), old)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, entryOf(t, got.Raw)); diff != "" {
				t.Error(diff)
			}
			sent, _ := a.last("/token")
			checkFields(t, "renewal", sent, tt.sent)
			_, err = flow.Renew(t.Context(), old) // used up; the server even repeats it
			if err == nil || !strings.HasSuffix(err.Error(), ": token refresh failed (HTTP 400): invalid_grant: … is no good") {
				t.Errorf("a token that was used up: %v", err)
			}
		})
	}
}

// A server that does not rotate sends no refresh token: the old one stays.
func TestRefreshTokenThatStays(t *testing.T) {
	for _, id := range []string{"anthropic", "openai-codex", "openai", "xai", "kimi-coding", "google", "google-vertex"} {
		a := newAuthority(t)
		flow := a.flowFor(id, newClock(), a.prepare(id))
		a.keep, a.refresh["old-token"] = true, true
		got, err := flow.Renew(t.Context(), Login{Refresh: "old-token", Raw: []byte(`{"clientId":"c"}`)})
		if err != nil || got.Refresh != "old-token" || entryOf(t, got.Raw)["refresh"] != "old-token" {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
}

func TestRenewalsWithoutARequest(t *testing.T) {
	a := newAuthority(t)
	old := Login{Access: "k", Expires: time.UnixMilli(openrouterEnd)}
	if got, err := a.flowFor("openrouter", newClock(), a.endpoints()).Renew(t.Context(), old); err != nil || got.Access != "k" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := a.flowFor("openai", newClock(), a.endpoints()).Renew(t.Context(), Login{Raw: []byte(`{"clientId":5}`)}); err == nil || err.Error() != errChatgptAgain {
		t.Errorf("%v", err)
	}
	if _, err := a.flowFor("google", newClock(), a.endpoints()).Renew(t.Context(), Login{Raw: []byte(`{"clientId":""}`)}); err == nil || err.Error() != errGoogleAgain {
		t.Errorf("%v", err)
	}
	if n := len(a.seen()); n != 0 {
		t.Errorf("%d requests", n)
	}
}
