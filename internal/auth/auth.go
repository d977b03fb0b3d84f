// Package auth owns where the key of a request comes from: the command line, the
// auth.json files, models.json, the environment, in this order (dialects.md,
// atomic-facts.md 10.7).
//
// It must not know which models there are, nor how a key is sent beyond the headers
// that models.json asks for. Reads take no lock and cost a stat; nothing is read
// before the first question. All methods may be called concurrently; one provider's
// slow command or refresh never holds up another's. No error of this package shows
// a key, a token, a header's value or a command.
package auth

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/isotope-agent/isotope/internal/llm"
)

// Source says where a key comes from, in the words of authStatus (atomic-facts.md 1.6).
type Source string

// The sources of keys in order of precedence. SourceNone is that of the scripted
// provider, which needs none.
const (
	SourceRuntime     Source = "runtime"
	SourceStored      Source = "stored"
	SourceModelsKey   Source = "models_json_key"
	SourceModelsCmd   Source = "models_json_command"
	SourceEnvironment Source = "environment"
	SourceNone        Source = "none"
)

// scripted is the provider that needs no key.
const scripted = "scripted"

// Credential is what a request is authenticated with. APIKey may be empty when
// Headers or Env carry what is needed, or when the provider finds the rest itself
// (Google's and Amazon's own credentials).
type Credential struct {
	APIKey  string
	Headers map[string]string // to add to the request
	Env     map[string]string // variables that the stored credential brings along
	BaseURL string            // replaces the model's when not empty: the login's own server
	Source  Source
	Label   string // the variable's name for SourceEnvironment
}

// Options of Keys.
type Options struct {
	// Files are the auth.json layers, the one that is written to first.
	Files []string
	// Env finds a variable of the environment, as os.LookupEnv does.
	Env func(name string) (string, bool)
	// Config returns what models.json says about a provider's requests, unresolved:
	// model.Registry.RequestConfig. Nil: nothing.
	Config func(provider, model string) (apiKey string, headers map[string]string, authHeader bool)
	// Known reports whether there is a provider of that name (model.Registry.Known); nil:
	// those with a variable or a login of their own.
	Known func(provider string) bool
	// Flow configures the built-in logins, Flows replaces them when not nil.
	Flow  FlowOptions
	Flows []Flow
	// Refresh renews an expired login and stores it, under the lock of File; nil: the
	// provider's flow does. It is called for one provider by one caller at a time, and its
	// context outlives the caller's.
	Refresh func(ctx context.Context, provider string, login Login) (Login, error)
	// Program is the word for this program in advice; "isotope" when empty.
	Program string
	// Run runs a shell command and returns its output; nil: the system's shell.
	Run func(ctx context.Context, command string) (string, error)
	// Now is the clock that logins expire by; nil: time.Now.
	Now func() time.Time
}

// Keys finds keys. See the package comment.
type Keys struct {
	opt    Options
	values *values
	store  store

	flows func() []Flow
	work  sync.WaitGroup // renewals; see Wait

	mu       sync.Mutex
	runtime  map[string]string
	renewals map[string]*renewal // by provider, those that are under way
	unsaved  map[string]unsaved  // by provider
	logins   []*activeLogin
	troubles []string
}

// New returns Keys. It reads nothing yet.
func New(opt Options) *Keys {
	if opt.Env == nil {
		opt.Env = func(string) (string, bool) { return "", false }
	}
	if opt.Config == nil {
		opt.Config = func(string, string) (string, map[string]string, bool) { return "", nil, false }
	}
	if opt.Program == "" {
		opt.Program = "isotope"
	}
	if opt.Run == nil {
		opt.Run = runShell
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	k := &Keys{opt: opt, values: &values{run: opt.Run}, runtime: map[string]string{}, renewals: map[string]*renewal{}, unsaved: map[string]unsaved{}}
	k.flows = sync.OnceValue(func() []Flow {
		if k.opt.Flows != nil {
			return k.opt.Flows
		}
		o := k.opt.Flow
		o.Program, o.Now, o.Env = first(o.Program, k.opt.Program), k.opt.Now, k.opt.Env
		return Flows(o)
	})
	k.store.read = os.ReadFile
	for _, path := range opt.Files {
		k.store.layers = append(k.store.layers, &layer{path: path})
	}
	return k
}

// SetRuntime sets the key of --api-key for a provider, or removes it when key is "".
// It wins over every other source and is never written.
func (k *Keys) SetRuntime(provider, key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if key == "" {
		delete(k.runtime, provider)
		return
	}
	k.runtime[provider] = key
}

func (k *Keys) runtimeKey(provider string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.runtime[provider]
}

// Has reports whether there is a key for the provider. It runs no command and renews
// no login: what is configured counts.
func (k *Keys) Has(provider string) bool {
	_, _, ok := k.Status(provider)
	return ok
}

// Status says where the provider's key would come from, without resolving it.
func (k *Keys) Status(provider string) (source Source, label string, configured bool) {
	if provider == scripted {
		return SourceNone, "", true
	}
	if k.runtimeKey(provider) != "" {
		return SourceRuntime, "", true
	}
	if e, _, ok := k.store.entry(provider); ok && e.usable(provider, k.lookup(e.Env)) {
		return SourceStored, "", true
	}
	if apiKey, _, _ := k.opt.Config(provider, ""); apiKey != "" {
		if strings.HasPrefix(apiKey, "!") {
			return SourceModelsCmd, "", true
		}
		return SourceModelsKey, "", len(missingVariables(apiKey, k.opt.Env)) == 0
	}
	if name, _, ok := fromEnv(provider, k.opt.Env); ok {
		return SourceEnvironment, name, true
	}
	if label, ok := ambient(provider, k.opt.Env); ok {
		return SourceEnvironment, label, true
	}
	return "", "", false
}

// Model returns the credential for a request to a model: the provider's key, and the
// headers that models.json gives for the provider and the model. The error is an
// *Error with the text that clients see.
func (k *Keys) Model(ctx context.Context, m *llm.Model) (Credential, error) {
	c, err := k.provider(ctx, m.Provider)
	if err != nil {
		return Credential{}, err
	}
	if m.Provider == gateway {
		c = forGateway(c)
	}
	_, headers, authHeader := k.opt.Config(m.Provider, m.ID)
	if len(headers) == 0 && !authHeader && len(m.Headers) == 0 {
		return c, nil
	}
	all := maps.Clone(m.Headers)
	if all == nil {
		all = make(map[string]string, len(headers)+1)
	}
	maps.Copy(all, c.Headers)
	for name, value := range headers {
		text, err := k.values.resolve(ctx, value, k.lookup(c.Env))
		if err != nil {
			return Credential{}, valueError(m.Provider, fmt.Sprintf("header %q", name), err)
		}
		all[name] = text
	}
	if authHeader {
		if c.APIKey == "" {
			return Credential{}, &Error{Provider: m.Provider, Message: fmt.Sprintf(errAuthHeader, m.Provider)}
		}
		all["Authorization"] = "Bearer " + c.APIKey
	}
	c.Headers = all
	return c, nil
}

// gateway is a provider whose key is not the one of the provider behind it.
const gateway = "cloudflare-ai-gateway"

// forGateway returns the credential as the gateway wants it: in a header of its own, so
// that the headers of the provider behind it stay free for that one's key.
func forGateway(c Credential) Credential {
	c.Headers = maps.Clone(c.Headers)
	if c.Headers == nil {
		c.Headers = map[string]string{}
	}
	c.Headers["cf-aig-authorization"], c.APIKey = "Bearer "+c.APIKey, ""
	return c
}

// Provider returns the credential of a provider without headers of models.json. The
// error is an *Error with the text that clients see.
func (k *Keys) Provider(ctx context.Context, provider string) (Credential, error) {
	return k.provider(ctx, provider)
}

func (k *Keys) provider(ctx context.Context, provider string) (Credential, error) {
	if provider == scripted {
		return Credential{Source: SourceNone}, nil
	}
	if key := k.runtimeKey(provider); key != "" {
		return Credential{APIKey: key, Source: SourceRuntime}, nil
	}
	e, file, ok := k.store.entry(provider)
	if ok {
		c, found, err := k.stored(ctx, provider, e, file)
		if found || err != nil {
			return c, err
		}
	}
	if apiKey, _, _ := k.opt.Config(provider, ""); apiKey != "" {
		c, err := k.configured(ctx, provider, apiKey)
		c.Env = e.Env
		return c, err
	}
	if name, value, ok := fromEnv(provider, k.opt.Env); ok {
		c := envCredential(name, value)
		c.Env = e.Env // an entry of an account's id alone
		return c, nil
	}
	if label, ok := ambient(provider, k.opt.Env); ok {
		return Credential{Env: e.Env, Source: SourceEnvironment, Label: label}, nil
	}
	return Credential{}, &Error{Provider: provider, Message: k.MissingKey(provider)}
}

// stored returns the credential of an entry of auth.json; found is false for an entry
// that has no key of its own.
func (k *Keys) stored(ctx context.Context, provider string, e entry, file string) (c Credential, found bool, err error) {
	if e.Type == typeOAuth {
		login, err := k.fresh(ctx, provider, k.current(provider, e, file))
		c = Credential{APIKey: login.Access, Env: e.Env, Source: SourceStored}
		if err != nil {
			return c, true, err
		}
		switch flow := k.flow(provider).(type) {
		case addressed:
			c.BaseURL = flow.baseURL(login)
		case bearing:
			c = flow.bear(c)
		}
		return c, true, nil
	}
	c = Credential{Env: e.Env, Source: SourceStored}
	if e.Key != "" {
		key, err := k.values.resolve(ctx, e.Key, k.lookup(e.Env))
		if err != nil {
			return Credential{}, true, valueError(provider, "API key", err)
		}
		c.APIKey = key
		return c, true, nil
	}
	// an entry of variables alone
	if name, value, ok := fromEnv(provider, lookupIn(e.Env)); ok {
		own := envCredential(name, value)
		c.APIKey, c.Headers = own.APIKey, own.Headers
		return c, true, nil
	}
	if _, ok := ambient(provider, k.lookup(e.Env)); ok && len(e.Env) > 0 {
		return c, true, nil
	}
	return Credential{}, false, nil
}

func (k *Keys) configured(ctx context.Context, provider, apiKey string) (Credential, error) {
	source := SourceModelsKey
	if strings.HasPrefix(apiKey, "!") {
		source = SourceModelsCmd
	}
	if missing := missingVariables(apiKey, k.opt.Env); len(missing) > 0 {
		return Credential{}, &Error{Provider: provider, Message: k.MissingKey(provider)}
	}
	key, err := k.values.resolve(ctx, apiKey, k.opt.Env)
	if err != nil {
		return Credential{}, valueError(provider, "API key", err)
	}
	return Credential{APIKey: key, Source: source}, nil
}

// lookup finds variables in a credential's own environment first.
func (k *Keys) lookup(own map[string]string) func(string) (string, bool) {
	if len(own) == 0 {
		return k.opt.Env
	}
	return func(name string) (string, bool) {
		if v, ok := own[name]; ok && v != "" {
			return v, true
		}
		return k.opt.Env(name)
	}
}

// lookupIn finds variables in a map alone.
func lookupIn(own map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := own[name]; return v, ok }
}

// Diagnostics returns what is wrong with the auth.json files, and which renewed logins
// could not be stored.
func (k *Keys) Diagnostics() []string {
	out := k.store.diagnostics()
	k.mu.Lock()
	defer k.mu.Unlock()
	return append(out, k.troubles...)
}

// Wait returns when no renewal of a login is under way, or with the error of ctx when it
// ends first. A program calls it before it ends: a renewal may have used up the stored
// token, and what it brings is not stored yet.
func (k *Keys) Wait(ctx context.Context) error {
	for {
		k.mu.Lock()
		var next *renewal
		for _, next = range k.renewals {
			break
		}
		k.mu.Unlock()
		if next == nil {
			return nil
		}
		select {
		case <-next.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
