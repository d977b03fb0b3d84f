package llmtest

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// Answer is a transport that answers one request in memory. It keeps the request, so
// that tests may look at it.
type Answer struct {
	// Status is 200 when zero.
	Status int
	Header map[string]string
	// Pieces come one a read; then Err (io.EOF when nil) ends the body, or, with
	// Hang, nothing comes until the request is cancelled. HangFirst withholds the
	// headers too.
	Pieces          [][]byte
	Err             error
	Hang, HangFirst bool

	// Request and Body are what was sent.
	Request *http.Request
	Body    []byte

	asked  atomic.Int32
	closed atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (a *Answer) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked.Add(1)
	a.Request = r
	if r.Body != nil {
		a.Body, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	if a.HangFirst {
		<-r.Context().Done()
		a.closed.Store(true) // there is no body
		return nil, r.Context().Err()
	}
	h := http.Header{"Content-Type": {"text/event-stream"}}
	for k, v := range a.Header {
		h.Set(k, v)
	}
	status := a.Status
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{StatusCode: status, Header: h, Request: r, Body: &body{a: a, r: r, pieces: a.Pieces}}, nil
}

// mustBeClosed fails the test when a body was handed out and not closed.
func (a *Answer) mustBeClosed(t testing.TB) {
	t.Helper()
	switch n := a.asked.Load(); {
	case n > 1:
		t.Errorf("%d requests: a provider never retries", n)
	case n == 1 && !a.closed.Load():
		t.Error("the response's body was not closed")
	}
}

// body is the body of an answer.
type body struct {
	a      *Answer
	r      *http.Request
	pieces [][]byte
	rest   []byte
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.r.Context().Err(); err != nil {
		return 0, err
	}
	for len(b.rest) == 0 {
		if len(b.pieces) == 0 {
			if b.a.Hang {
				<-b.r.Context().Done()
				return 0, b.r.Context().Err()
			}
			if b.a.Err != nil {
				return 0, b.a.Err
			}
			return 0, io.EOF
		}
		b.rest, b.pieces = b.pieces[0], b.pieces[1:]
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *body) Close() error { b.a.closed.Store(true); return nil }

// bytewise returns a body as pieces of one byte.
func bytewise(body []byte) [][]byte {
	out := make([][]byte, len(body))
	for i := range body {
		out[i] = body[i : i+1]
	}
	return out
}

// events splits a body behind the blank line of each of its events.
func events(body []byte) []string {
	s := strings.ReplaceAll(string(body), "\r\n", "\n")
	out := strings.SplitAfter(s, "\n\n")
	if last := len(out) - 1; strings.TrimSpace(out[last]) == "" {
		out = out[:last]
	}
	return out
}
