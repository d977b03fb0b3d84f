package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

const (
	codexClient = "app_EMoamEEZ73f0CkXaXp7hrann"
	codexScope  = "openid profile email offline_access"
	codexClaim  = "https://api.openai.com/auth"
	codexLife   = 15 * time.Minute // of a device code
)

// Texts of the Codex login.
const (
	errCodexAccount = "OpenAI Codex: the token names no ChatGPT account"
	errCodexDevice  = "OpenAI Codex: login by device code is not enabled for this account. Use the browser login"
)

func codexEndpoints() Endpoints {
	const base = "https://auth.openai.com"
	return Endpoints{
		Authorize:   base + "/oauth/authorize",
		Token:       base + "/oauth/token",
		Device:      base + "/api/accounts/deviceauth/usercode",
		DeviceToken: base + "/api/accounts/deviceauth/token",
		Verify:      base + "/codex/device",
		Redirect:    "http://localhost:1455/auth/callback",
	}
}

// codexFlow signs in to ChatGPT for the Codex models: PKCE with the browser's callback,
// or a device code of OpenAI's own kind, which ends in an authorization code.
type codexFlow struct {
	c   *client
	opt FlowOptions
	at  Endpoints
}

// Info implements Flow.
func (f *codexFlow) Info() FlowInfo {
	return FlowInfo{ID: "openai-codex", Name: "OpenAI (ChatGPT Plus/Pro)", CallbackServer: true, Subscription: true}
}

// Login implements Flow.
func (f *codexFlow) Login(ctx context.Context, ui UI) (Login, error) {
	method, err := choose(ctx, ui, "How do you want to sign in to OpenAI Codex?",
		Option{methodBrowser, labelBrowser}, Option{methodDevice, "Device code (for machines without a browser)"})
	switch {
	case err != nil:
		return Login{}, err
	case method == methodDevice:
		return f.device(ctx, ui)
	case method == methodBrowser:
		return f.browser(ctx, ui)
	}
	return Login{}, fmt.Errorf(errMethod, "OpenAI Codex", method)
}

func (f *codexFlow) browser(ctx context.Context, ui UI) (Login, error) {
	verifier, challenge := newPKCE()
	state, redirect := randomText(16), f.at.Redirect
	// Only this port is accepted, and the provider's own program uses it too: when it is
	// taken, the person pastes the address.
	cb, err := listen("OpenAI", f.opt.CallbackHost, redirect, state)
	if err == nil {
		redirect = cb.redirect
	}
	defer cb.close()
	openPage(ui, f.at.Authorize+"?"+url.Values{
		"response_type": {"code"}, "client_id": {codexClient}, "redirect_uri": {redirect}, "scope": {codexScope},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"}, "state": {state},
		"id_token_add_organizations": {"true"}, "codex_cli_simplified_flow": {"true"}, "originator": {f.opt.Program},
	}.Encode(), textBrowser)
	q, err := await(ctx, ui, cb, "OpenAI", state, Prompt{Message: textPaste, Placeholder: redirect})
	if err != nil {
		return Login{}, err
	}
	progress(ui, textExchange)
	return f.exchange(ctx, q.Get("code"), verifier, redirect)
}

func (f *codexFlow) device(ctx context.Context, ui UI) (Login, error) {
	r, err := f.c.do(ctx, call{who: "OpenAI Codex", what: "device code request", url: f.at.Device, json: map[string]string{"client_id": codexClient}})
	if err != nil {
		return Login{}, err
	}
	if r.status == 404 {
		return Login{}, errors.New(errCodexDevice)
	}
	var a struct {
		ID       string    `json:"device_auth_id"`
		UserCode string    `json:"user_code"`
		Interval jsonx.Raw `json:"interval"`
	}
	if err := r.into(&a); err != nil {
		return Login{}, err
	}
	if a.ID == "" || a.UserCode == "" {
		return Login{}, fmt.Errorf(errAnswer, r.who, r.what, r.status)
	}
	g := grant{a.ID, a.UserCode, f.at.Verify, span(seconds(a.Interval), defaultInterval), codexLife}
	g.show(ui)
	var got struct {
		Code     string `json:"authorization_code"`
		Verifier string `json:"code_verifier"`
	}
	err = f.c.poll(ctx, "OpenAI Codex", g, func() (verdict, error) {
		r, err := f.c.do(ctx, call{
			who: "OpenAI Codex", what: "device login", url: f.at.DeviceToken, json: map[string]string{"device_auth_id": g.code, "user_code": g.userCode},
		})
		if err != nil {
			return verdict{}, err
		}
		return f.polled(r, &got)
	})
	if err != nil {
		return Login{}, err
	}
	u, err := url.Parse(f.at.Verify)
	if err != nil {
		return Login{}, fmt.Errorf(errUnsafe, "OpenAI Codex")
	}
	return f.exchange(ctx, got.Code, got.Verifier, u.Scheme+"://"+u.Host+"/deviceauth/callback")
}

// polled reads an answer to a poll. A login that is not complete has no status of its
// own: 403 and 404 mean to wait.
func (f *codexFlow) polled(r reply, got any) (verdict, error) {
	switch code := r.fault().Code; {
	case r.ok():
		return verdict{done: true}, r.into(got)
	case r.status >= 500:
		return verdict{}, r.failure()
	case code == "slow_down":
		return verdict{slow: true}, nil
	case code == "access_denied":
		return verdict{err: fmt.Errorf(errDeviceDenied, r.who)}, nil
	case r.status == 403, r.status == 404, code == "deviceauth_authorization_pending":
		return verdict{}, nil
	}
	return verdict{err: r.failure()}, nil
}

func (f *codexFlow) exchange(ctx context.Context, code, verifier, redirect string) (Login, error) {
	return f.token(ctx, "token exchange", "", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {codexClient}, "code": {code}, "code_verifier": {verifier}, "redirect_uri": {redirect},
	})
}

// Renew implements Flow.
func (f *codexFlow) Renew(ctx context.Context, old Login) (Login, error) {
	return f.token(ctx, "token refresh", old.Refresh, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}, "client_id": {codexClient},
	})
}

func (f *codexFlow) token(ctx context.Context, what, kept string, form url.Values) (Login, error) {
	r, err := f.c.do(ctx, call{who: "OpenAI Codex", what: what, url: f.at.Token, form: form})
	if err != nil {
		return Login{}, err
	}
	t, expires, err := r.tokens(f.c.now(), kept, 0, 0)
	if err != nil {
		return Login{}, err
	}
	account := codexAccount(t.Access)
	if account == "" {
		return Login{}, errors.New(errCodexAccount)
	}
	return newLogin(t.Access, t.Refresh, expires, "accountId", account), nil
}

// codexAccount returns the ChatGPT account that an access token (a JWT) is for.
func codexAccount(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return ""
	}
	var claims map[string]jsonx.Raw
	if jsonx.Unmarshal(payload, &claims) != nil {
		return ""
	}
	var auth struct {
		Account string `json:"chatgpt_account_id"`
	}
	if jsonx.Unmarshal(claims[codexClaim], &auth) != nil {
		return ""
	}
	return auth.Account
}
