package wire

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// trace is a network that writes down what passes: requests, and answers as they are
// read, each line with the number of its exchange. Credentials are left out: headers and
// parameters by their names, and in bodies every text that was one of them.
type trace struct {
	next http.RoundTripper
	now  func() time.Time

	mu sync.Mutex
	w  io.Writer
	n  int
}

// secretNames are parts of the names of headers and parameters that hold credentials.
var secretNames = []string{"auth", "key", "token", "secret", "cookie", "signature", "credential", "password"}

func isSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(name, part) })
}

// RoundTrip implements http.RoundTripper.
func (t *trace) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	t.n++
	x := &exchangeTrace{t: t, n: t.n}
	t.mu.Unlock()
	x.learn(r)
	begun := t.now()
	x.line(">", fmt.Sprintf("%s %s %s", begun.UTC().Format(time.RFC3339Nano), r.Method, shownURL(r.URL)))
	x.header(">", r.Header)
	hidden := r.Context().Value(private{}) != nil
	if hidden {
		x.line(">", textPrivate)
	} else if r.GetBody != nil {
		if body, err := r.GetBody(); err == nil {
			text, _ := io.ReadAll(body)
			x.line(">", string(text))
		}
	}
	resp, err := t.next.RoundTrip(r)
	took := t.now().Sub(begun).Milliseconds()
	if err != nil {
		x.line("<", fmt.Sprintf("failed after %d ms: %v", took, err))
		return nil, err
	}
	x.line("<", fmt.Sprintf("%s after %d ms", resp.Status, took))
	x.header("<", resp.Header)
	if hidden {
		x.line("<", textPrivate)
		return resp, nil
	}
	resp.Body = &tracedBody{ReadCloser: resp.Body, x: x}
	return resp, nil
}

// CloseIdleConnections closes the connections of the network that are not in use.
func (t *trace) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// shownURL returns a URL without the values of parameters that hold credentials.
func shownURL(u *url.URL) string {
	shown := *u
	shown.User = nil
	q := u.Query()
	for name := range q {
		if isSecret(name) {
			q.Set(name, Redacted)
		}
	}
	if len(q) > 0 {
		shown.RawQuery = q.Encode()
	}
	return shown.String()
}

// private marks the context of a request whose bodies are credentials.
type private struct{}

// textPrivate stands in a trace for a body that is a credential.
const textPrivate = "[a body with credentials]"

// exchangeTrace is one request and its answer.
type exchangeTrace struct {
	t       *trace
	n       int
	secrets []string
}

// learn keeps the credentials of a request.
func (x *exchangeTrace) learn(r *http.Request) {
	for name, values := range r.Header {
		if isSecret(name) {
			x.secrets = addSecrets(x.secrets, values)
		}
	}
	for name, values := range r.URL.Query() {
		for _, v := range values {
			if isSecret(name) && len(v) >= minSecret {
				x.secrets = append(x.secrets, v)
			}
		}
	}
}

func (x *exchangeTrace) header(mark string, h http.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		value := strings.Join(h[name], ", ")
		if isSecret(name) {
			value = Redacted
		}
		x.line(mark, name+": "+value)
	}
}

// line writes one line; a trace that cannot be written is not worth a request.
func (x *exchangeTrace) line(mark, text string) {
	text = redact(text, x.secrets)
	if !utf8.ValidString(text) { // frames of a binary protocol
		text = strconv.Quote(text)
	}
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	_, _ = fmt.Fprintf(x.t.w, "%d%s %s\n", x.n, mark, text)
}

// maxTraced bounds how much of a line is held back.
const maxTraced = 1 << 20

// tracedBody writes the lines of an answer as they are read. A line is written whole, so
// that no secret is missed because it came in two pieces.
type tracedBody struct {
	io.ReadCloser
	x    *exchangeTrace
	open []byte
}

func (b *tracedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.open = append(b.open, p[:n]...)
	for {
		line, rest, found := bytes.Cut(b.open, []byte{'\n'})
		if !found {
			break
		}
		b.x.line("<", strings.TrimSuffix(string(line), "\r"))
		b.open = rest
	}
	if len(b.open) > maxTraced || err != nil && len(b.open) > 0 {
		b.x.line("<", string(b.open))
		b.open = nil
	}
	return n, err
}
