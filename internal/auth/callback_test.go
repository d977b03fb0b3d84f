package auth

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// noFollow is a browser that shows where it is sent.
func noFollow() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func visit(t *testing.T, method, address string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), resp.Header
}

func TestCallback(t *testing.T) {
	cb, err := listen("Somebody", "127.0.0.1", "http://localhost:0/back", "right")
	if err != nil {
		t.Fatal(err)
	}
	defer cb.close()
	u, err := url.Parse(cb.redirect)
	if err != nil || u.Hostname() != "localhost" || u.Port() == "0" || u.Path != "/back" {
		t.Fatalf("redirect %s", cb.redirect)
	}
	steps := []struct {
		method, path string
		status       int
		text         string
	}{
		{"GET", "/favicon.ico", 404, "There is nothing at this address."},
		{"POST", "/back?state=right&code=x", 404, "There is nothing at this address."},
		{"GET", "/back/?state=right&code=x", 404, "There is nothing at this address."},
		{"GET", "/back?code=x", 400, "This answer belongs to another login."},
		{"GET", "/back?state=wrong&code=x", 400, "This answer belongs to another login."},
		{"GET", "/back?state=wrong&error=access_denied", 400, "This answer belongs to another login."},
		{"GET", "/back?state=right", 400, "The answer holds no authorization code."},
		{"GET", "/back?state=right&code=the-code", 200, "Signed in to Somebody. You can close this page."},
		{"GET", "/back?state=right&code=another", 409, "This login has been completed already."},
	}
	for _, s := range steps {
		status, body, header := visit(t, s.method, strings.TrimSuffix(cb.redirect, "/back")+s.path)
		if status != s.status || !strings.Contains(body, s.text) {
			t.Errorf("%s %s: %d %s", s.method, s.path, status, body)
		}
		if header.Get("Cache-Control") != "no-store" || header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s %s: the page may be kept: %v", s.method, s.path, header)
		}
	}
	select {
	case a := <-cb.answers:
		if a.err != nil || a.query.Get("code") != "the-code" {
			t.Errorf("%+v", a)
		}
	default:
		t.Error("no answer")
	}
}

// What a server says about a refusal goes into a page: it must be inert there.
func TestCallbackPageIsInert(t *testing.T) {
	cb, err := listen("X", "127.0.0.1", "http://127.0.0.1:0/back", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer cb.close()
	status, body, header := visit(t, "GET", cb.redirect+"?state=s&error=e&error_description="+url.QueryEscape(`<script>alert(1)</script>`))
	if status != 400 || strings.Contains(body, "<script") || !strings.Contains(body, "&lt;script&gt;") {
		t.Errorf("%d %s", status, body)
	}
	if !strings.HasPrefix(header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%v", header)
	}
}

// Of two answers at the same time one counts.
func TestCallbackTakesOneAnswer(t *testing.T) {
	cb, err := listen("X", "127.0.0.1", "http://127.0.0.1:0/back", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer cb.close()
	var wg sync.WaitGroup
	statuses := make(chan int, 8)
	for range 8 {
		wg.Go(func() {
			resp, err := http.Get(cb.redirect + "?state=s&code=c")
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			statuses <- resp.StatusCode
		})
	}
	wg.Wait()
	close(statuses)
	good := 0
	for s := range statuses {
		if s == 200 {
			good++
		}
	}
	if good != 1 {
		t.Errorf("%d answers counted", good)
	}
}

// A spare connection of a browser must not outlive the login.
func TestCallbackClosesConnections(t *testing.T) {
	cb, err := listen("X", "127.0.0.1", "http://127.0.0.1:0/back", "s")
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(cb.redirect)
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	visit(t, "GET", cb.redirect) // the server has taken the connection before this one
	cb.close()
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "timeout") {
		t.Errorf("the connection is still open: %v", err)
	}
	var none *callback
	none.close() // one that could not be made
}

func TestListenFails(t *testing.T) {
	if _, err := listen("X", "127.0.0.1", "http://[::1", "s"); err == nil {
		t.Error("an address that is none")
	}
	if _, err := listen("X", "192.0.2.1", "http://localhost:0/", "s"); err == nil || !strings.HasPrefix(err.Error(), "X: waiting for the browser: ") {
		t.Errorf("%v", err)
	}
}

// What is typed and what the browser says race: the first answer counts, and the
// question is taken back before await returns.
func TestAwait(t *testing.T) {
	newCallback := func(a ...answer) *callback {
		cb := &callback{answers: make(chan answer, 1)}
		for _, a := range a {
			cb.answers <- a
		}
		return cb
	}
	browser := answer{query: url.Values{"code": {"browser"}}}
	t.Run("browser", func(t *testing.T) {
		p := &person{t: t}
		q, err := await(t.Context(), p, newCallback(browser), "X", "s", Prompt{})
		if err != nil || q.Get("code") != "browser" {
			t.Errorf("%v, %v", q, err)
		}
		if p.withdrawn != 1 {
			t.Error("await returned before the question was taken back")
		}
	})
	t.Run("typed", func(t *testing.T) {
		q, err := await(t.Context(), &person{t: t, answers: map[string]string{MethodCode: "typed#s"}}, newCallback(), "X", "s", Prompt{})
		if err != nil || q.Get("code") != "typed" {
			t.Errorf("%v, %v", q, err)
		}
	})
	t.Run("given up", func(t *testing.T) {
		_, err := await(t.Context(), &person{t: t, answers: map[string]string{MethodCode: "(cancel)"}}, newCallback(), "X", "s", Prompt{})
		if !errors.Is(err, ErrCancelled) {
			t.Error(err)
		}
	})
	t.Run("no server and cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		p := &person{t: t, onAsk: func(Question) { cancel(ErrCancelled) }}
		if _, err := await(ctx, p, nil, "X", "s", Prompt{}); !errors.Is(err, ErrCancelled) {
			t.Error(err)
		}
	})
}

func FuzzPasted(f *testing.F) {
	for _, s := range []string{"", "code#state", "http://localhost:1/cb?code=a&state=state", "code=a&state=b", "?error=x", "%", "a#b#c", "x://", "code=%zz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := pasted("X", text, "state")
		if err != nil {
			return
		}
		if q.Get("code") == "" {
			t.Errorf("%q: no code and no error", text)
		}
		if s := q.Get("state"); s != "" && s != "state" {
			t.Errorf("%q: the state %q was taken", text, s)
		}
	})
}
