package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Texts about the browser's answer. Some stand on the page that the browser shows.
const (
	errState    = "OAuth state mismatch"
	errNoCode   = "Missing authorization code"
	errDenied   = "%s: authorization failed: %s"
	pageUnknown = "There is nothing at this address."
	pageState   = "This answer belongs to another login."
	pageTwice   = "This login has been completed already."
	pageNoCode  = "The answer holds no authorization code."
	pageDenied  = "The login was not allowed: %s"
	pageDone    = "Signed in to %s. You can close this page."
)

// callback waits for the browser to come back with a code. It answers one login and is
// closed by whoever made it.
type callback struct {
	redirect string // what the provider is told
	who      string
	path     string
	state    string // "" when the provider sends none: then path is secret

	server  *http.Server
	serving sync.WaitGroup
	answers chan answer

	mu   sync.Mutex
	done bool
}

// answer is what came back: the parameters of the redirect.
type answer struct {
	query url.Values
	err   error
}

// listen starts to wait on host for redirects to redirect, whose port is used; 0 is any
// free one.
func listen(who, host, redirect, state string) (*callback, error) {
	u, err := url.Parse(redirect)
	if err != nil {
		return nil, fmt.Errorf("%s: %q is no usable address", who, redirect)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, u.Port()))
	if err != nil {
		return nil, fmt.Errorf("%s: waiting for the browser: %w", who, err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("%s: waiting for the browser: %w", who, err)
	}
	u.Host = net.JoinHostPort(u.Hostname(), port)
	cb := &callback{redirect: u.String(), who: who, path: u.Path, state: state, answers: make(chan answer, 1)}
	cb.server = &http.Server{Handler: cb, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	cb.serving.Go(func() { cb.server.Serve(l) }) // ends with Close
	return cb, nil
}

// close stops waiting. Spare connections of the browser are closed too: it would use
// one for a later login on this port, which this server could not answer.
func (cb *callback) close() {
	if cb == nil {
		return
	}
	cb.server.Close()
	cb.serving.Wait()
}

// ServeHTTP takes the browser's answer. What does not belong to this login changes
// nothing.
func (cb *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case r.Method != http.MethodGet || r.URL.Path != cb.path:
		page(w, http.StatusNotFound, pageUnknown)
		return
	case cb.state != "" && subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(cb.state)) != 1:
		page(w, http.StatusBadRequest, pageState)
		return
	case q.Get("code") == "" && q.Get("error") == "":
		page(w, http.StatusBadRequest, pageNoCode)
		return
	case !cb.claim():
		page(w, http.StatusConflict, pageTwice)
		return
	}
	if denied := cb.denied(q); denied != nil {
		page(w, http.StatusBadRequest, fmt.Sprintf(pageDenied, first(q.Get("error_description"), q.Get("error"))))
		cb.answers <- answer{err: denied}
		return
	}
	page(w, http.StatusOK, fmt.Sprintf(pageDone, cb.who))
	cb.answers <- answer{query: q}
}

func (cb *callback) claim() bool {
	cb.mu.Lock()
	defer cb.mu.Unlock()
	was := cb.done
	cb.done = true
	return !was
}

func (cb *callback) denied(q url.Values) error { return denied(cb.who, q) }

func denied(who string, q url.Values) error {
	if q.Get("error") == "" {
		return nil
	}
	return fmt.Errorf(errDenied, who, reply{}.clean(first(q.Get("error_description"), q.Get("error"))))
}

// page sends a whole page before it returns: the server may be closed right after.
func page(w http.ResponseWriter, status int, text string) {
	body := "<!doctype html><meta charset=utf-8><title>Isotope</title><body style=\"font:1.1em system-ui;margin:4em\"><p>" + html.EscapeString(text) + "\n"
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	h.Set("Referrer-Policy", "no-referrer") // the address holds the code
	w.WriteHeader(status)
	io.WriteString(w, body)
	http.NewResponseController(w).Flush()
}

// await returns the parameters of the redirect: from the browser, or from what the
// person pasted, whichever comes first. Without a callback only the person is asked.
func await(ctx context.Context, ui UI, cb *callback, who, state string, prompt Prompt) (url.Values, error) {
	asking, withdraw := context.WithCancel(ctx)
	typed := make(chan answer, 1)
	var asked sync.WaitGroup
	asked.Go(func() {
		text, err := ui.Ask(asking, Question{Method: MethodCode, Prompt: prompt})
		if err != nil {
			typed <- answer{err: err}
			return
		}
		q, err := pasted(who, text, state)
		typed <- answer{query: q, err: err}
	})
	defer asked.Wait()
	defer withdraw()
	var browser chan answer
	if cb != nil {
		browser = cb.answers
	}
	select {
	case a := <-browser:
		return a.query, a.err
	case a := <-typed:
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return a.query, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pasted reads what a person pasted: the whole address, "code#state", parameters, or
// the code alone. A state of another login is refused.
func pasted(who, text, state string) (url.Values, error) {
	text = strings.TrimSpace(text)
	q := url.Values{}
	switch u, err := url.Parse(text); {
	case text == "":
	case err == nil && u.Scheme != "" && u.Host != "":
		q = u.Query()
	case strings.Contains(text, "code=") || strings.Contains(text, "error="):
		q, err = url.ParseQuery(strings.TrimPrefix(text, "?"))
		if err != nil {
			return nil, errors.New(errNoCode)
		}
	default:
		code, theirs, _ := strings.Cut(text, "#")
		q.Set("code", code)
		if theirs != "" {
			q.Set("state", theirs)
		}
	}
	if theirs := q.Get("state"); theirs != "" && state != "" && theirs != state {
		return nil, errors.New(errState)
	}
	if err := denied(who, q); err != nil {
		return nil, err
	}
	if q.Get("code") == "" {
		return nil, errors.New(errNoCode)
	}
	return q, nil
}
