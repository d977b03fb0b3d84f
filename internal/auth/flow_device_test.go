package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// deviceEndpoints are those of the plain device logins.
func (a *authority) deviceEndpoints() Endpoints {
	return Endpoints{Device: a.URL + "/device", Token: a.URL + "/poll", API: a.URL + "/key"}
}

func TestDeviceLogins(t *testing.T) {
	tests := []struct {
		id    string
		entry map[string]any
		asked map[string]string
	}{
		{
			"xai",
			map[string]any{"type": "oauth", "access": "access-1", "refresh": "refresh-1", "expires": millis(55*time.Minute + 6*time.Second)},
			map[string]string{"client_id": xaiClient, "scope": xaiScope},
		},
		{
			"kimi-coding",
			map[string]any{"type": "oauth", "access": "access-1", "refresh": "refresh-1", "expires": millis(time.Hour + 6*time.Second)},
			map[string]string{"client_id": kimiClient},
		},
		{
			"meta",
			map[string]any{"type": "oauth", "access": "key-for-access-1", "refresh": "access-1", "expires": millis(24*time.Hour + 6*time.Second)},
			map[string]string{"client_id": metaClient},
		},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			a, c := newAuthority(t), newClock()
			a.pending = []string{"authorization_pending", "authorization_pending"}
			p := &person{t: t}
			login, err := a.flowFor(tt.id, c, a.deviceEndpoints()).Login(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.entry, entryOf(t, login.Raw)); diff != "" {
				t.Error(diff)
			}
			asked, _ := a.last("/device")
			checkFields(t, "device", asked, tt.asked)
			want := &DeviceCode{UserCode: "ABCD-1234", VerificationURI: "https://example.test/code?c=ABCD-1234", IntervalSeconds: 2, ExpiresInSeconds: 60}
			if diff := cmp.Diff(want, p.notices[0].Device); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]time.Duration{2 * time.Second, 2 * time.Second, 2 * time.Second}, c.waits()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDevicePolling(t *testing.T) {
	s := time.Second
	many := make([]string, 40)
	for i := range many {
		many[i] = "authorization_pending"
	}
	tests := []struct {
		name    string
		pending []string
		waits   []time.Duration
		err     string
	}{
		{"at once", nil, []time.Duration{2 * s}, ""},
		{"slow_down adds five seconds", []string{"slow_down", "slow_down"}, []time.Duration{2 * s, 7 * s, 12 * s}, ""},
		{"slow_down with an interval", []string{"slow_down:9", "authorization_pending"}, []time.Duration{2 * s, 9 * s, 9 * s}, ""},
		{"slow_down with less than a second", []string{"slow_down:0.2"}, []time.Duration{2 * s, s}, ""},
		{"slow_down with a text", []string{`slow_down:"8"`}, []time.Duration{2 * s, 8 * s}, ""},
		{"denied", []string{"authorization_pending", "access_denied"}, []time.Duration{2 * s, 2 * s}, "xAI: the login was denied"},
		{"denied in other words", []string{"authorization_denied"}, []time.Duration{2 * s}, "xAI: the login was denied"},
		{"expired", []string{"expired_token"}, []time.Duration{2 * s}, "xAI: the code has expired. Start the login again"},
		{"something else", []string{"server_on_fire"}, []time.Duration{2 * s}, "xAI: device login failed (HTTP 400): server_on_fire"},
		{"never entered", many, nil, "xAI: the code expired before it was entered. Start the login again"},
		{
			"never entered, too fast", append([]string{"slow_down"}, many...), nil,
			"xAI: the code expired, and the server asked to poll more slowly: check this machine's clock, then start the login again",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, c := newAuthority(t), newClock()
			a.pending = tt.pending
			login, err := a.flowFor("xai", c, a.deviceEndpoints()).Login(t.Context(), &person{t: t})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.err || (err == nil) != (login.Access != "") {
				t.Errorf("%q, want %q", got, tt.err)
			}
			if tt.waits != nil {
				if diff := cmp.Diff(tt.waits, c.waits()); diff != "" {
					t.Error(diff)
				}
			}
			if total := c.Now().Sub(start); total > time.Minute {
				t.Errorf("polled for %s, longer than the code lives", total)
			}
		})
	}
}

// A network that fails for a moment does not cost the login; one that fails for good does.
func TestDevicePollingOverABadNetwork(t *testing.T) {
	a, c := newAuthority(t), newClock()
	failures := 4
	a.answer["/poll"] = func() (int, string) {
		if failures--; failures >= 0 {
			return 503, "busy"
		}
		return 200, `{"access_token":"a","refresh_token":"r","expires_in":9}`
	}
	if _, err := a.flowFor("kimi-coding", c, a.deviceEndpoints()).Login(t.Context(), &person{t: t}); err != nil {
		t.Errorf("four faults: %v", err)
	}
	failures = 5
	_, err := a.flowFor("kimi-coding", c, a.deviceEndpoints()).Login(t.Context(), &person{t: t})
	if err == nil || err.Error() != "Kimi: device login failed (HTTP 503)" {
		t.Errorf("five faults: %v", err)
	}
}

func TestDeviceCancelled(t *testing.T) {
	for _, id := range []string{"xai", "kimi-coding", "meta", "openai-codex", "github-copilot"} {
		a, c := newAuthority(t), newClock()
		at := a.deviceEndpoints()
		if id == "openai-codex" {
			at = a.codexEndpoints()
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		p := &person{t: t, answers: map[string]string{MethodSelect: methodDevice, MethodPrompt: ""}, onTell: func(Notice) { cancel(ErrCancelled) }}
		if _, err := a.flowFor(id, c, at).Login(ctx, p); !errors.Is(err, ErrCancelled) {
			t.Errorf("%s: %v", id, err)
		}
		for _, r := range a.seen() {
			if strings.HasSuffix(r, "/poll") {
				t.Errorf("%s: polled after it was cancelled", id)
			}
		}
	}
}

func TestDeviceAnswers(t *testing.T) {
	tests := []struct{ name, body, err, uri string }{
		{"an address alone", `{"device_code":"d","user_code":"u","verification_uri":"https://e.test/x"}`, "", "https://e.test/x"},
		{"the complete address", `{"device_code":"d","user_code":"u","verification_uri_complete":"http://e.test/y"}`, "", "http://e.test/y"},
		{"a program to start", `{"device_code":"d","user_code":"u","verification_uri":"file:///bin/sh"}`, "X: the server sent an address that is no web page", ""},
		{"a script", `{"device_code":"d","user_code":"u","verification_uri":"javascript:alert(1)"}`, "X: the server sent an address that is no web page", ""},
		{"no host", `{"device_code":"d","user_code":"u","verification_uri":"https:///x"}`, "X: the server sent an address that is no web page", ""},
		{"no address", `{"device_code":"d","user_code":"u"}`, "X: start: the answer was not understood (HTTP 200)", ""},
		{"no code", `{"user_code":"u","verification_uri":"https://e.test"}`, "X: start: the answer was not understood (HTTP 200)", ""},
		{"a wrong type", `{"device_code":7}`, "X: start: the answer was not understood (HTTP 200)", ""},
		{"no JSON", `sorry`, "X: start: the answer was not understood (HTTP 200)", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAuthority(t)
			a.answer["/start"] = func() (int, string) { return 200, tt.body }
			g, err := a.client().startDevice(t.Context(), call{who: "X", what: "start", url: a.URL + "/start"}, true)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.err || g.uri != tt.uri {
				t.Errorf("%q, %q", got, g.uri)
			}
			if err == nil && (g.interval != 5*time.Second || g.life != 15*time.Minute) {
				t.Errorf("without numbers: %s, %s", g.interval, g.life)
			}
		})
	}
}

func TestMetaKeys(t *testing.T) {
	tests := []struct {
		status     int
		body, want string
	}{
		{200, `{"api_key":"k"}`, ""},
		{200, `{}`, "Meta: no API key was issued"},
		{200, `{"action_url":"https://e.test/setup"}`, "Meta: no API key was issued. Complete the setup at https://e.test/setup"},
		{200, `{"action_url":"file:///x"}`, "Meta: no API key was issued"},
		{401, `{"detail":"session over"}`, "Meta: API key request failed (HTTP 401): session over"},
	}
	for _, tt := range tests {
		a := newAuthority(t)
		a.answer["/key"] = func() (int, string) { return tt.status, tt.body }
		login, err := a.flowFor("meta", newClock(), a.deviceEndpoints()).Renew(t.Context(), Login{Refresh: "identity"})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.body, got, tt.want)
		}
		if err == nil && (login.Access != "k" || login.Refresh != "identity" || !login.Expires.Equal(start.Add(24*time.Hour))) {
			t.Errorf("%+v", login)
		}
	}
}

// xAI may say nothing of the lifetime; Kimi must.
func TestLifetimes(t *testing.T) {
	for _, tt := range []struct {
		id, expires string
		want        time.Duration
	}{
		{"xai", ``, 55 * time.Minute},
		{"xai", `,"expires_in":600`, 5 * time.Minute},
		{"xai", `,"expires_in":"600"`, 5 * time.Minute},
		{"xai", `,"expires_in":-5`, 55 * time.Minute},
		{"kimi-coding", `,"expires_in":600`, 10 * time.Minute},
		{"kimi-coding", ``, 0},
		{"kimi-coding", `,"expires_in":null`, 0},
	} {
		a := newAuthority(t)
		a.answer["/poll"] = func() (int, string) { return 200, `{"access_token":"a","refresh_token":"r"` + tt.expires + `}` }
		login, err := a.flowFor(tt.id, newClock(), a.deviceEndpoints()).Renew(t.Context(), Login{Refresh: "x"})
		if tt.want == 0 {
			if err == nil || err.Error() != "Kimi: token refresh: the answer holds no usable token" {
				t.Errorf("%s%s: %v", tt.id, tt.expires, err)
			}
			continue
		}
		if err != nil || login.Expires.Sub(start) != tt.want {
			t.Errorf("%s%s: %s, %v", tt.id, tt.expires, login.Expires.Sub(start), err)
		}
	}
}

func (a *authority) codexEndpoints() Endpoints {
	at := a.endpoints()
	at.Device, at.DeviceToken = a.URL+"/usercode", a.URL+"/deviceauth"
	a.answer["/usercode"] = func() (int, string) { return 200, `{"device_auth_id":"id-1","user_code":"WXYZ","interval":"3"}` }
	return at
}

func TestCodexDeviceLogin(t *testing.T) {
	a, c := newAuthority(t), newClock()
	at := a.codexEndpoints()
	_, challenge := newPKCE()
	verifier := "made-by-the-server"
	polls := []string{`403 {}`, `404 {}`, `400 {"error":{"code":"deviceauth_authorization_pending"}}`, `429 {"error":"slow_down"}`, `500 {}`}
	a.answer["/deviceauth"] = func() (int, string) {
		if len(polls) > 0 {
			var status int
			var body string
			fmt.Sscanf(polls[0], "%d %s", &status, &body)
			polls = polls[1:]
			return status, body
		}
		return 200, `{"authorization_code":"code-9","code_verifier":"` + verifier + `"}`
	}
	a.answer["/token"] = func() (int, string) {
		return 200, `{"access_token":"` + jwt("acc", 1) + `","refresh_token":"r","expires_in":100}`
	}
	p := &person{t: t, answers: map[string]string{MethodSelect: methodDevice}}
	login, err := a.flowFor("openai-codex", c, at).Login(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if login.member("accountId") != "acc" || login.Refresh != "r" || challenge == "" {
		t.Errorf("%+v", login)
	}
	want := &DeviceCode{UserCode: "WXYZ", VerificationURI: a.URL + "/enter", IntervalSeconds: 3, ExpiresInSeconds: 900}
	if diff := cmp.Diff(want, p.notices[0].Device); diff != "" {
		t.Error(diff)
	}
	sent, _ := a.last("/token")
	checkFields(t, "exchange", sent, map[string]string{
		"code": "code-9", "code_verifier": verifier, "redirect_uri": a.URL + "/deviceauth/callback", "client_id": codexClient,
	})
	s := time.Second
	if diff := cmp.Diff([]time.Duration{3 * s, 3 * s, 3 * s, 3 * s, 8 * s, 8 * s}, c.waits()); diff != "" {
		t.Error(diff)
	}
}

func TestCodexDeviceFailures(t *testing.T) {
	tests := []struct{ name, usercode, poll, want string }{
		{"not enabled", `404 {}`, ``, errCodexDevice},
		{"refused", `500 {"error":"down"}`, ``, "OpenAI Codex: device code request failed (HTTP 500): down"},
		{"no code", `200 {"device_auth_id":"x"}`, ``, "OpenAI Codex: device code request: the answer was not understood (HTTP 200)"},
		{"denied", `200 {"device_auth_id":"x","user_code":"u"}`, `400 {"error":"access_denied"}`, "OpenAI Codex: the login was denied"},
		{"failed", `200 {"device_auth_id":"x","user_code":"u"}`, `400 {"error":{"code":"odd","message":"why"}}`, "OpenAI Codex: device login failed (HTTP 400): odd: why"},
		{"no JSON", `200 {"device_auth_id":"x","user_code":"u"}`, `200 yes`, "OpenAI Codex: device login: the answer was not understood (HTTP 200)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAuthority(t)
			at := a.codexEndpoints()
			say := func(text string) func() (int, string) {
				return func() (int, string) {
					var status int
					fmt.Sscanf(text, "%d", &status)
					_, body, _ := strings.Cut(text, " ")
					return status, body
				}
			}
			a.answer["/usercode"], a.answer["/deviceauth"] = say(tt.usercode), say(tt.poll)
			_, err := a.flowFor("openai-codex", newClock(), at).Login(t.Context(), &person{t: t, answers: map[string]string{MethodSelect: methodDevice}})
			if err == nil || err.Error() != tt.want {
				t.Errorf("%v", err)
			}
		})
	}
}
