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
// Headers or Env carry what is needed.
type Credential struct {
	APIKey  string
	Headers map[string]string // to add to the request
	Env     map[string]string // variables that the stored credential brings along
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
	// Refresh renews an expired login and stores it, under the lock of File. Nil: an
	// expired login is an error. It is called for one provider by one caller at a time.
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

	mu         sync.Mutex
	runtime    map[string]string
	refreshing map[string]chan struct{} // providers whose login is being renewed
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
	k := &Keys{opt: opt, values: &values{run: opt.Run}, runtime: map[string]string{}, refreshing: map[string]chan struct{}{}}
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
	if e, _, ok := k.store.entry(provider); ok && e.usable(k.lookup(e.Env)) {
		return SourceStored, "", true
	}
	if apiKey, _, _ := k.opt.Config(provider, ""); apiKey != "" {
		if strings.HasPrefix(apiKey, "!") {
			return SourceModelsCmd, "", true
		}
		return SourceModelsKey, "", len(missingVariables(apiKey, k.opt.Env)) == 0
	}
	if name, _, ok := k.fromEnv(provider); ok {
		return SourceEnvironment, name, true
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
			return Credential{}, &Error{m.Provider, fmt.Sprintf(errAuthHeader, m.Provider)}
		}
		all["Authorization"] = "Bearer " + c.APIKey
	}
	c.Headers = all
	return c, nil
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
	if e, file, ok := k.store.entry(provider); ok {
		c, found, err := k.stored(ctx, provider, e, file)
		if found || err != nil {
			return c, err
		}
	}
	if apiKey, _, _ := k.opt.Config(provider, ""); apiKey != "" {
		return k.configured(ctx, provider, apiKey)
	}
	if name, value, ok := k.fromEnv(provider); ok {
		return envCredential(name, value), nil
	}
	return Credential{}, &Error{provider, k.MissingKey(provider)}
}

// stored returns the credential of an entry of auth.json; found is false for an entry
// that has no key of its own.
func (k *Keys) stored(ctx context.Context, provider string, e entry, file string) (c Credential, found bool, err error) {
	c = Credential{Env: e.Env, Source: SourceStored}
	switch {
	case e.Type == typeOAuth:
		login, err := k.fresh(ctx, provider, e.login(file))
		c.APIKey = login.Access
		return c, true, err
	case e.Key != "":
		key, err := k.values.resolve(ctx, e.Key, k.lookup(e.Env))
		if err != nil {
			return Credential{}, true, valueError(provider, "API key", err)
		}
		c.APIKey = key
		return c, true, nil
	}
	for _, name := range envKeys(provider) { // an entry of variables alone
		if value := e.Env[name]; value != "" {
			c.APIKey = value
			return c, true, nil
		}
	}
	return Credential{}, false, nil
}

func (k *Keys) configured(ctx context.Context, provider, apiKey string) (Credential, error) {
	source := SourceModelsKey
	if strings.HasPrefix(apiKey, "!") {
		source = SourceModelsCmd
	}
	if missing := missingVariables(apiKey, k.opt.Env); len(missing) > 0 {
		return Credential{}, &Error{provider, k.MissingKey(provider)}
	}
	key, err := k.values.resolve(ctx, apiKey, k.opt.Env)
	if err != nil {
		return Credential{}, valueError(provider, "API key", err)
	}
	return Credential{APIKey: key, Source: source}, nil
}

// fresh returns the login, renewed when it has expired. One caller renews, the others
// of the same provider wait for it and look again.
func (k *Keys) fresh(ctx context.Context, provider string, login Login) (Login, error) {
	for {
		if login.Access != "" && !login.expired(k.opt.Now()) {
			return login, nil
		}
		expired := &Error{provider, fmt.Sprintf(errLogin, provider, k.opt.Program, provider)}
		if k.opt.Refresh == nil {
			return Login{}, expired
		}
		k.mu.Lock()
		wait, busy := k.refreshing[provider]
		if !busy {
			k.refreshing[provider] = make(chan struct{})
		}
		k.mu.Unlock()
		if busy {
			select {
			case <-wait:
			case <-ctx.Done():
				return Login{}, context.Cause(ctx)
			}
			if e, file, ok := k.store.entry(provider); ok && e.Type == typeOAuth {
				login = e.login(file)
			}
			continue
		}
		renewed, err := k.opt.Refresh(ctx, provider, login)
		k.mu.Lock()
		close(k.refreshing[provider])
		delete(k.refreshing, provider)
		k.mu.Unlock()
		if ctx.Err() != nil {
			return Login{}, context.Cause(ctx)
		}
		if err != nil || renewed.Access == "" {
			return Login{}, expired
		}
		return renewed, nil
	}
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

// Diagnostics returns what is wrong with the auth.json files.
func (k *Keys) Diagnostics() []string { return k.store.diagnostics() }
