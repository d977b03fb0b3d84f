package llm

import (
	"errors"
	"time"
)

// ErrorKind classes a failure of a model call for retry and for messages.
type ErrorKind string

// The kinds of failure. Only Transient, RateLimit and Transport are retried.
const (
	ErrTransient  ErrorKind = "transient"   // overload, 5xx
	ErrRateLimit  ErrorKind = "rate_limit"  // too many requests, will pass
	ErrQuota      ErrorKind = "quota"       // billing or usage cap, will not pass by itself
	ErrAuth       ErrorKind = "auth"        // key missing, wrong or without rights
	ErrOverflow   ErrorKind = "overflow"    // the context does not fit
	ErrBadRequest ErrorKind = "bad_request" // the request itself is at fault
	ErrTransport  ErrorKind = "transport"   // connection, timeout, cut or malformed stream
	ErrRefusal    ErrorKind = "refusal"     // the model or a filter refused
	ErrAborted    ErrorKind = "aborted"     // cancelled by the client
	ErrUnknown    ErrorKind = "unknown"
)

// Error is a failed model call. Message is what clients see (errorMessage).
// Status is the HTTP status or 0; RetryAfter is what the server asked for or 0;
// Body is the raw error body, cut to 4,000 characters.
type Error struct {
	Kind       ErrorKind
	Message    string
	Status     int
	Code       string
	RetryAfter time.Duration
	Body       string
	Err        error
}

// Error returns the message that clients see.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// AsError returns err as an *Error, wrapping it with kind ErrUnknown when it is
// none. It returns nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: ErrUnknown, Message: err.Error(), Err: err}
}
