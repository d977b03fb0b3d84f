package wire

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/network"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"), goleak.IgnoreAnyFunction("net/http/httptest.(*Server).goServe.func1"))
}

// serve returns a client and the URL of a server that handles one kind of request.
func serve(t *testing.T, h http.HandlerFunc) (*Client, string) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c := New(Options{UserAgent: UserAgent("1.2.3")})
	t.Cleanup(c.CloseIdle)
	return c, srv.URL
}

func TestPost(t *testing.T) {
	var got *http.Request
	var body string
	c, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got, body = r, string(b)
		w.Header().Set("X-Request-Id", "req_1")
		io.WriteString(w, "hello")
	})
	resp, err := c.Post(t.Context(), Request{
		URL: url + "/v1/x", Header: Headers(map[string]string{"x-api-key": "secret-key\n"}), Body: map[string]any{"a": 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	text, err := io.ReadAll(resp)
	if err != nil || string(text) != "hello" || resp.Status != 200 || resp.Header.Get("X-Request-Id") != "req_1" {
		t.Errorf("%d %q %v %v", resp.Status, text, resp.Header, err)
	}
	if got.Method != "POST" || got.URL.Path != "/v1/x" || body != `{"a":1}` {
		t.Errorf("%s %s %s", got.Method, got.URL.Path, body)
	}
	for name, want := range map[string]string{"X-Api-Key": "secret-key", "Content-Type": "application/json", "User-Agent": UserAgent("1.2.3")} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("%s: %q, want %q", name, v, want)
		}
	}
	if ua := UserAgent("1.2.3"); !strings.HasPrefix(ua, "isotope/1.2.3 (") {
		t.Errorf("User-Agent %q", ua)
	}
}

func TestHeaders(t *testing.T) {
	got := Headers(map[string]string{"A": "1", "b": "2", "c": "3"}, nil, map[string]string{"a": "9", "B": "", "D": " x\r\n"})
	if diff := cmp.Diff(http.Header{"A": {"9"}, "C": {"3"}, "D": {"x"}}, got); diff != "" {
		t.Error(diff)
	}
}

// fail posts and returns the error, whether it came from Post or from the body.
func fail(t *testing.T, c *Client, ctx context.Context, r Request) *llm.Error {
	t.Helper()
	resp, err := c.Post(ctx, r)
	if err == nil {
		defer resp.Close()
		_, err = io.ReadAll(resp)
	}
	if err == nil {
		t.Fatal("no error")
	}
	var e *llm.Error
	if !errors.As(err, &e) || e == nil {
		t.Fatalf("%T %v is no *llm.Error", err, err)
	}
	return e
}

func TestStatusErrors(t *testing.T) {
	long := strings.Repeat("é", MaxBody+5)
	explain := func(status int, body string) (string, string) {
		if strings.HasPrefix(body, "{") {
			return "explained: " + body, "my_code"
		}
		return "", ""
	}
	for name, c := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   llm.Error
	}{
		"explained":     {529, nil, `{"a":1}`, llm.Error{Kind: llm.ErrTransient, Message: `explained: {"a":1}`, Status: 529, Code: "my_code", Body: `{"a":1}`}},
		"plain":         {400, nil, " plain text body\n", llm.Error{Kind: llm.ErrBadRequest, Message: "400 plain text body", Status: 400, Body: "plain text body"}},
		"html":          {502, nil, "<html>x", llm.Error{Kind: llm.ErrTransient, Message: "502 <html>x", Status: 502, Body: "<html>x"}},
		"empty":         {503, nil, "", llm.Error{Kind: llm.ErrTransient, Message: "503 status code (no body)", Status: 503}},
		"long":          {500, nil, long, llm.Error{Kind: llm.ErrTransient, Message: "500 " + long[:2*MaxBody] + "... [truncated 5 chars]", Status: 500, Body: long[:2*MaxBody]}},
		"echoed key":    {401, nil, "bad key topsecret123!", llm.Error{Kind: llm.ErrAuth, Message: "401 bad key [redacted]!", Status: 401, Body: "bad key [redacted]!"}},
		"no redirect":   {302, map[string]string{"Location": "http://127.0.0.1:1/"}, "elsewhere", llm.Error{Kind: llm.ErrBadRequest, Message: "302 elsewhere", Status: 302, Body: "elsewhere"}},
		"invalid UTF-8": {400, nil, "a\xffb", llm.Error{Kind: llm.ErrBadRequest, Message: "400 a\uFFFDb", Status: 400, Body: "a\uFFFDb"}},
		"retry after":   {429, map[string]string{"Retry-After": "7"}, "slow down", llm.Error{Kind: llm.ErrRateLimit, Message: "429 slow down", Status: 429, Body: "slow down", RetryAfter: 7 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			client, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
			got := fail(t, client, t.Context(), Request{URL: url, Header: Headers(map[string]string{"Authorization": "Bearer topsecret123"}), Explain: explain})
			if diff := cmp.Diff(c.want, *got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	for name, c := range map[string]struct {
		header map[string]string
		body   string
		want   time.Duration
	}{
		"none":              {nil, "", 0},
		"seconds":           {map[string]string{"Retry-After": "5"}, "", 5 * time.Second},
		"fraction":          {map[string]string{"Retry-After": "0.5"}, "", 500 * time.Millisecond},
		"milliseconds win":  {map[string]string{"Retry-After": "5", "Retry-After-Ms": "1200"}, "", 1200 * time.Millisecond},
		"0 ms says nothing": {map[string]string{"Retry-After": "1", "Retry-After-Ms": "0"}, "", time.Second},
		"date":              {map[string]string{"Retry-After": "Wed, 06 May 2026 07:08:39 GMT"}, "", 30 * time.Second},
		"date in the past":  {map[string]string{"Retry-After": "Wed, 06 May 2026 07:00:00 GMT"}, "", 0},
		"negative":          {map[string]string{"Retry-After": "-5"}, "", 0},
		"NaN":               {map[string]string{"Retry-After": "NaN"}, "", 0},
		"absurd":            {map[string]string{"Retry-After": "1e300"}, "", maxWait},
		"words":             {nil, "Please try again in 1.574s. Visit", 1574 * time.Millisecond},
		"ms in words":       {nil, "try again in 120ms.", 120 * time.Millisecond},
		"minutes":           {nil, "Please try again in 7m12.5s. Need more?", 7*time.Minute + 12500*time.Millisecond},
		"long words":        {nil, "Please retry in 20 seconds", 20 * time.Second},
		"RetryInfo":         {nil, `{"retryDelay": "48s"}`, 48 * time.Second},
		"no number":         {nil, "try again in a few minutes", 0},
		"header over words": {map[string]string{"Retry-After": "3"}, "try again in 9s", 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			if got := RetryAfter(Headers(c.header), c.body, now); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// A connection that cannot be made, or that breaks, is a transport error in the words
// that clients know, and never shows the URL.
func TestConnectionErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	hijack := func(linger int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, "part")
			w.(http.Flusher).Flush()
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			if linger == 0 {
				time.Sleep(20 * time.Millisecond) // so that the part is read before the reset
				conn.(*net.TCPConn).SetLinger(0)
			}
			conn.Close()
		}
	}
	c, reset := serve(t, hijack(0))
	_, closed := serve(t, hijack(-1))
	for name, tc := range map[string]struct{ url, want string }{
		"refused":   {"http://user:pw123456@" + addr, "Connection error.: connect ECONNREFUSED " + addr},
		"reset":     {reset, "terminated: read ECONNRESET"},
		"closed":    {closed, "terminated: other side closed (UND_ERR_SOCKET)"},
		"no host":   {"http://name.invalid/", "Connection error.: getaddrinfo "},
		"bad URL":   {"http://a b/", "invalid base URL: "},
		"no scheme": {"foo/v1", "Connection error.: unsupported protocol scheme"},
	} {
		t.Run(name, func(t *testing.T) {
			e := fail(t, c, t.Context(), Request{URL: tc.url})
			if !strings.HasPrefix(e.Message, tc.want) {
				t.Errorf("message %q, want %q", e.Message, tc.want)
			}
			if strings.Contains(e.Message, "pw123456") || strings.Contains(e.Message, "http://") {
				t.Errorf("message shows the URL: %q", e.Message)
			}
			if want := llm.ErrTransport; e.Kind != want && name != "bad URL" {
				t.Errorf("kind %s", e.Kind)
			}
		})
	}
}

// A stream of HTTP/2 that its server breaks off is cut like any other, and the connection
// serves the next request.
func TestBrokenStreamOfHTTP2(t *testing.T) {
	var asked, conns atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "part")
		w.(http.Flusher).Flush()
		if asked.Add(1) == 1 {
			panic(http.ErrAbortHandler) // resets the stream
		}
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	n := network.New(network.Options{Env: func(v string) (string, bool) { return path, v == "NODE_EXTRA_CA_CERTS" }})
	t.Cleanup(n.CloseIdleConnections)
	c := New(Options{Transport: n})
	e := fail(t, c, t.Context(), Request{URL: srv.URL})
	if e.Kind != llm.ErrTransport || !strings.HasPrefix(e.Message, TextTerminated+": ") {
		t.Errorf("%s %s", e.Kind, e.Message)
	}
	resp, err := c.Post(t.Context(), Request{URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	if text, err := io.ReadAll(resp); string(text) != "part" || err != nil || conns.Load() != 1 {
		t.Errorf("%q, %v, %d connections", text, err, conns.Load())
	}
}

// What the user has to change is no fault of the connection, and is not tried again; what
// may pass is.
func TestSetupErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	l.Close()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(strings.TrimSuffix(r.Host, ".test:443"))
		w.WriteHeader(status)
	}))
	t.Cleanup(proxy.Close)
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for name, c := range map[string]struct {
		proxy, url string
		kind       llm.ErrorKind
		want       string
	}{
		"no address":       {"ftp://topsecret@x", "https://a.test/", llm.ErrBadRequest, "HTTPS_PROXY is not the address of a proxy"},
		"no proxy there":   {"http://topsecret@" + gone, "https://a.test/", llm.ErrTransport, "Connection error.: to the proxy: connect ECONNREFUSED " + gone},
		"no password":      {proxy.URL, "https://407.test/", llm.ErrAuth, "Connection error.: the proxy " + proxy.URL + " refused the connection: 407 "},
		"not allowed":      {proxy.URL, "https://403.test/", llm.ErrBadRequest, "Connection error.: the proxy " + proxy.URL + " refused the connection: 403 Forbidden"},
		"too much":         {proxy.URL, "https://429.test/", llm.ErrTransport, "Connection error.: the proxy " + proxy.URL + " refused the connection: 429 "},
		"out of order":     {proxy.URL, "https://503.test/", llm.ErrTransport, "Connection error.: the proxy " + proxy.URL + " refused the connection: 503 "},
		"nobody vouches":   {"", secure.URL, llm.ErrBadRequest, "Connection error.: tls: "},
		"a broken request": {"", "http://" + gone, llm.ErrTransport, "Connection error.: connect ECONNREFUSED " + gone},
	} {
		t.Run(name, func(t *testing.T) {
			n := network.New(network.Options{Env: func(v string) (string, bool) { return c.proxy, v == "HTTPS_PROXY" }})
			t.Cleanup(n.CloseIdleConnections)
			e := fail(t, New(Options{Transport: n}), t.Context(), Request{URL: c.url})
			if e.Kind != c.kind || !strings.HasPrefix(e.Message, c.want) || strings.Contains(e.Message, "topsecret") {
				t.Errorf("%s %q", e.Kind, e.Message)
			}
		})
	}
}

func TestBadBody(t *testing.T) {
	e := fail(t, New(Options{}), t.Context(), Request{URL: "http://127.0.0.1:1", Body: func() {}})
	if e.Kind != llm.ErrBadRequest {
		t.Errorf("%s %s", e.Kind, e.Message)
	}
}

func TestAbort(t *testing.T) {
	cause := errors.New("client said so")
	t.Run("before the answer", func(t *testing.T) {
		asked := make(chan bool)
		c, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			asked <- true
			<-r.Context().Done()
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-asked; cancel(cause) }()
		e := fail(t, c, ctx, Request{URL: url})
		if e.Kind != llm.ErrAborted || e.Message != TextAborted || !errors.Is(e, cause) {
			t.Errorf("%+v", e)
		}
	})
	for _, text := range []string{"", "my own words"} {
		t.Run("in mid-stream "+text, func(t *testing.T) {
			c, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				io.WriteString(w, "part")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			})
			ctx, cancel := context.WithCancelCause(t.Context())
			resp, err := c.Post(ctx, Request{URL: url, Aborted: text})
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Close()
			buf := make([]byte, 4)
			if _, err := io.ReadFull(resp, buf); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
			_, err = resp.Read(buf)
			want := text
			if want == "" {
				want = TextStreamAborted
			}
			if e := llm.AsError(err); e == nil || e.Kind != llm.ErrAborted || e.Message != want || !errors.Is(e, cause) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// A connection serves the next request after an answer was finished, though its end
// was not read.
func TestFinishKeepsTheConnection(t *testing.T) {
	_, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "the last event")
		w.(http.Flusher).Flush()
		time.Sleep(5 * time.Millisecond)
	})
	var dials atomic.Int64
	c := New(Options{Transport: &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}}})
	t.Cleanup(c.CloseIdle)
	for range 3 {
		resp, err := c.Post(t.Context(), Request{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(resp, make([]byte, 14)); err != nil {
			t.Fatal(err)
		}
		resp.Finish()
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("%d connections for three requests", n)
	}
}

func TestFinishDoesNotWaitForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Options{Transport: script{{0, "x"}, {time.Hour, "never"}}})
		resp, err := c.Post(t.Context(), Request{URL: "http://x"})
		if err != nil {
			t.Fatal(err)
		}
		resp.Read(make([]byte, 1))
		begun := time.Now()
		resp.Finish()
		if d := time.Since(begun); d > drainTime {
			t.Errorf("waited %v", d)
		}
	})
}

// step is a pause and what is sent after it.
type step struct {
	wait time.Duration
	text string
}

// script answers every request with its steps; the first one's pause comes before the
// headers when its text is empty.
type script []step

func (s script) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(s) > 0 && s[0].text == "" {
		if err := sleep(r.Context(), s[0].wait); err != nil {
			return nil, err
		}
		s = s[1:]
	}
	pr, pw := io.Pipe()
	go func() {
		for _, st := range s {
			if err := sleep(r.Context(), st.wait); err != nil {
				pw.CloseWithError(err)
				return
			}
			io.WriteString(pw, st.text)
		}
		pw.Close()
	}()
	return &http.Response{StatusCode: 200, Body: pr, Header: http.Header{}}, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Field report 111: silence before the first byte and pauses in mid-stream have limits
// of their own, and a slow reader is not a silent provider.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		opts   Options
		req    Request
		script script
		read   time.Duration // how long the reader takes for each piece
		want   string        // "" for success
	}{
		"a local model thinks for 6 minutes": {script: script{{6 * time.Minute, "a"}, {2 * time.Minute, "b"}}},
		"headers at once, then 6 minutes":    {script: script{{6 * time.Minute, "a"}}},
		"no headers for too long":            {script: script{{11 * time.Minute, ""}, {0, "a"}}, want: "Request timed out: no answer within 600 s"},
		"no body for too long":               {script: script{{11 * time.Minute, "a"}}, want: "Request timed out: no answer within 600 s"},
		"headers late, body late":            {script: script{{6 * time.Minute, ""}, {6 * time.Minute, "a"}}, want: "Request timed out: no answer within 600 s"},
		"silence in mid-stream":              {script: script{{0, "a"}, {6 * time.Minute, "b"}}, want: "Request timed out: the stream was silent for 300 s"},
		"a long stream with small pauses":    {script: script{{0, "a"}, {4 * time.Minute, "b"}, {4 * time.Minute, "c"}, {4 * time.Minute, "d"}}},
		"a slow reader":                      {script: script{{0, "a"}, {0, "b"}, {0, "c"}}, read: time.Hour},
		"options":                            {opts: Options{FirstByte: time.Second, Idle: NoLimit}, script: script{{0, "a"}, {time.Hour, "b"}}},
		"options, first byte":                {opts: Options{FirstByte: time.Second}, script: script{{2 * time.Second, "a"}}, want: "Request timed out: no answer within 1 s"},
		"request over options":               {opts: Options{FirstByte: time.Second}, req: Request{FirstByte: NoLimit, Idle: 2 * time.Second}, script: script{{time.Hour, ""}, {time.Hour, "a"}, {3 * time.Second, "b"}}, want: "Request timed out: the stream was silent for 2 s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.opts.Transport = c.script
				c.req.URL = "http://x"
				resp, err := New(c.opts).Post(t.Context(), c.req)
				for buf := make([]byte, 1); err == nil; {
					if _, err = resp.Read(buf); err == nil {
						time.Sleep(c.read)
					}
				}
				if resp != nil {
					resp.Close()
				}
				got := ""
				if !errors.Is(err, io.EOF) {
					e := llm.AsError(err)
					got = e.Message
					if e.Kind != llm.ErrTransport {
						t.Errorf("kind %s", e.Kind)
					}
				}
				if got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

func TestStreamError(t *testing.T) {
	s := &Response{secrets: []string{"topsecret123"}}
	e := s.StreamError("Overloaded, topsecret123", "overloaded_error", "Overloaded, retry in 3s topsecret123")
	want := &llm.Error{Kind: llm.ErrTransient, Message: "Overloaded, [redacted]", Code: "overloaded_error", RetryAfter: 3 * time.Second, Body: "Overloaded, retry in 3s [redacted]"}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A protocol may use another method, and find the name of an error in a header.
func TestMethodAndExplainHeader(t *testing.T) {
	var method string
	c, url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		method = r.Method
		w.Header().Set("X-Error", "odd")
		w.WriteHeader(http.StatusTeapot)
		io.WriteString(w, r.Header.Get("X-Amz-Security-Token"))
	})
	e := fail(t, c, t.Context(), Request{
		Method: http.MethodGet, URL: url, Header: Headers(map[string]string{"X-Amz-Security-Token": "token-12345"}),
		Explain: func(int, string) (string, string) { return "not asked", "" },
		ExplainHeader: func(status int, h http.Header, body string) (string, string) {
			return h.Get("X-Error") + ": " + body, h.Get("X-Error")
		},
	})
	if method != http.MethodGet || e.Message != "odd: "+Redacted || e.Code != "odd" {
		t.Errorf("%s, %+v", method, e)
	}
}
