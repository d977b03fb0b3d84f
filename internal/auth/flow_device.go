package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// The plain device logins: xAI, Kimi and Meta.
const (
	xaiClient  = "b1a00492-073a-47ea-816f-4c329264a828"
	xaiScope   = "openid profile email offline_access grok-cli:access api:access"
	xaiSlack   = 5 * time.Minute
	xaiLife    = time.Hour // when the server says none
	kimiClient = "17e5f671-d194-4dfb-9706-5516cb48c098"
	metaClient = "1031625952748946"
	metaLife   = 24 * time.Hour // of a key
)

// Texts of Meta's login.
const (
	errMetaKey   = "Meta: no API key was issued"
	errMetaSetup = errMetaKey + ". Complete the setup at %s"
	textMetaKey  = "Getting an API key..."
)

func xaiEndpoints() Endpoints {
	return Endpoints{Device: "https://auth.x.ai/oauth2/device/code", Token: "https://auth.x.ai/oauth2/token"}
}

func kimiEndpoints() Endpoints {
	return Endpoints{Device: "https://auth.kimi.com/api/oauth/device_authorization", Token: "https://auth.kimi.com/api/oauth/token"}
}

func metaEndpoints() Endpoints {
	return Endpoints{
		Device: "https://auth.meta.com/oidc/device/authorization/",
		Token:  "https://auth.meta.com/oidc/device/token/",
		API:    "https://api.meta.ai/muse-code/key",
	}
}

// signIn runs a device login and returns the token endpoint's answer.
func (c *client) signIn(ctx context.Context, ui UI, who string, at Endpoints, clientID string, more url.Values) (reply, error) {
	form := url.Values{"client_id": {clientID}}
	for name, values := range more {
		form[name] = values
	}
	g, err := c.startDevice(ctx, call{who: who, what: "device code request", url: at.Device, form: form}, true)
	if err != nil {
		return reply{}, err
	}
	g.show(ui)
	return c.deviceToken(ctx, g, call{who: who, what: "device login", url: at.Token, form: deviceForm(clientID, g.code)})
}

// renew exchanges a refresh token at a token endpoint.
func (c *client) renew(ctx context.Context, who string, at Endpoints, clientID, refresh string) (reply, error) {
	return c.do(ctx, call{who: who, what: "token refresh", url: at.Token, form: url.Values{
		"grant_type": {"refresh_token"}, "client_id": {clientID}, "refresh_token": {refresh},
	}})
}

// xaiFlow signs in to xAI with a device code.
type xaiFlow struct {
	c  *client
	at Endpoints
}

// Info implements Flow.
func (f *xaiFlow) Info() FlowInfo {
	return FlowInfo{ID: "xai", Name: "xAI (Grok/X subscription)", LoginLabel: "Sign in with SuperGrok or X Premium", Subscription: true}
}

// Login implements Flow.
func (f *xaiFlow) Login(ctx context.Context, ui UI) (Login, error) {
	r, err := f.c.signIn(ctx, ui, "xAI", f.at, xaiClient, url.Values{"scope": {xaiScope}})
	return f.login(r, err, "")
}

// Renew implements Flow.
func (f *xaiFlow) Renew(ctx context.Context, old Login) (Login, error) {
	r, err := f.c.renew(ctx, "xAI", f.at, xaiClient, old.Refresh)
	return f.login(r, err, old.Refresh)
}

func (f *xaiFlow) login(r reply, err error, kept string) (Login, error) {
	if err != nil {
		return Login{}, err
	}
	t, expires, err := r.tokens(f.c.now(), kept, xaiLife, xaiSlack)
	if err != nil {
		return Login{}, err
	}
	return newLogin(t.Access, t.Refresh, expires), nil
}

// kimiFlow signs in to Kimi Code with a device code.
type kimiFlow struct {
	c  *client
	at Endpoints
}

// Info implements Flow.
func (f *kimiFlow) Info() FlowInfo {
	return FlowInfo{ID: "kimi-coding", Name: "Kimi Code (subscription)", LoginLabel: "Sign in with Kimi Code", Subscription: true}
}

// Login implements Flow.
func (f *kimiFlow) Login(ctx context.Context, ui UI) (Login, error) {
	r, err := f.c.signIn(ctx, ui, "Kimi", f.at, kimiClient, nil)
	return f.login(r, err, "")
}

// Renew implements Flow.
func (f *kimiFlow) Renew(ctx context.Context, old Login) (Login, error) {
	r, err := f.c.renew(ctx, "Kimi", f.at, kimiClient, old.Refresh)
	return f.login(r, err, old.Refresh)
}

func (f *kimiFlow) login(r reply, err error, kept string) (Login, error) {
	if err != nil {
		return Login{}, err
	}
	t, expires, err := r.tokens(f.c.now(), kept, 0, 0)
	if err != nil {
		return Login{}, err
	}
	return newLogin(t.Access, t.Refresh, expires), nil
}

// metaFlow signs in to Meta with a device code. The token it gives is good for getting
// API keys only, which live for a day: it takes the place of the refresh token.
type metaFlow struct {
	c  *client
	at Endpoints
}

// Info implements Flow.
func (f *metaFlow) Info() FlowInfo {
	return FlowInfo{ID: "meta", Name: "Meta (Muse subscription)", LoginLabel: "Sign in with Meta", Subscription: true}
}

// Login implements Flow.
func (f *metaFlow) Login(ctx context.Context, ui UI) (Login, error) {
	r, err := f.c.signIn(ctx, ui, "Meta", f.at, metaClient, nil)
	if err != nil {
		return Login{}, err
	}
	var t tokens
	if err := r.into(&t); err != nil {
		return Login{}, err
	}
	progress(ui, textMetaKey)
	return f.mint(ctx, t.Access)
}

// Renew implements Flow.
func (f *metaFlow) Renew(ctx context.Context, old Login) (Login, error) {
	return f.mint(ctx, old.Refresh)
}

// mint gets an API key.
func (f *metaFlow) mint(ctx context.Context, identity string) (Login, error) {
	r, err := f.c.do(ctx, call{
		who: "Meta", what: "API key request", url: f.at.API, json: struct{}{},
		header: map[string]string{"Authorization": "Bearer " + identity, "x-api-version": "1.0.0"},
	})
	if err != nil {
		return Login{}, err
	}
	var a struct {
		Key    string `json:"api_key"`
		Action string `json:"action_url"`
	}
	if err := r.into(&a); err != nil {
		return Login{}, err
	}
	if page, ok := webPage(a.Action); ok && a.Key == "" {
		return Login{}, fmt.Errorf(errMetaSetup, page)
	}
	if a.Key == "" {
		return Login{}, errors.New(errMetaKey)
	}
	return newLogin(a.Key, identity, f.c.now().Add(metaLife)), nil
}
