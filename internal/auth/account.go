package auth

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Texts that clients see (atomic-facts.md 1.6).
const (
	errNoKeyLogin  = "Provider does not support API-key login: %s"
	errNoForm      = "Provider login requires an interactive input host"
	errNoOAuth     = "Unknown OAuth provider: %s"
	errNoHost      = "OAuth login requires an interactive host"
	errBusy        = "Login already in progress: %s"
	errUnknown     = "Unknown provider: %s"
	errLoginType   = `authType must be "api_key" or "oauth"`
	errNoProvider  = "provider must be a text that is not empty"
	errCredential  = "credential must be an object"
	errCredType    = `credential.type must be "api_key" or "oauth"`
	errCredKey     = "credential.key must be a text, and credential.env an object of texts: one of them must be there"
	errCredTokens  = "credential.access and credential.refresh must be texts, and credential.expires a number of milliseconds"
	errStoredFail  = "the login worked, but it could not be stored: %w"
	errNothingHere = "no file for credentials"
)

// LoginRequest is login_provider's request. Type is "api_key" (also when empty) or
// "oauth"; ID defaults to the provider.
type LoginRequest struct {
	Provider string
	Type     string
	ID       string
}

// LoginResult is login_provider's answer, to which rpc adds the model catalogue unless
// it was cancelled. Type is set for API keys.
type LoginResult struct {
	Provider  string `json:"provider"`
	Cancelled bool   `json:"cancelled"`
	Type      string `json:"type,omitzero"`
}

// AuthStatus says whether a provider can be used, and why.
type AuthStatus struct {
	Configured bool   `json:"configured"`
	Source     Source `json:"source,omitzero"`
	Label      string `json:"label,omitzero"`
}

// Account is one credential that exists. Expires is in milliseconds since 1970, for
// logins. Shadowed: a stronger source wins.
type Account struct {
	Provider string `json:"provider"`
	Type     string `json:"type,omitzero"` // "api_key" or "oauth", "" when it is not stored
	Source   Source `json:"source"`
	Label    string `json:"label,omitzero"` // the variable's name
	File     string `json:"file,omitzero"`
	Expires  int64  `json:"expires,omitzero"`
	Shadowed bool   `json:"shadowed,omitzero"`
}

// activeLogin is a login that is under way.
type activeLogin struct {
	provider, id string
	cancel       context.CancelCauseFunc
}

// OAuthProviders describes the providers that can be signed in to.
func (k *Keys) OAuthProviders() []FlowInfo {
	out := []FlowInfo{}
	for _, f := range k.flows() {
		out = append(out, f.Info())
	}
	return out
}

// LoginTypes returns the ways to log in to a provider, LoginOAuth, LoginKey or both, the
// one that a person expects first. The error is that of a provider nobody knows.
func (k *Keys) LoginTypes(provider string) ([]string, error) {
	var out []string
	if k.flow(provider) != nil {
		out = append(out, LoginOAuth)
	}
	if k.takesKey(provider) {
		out = append(out, LoginKey)
	}
	if out == nil {
		return nil, fmt.Errorf(errUnknown, provider)
	}
	return out, nil
}

// The types of logins, which are also the types of the entries of auth.json.
const (
	LoginOAuth = typeOAuth
	LoginKey   = typeKey
)

// takesKey reports whether an API key of the provider can be stored.
func (k *Keys) takesKey(provider string) bool {
	switch {
	case provider == "" || provider == scripted:
		return false
	case len(envKeys(provider)) > 0:
		return true
	case k.flow(provider) != nil: // a login and no variable: a key is of no use there
		return false
	}
	return k.opt.Known != nil && k.opt.Known(provider)
}

// Login signs in to a provider and stores the login, or asks for an API key and stores
// that, in the first file. Without ui the error says that there is nobody to ask. A
// login that the person or CancelLogin ended is no error: the result says so. Of logins
// of one provider only one runs at a time. Nothing that is returned holds a secret.
func (k *Keys) Login(ctx context.Context, q LoginRequest, ui UI) (LoginResult, error) {
	result := LoginResult{Provider: q.Provider}
	run, err := k.method(q, ui)
	if err != nil {
		return result, err
	}
	ctx, done, err := k.begin(ctx, q)
	if err != nil {
		return result, err
	}
	defer done()
	raw, err := run(ctx, ui)
	if err != nil || ctx.Err() != nil {
		if result.Cancelled = isCancel(ctx, err); result.Cancelled {
			return result, nil
		}
		return result, err
	}
	// From here on nothing is given up: the login is worth keeping.
	if err := k.SaveNew(context.WithoutCancel(ctx), q.Provider, raw); err != nil {
		return result, fmt.Errorf(errStoredFail, err)
	}
	if q.Type != typeOAuth {
		result.Type = typeKey
	}
	return result, nil
}

// method returns what gets the entry for auth.json.
func (k *Keys) method(q LoginRequest, ui UI) (func(context.Context, UI) (jsonx.Raw, error), error) {
	switch q.Type {
	case typeOAuth:
		flow := k.flow(q.Provider)
		switch {
		case flow == nil:
			return nil, fmt.Errorf(errNoOAuth, q.Provider)
		case ui == nil:
			return nil, errors.New(errNoHost)
		}
		return func(ctx context.Context, ui UI) (jsonx.Raw, error) {
			l, err := flow.Login(ctx, ui)
			return l.Raw, err
		}, nil
	case "", typeKey:
		switch {
		case !k.takesKey(q.Provider):
			return nil, fmt.Errorf(errNoKeyLogin, q.Provider)
		case ui == nil:
			return nil, errors.New(errNoForm)
		}
		return func(ctx context.Context, ui UI) (jsonx.Raw, error) { return askKey(ctx, ui, q.Provider) }, nil
	}
	return nil, errors.New(errLoginType)
}

// begin registers a login, so that it can be cancelled.
func (k *Keys) begin(ctx context.Context, q LoginRequest) (context.Context, func(), error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if slices.ContainsFunc(k.logins, func(l *activeLogin) bool { return l.provider == q.Provider }) {
		return nil, nil, fmt.Errorf(errBusy, q.Provider)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	login := &activeLogin{q.Provider, first(q.ID, q.Provider), cancel}
	k.logins = append(k.logins, login)
	return ctx, func() {
		cancel(nil)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.logins = slices.DeleteFunc(k.logins, func(l *activeLogin) bool { return l == login })
	}, nil
}

// CancelLogin ends the provider's login with that id, or all of the provider's when id
// is empty. That there is none is no error.
func (k *Keys) CancelLogin(provider, id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range k.logins {
		if l.provider == provider && (id == "" || l.id == id) {
			l.cancel(ErrCancelled)
		}
	}
}

// SaveCredential stores a credential that a client got by itself, in the form of
// auth.json, in the first file. Members that are not known here are kept.
func (k *Keys) SaveCredential(ctx context.Context, provider string, credential jsonx.Raw) error {
	if provider == "" {
		return errors.New(errNoProvider)
	}
	if credential.Kind() != '{' {
		return errors.New(errCredential)
	}
	if err := checkEntry(credential); err != nil {
		return err
	}
	return k.SaveNew(ctx, provider, credential)
}

// checkEntry reports what is wrong with an entry for auth.json. No error shows a value.
func checkEntry(raw jsonx.Raw) error {
	var head struct {
		Type jsonx.Raw `json:"type"`
	}
	typ := ""
	if jsonx.Unmarshal(raw, &head) != nil || jsonx.Unmarshal(head.Type, &typ) != nil || typ != typeKey && typ != typeOAuth {
		return errors.New(errCredType)
	}
	var e entry
	ok := jsonx.Unmarshal(raw, &e) == nil
	if typ == typeKey && (!ok || e.Key == "" && len(e.Env) == 0) {
		return errors.New(errCredKey)
	}
	var tokens struct {
		Access  *string  `json:"access"`
		Refresh *string  `json:"refresh"`
		Expires *float64 `json:"expires"`
	}
	if typ == typeOAuth && (!ok || jsonx.Unmarshal(raw, &tokens) != nil || tokens.Access == nil || tokens.Refresh == nil || tokens.Expires == nil) {
		return errors.New(errCredTokens)
	}
	return nil
}

// SaveNew stores an entry of a provider in the first file, which is made when needed.
func (k *Keys) SaveNew(ctx context.Context, provider string, raw jsonx.Raw) error {
	if len(k.store.layers) == 0 {
		return errors.New(errNothingHere)
	}
	return k.Save(ctx, k.store.layers[0].path, provider, raw)
}

// Logout removes the provider's entries from every file, and its runtime key, and says
// what is left: a variable or models.json may still give a key.
func (k *Keys) Logout(ctx context.Context, provider string) (AuthStatus, error) {
	if provider == "" {
		return AuthStatus{}, errors.New(errNoProvider)
	}
	err := k.Delete(ctx, provider)
	return k.AuthStatus(provider), err
}

// AuthStatus says where the provider's key would come from. It resolves nothing.
func (k *Keys) AuthStatus(provider string) AuthStatus {
	source, label, ok := k.Status(provider)
	if !ok {
		return AuthStatus{}
	}
	return AuthStatus{Configured: true, Source: source, Label: label}
}

// List returns all stored credentials, and for the providers that are named those that
// models.json and the environment give, sorted by provider, the strongest first.
func (k *Keys) List(providers []string) []Account {
	var out []Account
	for _, s := range k.store.all() {
		a := Account{Provider: s.provider, Type: s.Type, Source: SourceStored, File: s.file}
		if s.Type == typeOAuth && s.Expires > 0 {
			a.Expires = int64(s.Expires)
		}
		out = append(out, a)
	}
	for _, p := range providers {
		if p != scripted {
			out = append(out, k.unstored(p)...)
		}
	}
	slices.SortStableFunc(out, func(a, b Account) int { return strings.Compare(a.Provider, b.Provider) })
	for i := range out {
		out[i].Shadowed = i > 0 && out[i-1].Provider == out[i].Provider
	}
	return out
}

// unstored returns what models.json and the environment give for a provider.
func (k *Keys) unstored(provider string) []Account {
	var out []Account
	if apiKey, _, _ := k.opt.Config(provider, ""); strings.HasPrefix(apiKey, "!") {
		out = append(out, Account{Provider: provider, Source: SourceModelsCmd})
	} else if apiKey != "" && len(missingVariables(apiKey, k.opt.Env)) == 0 {
		out = append(out, Account{Provider: provider, Source: SourceModelsKey})
	}
	name, _, ok := fromEnv(provider, k.opt.Env)
	if !ok {
		name, ok = ambient(provider, k.opt.Env)
	}
	if ok {
		out = append(out, Account{Provider: provider, Source: SourceEnvironment, Label: name})
	}
	return out
}

// AvailableModels returns the ids of the provider's models that the stored login may
// use; ok is false when it does not say.
func (k *Keys) AvailableModels(provider string) (ids []string, ok bool) {
	e, _, found := k.store.entry(provider)
	if !found || e.Type != typeOAuth {
		return nil, false
	}
	var list struct {
		IDs []string `json:"availableModelIds"`
	}
	if jsonx.Unmarshal(e.raw, &list) != nil {
		return nil, false
	}
	members, err := jsonx.Members(e.raw)
	ok = err == nil && slices.ContainsFunc(members, func(m jsonx.Member) bool { return m.Name == "availableModelIds" })
	return list.IDs, ok
}

// Path returns the file that new credentials go to, with ~ for the home directory, for
// people; "" for none.
func (k *Keys) Path(home string) string {
	if len(k.store.layers) == 0 {
		return ""
	}
	path := k.store.layers[0].path
	if rest, ok := strings.CutPrefix(path, home+string(os.PathSeparator)); ok && home != "" {
		return filepath.Join("~", rest)
	}
	return path
}
