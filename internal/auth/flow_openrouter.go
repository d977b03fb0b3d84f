package auth

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// openrouterEnd is the end of a key that has none, as the other programs store it.
const openrouterEnd = 1<<53 - 1

func openrouterEndpoints() Endpoints {
	return Endpoints{
		Authorize: "https://openrouter.ai/auth",
		Token:     "https://openrouter.ai/api/v1/auth/keys",
		Redirect:  "http://127.0.0.1:0/oauth/callback/",
	}
}

// openrouterFlow signs in to OpenRouter with the browser: PKCE that ends in an API key
// without an end. The provider sends no state back, so the path of the callback is the
// secret that tells this login's answer from others.
type openrouterFlow struct {
	c   *client
	opt FlowOptions
	at  Endpoints
}

// Info implements Flow.
func (f *openrouterFlow) Info() FlowInfo {
	return FlowInfo{ID: "openrouter", Name: "OpenRouter OAuth", LoginLabel: "Sign in with OpenRouter", CallbackServer: true}
}

// Login implements Flow.
func (f *openrouterFlow) Login(ctx context.Context, ui UI) (Login, error) {
	verifier, challenge := newPKCE()
	cb, err := listen("OpenRouter", f.opt.CallbackHost, f.at.Redirect+randomText(16), "")
	if err != nil {
		return Login{}, err
	}
	defer cb.close()
	openPage(ui, f.at.Authorize+"?"+url.Values{
		"callback_url": {cb.redirect}, "code_challenge": {challenge}, "code_challenge_method": {"S256"},
	}.Encode(), textBrowser)
	q, err := await(ctx, ui, cb, "OpenRouter", "", Prompt{Message: textPaste, Placeholder: cb.redirect})
	if err != nil {
		return Login{}, err
	}
	progress(ui, textExchange)
	r, err := f.c.do(ctx, call{who: "OpenRouter", what: "key exchange", url: f.at.Token, json: map[string]string{
		"code": q.Get("code"), "code_verifier": verifier, "code_challenge_method": "S256",
	}})
	if err != nil {
		return Login{}, err
	}
	var a struct {
		Key string `json:"key"`
	}
	if err := r.into(&a); err != nil {
		return Login{}, err
	}
	if a.Key == "" {
		return Login{}, fmt.Errorf(errNoToken, r.who, r.what)
	}
	return newLogin(a.Key, "", time.UnixMilli(openrouterEnd)), nil
}

// Renew implements Flow: there is nothing to renew.
func (f *openrouterFlow) Renew(_ context.Context, old Login) (Login, error) { return old, nil }
