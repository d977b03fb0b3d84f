// Package anthropic speaks the anthropic-messages protocol: POST /v1/messages with an
// event stream as the answer.
//
// It owns the translation of llm.Request into that protocol's JSON and of its events
// into llm.Event (pi-facts.md section 7, providers.md). It knows no settings, no
// session and no retry. A provider may be used concurrently.
package anthropic

import (
	"context"
	"iter"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// Texts that clients see. The first ones are the reference's, which clients match
// (pi-facts.md section 2).
const (
	TextNoStop     = "Anthropic stream ended before message_stop"
	TextNoReason   = "Anthropic stream ended without a stop reason"
	TextAborted    = "This operation was aborted"
	TextRefused    = "The model refused to complete the request"
	textStopped    = "Provider stopped with: " // and the stop reason
	textMalformed  = "Could not parse Anthropic SSE event "
	textBadRequest = "building the Anthropic request: "
)

type provider struct{ client *wire.Client }

// New returns the provider of the protocol on a client.
func New(c *wire.Client) llm.Provider { return &provider{c} }

// Stream implements llm.Provider.
func (p *provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		c, err := newCall(req)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		resp, err := p.client.Post(ctx, wire.Request{
			URL: wire.Endpoint(req, path(req.Model.BaseURL)), Header: c.header(), Body: c.body(),
			Explain: explain, Aborted: TextAborted,
		})
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		defer resp.Close()
		s := &stream{ctx: ctx, resp: resp, req: req, level: c.level, prices: c.prices, yield: yield}
		s.run()
	}
}

// explain gives an error status its message, "529 {…}": the body as it came.
func explain(status int, body string) (message, code string) {
	var e struct {
		Error struct {
			Type jsonx.Raw `json:"type"`
			Code jsonx.Raw `json:"code"`
		} `json:"error"`
	}
	if jsonx.Unmarshal([]byte(body), &e) == nil {
		code = plain(e.Error.Type)
		if c := plain(e.Error.Code); c != "" {
			code = c
		}
	}
	return wire.StatusText(status, body), code
}

// plain returns the text of a JSON string or number, "" for other values.
func plain(raw jsonx.Raw) string {
	switch raw.Kind() {
	case '"':
		var s string
		if jsonx.Unmarshal(raw, &s) == nil {
			return s
		}
	case '0':
		return string(raw)
	}
	return ""
}
