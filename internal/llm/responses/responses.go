// Package responses speaks OpenAI Responses: OpenAI itself and the servers that offer
// the same protocol (api "openai-responses"), Azure (azure-openai-responses) and the
// backend of ChatGPT subscriptions (openai-codex-responses).
//
// It owns the request body, the reading of stream events, and the error texts of this
// protocol (pi-facts.md sections 2 and 7). It knows no retry, no session and no key
// store. Nothing is stored at the provider: reasoning items go back as they came. A
// Provider may be used concurrently; one stream is read by one goroutine.
package responses

import (
	"context"
	"errors"
	"iter"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Provider implements llm.Provider for models whose API is openai-responses.
type Provider struct{ client *wire.Client }

var _ llm.Provider = (*Provider)(nil)

// New returns a provider that sends its requests with c.
func New(c *wire.Client) llm.Provider { return &Provider{client: c} }

// Stream implements llm.Provider. The first event, EventMeta, comes with the headers
// of the answer.
func (p *Provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return exchange(ctx, p.client, req, onAzure(req.Model), func(c *compat) (wire.Request, error) {
		h, missing := headers(req, c)
		if missing != nil {
			return wire.Request{}, missing
		}
		b, err := body(req, c)
		return wire.Request{URL: wire.Endpoint(req, path), Header: h, Body: b, Explain: explainer(req.Model)}, err
	})
}

// exchange sends the request that prepare makes and returns the events of its answer.
// late says that the server may send reasoning's encrypted content only at the end.
func exchange(ctx context.Context, client *wire.Client, req *llm.Request, late bool, prepare func(*compat) (wire.Request, error)) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		c, err := compatOf(req.Model)
		if err != nil {
			yield(llm.Event{}, badRequest(err))
			return
		}
		resp, err := post(ctx, client, c, prepare)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		defer resp.Close()
		s := &stream{resp: resp, model: req.Model, level: c.update(req), Emitter: wire.Emitter{Yield: yield}, lateSignatures: late}
		s.run()
	}
}

// post sends a request; the error is an *llm.Error.
func post(ctx context.Context, client *wire.Client, c *compat, prepare func(*compat) (wire.Request, error)) (*wire.Response, error) {
	r, err := prepare(c)
	var e *llm.Error
	switch {
	case errors.As(err, &e):
		return nil, e
	case err != nil:
		return nil, badRequest(err)
	}
	r.Aborted = textNoTerminal
	return client.Post(ctx, r)
}

func badRequest(err error) *llm.Error {
	return &llm.Error{Kind: llm.ErrBadRequest, Message: err.Error(), Err: err}
}
