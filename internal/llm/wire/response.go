package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Response is the answer to a request while it streams. Read fails with io.EOF at
// the end and otherwise with an *llm.Error. It is used by one goroutine.
type Response struct {
	Status int
	Header http.Header

	ctx     context.Context // the caller's
	inner   context.Context // ends with ctx, a limit, or Close
	cancel  context.CancelCauseFunc
	body    io.ReadCloser
	begun   time.Time
	limit   time.Duration // for the next byte
	idle    time.Duration
	aborted string
	secrets []string
	started bool // a byte of the body was read
	ended   bool // the body's end was read
}

// timeout is the cause of a request that a limit ended.
type timeout struct {
	limit time.Duration
	first bool
}

func (t *timeout) Error() string {
	if t.first {
		return fmt.Sprintf("%s: no answer within %s", TextTimeout, seconds(t.limit))
	}
	return fmt.Sprintf("%s: the stream was silent for %s", TextTimeout, seconds(t.limit))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }

// watch ends the request after d unless the returned function is called before.
func (s *Response) watch(d time.Duration) (stop func()) {
	if d < 0 {
		return func() {}
	}
	cause := &timeout{limit: s.limit, first: !s.started}
	t := time.AfterFunc(d, func() { s.cancel(cause) })
	return func() { t.Stop() }
}

// left is what remains of the limit for the next byte: before the first one it runs
// from the request on, after it from the moment somebody wants to read, so that a
// slow reader is not taken for a silent provider.
func (s *Response) left() time.Duration {
	if s.started || s.limit < 0 {
		return s.limit
	}
	return max(0, s.limit-time.Since(s.begun))
}

// Read reads the body.
func (s *Response) Read(p []byte) (int, error) {
	stop := s.watch(s.left())
	n, err := s.body.Read(p)
	stop()
	if n > 0 && !s.started {
		s.started, s.limit = true, s.idle
	}
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF):
		s.ended = true
		return n, io.EOF
	}
	return n, s.readError(err)
}

// Close ends the request. A body that was not read to its end costs its connection.
func (s *Response) Close() error {
	s.cancel(context.Canceled)
	if s.body == nil {
		return nil
	}
	return s.body.Close()
}

// What Finish does at most so that a connection can be used again.
const (
	drainTime  = 50 * time.Millisecond
	drainBytes = 64 << 10
)

// Finish closes the response after the protocol's last event. The few bytes that end
// the body are read when they come at once: a new connection costs more than the wait.
func (s *Response) Finish() {
	if !s.ended {
		t := time.AfterFunc(drainTime, func() { s.cancel(context.Canceled) })
		//nolint:errcheck // whatever went wrong, the answer is complete
		io.Copy(io.Discard, io.LimitReader(s.body, drainBytes))
		t.Stop()
	}
	s.Close()
}
