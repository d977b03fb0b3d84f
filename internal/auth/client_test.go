package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/isotope-agent/isotope/internal/network"
)

func (a *authority) client() *client {
	c := newClock()
	return &client{http: &http.Client{CheckRedirect: noRedirect}, now: c.Now, sleep: c.Sleep}
}

// What a server says is shown, but nothing of what it was told in confidence, nothing
// that looks like a token, no control characters, and not for pages.
func TestFailureTexts(t *testing.T) {
	long := strings.Repeat("word ", 100)
	tests := []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"code and text", 400, `{"error":"invalid_grant","error_description":"it is over"}`, ": invalid_grant: it is over"},
		{"code alone", 400, `{"error":"invalid_grant"}`, ": invalid_grant"},
		{"the same twice", 400, `{"error":"bad","error_description":"bad"}`, ": bad"},
		{"text alone", 403, `{"message":"Not Found"}`, ": Not Found"},
		{"detail", 403, `{"detail":"no"}`, ": no"},
		{"an object", 403, `{"error":{"code":"c","message":"m"}}`, ": c: m"},
		{"an object with a type", 403, `{"error":{"type":"t","code":5,"message":"m"}}`, ": t: m"},
		{"nothing", 500, ``, ""},
		{"a page", 502, `<html>secret-code</html>`, ""},
		{"an array", 502, `["secret-code"]`, ""},
		{"other types", 502, `{"error":5,"message":["x"]}`, ""},
		{"our secret", 400, `{"error":"e","error_description":"the code secret-code is bad"}`, ": e: the code … is bad"},
		{"our token", 400, `{"error":"bearer-token"}`, ": …"},
		{"a token of theirs", 400, `{"error":"e","error_description":"see eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.x now"}`, ": e: see now"},
		{"an address", 400, `{"error":"e","error_description":"see https://example.test/a/very/long/address/indeed/it/is"}`, ": e: see https://example.test/a/very/long/address/indeed/it/is"},
		{"control characters", 400, `{"error":"a\u001b[31mb\nc\u0000d"}`, ": a [31mb c d"},
		{"a long text", 400, `{"error":"` + long + `"}`, ": " + string([]rune(strings.TrimSpace(long))[:200]) + "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAuthority(t)
			a.answer["/x"] = func() (int, string) { return tt.status, tt.body }
			r, err := a.client().do(t.Context(), call{
				who: "X", what: "trying", url: a.URL + "/x", form: url.Values{"code": {"secret-code"}, "client_id": {"public"}},
				header: map[string]string{"Authorization": "Bearer bearer-token"},
			})
			if err != nil {
				t.Fatal(err)
			}
			err = r.into(&struct{}{})
			want := "X: trying failed (HTTP " + http.StatusText(0) + map[int]string{400: "400", 403: "403", 500: "500", 502: "502"}[tt.status] + ")" + tt.want
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestSecretsOfJSONBodies(t *testing.T) {
	a := newAuthority(t)
	a.answer["/x"] = func() (int, string) { return 400, `{"error":"top-secret of public-client"}` }
	r, err := a.client().do(t.Context(), call{who: "X", what: "trying", url: a.URL + "/x", json: map[string]string{"refresh_token": "top-secret", "client_id": "public-client"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.failure().Error(); got != "X: trying failed (HTTP 400): … of public-client" {
		t.Error(got)
	}
}

func TestUnreachable(t *testing.T) {
	a := newAuthority(t)
	address := a.URL
	a.Close()
	_, err := a.client().do(t.Context(), call{who: "X", what: "trying", url: address + "/token?secret=1"})
	if err == nil || !strings.HasPrefix(err.Error(), "X: trying: the server could not be reached: ") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if _, err := a.client().do(t.Context(), call{who: "X", what: "trying", url: "://"}); err == nil || err.Error() != `X: trying: "://" is no usable address` {
		t.Error(err)
	}
	if got := plainCause(&url.Error{Op: "Get", URL: "http://x/?secret", Err: context.DeadlineExceeded}); got != "it took too long" {
		t.Error(got)
	}
}

// What is wrong with the setup is said whole, however long a path in it is.
func TestSetupIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("long-", 12), "ca.pem")
	n := network.New(network.Options{Env: func(name string) (string, bool) { return path, name == "NODE_EXTRA_CA_CERTS" }})
	c := &client{http: &http.Client{Transport: n}, now: time.Now}
	_, err := c.do(t.Context(), call{who: "X", what: "trying", url: "https://127.0.0.1:1/"})
	if err == nil || !strings.HasPrefix(err.Error(), "X: trying: the server could not be reached: the certificates that NODE_EXTRA_CA_CERTS names cannot be read: ") || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

// A redirect would take the code to another place: it is an answer like any other.
func TestRedirectsAreNotFollowed(t *testing.T) {
	other := newAuthority(t)
	a := newAuthority(t)
	a.codes["c"] = url.Values{}
	a.answer["/x"] = nil
	mux := http.RedirectHandler(other.URL+"/token", http.StatusTemporaryRedirect)
	a.Config.Handler = mux
	r, err := a.client().do(t.Context(), call{who: "X", what: "trying", url: a.URL + "/x", form: url.Values{"code": {"c"}}})
	if err != nil || r.status != http.StatusTemporaryRedirect || r.ok() {
		t.Errorf("%d, %v", r.status, err)
	}
	if n := len(other.seen()); n != 0 {
		t.Errorf("%d requests went on", n)
	}
}

func TestAnswersHaveALimit(t *testing.T) {
	a := newAuthority(t)
	a.answer["/x"] = func() (int, string) { return 200, strings.Repeat("x", maxAnswer+1) }
	_, err := a.client().do(t.Context(), call{who: "X", what: "trying", url: a.URL + "/x"})
	if err == nil || err.Error() != "X: trying: the server could not be reached: the answer is too large" {
		t.Error(err)
	}
}

func TestCancelledRequest(t *testing.T) {
	a := newAuthority(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	a.answer["/x"] = func() (int, string) { cancel(ErrCancelled); return 200, `{}` }
	if _, err := a.client().do(ctx, call{who: "X", what: "trying", url: a.URL + "/x"}); err != nil && !errors.Is(err, ErrCancelled) {
		t.Error(err)
	}
	if _, err := a.client().do(ctx, call{who: "X", what: "trying", url: a.URL + "/x"}); !errors.Is(err, ErrCancelled) {
		t.Error(err)
	}
}

func TestHeaders(t *testing.T) {
	a := newAuthority(t)
	a.answer["/x"] = func() (int, string) { return 200, `{}` }
	for _, tt := range []struct {
		q                 call
		method, typ, body string
	}{
		{call{form: url.Values{"a": {"b"}}}, "POST", "application/x-www-form-urlencoded", "b"},
		{call{json: map[string]string{"a": "c"}}, "POST", "application/json", "c"},
		{call{method: "GET"}, "GET", "", ""},
	} {
		tt.q.url = a.URL + "/x"
		if _, err := a.client().do(t.Context(), tt.q); err != nil {
			t.Fatal(err)
		}
		form, header := a.last("/x")
		requests := a.seen()
		if requests[len(requests)-1] != tt.method+" /x" || header.Get("Content-Type") != tt.typ || header.Get("Accept") != "application/json" || form.Get("a") != tt.body {
			t.Errorf("%v %v %v", requests, header, form)
		}
	}
}

func TestSeconds(t *testing.T) {
	for raw, want := range map[string]float64{`5`: 5, `"7"`: 7, `" 2.5 "`: 2.5, `-1`: 0, `null`: 0, `"x"`: 0, ``: 0, `[1]`: 0, `true`: 0, `""`: 0} {
		if got := seconds([]byte(raw)); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
	for _, tt := range []struct {
		n    float64
		want time.Duration
	}{{0, time.Hour}, {-1, time.Hour}, {1e9, time.Hour}, {1.5, 1500 * time.Millisecond}} {
		if got := span(tt.n, time.Hour); got != tt.want {
			t.Errorf("%v: %s", tt.n, got)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("the token is top-secret", "top-secret")
	f.Add("a\x1b]0;x\x07b", "")
	f.Add("\xff\xfe", "secret")
	f.Fuzz(func(t *testing.T, text, secret string) {
		got := reply{secrets: []string{secret}}.clean(text)
		if n := utf8.RuneCountInString(got); n > maxDetail+1 {
			t.Errorf("%d characters", n)
		}
		for _, c := range got {
			if c < ' ' || c == 0x7f {
				t.Errorf("%q has a control character", got)
			}
		}
		if len(secret) > 3 && !strings.ContainsAny(secret, " …") && utf8.ValidString(secret) && strings.Contains(got, secret) && !strings.ContainsFunc(secret, func(c rune) bool { return c <= ' ' }) {
			t.Errorf("%q shows %q", got, secret)
		}
	})
}

func FuzzAnswers(f *testing.F) {
	f.Add(`{"error":"slow_down","interval":"5"}`)
	f.Add(`{"access_token":"a","refresh_token":"b","expires_in":1e400}`)
	f.Add(`{"error":{"code":null,"message":{}}}`)
	f.Fuzz(func(t *testing.T, body string) {
		r := reply{call: call{who: "X", what: "y"}, status: 200, body: []byte(body)}
		r.fault()
		v := r.verdict()
		tok, expires, err := r.tokens(start, "", time.Hour, 0)
		if err == nil && (tok.Access == "" || tok.Refresh == "" || !expires.After(start)) {
			t.Errorf("%+v until %s without an error", tok, expires)
		}
		if v.done && tok.Access == "" && err == nil {
			t.Error("done without a token")
		}
	})
}
