package auth

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// Texts of logins in the browser, for people.
const (
	textBrowser  = "Sign in in your browser. If it runs on another machine, paste the address of the last page here."
	textPaste    = "Sign in in your browser, or paste the code or the address of the last page here:"
	textCopy     = "Sign in in your browser, then copy the code that is shown and paste it here."
	textCopyHere = "Paste the code that is shown after you signed in:"
	textExchange = "Exchanging the code for tokens..."
	labelBrowser = "Browser login (default)"
	errMethod    = "%s: unknown login method: %s"
)

// The ids of login methods.
const (
	methodBrowser = "browser"
	methodCopy    = "copy_code"
	methodDevice  = "device_code"
)

const (
	anthropicClient = "9d1c250a-e61b-44d9-88ed-5944d1962f5e"
	anthropicCopy   = "https://platform.claude.com/oauth/code/callback"
	anthropicScope  = "org:create_api_key user:profile user:inference user:sessions:claude_code user:mcp_servers user:file_upload"
	anthropicSlack  = 5 * time.Minute
)

func anthropicEndpoints() Endpoints {
	return Endpoints{
		Authorize: "https://claude.ai/oauth/authorize",
		Token:     "https://platform.claude.com/v1/oauth/token",
		Redirect:  "http://localhost:53692/callback",
	}
}

// anthropicFlow signs in to Claude Pro and Max: PKCE with the browser's callback, or
// with a code that the person copies.
type anthropicFlow struct {
	c   *client
	opt FlowOptions
	at  Endpoints
}

// Info implements Flow.
func (f *anthropicFlow) Info() FlowInfo {
	return FlowInfo{ID: "anthropic", Name: "Anthropic (Claude Pro/Max)", CallbackServer: true, Subscription: true}
}

// Login implements Flow.
func (f *anthropicFlow) Login(ctx context.Context, ui UI) (Login, error) {
	method, err := choose(ctx, ui, "How do you want to sign in to Anthropic?",
		Option{methodBrowser, labelBrowser}, Option{methodCopy, "Copy a code (for machines without a browser)"})
	if err != nil {
		return Login{}, err
	}
	// The state is the verifier: the provider's own clients do so, and its token endpoint
	// wants the state back.
	verifier, challenge := newPKCE()
	redirect, prompt, hint := anthropicCopy, Prompt{Message: textCopyHere, Placeholder: "code#state"}, textCopy
	var cb *callback
	switch method {
	case methodCopy:
	case methodBrowser:
		if cb, err = listen("Anthropic", f.opt.CallbackHost, f.at.Redirect, verifier); err != nil {
			// any local port is accepted
			cb, err = listen("Anthropic", f.opt.CallbackHost, anyPort(f.at.Redirect), verifier)
		}
		defer cb.close()
		if redirect = f.at.Redirect; err == nil {
			redirect = cb.redirect
		}
		prompt, hint = Prompt{Message: textPaste, Placeholder: redirect}, textBrowser
	default:
		return Login{}, fmt.Errorf(errMethod, "Anthropic", method)
	}
	openPage(ui, f.at.Authorize+"?"+url.Values{
		"code": {"true"}, "client_id": {anthropicClient}, "response_type": {"code"}, "redirect_uri": {redirect}, "scope": {anthropicScope},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"}, "state": {verifier},
	}.Encode(), hint)
	q, err := await(ctx, ui, cb, "Anthropic", verifier, prompt)
	if err != nil {
		return Login{}, err
	}
	progress(ui, textExchange)
	return f.token(ctx, "token exchange", "", map[string]string{
		"grant_type": "authorization_code", "client_id": anthropicClient, "code": q.Get("code"), "state": first(q.Get("state"), verifier),
		"redirect_uri": redirect, "code_verifier": verifier,
	})
}

// Renew implements Flow.
func (f *anthropicFlow) Renew(ctx context.Context, old Login) (Login, error) {
	return f.token(ctx, "token refresh", old.Refresh, map[string]string{
		"grant_type": "refresh_token", "client_id": anthropicClient, "refresh_token": old.Refresh,
	})
}

func (f *anthropicFlow) token(ctx context.Context, what, kept string, fields map[string]string) (Login, error) {
	r, err := f.c.do(ctx, call{who: "Anthropic", what: what, url: f.at.Token, json: fields})
	if err != nil {
		return Login{}, err
	}
	t, expires, err := r.tokens(f.c.now(), kept, 0, anthropicSlack)
	if err != nil {
		return Login{}, err
	}
	return newLogin(t.Access, t.Refresh, expires), nil
}

// anyPort returns an address of a callback with a free port.
func anyPort(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil {
		return redirect
	}
	u.Host = u.Hostname() + ":0"
	return u.String()
}
