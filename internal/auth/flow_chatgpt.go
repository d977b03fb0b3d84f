package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	chatgptClient   = "dynamic_agent_client" // each login gets a client id of its own back
	chatgptResource = "https://api.openai.com/v1"
	chatgptDirect   = "chatgpt.tokens.use.direct"
	chatgptScope    = "openid profile email offline_access resource.invoke " + chatgptDirect
	chatgptSlack    = 3 * time.Minute
)

// Texts of "Sign in with ChatGPT".
const (
	errChatgptPort   = "OpenAI: the port of the browser's answer is in use, probably by another login that is not complete. End that one and try again"
	errChatgptClient = "OpenAI: the login brought no client id. Paste the whole address of the last page"
	errChatgptScope  = "OpenAI: the login does not allow API requests (%s)"
	errChatgptAgain  = "OpenAI: the stored login has no client id. Sign in again"
	errDeviceID      = "OpenAI: this installation has no usable id: it must be a UUID"
)

func chatgptEndpoints() Endpoints {
	return Endpoints{
		Authorize: "https://auth.openai.com/api/accounts/authorize",
		Token:     "https://auth.openai.com/api/accounts/oauth/token",
		Redirect:  "http://127.0.0.1:1455/auth/callback",
	}
}

// chatgptFlow signs in with ChatGPT for OpenAI's own API: PKCE with a client that each
// login registers.
type chatgptFlow struct {
	c   *client
	opt FlowOptions
	at  Endpoints
}

// Info implements Flow.
func (f *chatgptFlow) Info() FlowInfo {
	return FlowInfo{ID: "openai", Name: "OpenAI (ChatGPT subscription)", LoginLabel: "Sign in with ChatGPT", CallbackServer: true, Subscription: true}
}

// Login implements Flow.
func (f *chatgptFlow) Login(ctx context.Context, ui UI) (Login, error) {
	id, err := f.opt.DeviceID()
	if err != nil {
		return Login{}, err
	}
	if !isUUID(id) {
		return Login{}, errors.New(errDeviceID)
	}
	verifier, challenge := newPKCE()
	state := randomText(32)
	cb, err := listen("OpenAI", f.opt.CallbackHost, f.at.Redirect, state)
	if err != nil { // whoever has the port would get the answer
		return Login{}, errors.New(errChatgptPort)
	}
	defer cb.close()
	openPage(ui, f.at.Authorize+"?"+url.Values{
		"client_id": {chatgptClient}, "agent_name_hint": {f.opt.Program}, "ext_agent_host_id": {"urn:uuid:" + strings.ToLower(id)},
		"response_type": {"code"}, "redirect_uri": {cb.redirect}, "resource": {chatgptResource}, "scope": {chatgptScope}, "state": {state},
		"code_challenge": {challenge}, "code_challenge_method": {"S256"}, "nonce": {randomText(32)},
	}.Encode(), textBrowser)
	q, err := await(ctx, ui, cb, "OpenAI", state, Prompt{Message: textPaste, Placeholder: cb.redirect})
	if err != nil {
		return Login{}, err
	}
	client := strings.TrimSpace(q.Get("client_id"))
	if client == "" {
		return Login{}, errors.New(errChatgptClient)
	}
	progress(ui, textExchange)
	return f.token(ctx, "token exchange", "", client, url.Values{
		"grant_type": {"authorization_code"}, "client_id": {client}, "code": {q.Get("code")}, "code_verifier": {verifier},
		"redirect_uri": {cb.redirect}, "resource": {chatgptResource},
	})
}

// Renew implements Flow.
func (f *chatgptFlow) Renew(ctx context.Context, old Login) (Login, error) {
	client := old.member("clientId")
	if client == "" {
		return Login{}, errors.New(errChatgptAgain)
	}
	return f.token(ctx, "token refresh", old.Refresh, client, url.Values{
		"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {old.Refresh}, "resource": {chatgptResource},
	})
}

func (f *chatgptFlow) token(ctx context.Context, what, kept, client string, form url.Values) (Login, error) {
	r, err := f.c.do(ctx, call{who: "OpenAI", what: what, url: f.at.Token, form: form})
	if err != nil {
		return Login{}, err
	}
	t, expires, err := r.tokens(f.c.now(), kept, 0, chatgptSlack)
	if err != nil {
		return Login{}, err
	}
	scopes := strings.Fields(t.Scope)
	if !slices.Contains(scopes, chatgptDirect) {
		return Login{}, fmt.Errorf(errChatgptScope, chatgptDirect)
	}
	return newLogin(t.Access, t.Refresh, expires, "clientId", client, "scopes", scopes), nil
}

func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range s {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !strings.ContainsRune("0123456789abcdefABCDEF", c) {
			return false
		}
	}
	return true
}
