// Package mistral speaks mistral-conversations: POST /v1/chat/completions of Mistral's
// own servers, whose content may be a list of parts and whose tool call ids have nine
// characters.
//
// It owns the request body, the reading of chunks and the error texts of this protocol
// (providers.md). It knows no settings, no session and no retry. A provider may be used
// concurrently; one stream is read by one goroutine.
package mistral

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Texts that clients see; those of the reference are kept where clients match them.
const (
	textNoFinish  = "Mistral stream ended without a finish reason"
	textStopped   = "Provider stopped with: " // and the finish reason
	textServer    = " (server error)"         // behind the finish reason "error"
	textStatus    = "Mistral API error ("     // and the status and the body
	textMalformed = wire.TextMalformed
)

type provider struct{ client *wire.Client }

// New returns the provider of the protocol on a client.
func New(c *wire.Client) llm.Provider { return &provider{c} }

// Stream implements llm.Provider.
func (p *provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		h := headers(req)
		if h.Get("Authorization") == "" {
			yield(llm.Event{}, wire.NoKey(req.Model))
			return
		}
		b, err := body(req)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		resp, err := p.client.Post(ctx, wire.Request{URL: endpoint(req), Header: h, Body: b, Explain: explain})
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		defer resp.Close()
		s := &stream{resp: resp, model: req.Model, Emitter: wire.Emitter{Yield: yield}}
		s.run()
	}
}

// endpoint returns the request's URL; base URLs are given with and without a version.
func endpoint(req *llm.Request) string {
	return strings.TrimSuffix(wire.Endpoint(req, ""), "/v1") + "/v1/chat/completions"
}

// headers returns the request's headers; those of the model and of the request win.
func headers(req *llm.Request) http.Header {
	own := map[string]string{"Accept": "text/event-stream"}
	if req.APIKey != "" {
		own["Authorization"] = "Bearer " + req.APIKey
	}
	if req.SessionID != "" && !req.NoCache {
		own["x-affinity"] = req.SessionID
	}
	return wire.Headers(own, req.Model.Headers, req.Headers)
}

// apiError is an error in any of the shapes that the servers use: {"detail":…},
// {"object":"error","message":…}, {"error":{…}}.
type apiError struct {
	Object  jsonx.Raw `json:"object"`
	Message jsonx.Raw `json:"message"`
	Detail  jsonx.Raw `json:"detail"`
	Type    jsonx.Raw `json:"type"`
	Code    jsonx.Raw `json:"code"`
	Error   jsonx.Raw `json:"error"`
}

// innermost returns the error that holds the words.
func (e apiError) innermost() apiError {
	var inner apiError
	if e.Error.Kind() == '{' && jsonx.Unmarshal(e.Error, &inner) == nil {
		return inner
	}
	return e
}

func (e apiError) code() string {
	for _, raw := range []jsonx.Raw{e.Code, e.Type} {
		if s := plain(raw); s != "" {
			return s
		}
	}
	return ""
}

// text returns what the error says.
func (e apiError) text() string {
	for _, raw := range []jsonx.Raw{e.Message, e.Detail, e.Error} {
		if s := plain(raw); s != "" {
			return s
		}
	}
	return ""
}

// plain returns a string without its quotes, another value as its JSON, null as "".
func plain(raw jsonx.Raw) string {
	if !present(raw) {
		return ""
	}
	if raw[0] == '"' {
		return text(raw)
	}
	return string(raw)
}

// explain words an error status as the reference does.
func explain(status int, body string) (message, code string) {
	var e apiError
	if jsonx.Unmarshal([]byte(body), &e) == nil {
		code = e.innermost().code()
	}
	shown := wire.Truncate(body)
	if body == "" {
		shown = wire.StatusText(status, "")
	}
	return textStatus + strconv.Itoa(status) + "): " + shown, code
}
