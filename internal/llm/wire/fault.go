package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/network"
)

// Texts that clients see. Those of the reference are kept where clients match them
// (pi-facts.md section 2, Abort and Retry).
const (
	TextAborted       = "Request aborted"     // cancelled before the answer began
	TextStreamAborted = "Request was aborted" // cancelled in mid-stream
	TextConnection    = "Connection error."   // no connection; the cause follows
	TextTerminated    = "terminated"          // cut in mid-stream; the cause follows
	TextTimeout       = "Request timed out"   // a limit; which one follows
	TextBadURL        = "invalid base URL"    // the URL itself is not shown
	TextMalformed     = "Error reading response: malformed server-sent event JSON."
	textProxy         = "to the proxy: " // what went wrong on the way to it follows
	textReset         = "read ECONNRESET"
	textClosed        = "other side closed (UND_ERR_SOCKET)"
)

// connectError translates what Do returned.
func (s *Response) connectError(err error) *llm.Error {
	if e := s.over(TextAborted); e != nil {
		return e
	}
	err = withoutURL(err)
	var setup *network.SetupError
	if errors.As(err, &setup) {
		return &llm.Error{Kind: llm.ErrBadRequest, Message: setup.Message, Err: err}
	}
	return &llm.Error{Kind: connectKind(err), Message: s.scrub(TextConnection + ": " + cause(err)), Err: err}
}

// connectKind classes a connection that was not made. A certificate that nobody trusts
// and a proxy that refuses are the same a second later; anything else may pass.
func connectKind(err error) llm.ErrorKind {
	var untrusted *tls.CertificateVerificationError
	var proxy *network.ProxyError
	switch {
	case errors.As(err, &proxy) && proxy.Status == http.StatusProxyAuthRequired:
		return llm.ErrAuth
	case errors.As(err, &untrusted), errors.As(err, &proxy) && proxy.Status < 500 && proxy.Status != http.StatusTooManyRequests:
		return llm.ErrBadRequest
	}
	return llm.ErrTransport
}

// readError translates what reading the body returned.
func (s *Response) readError(err error) *llm.Error {
	text := s.aborted
	if text == "" {
		text = TextStreamAborted
	}
	if e := s.over(text); e != nil {
		return e
	}
	err = withoutURL(err)
	return &llm.Error{Kind: llm.ErrTransport, Message: s.identified(s.scrub(TextTerminated + ": " + cause(err))), Err: err}
}

// over returns the error of a request that its caller or a limit ended, else nil.
func (s *Response) over(aborted string) *llm.Error {
	if s.ctx.Err() != nil {
		return Aborted(s.ctx, aborted)
	}
	var t *timeout
	if errors.As(context.Cause(s.inner), &t) {
		return &llm.Error{Kind: llm.ErrTransport, Message: s.identified(t.Error()), Err: t}
	}
	return nil
}

// Aborted returns the error of a call whose ctx was cancelled.
func Aborted(ctx context.Context, message string) *llm.Error {
	return &llm.Error{Kind: llm.ErrAborted, Message: message, Err: context.Cause(ctx)}
}

// Cut returns the error of a stream that ended too early; message is the protocol's.
func Cut(message string) *llm.Error {
	return &llm.Error{Kind: llm.ErrTransport, Message: message, Err: io.ErrUnexpectedEOF}
}

// Malformed returns the error of a stream event that is no JSON. It is not retried:
// what the reference does, and a gateway that garbles an answer garbles it again.
func Malformed(message string, err error) *llm.Error {
	return &llm.Error{Kind: llm.ErrUnknown, Message: message, Err: err}
}

// withoutURL returns the error inside a *url.Error: base URLs may hold credentials.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// cause words a network failure, with the names of the system's errors that clients
// look for.
func cause(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "proxyconnect" {
		return textProxy + cause(op.Err)
	}
	at := ""
	if op != nil && op.Addr != nil {
		at = " " + op.Addr.String()
	}
	text := strings.ToLower(err.Error())
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	switch {
	case errors.As(err, &dns) && dns.IsTemporary:
		return "getaddrinfo EAI_AGAIN " + dns.Name
	case errors.As(err, &dns):
		return "getaddrinfo ENOTFOUND " + dns.Name
	case errors.Is(err, syscall.ECONNREFUSED), has("connection refused", "actively refused"):
		return "connect ECONNREFUSED" + at
	case errors.Is(err, syscall.ECONNRESET), has("connection reset", "forcibly closed"):
		return textReset
	case errors.Is(err, syscall.EPIPE), has("broken pipe"):
		return "write EPIPE"
	case errors.Is(err, syscall.ETIMEDOUT):
		return "connect ETIMEDOUT" + at
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), has("server closed", "use of closed network connection"):
		return textClosed
	}
	return err.Error()
}
