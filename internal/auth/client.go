package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/network"
)

const (
	requestTime = 30 * time.Second // for one request of a login
	maxAnswer   = 4 << 20          // bytes of an answer that are read
	maxDetail   = 200              // characters of a server's explanation that are shown
	maxWord     = 40               // longer words of one may be secrets
)

// Texts about servers.
const (
	errReach    = "%s: %s: the server could not be reached: %s"
	errStatus   = "%s: %s failed (HTTP %d)%s"
	errAnswer   = "%s: %s: the answer was not understood (HTTP %d)"
	errNoToken  = "%s: %s: the answer holds no usable token"
	errUnsafe   = "%s: the server sent an address that is no web page"
	errTooLarge = "the answer is too large"
)

// client talks to authorization servers. Now and sleep are those of FlowOptions.
type client struct {
	http  *http.Client
	now   func() time.Time
	sleep func(ctx context.Context, d time.Duration) error
}

// noRedirect keeps codes and tokens from being sent on to another place.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// call is one request. who and what are for error texts: "Anthropic", "token exchange".
type call struct {
	who, what string
	method    string // POST when empty
	url       string
	form      url.Values
	json      any
	header    map[string]string
}

// reply is the answer, of any status.
type reply struct {
	call
	status  int
	retry   string // Retry-After
	body    []byte
	secrets []string
}

// do sends a request. The error is of a request that got no answer.
func (c *client) do(ctx context.Context, q call) (reply, error) {
	limited, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	r := reply{call: q}
	req, err := q.request(limited, &r)
	if err != nil {
		return r, err
	}
	resp, err := c.http.Do(req)
	if err == nil {
		defer resp.Body.Close()
		r.status, r.retry = resp.StatusCode, resp.Header.Get("Retry-After")
		r.body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	}
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case err != nil:
		why := r.clean(plainCause(err))
		if setup, ok := errors.AsType[*network.SetupError](err); ok { // it names a path, which may be long
			why = setup.Message
		}
		return r, fmt.Errorf(errReach, q.who, q.what, why)
	case len(r.body) > maxAnswer:
		return r, fmt.Errorf(errReach, q.who, q.what, errTooLarge)
	}
	return r, nil
}

func (q call) request(ctx context.Context, r *reply) (*http.Request, error) {
	var body []byte
	contentType := ""
	switch {
	case q.form != nil:
		body, contentType = []byte(q.form.Encode()), "application/x-www-form-urlencoded"
		for name, values := range q.form {
			if !public(name) {
				r.secrets = append(r.secrets, values...)
			}
		}
	case q.json != nil:
		var err error
		if body, err = jsonx.Marshal(q.json); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", q.who, q.what, err)
		}
		contentType = "application/json"
		if fields, ok := q.json.(map[string]string); ok {
			for name, value := range fields {
				if !public(name) {
					r.secrets = append(r.secrets, value)
				}
			}
		}
	}
	method := q.method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(ctx, method, q.url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %q is no usable address", q.who, q.what, q.url)
	}
	req.Header.Set("Accept", "application/json")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for name, value := range q.header {
		req.Header.Set(name, value)
		if token, ok := strings.CutPrefix(value, "Bearer "); ok {
			r.secrets = append(r.secrets, token)
		}
	}
	return req, nil
}

// public reports whether a field of a token request is no secret.
func public(name string) bool {
	return slices.Contains([]string{"grant_type", "client_id", "redirect_uri", "scope", "resource", "state", "referrer", "code_challenge_method"}, name)
}

// plainCause returns why a request failed, without its address.
func plainCause(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "it took too long"
	}
	return err.Error()
}

func (r reply) ok() bool { return r.status >= 200 && r.status < 300 }

// into decodes a successful answer. The error shows nothing of it.
func (r reply) into(v any) error {
	if !r.ok() {
		return r.failure()
	}
	if jsonx.Unmarshal(r.body, v) != nil {
		return fmt.Errorf(errAnswer, r.who, r.what, r.status)
	}
	return nil
}

// fault is what an error answer says.
type fault struct {
	Code     string
	Text     string
	Interval float64 // seconds, of slow_down
}

// fault reads an error answer in the forms that servers send it in.
func (r reply) fault() fault {
	top := membersOf(r.body)
	inner := membersOf(top["error"])
	code := first(plain(top["error"]), plain(inner["code"]), plain(inner["type"]))
	text := first(plain(top["error_description"]), plain(inner["message"]), plain(top["message"]), plain(top["detail"]))
	return fault{code, text, seconds(top["interval"])}
}

// membersOf returns the members of an object, none for something else.
func membersOf(raw jsonx.Raw) map[string]jsonx.Raw {
	if raw.Kind() != '{' {
		return nil
	}
	members, err := jsonx.Members(raw)
	if err != nil {
		return nil
	}
	out := make(map[string]jsonx.Raw, len(members))
	for _, m := range members {
		out[m.Name] = m.Value
	}
	return out
}

// plain returns a JSON text's value, "" for other values.
func plain(raw jsonx.Raw) string {
	text := ""
	if raw.Kind() == '"' && jsonx.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// seconds reads a number that some servers send as a text; 0 for none.
func seconds(raw jsonx.Raw) float64 {
	if text := plain(raw); text != "" {
		raw = jsonx.Raw(strings.TrimSpace(text))
	}
	var n float64
	if len(raw) == 0 || jsonx.Unmarshal(raw, &n) != nil || n < 0 {
		return 0
	}
	return n
}

// failure is the error of an answer that says no.
func (r reply) failure() error {
	f := r.fault()
	detail := f.Code
	if f.Text != "" && f.Text != f.Code {
		detail = strings.TrimPrefix(detail+": "+f.Text, ": ")
	}
	if detail = r.clean(detail); detail != "" {
		detail = ": " + detail
	}
	return fmt.Errorf(errStatus, r.who, r.what, r.status, detail)
}

// clean makes a server's words fit to be shown: without what was sent in confidence,
// without words that look like tokens, without control characters, not too long.
func (r reply) clean(text string) string {
	for _, s := range r.secrets {
		if len(s) > 3 {
			text = strings.ReplaceAll(text, s, "…")
		}
	}
	words := strings.FieldsFunc(text, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) })
	words = slices.DeleteFunc(words, func(w string) bool { return len(w) > maxWord && !strings.Contains(w, "://") })
	text = strings.Join(words, " ")
	if runes := []rune(text); len(runes) > maxDetail {
		text = string(runes[:maxDetail]) + "…"
	}
	return text
}

// tokens is the answer of a token endpoint.
type tokens struct {
	Access  string    `json:"access_token"`
	Refresh string    `json:"refresh_token"`
	Expires jsonx.Raw `json:"expires_in"`
	ID      string    `json:"id_token"`
	Scope   string    `json:"scope"`
}

// tokens decodes the answer of a token endpoint. kept is the refresh token that stays
// when the server sends none, life the lifetime when it says none; with life 0 it must.
// slack is how long before its end the login counts as expired.
func (r reply) tokens(now time.Time, kept string, life, slack time.Duration) (t tokens, expires time.Time, err error) {
	if err := r.into(&t); err != nil {
		return tokens{}, time.Time{}, err
	}
	if n := seconds(t.Expires); n > 0 {
		life = time.Duration(min(n, 1e9) * float64(time.Second))
	}
	if t.Refresh == "" {
		t.Refresh = kept
	}
	if t.Access == "" || t.Refresh == "" || life == 0 {
		return tokens{}, time.Time{}, fmt.Errorf(errNoToken, r.who, r.what)
	}
	return t, now.Add(life - slack), nil
}
