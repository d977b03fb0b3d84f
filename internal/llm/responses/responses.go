// Package responses speaks OpenAI Responses (api "openai-responses"): OpenAI itself
// and the servers that offer the same protocol.
//
// It owns the request body, the reading of stream events, and the error texts of this
// protocol (pi-facts.md sections 2 and 7). It knows no retry, no session and no key
// store. Nothing is stored at the provider: reasoning items go back as they came. A
// Provider may be used concurrently; one stream is read by one goroutine.
package responses

import (
	"context"
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
	return func(yield func(llm.Event, error) bool) {
		resp, err := p.post(ctx, req)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		defer resp.Close()
		s := &stream{resp: resp, model: req.Model, yield: yield, lateSignatures: onAzure(req.Model)}
		s.run()
	}
}

func (p *Provider) post(ctx context.Context, req *llm.Request) (*wire.Response, error) {
	c, err := compatOf(req.Model)
	if err != nil {
		return nil, badRequest(err)
	}
	h, missing := headers(req, c)
	if missing != nil {
		return nil, missing
	}
	b, err := body(req, c)
	if err != nil {
		return nil, badRequest(err)
	}
	return p.client.Post(ctx, wire.Request{
		URL: endpoint(req.Model), Header: h, Body: b,
		Explain: explainer(req.Model), Aborted: textNoTerminal,
	})
}

func badRequest(err error) *llm.Error {
	return &llm.Error{Kind: llm.ErrBadRequest, Message: err.Error(), Err: err}
}
