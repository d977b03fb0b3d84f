// Package google speaks the two protocols of Gemini models: google-generative-ai (the
// Gemini API) and google-vertex (Vertex AI). Both POST :streamGenerateContent and
// answer with an event stream, or with one JSON array where a proxy drops alt=sse.
//
// It owns the translation of llm.Request into that protocol's JSON and of its chunks
// into llm.Event, and the two kinds of Google credentials that need no helper program
// (providers.md). It knows no settings, no session and no retry. A provider may be used
// concurrently; one stream is read by one goroutine.
package google

import (
	"context"
	"iter"
	"net/http"
	"strings"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Texts that clients see; those of the reference are kept where clients match them.
const (
	textNoReason       = "Google stream ended without a finish reason"
	textNoReasonVertex = "Google Vertex stream ended without a finish reason"
	textStopped        = "Provider stopped with: "       // and the finish reason
	textBlocked        = "Provider blocked the prompt: " // and the block reason
	textStatus         = "got status: "                  // and the status, of an error in mid-stream
	textBadRequest     = "building the Google request: " // and what is wrong
	textMalformed      = wire.TextMalformed
)

type provider struct{ client *wire.Client }

// New returns the provider of google-generative-ai on a client.
func New(c *wire.Client) llm.Provider { return &provider{c} }

// Stream implements llm.Provider.
func (p *provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		h := wire.Headers(map[string]string{"x-goog-api-key": req.APIKey}, req.Model.Headers, req.Headers)
		if !authorized(h) {
			yield(llm.Event{}, wire.NoKey(req.Model))
			return
		}
		exchange(ctx, p.client, req, wire.Request{
			URL: wire.Endpoint(req, "/"+geminiPath(req.Model.ID)+method), Header: h,
		}, textNoReason, yield)
	}
}

// method is what follows the path of a model.
const method = ":streamGenerateContent?alt=sse"

// geminiPath returns a model's path below the base URL.
func geminiPath(id string) string {
	if strings.HasPrefix(id, "models/") || strings.HasPrefix(id, "tunedModels/") {
		return escaped(id)
	}
	return "models/" + escaped(id)
}

// authorized reports whether headers carry a credential.
func authorized(h http.Header) bool {
	for _, name := range []string{"X-Goog-Api-Key", "Authorization", "Cf-Aig-Authorization"} {
		if h.Get(name) != "" {
			return true
		}
	}
	return false
}

// exchange sends a request and yields its answer.
func exchange(ctx context.Context, c *wire.Client, req *llm.Request, r wire.Request, noReason string, yield func(llm.Event, error) bool) error {
	b, err := body(req)
	if err != nil {
		err = &llm.Error{Kind: llm.ErrBadRequest, Message: textBadRequest + err.Error(), Err: err}
		yield(llm.Event{}, err)
		return err
	}
	r.Body, r.Explain = b, explain
	resp, err := c.Post(ctx, r)
	if err != nil {
		yield(llm.Event{}, err)
		return err
	}
	defer resp.Close()
	s := &stream{resp: resp, model: req.Model, noReason: noReason, Emitter: wire.Emitter{Yield: yield}}
	s.run()
	return nil
}
