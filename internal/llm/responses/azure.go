package responses

import (
	"context"
	"iter"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// azureVersion is the version of the API where the environment names none.
const azureVersion = "v1"

// azure implements llm.Provider for models whose API is azure-openai-responses.
type azure struct {
	client *wire.Client
	getenv func(string) string
}

// NewAzure returns the provider of azure-openai-responses on a client. getenv looks up
// a variable of the environment ("" for none): the resource's URL or name, the version
// of the API, the deployments of models. Variables of a request come first.
func NewAzure(c *wire.Client, getenv func(string) string) llm.Provider {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	return &azure{c, getenv}
}

// Stream implements llm.Provider. Azure may send reasoning's encrypted content only at
// the end, whatever its URL.
func (p *azure) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return exchange(ctx, p.client, req, true, func(c *compat) (wire.Request, error) {
		own := map[string]string{"api-key": req.APIKey}
		r := wire.Request{Header: wire.Headers(own, req.Model.Headers, req.Headers), Explain: explainerOf("Azure OpenAI")}
		if r.Header.Get("Api-Key") == "" && r.Header.Get("Authorization") == "" {
			return r, wire.NoKey(req.Model)
		}
		var err error
		if r.URL, err = p.endpoint(req); err != nil {
			return r, err
		}
		r.Body, err = p.body(req, c)
		return r, err
	})
}

// lookup returns a variable of the request's credential, else of the environment.
func (p *azure) lookup(req *llm.Request, name string) string {
	if v, ok := req.Env[name]; ok {
		return strings.TrimSpace(v)
	}
	return strings.TrimSpace(p.getenv(name))
}

// body returns the request's JSON: a deployment in place of the model.
func (p *azure) body(req *llm.Request, c *compat) (*jsonx.Object, error) {
	var o jsonx.Object
	o.Set("model", p.resource(req).Deployment(req.Model))
	o.Set("input", input(req, c, ""))
	o.Set("stream", true)
	setCacheKey(&o, req, c)
	o.Set("store", false)
	setCap(&o, req, c)
	if err := setTools(&o, req, allowed(c.SupportsStrictMode), jsonx.Raw("false")); err != nil {
		return nil, err
	}
	think(&o, req, "")
	return &o, req.Model.Sampling(level(req), &o)
}

// resource finds what the environment says about the request's resource.
func (p *azure) resource(req *llm.Request) wire.Azure {
	return wire.Azure{Lookup: func(name string) string { return p.lookup(req, name) }}
}

// endpoint returns the request's URL.
func (p *azure) endpoint(req *llm.Request) (string, error) {
	u, err := p.resource(req).Base(req.Model)
	if err != nil {
		return "", err
	}
	version := p.lookup(req, "AZURE_OPENAI_API_VERSION")
	if version == "" {
		version = azureVersion
	}
	q := u.Query()
	q.Set("api-version", version)
	u.Path, u.RawQuery = u.Path+path, q.Encode()
	return u.String(), nil
}
