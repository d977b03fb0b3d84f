package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// start is the time on the clocks of these tests.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// authority is an authorization server of the tests' own. It checks what a real one
// checks: PKCE, redirect addresses, that a code and a refresh token are good once.
type authority struct {
	*httptest.Server
	t testing.TB

	mu       sync.Mutex
	codes    map[string]url.Values // by code: what the login asked for
	refresh  map[string]bool       // refresh tokens; false: used up
	serial   int
	requests []string      // "METHOD /path" of all
	forms    []url.Values  // of all that had fields
	headers  []http.Header // of all

	// What it does.
	deny     bool                            // the person says no
	state    func(string) string             // changes the state that is sent back
	clientID string                          // is sent back with the code
	pending  []string                        // errors that polls get before they succeed, "slow_down:7" with an interval
	access   func(n int) string              // the access token; nil: "access-N"
	extra    string                          // further members of a token answer: `,"scope":"x"`
	life     int                             // expires_in
	keep     bool                            // refresh tokens are not rotated
	answer   map[string]func() (int, string) // by path: status and body in place of the usual
}

func newAuthority(t testing.TB) *authority {
	a := &authority{t: t, codes: map[string]url.Values{}, refresh: map[string]bool{}, life: 3600, answer: map[string]func() (int, string){}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", a.authorize)
	mux.HandleFunc("POST /token", a.token)
	mux.HandleFunc("POST /device", a.device)
	mux.HandleFunc("POST /poll", a.poll)
	mux.HandleFunc("POST /key", a.key)
	mux.HandleFunc("GET /copilot", a.copilot)
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.note(r)
		a.mu.Lock()
		other := a.answer[r.URL.Path]
		a.mu.Unlock()
		if other != nil {
			status, body := other()
			w.WriteHeader(status)
			io.WriteString(w, body)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

// note records a request. Fields of JSON bodies count as those of forms.
func (a *authority) note(r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, r.Method+" "+r.URL.Path)
	a.headers = append(a.headers, r.Header.Clone())
	form := r.URL.Query()
	body, _ := io.ReadAll(r.Body)
	var fields map[string]string
	if jsonx.Unmarshal(body, &fields) == nil {
		for name, value := range fields {
			form.Set(name, value)
		}
	} else if more, err := url.ParseQuery(string(body)); err == nil {
		for name, values := range more {
			form[name] = values
		}
	}
	a.forms = append(a.forms, form)
	r.Form = form
}

func (a *authority) send(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

func (a *authority) fail(w http.ResponseWriter, code, format string, args ...any) {
	a.send(w, 400, fmt.Sprintf(`{"error":%q,"error_description":%q}`, code, fmt.Sprintf(format, args...)))
}

// authorize is the page in the browser: it sends the browser back with a code.
func (a *authority) authorize(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := r.Form
	target := first(q.Get("redirect_uri"), q.Get("callback_url"))
	back, err := url.Parse(target)
	if err != nil || target == "" || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 {
		a.fail(w, "invalid_request", "no PKCE or no address")
		return
	}
	answer := url.Values{}
	if state := q.Get("state"); state != "" {
		if a.state != nil {
			state = a.state(state)
		}
		answer.Set("state", state)
	}
	if a.deny {
		answer.Set("error", "access_denied")
		answer.Set("error_description", "the person said no")
	} else {
		a.serial++
		code := fmt.Sprintf("code-%d", a.serial)
		a.codes[code] = q
		answer.Set("code", code)
		if a.clientID != "" {
			answer.Set("client_id", a.clientID)
		}
	}
	back.RawQuery = answer.Encode()
	w.Header().Set("Location", back.String())
	w.WriteHeader(http.StatusFound)
}

// verify checks a code and its verifier, and takes the code out of use.
func (a *authority) verify(f url.Values) string {
	asked, ok := a.codes[f.Get("code")]
	if !ok {
		return "the code is unknown or was used"
	}
	delete(a.codes, f.Get("code"))
	sum := sha256.Sum256([]byte(f.Get("code_verifier")))
	if base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") {
		return "the verifier does not fit"
	}
	if want := asked.Get("redirect_uri"); want != f.Get("redirect_uri") {
		return "another redirect address"
	}
	return ""
}

func (a *authority) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := r.Form
	switch f.Get("grant_type") {
	case "authorization_code":
		if why := a.verify(f); why != "" {
			a.fail(w, "invalid_grant", "%s", why)
			return
		}
	case "refresh_token":
		if !a.refresh[f.Get("refresh_token")] {
			a.refresh = map[string]bool{} // a stolen token: nobody may go on
			a.fail(w, "invalid_grant", "%s is no good", f.Get("refresh_token"))
			return
		}
		a.refresh[f.Get("refresh_token")] = a.keep
	default:
		a.fail(w, "unsupported_grant_type", "%s", f.Get("grant_type"))
		return
	}
	a.send(w, 200, a.tokens())
}

// tokens makes a new pair.
func (a *authority) tokens() string {
	a.serial++
	access := fmt.Sprintf("access-%d", a.serial)
	if a.access != nil {
		access = a.access(a.serial)
	}
	refresh := fmt.Sprintf(`,"refresh_token":"refresh-%d"`, a.serial)
	if a.keep {
		refresh = ""
	} else {
		a.refresh[fmt.Sprintf("refresh-%d", a.serial)] = true
	}
	return fmt.Sprintf(`{"access_token":%q%s,"expires_in":%d%s}`, access, refresh, a.life, a.extra)
}

func (a *authority) device(w http.ResponseWriter, _ *http.Request) {
	a.send(w, 200, `{"device_code":"device-1","user_code":"ABCD-1234","verification_uri":"https://example.test/code","verification_uri_complete":"https://example.test/code?c=ABCD-1234","interval":2,"expires_in":60}`)
}

func (a *authority) poll(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if got := r.Form.Get("device_code"); got != "device-1" || r.Form.Get("grant_type") != grantDevice {
		a.fail(w, "invalid_request", "device code %q", got)
		return
	}
	if len(a.pending) > 0 {
		code, interval, slow := strings.Cut(a.pending[0], ":")
		a.pending = a.pending[1:]
		if slow {
			a.send(w, 400, fmt.Sprintf(`{"error":%q,"interval":%s}`, code, interval))
			return
		}
		a.send(w, 400, fmt.Sprintf(`{"error":%q}`, code))
		return
	}
	a.send(w, 200, a.tokens())
}

// key is OpenRouter's exchange of a code, and Meta's of a token.
func (a *authority) key(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		a.send(w, 200, fmt.Sprintf(`{"api_key":"key-for-%s"}`, token))
		return
	}
	if why := a.verify(r.Form); why != "" {
		a.send(w, 403, fmt.Sprintf(`{"error":{"code":403,"message":%q}}`, why))
		return
	}
	a.send(w, 200, `{"key":"sk-or-1"}`)
}

func (a *authority) copilot(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer access-") {
		a.send(w, 401, `{"message":"Bad credentials"}`)
		return
	}
	a.serial++
	a.send(w, 200, fmt.Sprintf(`{"token":"tid=%d;exp=1;proxy-ep=proxy.business.githubcopilot.com;x=y","expires_at":%d}`, a.serial, start.Add(30*time.Minute).Unix()))
}

// seen returns the requests so far.
func (a *authority) seen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

// last returns the fields and headers of the last request to a path.
func (a *authority) last(path string) (url.Values, http.Header) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := len(a.requests) - 1; i >= 0; i-- {
		if strings.HasSuffix(a.requests[i], " "+path) {
			return a.forms[i], a.headers[i]
		}
	}
	a.t.Errorf("nothing asked for %s: %v", path, a.requests)
	return url.Values{}, http.Header{}
}

// endpoints are those of the server, with a callback on a free port.
func (a *authority) endpoints() Endpoints {
	return Endpoints{
		Authorize: a.URL + "/authorize", Token: a.URL + "/token", Device: a.URL + "/device", DeviceToken: a.URL + "/poll",
		Verify: a.URL + "/enter", Redirect: "http://localhost:0/callback", API: a.URL + "/key",
	}
}

// clock is a clock that only sleeping moves.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func newClock() *clock { return &clock{now: start} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return nil
}

func (c *clock) waits() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.slept)
}

// flowFor returns a provider's flow on the test's server.
func (a *authority) flowFor(id string, c *clock, at Endpoints) Flow {
	a.t.Helper()
	return a.flowWith(nil, id, c, at)
}

// flowWith is flowFor with variables.
func (a *authority) flowWith(env map[string]string, id string, c *clock, at Endpoints) Flow {
	a.t.Helper()
	for _, f := range Flows(FlowOptions{Endpoints: map[string]Endpoints{id: at}, Now: c.Now, Sleep: c.Sleep, Env: lookupIn(env), DeviceID: func() (string, error) {
		return "0123ABCD-4567-4567-8567-0123456789ab", nil
	}}) {
		if f.Info().ID == id {
			return f
		}
	}
	a.t.Fatalf("no flow %s", id)
	return nil
}

// person is a UI: someone who answers questions from a list and has a browser.
type person struct {
	t       testing.TB
	answers map[string]string // by method, or by the question's message; a missing one is never given
	browse  bool              // opens the pages of MethodAuth
	onAsk   func(Question)
	onTell  func(Notice)

	mu        sync.Mutex
	open      sync.WaitGroup
	notices   []Notice
	questions []Question
	withdrawn int
	pages     []string // what the callback showed
}

// Notify implements UI.
func (p *person) Notify(n Notice) {
	p.mu.Lock()
	p.notices = append(p.notices, n)
	p.mu.Unlock()
	if p.onTell != nil {
		p.onTell(n)
	}
	if n.Method == MethodAuth && p.browse {
		p.open.Go(func() { p.visit(n.Auth.URL) })
	}
}

// visit opens a page, following where it leads.
func (p *person) visit(page string) {
	if u, err := url.Parse(page); err != nil || u.Hostname() != "127.0.0.1" {
		p.t.Errorf("%s is not on this machine", page)
		return
	}
	resp, err := http.Get(page)
	if err != nil {
		p.t.Errorf("browser: %v", err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages = append(p.pages, fmt.Sprintf("%d %s", resp.StatusCode, body))
}

// Ask implements UI.
func (p *person) Ask(ctx context.Context, q Question) (string, error) {
	p.mu.Lock()
	p.questions = append(p.questions, q)
	p.mu.Unlock()
	if p.onAsk != nil {
		p.onAsk(q)
	}
	p.mu.Lock()
	answer, ok := p.answers[q.Prompt.Message]
	if !ok {
		answer, ok = p.answers[q.Method]
	}
	p.mu.Unlock()
	if ok && answer == "(cancel)" {
		return "", ErrCancelled
	}
	if ok {
		return answer, nil
	}
	<-ctx.Done()
	p.mu.Lock()
	p.withdrawn++
	p.mu.Unlock()
	return "", context.Cause(ctx)
}

// methods are those of all notices and questions so far.
func (p *person) methods() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, q := range p.questions {
		out = append(out, q.Method)
	}
	for _, n := range p.notices {
		out = append(out, n.Method)
	}
	return out
}

// entryOf decodes a login's entry.
func entryOf(t testing.TB, raw jsonx.Raw) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := jsonx.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out
}

// millis is a time after start as it stands in auth.json.
func millis(d time.Duration) float64 { return float64(start.Add(d).UnixMilli()) }
