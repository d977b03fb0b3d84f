// Package wire is what the provider protocols over HTTP share: one client, request
// headers, deadlines for the first byte and for silence in mid-stream, and the
// translation of every failure into an *llm.Error.
//
// It knows no protocol: what an error body means is told to it by a function of the
// protocol's. Keys never appear in its errors. A Client may be used concurrently;
// a Response is read by one goroutine.
package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/network"
)

// The limits that a client has when its options say nothing. They differ because
// they mean different things: a local model may read a long prompt for minutes
// before it says anything, whereas a stream that has begun and falls silent is
// usually dead (field report 111).
const (
	DefaultFirstByte = 10 * time.Minute
	DefaultIdle      = 5 * time.Minute
	// NoLimit as a timeout means to wait for ever.
	NoLimit time.Duration = -1
)

// Options configure a Client. The zero value is what a program wants.
type Options struct {
	// UserAgent is sent unless a request sets its own; see UserAgent.
	UserAgent string
	// FirstByte limits the time from the request to the first byte of the answer's
	// body, Idle the silence between two reads after that. 0 means the default,
	// NoLimit none.
	FirstByte, Idle time.Duration
	// Transport carries the requests; nil: a network of the process's environment.
	Transport http.RoundTripper
	// Trace takes what passes on the network as text, without credentials; nil for
	// nothing. It is written to by one goroutine at a time.
	Trace io.Writer
}

// Client sends requests to providers, with the connections of its transport.
type Client struct {
	opts Options
	http func() *http.Client
}

// New returns a client. Nothing is built before the first request.
func New(o Options) *Client {
	o.FirstByte = orDefault(o.FirstByte, DefaultFirstByte)
	o.Idle = orDefault(o.Idle, DefaultIdle)
	return &Client{opts: o, http: sync.OnceValue(func() *http.Client {
		t := o.Transport
		if t == nil {
			t = network.New(network.Options{})
		}
		if o.Trace != nil {
			t = &trace{next: t, now: time.Now, w: o.Trace}
		}
		return &http.Client{Transport: t, CheckRedirect: sameHost}
	})}
}

// UserAgent returns the value of the User-Agent header for a version of the program.
func UserAgent(version string) string {
	return fmt.Sprintf("isotope/%s (%s; %s; %s)", version, runtime.GOOS, runtime.Version(), runtime.GOARCH)
}

// CloseIdle closes the connections that are not in use.
func (c *Client) CloseIdle() { c.http().CloseIdleConnections() }

// maxRedirects is more than any provider uses.
const maxRedirects = 5

// sameHost follows redirects that keep method and host only: keys travel in headers
// that net/http would hand to any host. Others come back as an error status.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0]
	if req.Method != first.Method || req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// Request is one POST, unless Method names another. Body is sent as it is when it is a
// []byte, else as JSON.
type Request struct {
	Method string
	URL    string
	Header http.Header
	Body   any
	// Private says that the bodies are credentials, as those of a token server: no trace
	// shows them.
	Private bool
	// FirstByte and Idle override the client's limits; 0 keeps them.
	FirstByte, Idle time.Duration
	// Explain words an error status the way the protocol's clients know it and
	// returns the provider's code or type for the error. body is trimmed. Nil, or
	// an empty message, gives StatusText.
	Explain func(status int, body string) (message, code string)
	// ExplainHeader takes the place of Explain for a protocol that names errors in a
	// header.
	ExplainHeader func(status int, header http.Header, body string) (message, code string)
	// Aborted is the message of a stream that the caller cancelled after its answer
	// began; "" is TextStreamAborted.
	Aborted string
}

// Post sends a request and returns the answer of a 2xx status, whose body has yet to
// be read: the caller closes it. The error is always an *llm.Error: an error status,
// a connection that failed, a limit that was reached, or kind ErrAborted when ctx was
// cancelled.
func (c *Client) Post(ctx context.Context, r Request) (*Response, error) {
	if err := checkURL(r.URL); err != nil {
		return nil, err
	}
	body, err := encode(r.Body)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: "encoding the request: " + err.Error(), Err: err}
	}
	if r.Private {
		ctx = context.WithValue(ctx, private{}, true)
	}
	inner, cancel := context.WithCancelCause(ctx)
	s := &Response{
		ctx: ctx, inner: inner, cancel: cancel, aborted: r.Aborted,
		limit: orDefault(r.FirstByte, c.opts.FirstByte), idle: orDefault(r.Idle, c.opts.Idle),
	}
	resp, err := c.do(s, r, body)
	if err != nil {
		s.Close()
		return nil, err
	}
	return resp, nil
}

func (c *Client) do(s *Response, r Request, body []byte) (*Response, error) {
	method := r.Method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(s.inner, method, r.URL, bytes.NewReader(body))
	if err != nil {
		err = withoutURL(err)
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: TextBadURL + ": " + err.Error(), Err: err}
	}
	if r.Header != nil {
		req.Header = r.Header.Clone()
	}
	setDefault(req.Header, "Content-Type", "application/json")
	setDefault(req.Header, "Accept", "application/json")
	setDefault(req.Header, "User-Agent", c.opts.UserAgent)
	s.secrets = secrets(req.Header)
	s.begun = time.Now()
	stop := s.watch(s.limit)
	resp, err := c.http().Do(req)
	stop()
	if err != nil {
		return nil, s.connectError(err)
	}
	s.body, s.Status, s.Header = resp.Body, resp.StatusCode, resp.Header
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		explain := r.Explain
		if r.ExplainHeader != nil {
			explain = func(status int, body string) (string, string) { return r.ExplainHeader(status, resp.Header, body) }
		}
		return nil, s.statusError(explain)
	}
	return s, nil
}

func encode(body any) ([]byte, error) {
	switch b := body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return b, nil
	}
	return jsonx.Marshal(body)
}

func orDefault(d, other time.Duration) time.Duration {
	if d == 0 {
		return other
	}
	return d
}

var _ io.ReadCloser = (*Response)(nil)
