package rpc

import (
	"cmp"
	"time"

	"github.com/isotope-agent/isotope/internal/auth"
	"github.com/isotope-agent/isotope/internal/engine"
)

// accountCommands are about keys, logins and lists of models.
func accountCommands() []Command {
	provider := Param{Name: "provider", Kind: KindText, Required: true, Doc: "The name of the provider."}
	loginID := Param{Name: "loginId", Kind: KindText, Doc: "Names the login; the provider when it is missing."}
	return []Command{
		{
			Name: "refresh_models", Class: Beside, Summary: "Reads keys and lists of models again.",
			Params: []Param{
				{Name: "timeoutMs", Kind: KindMillis, Doc: "Answer after this time, whatever is done by then."},
				{Name: "force", Kind: KindBool, Doc: "Ask servers again that were asked a moment ago."},
				{Name: "allowNetwork", Kind: KindBool, Doc: "Servers may be asked; true when it is missing."},
			},
			Data: engine.Refreshed{}, handle: refreshModels,
		},
		{
			Name: "login_provider", Class: Beside, Summary: "Signs in to a provider; questions come as extension_ui_request.",
			Params: []Param{provider, {Name: "authType", Kind: KindWord, Words: []string{"api_key", "oauth"}, Doc: "The way; api_key when it is missing."}, loginID},
			Data:   engine.LoggedIn{}, handle: loginProvider,
		},
		{
			Name: "cancel_login_provider", Class: Interrupt, Summary: "Ends a login of a provider, or all of its logins.",
			Params: []Param{provider, loginID},
			handle: func(s *server, r *request) error {
				s.cfg.Engine.CancelLogin(r.str("provider"), r.str("loginId"), r.done)
				return nil
			},
		},
		{
			Name: "save_provider_credential", Class: Ordinary, Summary: "Stores a credential that the client got by itself.",
			Params: []Param{provider, {Name: "credential", Kind: KindObject, Required: true, Doc: "The credential, in the form of auth.json."}},
			Data:   &engine.Accounts{},
			handle: func(s *server, r *request) error {
				s.cfg.Engine.SaveCredential(r.str("provider"), r.raw("credential"), data[*engine.Accounts](r))
				return nil
			},
		},
		{
			Name: "logout_provider", Class: Ordinary, Summary: "Removes what is stored for a provider.",
			Params: []Param{provider}, Data: engine.LoggedOut{},
			handle: func(s *server, r *request) error {
				s.cfg.Engine.Logout(r.str("provider"), data[engine.LoggedOut](r))
				return nil
			},
		},
	}
}

func refreshModels(s *server, r *request) error {
	opt := engine.RefreshOptions{Network: r.flag("allowNetwork") || !r.given("allowNetwork"), Force: r.flag("force")}
	timeout := time.Duration(min(r.number("timeoutMs"), maxTimeout)) * time.Millisecond
	if r.given("timeoutMs") && timeout == 0 {
		timeout = time.Nanosecond
	}
	s.cfg.Engine.RefreshModels(opt, timeout, data[engine.Refreshed](r))
	return nil
}

// maxTimeout keeps milliseconds from overflowing a duration: a year.
const maxTimeout = 365 * 24 * 60 * 60 * 1000

func loginProvider(s *server, r *request) error {
	q := auth.LoginRequest{Provider: r.str("provider"), Type: r.str("authType"), ID: r.str("loginId")}
	ui := &loginUI{server: s, provider: q.Provider, login: cmp.Or(q.ID, q.Provider)}
	s.cfg.Engine.Login(q, ui, data[engine.LoggedIn](r))
	return nil
}
