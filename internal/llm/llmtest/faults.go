package llmtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// pieces plays a body that arrives in pieces: the outcome is the same.
func (p Protocol) pieces(t *testing.T, body []byte, want string) {
	same := func(how string, pieces ...[]byte) {
		t.Helper()
		if diff := cmp.Diff(want, p.Play(t, pieces...).Text(t)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", how, diff)
		}
	}
	for i := 0; i < len(body); i += step(1) {
		same(fmt.Sprintf("cut in two at byte %d", i), body[:i], body[i:])
	}
	same("byte by byte", bytewise(body)...)
	if p.Framing != nil {
		return
	}
	crlf := bytes.ReplaceAll(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	same("with CRLF", crlf)
	same("with CR, byte by byte", bytewise(bytes.ReplaceAll(crlf, []byte("\r\n"), []byte("\r")))...)
}

// step is the distance of cuts: the race detector has no use for every byte.
func step(n int) int {
	if Race {
		return 13 * n
	}
	return n
}

// cut plays bodies that end too early, at every byte by an end of the body and at every
// seventh by a reset. What came before the cut must be a part of the whole
// answer, and an answer that was cut is an error that is retried.
func (p Protocol) cut(t *testing.T, body []byte, want string) {
	whole := p.Play(t, body)
	reset := errors.New("read tcp 1.2.3.4:5->6.7.8.9:443: read: connection reset by peer")
	for fault, every := range map[error]int{nil: step(1), reset: step(7)} {
		for i := 0; i < len(body); i += every {
			r := p.Stream(t, &Answer{Pieces: [][]byte{body[:i]}, Err: fault}, nil)
			at := fmt.Sprintf("cut at byte %d of %d (%v): …%q", i, len(body), fault, tail(body[:i]))
			if !isPart(r.Message.Content, whole.Message.Content) {
				t.Fatalf("%s: the content is no part of the whole\n%s", at, r.Text(t))
			}
			switch {
			case r.Err == nil:
				if got := r.Text(t); len(whole.Message.Content) != len(r.Message.Content) {
					t.Fatalf("%s: taken for complete\n%s", at, got)
				}
			case whole.Err != nil: // the error of the whole may come first
			case r.Err.Kind != llm.ErrTransport:
				t.Fatalf("%s: kind %s (%s), want %s", at, r.Err.Kind, r.Err.Message, llm.ErrTransport)
			case fault != nil && !strings.HasPrefix(r.Err.Message, wire.TextTerminated):
				t.Fatalf("%s: message %q", at, r.Err.Message)
			}
		}
	}
}

// isPart reports whether a's blocks are those of b, each as far as it had come.
func isPart(a, b llm.Content) bool {
	if len(a) > len(b) {
		return false
	}
	for i := range a {
		switch x := a[i].(type) {
		case *llm.Text:
			y, ok := b[i].(*llm.Text)
			if !ok || !strings.HasPrefix(y.Text, x.Text) {
				return false
			}
		case *llm.Thinking:
			y, ok := b[i].(*llm.Thinking)
			if !ok || !strings.HasPrefix(y.Thinking, strings.TrimRight(x.Thinking, "\n")) {
				return false
			}
		case *llm.ToolCall:
			if _, ok := b[i].(*llm.ToolCall); !ok {
				return false
			}
		}
	}
	return true
}

func tail(b []byte) []byte { return b[max(0, len(b)-60):] }

// damaged plays bodies with one event left out, doubled, moved to the front, or
// replaced by what no provider sends. Any outcome will do that keeps the contract.
func (p Protocol) damaged(t *testing.T, body []byte) {
	parts := p.events(body)
	for i, part := range parts {
		before, after := strings.Join(parts[:i], ""), strings.Join(parts[i+1:], "")
		damage := map[string]string{
			"left out":  before + after,
			"doubled":   before + part + part + after,
			"in front":  part + before + after,
			"a bit off": before + flipped(part) + after,
		}
		if p.Framing == nil {
			damaged(damage, before, part, after)
		}
		for how, s := range damage {
			soon(t, how, func() { p.Play(t, []byte(s)) })
			if t.Failed() {
				t.Fatalf("event %d %s", i, how)
			}
		}
	}
}

// damaged adds what may be wrong with an event of text.
func damaged(into map[string]string, before, part, after string) {
	for how, s := range map[string]string{
		"no JSON":      "data: {\"x\n\n",
		"null":         "data: null\n\n",
		"array":        "data: [1]\n\n",
		"string":       "data: \"x\"\n\n",
		"wrong types":  strings.NewReplacer(`":"`, `":["`, `":{`, `":1,"x":{`).Replace(part),
		"nulls":        nulled(part),
		"empty object": "data: {}\n\n",
		"unknown name": "event: odd\ndata: {\"type\":\"odd\"}\n\n" + part,
		"comment":      ": keep-alive\n\n" + part,
	} {
		into[how] = before + s + after
	}
}

// flipped changes one bit in the middle of an event.
func flipped(event string) string {
	b := []byte(event)
	if len(b) > 0 {
		b[len(b)/2] ^= 1
	}
	return string(b)
}

// nulled replaces the numbers and strings of an event by null.
func nulled(event string) string {
	var b strings.Builder
	for line := range strings.Lines(event) {
		if rest, ok := strings.CutPrefix(line, "data:"); ok {
			key := ""
			for i, field := range strings.SplitAfter(rest, ",") {
				if k, v, ok := strings.Cut(field, ":"); ok && i > 0 && !strings.ContainsAny(v, "{}[]") {
					field = k + ":null,"
				}
				key += field
			}
			line = "data:" + key
		}
		b.WriteString(line)
	}
	return b.String()
}

// cancel cancels at every stage and breaks the loop: nothing is left behind.
func (p Protocol) cancel(t *testing.T, body []byte) {
	leak := goleak.IgnoreCurrent()
	defer goleak.VerifyNone(t, leak)
	abort := func(what string, a *Answer, ctx context.Context) {
		t.Helper()
		soon(t, what, func() {
			if r := p.collect(t, ctx, a, nil); r.Err == nil || r.Err.Kind != llm.ErrAborted || r.Message.StopReason != llm.StopAborted {
				t.Errorf("%s: %v, want kind %s", what, r.Err, llm.ErrAborted)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	abort("cancelled before the start", &Answer{Pieces: [][]byte{body}}, ctx)

	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(2*time.Millisecond, cancel)
	abort("cancelled before the headers", &Answer{HangFirst: true}, ctx)

	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(2*time.Millisecond, cancel)
	abort("cancelled before the first byte", &Answer{Hang: true}, ctx)

	parts := p.events(body)
	for i := 1; i < len(parts); i++ {
		half := []byte(strings.Join(parts[:i], ""))
		if r := p.Play(t, half); r.Err == nil || r.Err.Kind != llm.ErrTransport {
			continue // complete, or failed on its own account
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(2*time.Millisecond, cancel)
		abort(fmt.Sprintf("cancelled after event %d", i), &Answer{Pieces: [][]byte{half}, Hang: true}, ctx)
	}
	p.breakOff(t, body)
}

// Abort returns the result of a stream that is cancelled after sent has come, and
// before the headers when sent is nil.
func Abort(t testing.TB, p Protocol, sent []byte) Result {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	time.AfterFunc(20*time.Millisecond, cancel)
	return p.collect(t, ctx, &Answer{Pieces: [][]byte{sent}, Hang: true, HangFirst: sent == nil}, nil)
}

// breakOff leaves the loop after each number of events.
func (p Protocol) breakOff(t *testing.T, body []byte) {
	total := len(p.Play(t, body).Events)
	for stop := 1; stop <= total; stop++ {
		a := &Answer{Pieces: bytewise(body), Hang: true}
		n := 0
		soon(t, "leaving the loop", func() {
			for range p.New(wire.New(wire.Options{Transport: a})).Stream(t.Context(), p.Request()) {
				if n++; n == stop {
					break
				}
			}
		})
		a.mustBeClosed(t)
	}
}

// statuses plays error statuses: among them those that were not tried again (field report
// 100) and a cap that was, in vain (field report 101).
func (p Protocol) statuses(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   llm.ErrorKind
	}{
		"overloaded":  {529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.ErrTransient},
		"rate limit":  {429, map[string]string{"Retry-After": "7"}, `{"error":{"type":"rate_limit_error","message":"Rate limited"}}`, llm.ErrRateLimit},
		"quota":       {429, nil, `{"error":{"message":"quota","code":"insufficient_quota"}}`, llm.ErrQuota},
		"usage cap":   {429, nil, `{"error":{"code":"1308","message":"Usage limit reached for 5 hour."}}`, llm.ErrQuota},
		"gateway":     {520, nil, "error code: 520", llm.ErrTransient},
		"too late":    {524, nil, "error code: 524", llm.ErrTransient},
		"overflow":    {400, nil, `{"error":{"message":"prompt is too long: 9 tokens > 5 maximum","type":"invalid_request_error","code":"context_length_exceeded"}}`, llm.ErrOverflow},
		"auth":        {401, nil, `{"error":{"message":"invalid key ` + apiKey + `","type":"authentication_error"}}`, llm.ErrAuth},
		"bad request": {400, nil, `{"error":{"message":"no","type":"invalid_request_error","code":null}}`, llm.ErrBadRequest},
		"not found":   {404, nil, `{"error":"model not found"}`, llm.ErrBadRequest},
		"plain text":  {400, nil, "plain text body", llm.ErrBadRequest},
		"html":        {502, nil, "<html><b>x</b></html>", llm.ErrTransient},
		"no body":     {503, nil, "", llm.ErrTransient},
		"array":       {500, nil, `[{"error":{"message":"x"}}]`, llm.ErrTransient},
		"null":        {500, nil, `null`, llm.ErrTransient},
		"mistyped":    {500, nil, `{"error":{"message":5,"type":[],"code":{}}}`, llm.ErrTransient},
		"cut":         {500, nil, `{"error":{"mess`, llm.ErrTransient},
		"elsewhere":   {302, map[string]string{"Location": "http://elsewhere.invalid/"}, "", llm.ErrBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.Stream(t, &Answer{Status: c.status, Header: c.header, Pieces: [][]byte{[]byte(c.body)}}, nil)
			if r.Err == nil {
				t.Fatal("no error")
			}
			if r.Err.Kind != c.want || r.Err.Status != c.status || !strings.Contains(r.Err.Message, fmt.Sprint(c.status)) {
				t.Errorf("kind %s, status %d, message %q; want kind %s", r.Err.Kind, r.Err.Status, r.Err.Message, c.want)
			}
			if want := c.header["Retry-After"]; want != "" && fmt.Sprintf("%ds", 7) != r.Err.RetryAfter.String() {
				t.Errorf("retry after %v, want %s s", r.Err.RetryAfter, want)
			}
			if len(r.Message.Content) > 0 || r.Message.StopReason != llm.StopError {
				t.Errorf("message %+v", r.Message)
			}
			named := map[string]string{"X-Request-Id": "id-of-429-500"}
			maps.Copy(named, c.header)
			again := p.Stream(t, &Answer{Status: c.status, Header: named, Pieces: [][]byte{[]byte(c.body)}}, nil)
			want := *r.Err
			want.Message += " (x-request-id: id-of-429-500)"
			if diff := cmp.Diff(&want, again.Err); diff != "" {
				t.Errorf("with a request id (-want +got):\n%s", diff)
			}
		})
	}
}

// noStream plays answers of status 200 that are no stream of this protocol: they count
// as cut, so they are retried.
func (p Protocol) noStream(t *testing.T) {
	for name, s := range map[string]string{
		"empty": "", "html": "<html><body>gateway page</body></html>", "blank lines": "\n\n\n\n",
		"comments": ": PROCESSING\n\n: PROCESSING\n\n", "unknown events": "event: foo\ndata: {\"type\":\"foo\"}\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := p.Play(t, []byte(s))
			if r.Err == nil || r.Err.Kind != llm.ErrTransport {
				t.Errorf("%v, want an error of kind %s", r.Err, llm.ErrTransport)
			}
		})
	}
}

// sockets plays the fixtures over real connections, in chunks.
func (p Protocol) sockets(t *testing.T, files []string) {
	leak := goleak.IgnoreCurrent()
	defer goleak.VerifyNone(t, leak)
	for _, file := range files {
		body := p.body(t, file)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for chunk := range bytes.Lines(body) {
				w.Write(chunk)
				w.(http.Flusher).Flush()
			}
		}))
		client := wire.New(wire.Options{})
		req := p.Request()
		req.Model.BaseURL = srv.URL
		b := llm.NewBuilder(req.Model, llm.ThinkingOff, 1)
		var failed error
		for e, err := range p.New(client).Stream(t.Context(), req) {
			if failed = err; err == nil {
				b.Add(e)
			}
		}
		got := Result{Message: b.Finish(llm.AsError(failed), 0), Err: llm.AsError(failed)}
		if diff := cmp.Diff(p.Play(t, body).Text(t), got.Text(t)); diff != "" {
			t.Errorf("%s (-in memory +over a socket):\n%s", file, diff)
		}
		client.CloseIdle()
		srv.Close()
	}
}
