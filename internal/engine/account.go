package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/isotope-agent/isotope/internal/auth"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/model"
)

// Accounts is the catalogue of models as the account commands show it, with the
// providers that can be signed in to.
type Accounts struct {
	Catalogue
	CustomAuthProviders []auth.FlowInfo `json:"customAuthProviders"`
	OAuthProviders      []auth.FlowInfo `json:"oauthProviders"`
}

// LoggedIn is the outcome of a login; Accounts is nil when it was cancelled.
type LoggedIn struct {
	auth.LoginResult
	*Accounts
}

// LoggedOut is the outcome of a logout: what is left of the provider.
type LoggedOut struct {
	Provider     string          `json:"provider"`
	AuthStatus   auth.AuthStatus `json:"authStatus"`
	Models       []*llm.Model    `json:"models"`
	ScopedModels []model.Scoped  `json:"scopedModels,omitzero"`
}

// accounts lists what can be used now.
func (e *Engine) accounts() *Accounts {
	flows := e.cfg.Keys.OAuthProviders()
	if flows == nil {
		flows = []auth.FlowInfo{}
	}
	return &Accounts{Catalogue: e.catalogue(), CustomAuthProviders: []auth.FlowInfo{}, OAuthProviders: flows}
}

// catalogue lists the models that can be used now, and the scope's. It may read files.
func (e *Engine) catalogue() Catalogue {
	return Catalogue{Models: orEmpty(e.cfg.Models.Available()), ScopedModels: e.cfg.Scope()}
}

// textLoginBusy refuses a second login of a provider (atomic-facts.md 1.6).
const textLoginBusy = "Login already in progress: %s"

// loginUnderWay is a login from the moment it was asked for.
type loginUnderWay struct {
	provider, id string
	cancel       context.CancelCauseFunc
}

// Login signs in to a provider beside the lane; ui asks the person. A CancelLogin that
// comes behind it ends it, however far it is.
func (e *Engine) Login(q auth.LoginRequest, ui auth.UI, reply func(LoggedIn, error)) {
	refuse := func(err error) { reply(LoggedIn{}, err) }
	ok := e.post(func() {
		switch {
		case e.closing:
			refuse(ErrShutdown)
			return
		case slices.ContainsFunc(e.logins, func(l *loginUnderWay) bool { return l.provider == q.Provider }):
			refuse(fmt.Errorf(textLoginBusy, q.Provider))
			return
		}
		l := &loginUnderWay{provider: q.Provider, id: cmp.Or(q.ID, q.Provider)}
		ctx, cancel := context.WithCancelCause(e.ctx)
		l.cancel = cancel
		e.logins = append(e.logins, l)
		e.goDo(func() {
			res, err := try(e, func() (LoggedIn, error) { return e.login(ctx, q, ui) })
			e.post(func() {
				l.cancel(nil)
				e.logins = slices.DeleteFunc(e.logins, func(other *loginUnderWay) bool { return other == l })
				reply(res, err)
			})
		})
	})
	if !ok {
		refuse(ErrShutdown)
	}
}

func (e *Engine) login(ctx context.Context, q auth.LoginRequest, ui auth.UI) (LoggedIn, error) {
	res, err := e.cfg.Keys.Login(ctx, q, ui)
	out := LoggedIn{LoginResult: res}
	if err == nil && !res.Cancelled {
		out.Accounts = e.accounts()
	}
	return out, err
}

// CancelLogin ends the provider's login with that id, or all of the provider's.
func (e *Engine) CancelLogin(provider, id string, reply func(struct{}, error)) {
	ask(e, true, reply, func() (struct{}, error) {
		for _, l := range e.logins {
			if l.provider == provider && (id == "" || id == l.id) {
				l.cancel(auth.ErrCancelled)
			}
		}
		return struct{}{}, nil
	})
}

// Logout removes what is stored for a provider. The session keeps its model: the next
// prompt says that the key is missing.
func (e *Engine) Logout(provider string, reply func(LoggedOut, error)) {
	alone(e, reply, func() (LoggedOut, error) {
		status, err := e.cfg.Keys.Logout(e.ctx, provider)
		if err != nil {
			return LoggedOut{}, err
		}
		out := LoggedOut{Provider: provider, AuthStatus: status, Models: orEmpty(e.cfg.Models.Available())}
		for _, s := range e.cfg.Scope() {
			if e.cfg.Models.Usable(s.Model.Provider) {
				out.ScopedModels = append(out.ScopedModels, s)
			}
		}
		return out, nil
	})
}

// SaveCredential stores a credential that the client got by itself.
func (e *Engine) SaveCredential(provider string, credential jsonx.Raw, reply func(*Accounts, error)) {
	alone(e, reply, func() (*Accounts, error) {
		if err := e.cfg.Keys.SaveCredential(e.ctx, provider, credential); err != nil {
			return nil, err
		}
		return e.accounts(), nil
	})
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
