// Package openai speaks OpenAI Chat Completions (api "openai-completions"), the
// protocol of most servers that are not OpenAI's, in all the dialects that compat
// flags describe (models.json) or a base URL suggests.
//
// It owns the request body, the reading of chunks, and the error texts of this
// protocol (pi-facts.md sections 2 and 7). It knows no retry, no session and no key
// store. A Provider may be used concurrently; one stream is read by one goroutine.
package openai

import (
	"context"
	"iter"
	"strings"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Provider implements llm.Provider for models whose API is openai-completions.
type Provider struct{ client *wire.Client }

var _ llm.Provider = (*Provider)(nil)

// New returns a provider that sends its requests with c.
func New(c *wire.Client) llm.Provider { return &Provider{client: c} }

// Stream implements llm.Provider. The first event, EventMeta, comes with the headers
// of the answer; blocks end only when the whole answer does.
func (p *Provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		resp, c, err := p.post(ctx, req)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		defer resp.Close()
		s := newStream(resp, req.Model, c.finishReason, yield)
		s.run()
	}
}

func (p *Provider) post(ctx context.Context, req *llm.Request) (*wire.Response, *compat, error) {
	c, err := compatOf(req.Model)
	if err != nil {
		return nil, nil, badRequest(err)
	}
	if req, err = placed(req); err != nil {
		return nil, nil, err
	}
	h, missing := headers(req, c)
	if missing != nil {
		return nil, nil, missing
	}
	b, err := body(req, c)
	if err != nil {
		return nil, nil, badRequest(err)
	}
	resp, err := p.client.Post(ctx, wire.Request{URL: wire.Endpoint(req, path), Header: h, Body: b, Explain: explain})
	return resp, c, err
}

// placed returns the request as it is sent: on Azure a model has the address of the user's
// resource, and the name of its deployment.
func placed(req *llm.Request) (*llm.Request, error) {
	if req.Model.Provider != "azure" {
		return req, nil
	}
	resource := wire.Azure{Lookup: func(name string) string { return strings.TrimSpace(wire.Getenv(req, name)) }}
	base, err := resource.Base(req.Model)
	if err != nil {
		return nil, err
	}
	sent, m := *req, *req.Model
	m.BaseURL, m.ID = base.String(), resource.Deployment(req.Model)
	sent.Model = &m
	return &sent, nil
}

func badRequest(err error) *llm.Error {
	return &llm.Error{Kind: llm.ErrBadRequest, Message: err.Error(), Err: err}
}
