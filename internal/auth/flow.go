package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// Flow signs a person in to an account of one provider and renews the login. Keys
// calls it, one login and one renewal of a provider at a time. No error shows a token.
type Flow interface {
	// Info says whom the flow is for.
	Info() FlowInfo
	// Login signs in. It talks to the person through ui, stores nothing, and returns
	// ErrCancelled or the context's error when the person or the caller gives up.
	Login(ctx context.Context, ui UI) (Login, error)
	// Renew exchanges a login for a new one. Members of the old entry that the new one
	// does not set are kept by the caller.
	Renew(ctx context.Context, old Login) (Login, error)
}

// FlowInfo describes a flow, as oauthProviders of the model catalogue does
// (atomic-facts.md 1.5). ID is the provider's.
type FlowInfo struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	LoginLabel     string `json:"loginLabel,omitzero"`
	CallbackServer bool   `json:"usesCallbackServer,omitzero"`
	Subscription   bool   `json:"isSubscription,omitzero"`
}

// addressed is a Flow whose logins say which server requests go to.
type addressed interface {
	// baseURL is asked for each request.
	baseURL(l Login) string
}

// bearing is a Flow whose tokens are sent in headers, not as a key.
type bearing interface {
	// bear is given the credential with the token as its key.
	bear(c Credential) Credential
}

// Endpoints are the places a flow talks to. An empty one is the provider's own, so that
// tests can put a server of theirs in its place.
type Endpoints struct {
	Authorize   string // page for the browser
	Token       string // exchanges codes and refresh tokens
	Device      string // starts a device login
	DeviceToken string // is polled during one
	Verify      string // page for the code
	Redirect    string // where the browser comes back to; port 0 is any free one
	API         string // the provider's API, where a login needs it
}

// or returns e with what is empty taken from def.
func (e Endpoints) or(def Endpoints) Endpoints {
	for _, f := range []struct{ have, want *string }{
		{&e.Authorize, &def.Authorize},
		{&e.Token, &def.Token},
		{&e.Device, &def.Device},
		{&e.DeviceToken, &def.DeviceToken},
		{&e.Verify, &def.Verify},
		{&e.Redirect, &def.Redirect},
		{&e.API, &def.API},
	} {
		if *f.have == "" {
			*f.have = *f.want
		}
	}
	return e
}

// FlowOptions are what the built-in flows need from their surroundings. The zero value
// works.
type FlowOptions struct {
	// Transport carries the requests; nil: the system's, with the environment's proxies.
	Transport http.RoundTripper
	// CallbackHost is the address that the browser's answer is awaited on (the variable
	// …_OAUTH_CALLBACK_HOST); 127.0.0.1 when empty.
	CallbackHost string
	// Program is the name to introduce ourselves with; "isotope" when empty.
	Program string
	// DeviceID returns the id of this installation, a UUID, for providers that want one;
	// nil: a new one for each login.
	DeviceID func() (string, error)
	// Endpoints replaces addresses, by provider.
	Endpoints map[string]Endpoints
	// Env finds variables that some providers' clients are set up with; nil: none.
	Env func(name string) (string, bool)
	// Now is the clock, Sleep waits; nil: the real ones.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// Flows returns the built-in flows, in the order in which they are offered.
func Flows(o FlowOptions) []Flow {
	if o.CallbackHost == "" {
		o.CallbackHost = "127.0.0.1"
	}
	if o.Program == "" {
		o.Program = "isotope"
	}
	if o.DeviceID == nil {
		o.DeviceID = func() (string, error) { return newUUID(), nil }
	}
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	c := &client{http: &http.Client{Transport: o.Transport, CheckRedirect: noRedirect}, now: o.Now, sleep: o.Sleep}
	return append([]Flow{
		&anthropicFlow{c, o, o.Endpoints["anthropic"].or(anthropicEndpoints())},
		&codexFlow{c, o, o.Endpoints["openai-codex"].or(codexEndpoints())},
		&copilotFlow{c, o.Endpoints["github-copilot"]},
		&chatgptFlow{c, o, o.Endpoints["openai"].or(chatgptEndpoints())},
		&xaiFlow{c, o.Endpoints["xai"].or(xaiEndpoints())},
		&kimiFlow{c, o.Endpoints["kimi-coding"].or(kimiEndpoints())},
		&metaFlow{c, o.Endpoints["meta"].or(metaEndpoints())},
		&openrouterFlow{c, o, o.Endpoints["openrouter"].or(openrouterEndpoints())},
	}, googleFlows(c, o)...)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// newLogin returns a login with its entry for auth.json. extra are names and values of
// further members, in pairs.
func newLogin(access, refresh string, expires time.Time, extra ...any) Login {
	var o jsonx.Object
	o.Set("type", typeOAuth)
	o.Set("refresh", refresh)
	o.Set("access", access)
	o.Set("expires", expires.UnixMilli())
	for pair := range slices.Chunk(extra, 2) {
		o.Set(pair[0].(string), pair[1])
	}
	raw, err := jsonx.Marshal(&o)
	if err != nil { // cannot happen: strings, numbers and lists of strings
		raw = nil
	}
	return Login{Access: access, Refresh: refresh, Expires: expires, Raw: raw}
}

// member returns a text of the login's entry, "" for none.
func (l Login) member(name string) string { return plain(membersOf(l.Raw)[name]) }

// newPKCE returns a code verifier and its S256 challenge (RFC 7636).
func newPKCE() (verifier, challenge string) {
	verifier = randomText(32)
	sum := sha256.Sum256([]byte(verifier))
	return verifier, base64.RawURLEncoding.EncodeToString(sum[:])
}

// randomText returns n random bytes in base64url.
func randomText(n int) string {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// newUUID returns a random UUID, version 4.
func newUUID() string {
	b := make([]byte, 16)
	rand.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
