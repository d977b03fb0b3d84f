package ext

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/isotope-agent/isotope/internal/ext/js"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// modelOps are what extensions ask of the catalogue.
func (x *Extensions) modelOps() map[string]js.SyncOp {
	return map[string]js.SyncOp{
		"models.find": op(func(_ string, a struct {
			Provider string `json:"provider"`
			ID       string `json:"id"`
		},
		) (any, error) {
			if m := x.model(a.Provider, a.ID); m != nil {
				return m, nil
			}
			return nil, nil
		}),
		"models.all":       func(string, jsonx.Raw) (any, error) { return modelList(x.host.Load().Models), nil },
		"models.available": func(string, jsonx.Raw) (any, error) { return modelList(x.host.Load().Available), nil },
		"models.configured": op(func(_ string, a struct {
			Provider string `json:"provider"`
		},
		) (any, error) {
			for _, m := range modelList(x.host.Load().Available) {
				if m.Provider == a.Provider {
					return true, nil
				}
			}
			return false, nil
		}),
	}
}

func modelList(f func() []*llm.Model) []*llm.Model {
	if f == nil {
		return []*llm.Model{}
	}
	return f()
}

func (x *Extensions) model(provider, id string) *llm.Model {
	for _, m := range modelList(x.host.Load().Models) {
		if m.ID == id && m.Provider == provider {
			return m
		}
	}
	return nil
}

func (x *Extensions) credentials(ctx context.Context, a struct {
	Provider string `json:"provider"`
},
) (any, error) {
	h := x.host.Load()
	if h.Credential == nil {
		return nil, errNoHost
	}
	return h.Credential(ctx, a.Provider)
}

// aiStream sends one request of an extension and tells the answer's steps.
func (x *Extensions) aiStream(ctx context.Context, _ string, args jsonx.Raw, emit func(any)) (any, error) {
	h := x.host.Load()
	if h.Stream == nil {
		return nil, errNoHost
	}
	req, err := x.request(args)
	if err != nil {
		return nil, err
	}
	b := llm.NewBuilder(req.Model, req.Thinking, x.cfg.Now().UnixMilli())
	started := x.cfg.Now()
	emit(map[string]any{"type": "start", "partial": b.Pending()})
	var failure *llm.Error
	for ev, err := range h.Stream(ctx, req) {
		if err != nil {
			if !errors.As(err, &failure) {
				failure = &llm.Error{Message: err.Error()}
			}
			break
		}
		b.Add(ev)
		if u := streamStep(ev, b); u != nil {
			emit(u)
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return b.Finish(failure, x.cfg.Now().Sub(started).Milliseconds()), nil
}

// streamStep is a step as the model library's streams have it; nil for what they do not
// show.
func streamStep(ev llm.Event, b *llm.Builder) any {
	name := map[llm.EventKind]string{
		llm.EventTextStart: "text_start", llm.EventTextDelta: "text_delta", llm.EventTextEnd: "text_end",
		llm.EventThinkingStart: "thinking_start", llm.EventThinkingDelta: "thinking_delta", llm.EventThinkingEnd: "thinking_end",
		llm.EventToolCallStart: "toolcall_start", llm.EventToolCallDelta: "toolcall_delta", llm.EventToolCallEnd: "toolcall_end",
	}[ev.Kind]
	if name == "" {
		return nil
	}
	out := map[string]any{"type": name, "contentIndex": ev.Index}
	switch ev.Kind {
	case llm.EventTextDelta, llm.EventThinkingDelta, llm.EventToolCallDelta:
		out["delta"] = ev.Delta
	case llm.EventToolCallEnd:
		out["toolCall"] = b.Block(ev.Index)
	case llm.EventTextEnd, llm.EventThinkingEnd:
		switch bl := b.Block(ev.Index).(type) {
		case *llm.Text:
			out["content"] = bl.Text
		case *llm.Thinking:
			out["content"] = bl.Thinking
		}
	}
	return out
}

// request reads {model, context, options} as extensions write them. The model is the
// catalogue's where it knows it; else it is taken as it is.
func (x *Extensions) request(args jsonx.Raw) (*llm.Request, error) {
	var a struct {
		Model   *llm.Model `json:"model"`
		Context struct {
			System   string         `json:"systemPrompt"`
			Messages []jsonx.Raw    `json:"messages"`
			Tools    []llm.ToolSpec `json:"tools"`
		} `json:"context"`
		Options struct {
			APIKey    string            `json:"apiKey"`
			Headers   map[string]string `json:"headers"`
			MaxTokens int64             `json:"maxTokens"`
			Reasoning llm.ThinkingLevel `json:"reasoning"`
			Session   string            `json:"sessionId"`
		} `json:"options"`
	}
	if err := jsonx.Unmarshal(args, &a); err != nil {
		return nil, fmt.Errorf("model call: %w", err)
	}
	if a.Model == nil || a.Model.ID == "" {
		return nil, errors.New("model call: model must be a model")
	}
	m := a.Model
	if known := x.model(m.Provider, m.ID); known != nil {
		m = known
	}
	req := &llm.Request{
		Model: m, System: a.Context.System, Tools: a.Context.Tools, Thinking: m.ClampThinking(a.Options.Reasoning),
		MaxTokens: a.Options.MaxTokens, SessionID: a.Options.Session, APIKey: a.Options.APIKey, Headers: a.Options.Headers,
	}
	msgs, err := decodeMessages(a.Context.Messages)
	if err != nil {
		return nil, fmt.Errorf("model call: %w", err)
	}
	for _, msg := range msgs {
		if u, ok := msg.(*llm.UnknownMessage); ok && u.Name == llm.RoleSystem {
			var s struct {
				Content llm.Content `json:"content"`
			}
			if jsonx.Unmarshal(u.Raw, &s) == nil {
				req.System = s.Content.PlainText("\n")
			}
		}
	}
	req.Messages = llm.ForModel(msgs)
	return req, nil
}

// offer hands a provider to the host once the extensions are bound, unless Offer did.
func (g *generation) offer(p *provider) {
	if p.taken {
		return
	}
	if err := g.offerNow(p); err != nil {
		g.x.failed(g.path(p.Ext), "registerProvider", err)
	}
}

// Offer hands the providers that extensions registered while they were loaded to
// register, before anything else is bound: a session may begin with one of their models.
func (x *Extensions) Offer(register func(name string, config jsonx.Raw, stream llm.Provider) error) {
	g := x.current.Load()
	if g == nil {
		return
	}
	for _, p := range g.providerList() {
		err := register(p.Name, p.Config, g.stream(p))
		if p.taken = err == nil; !p.taken {
			x.failed(g.path(p.Ext), "registerProvider", err)
		}
	}
}

// stream returns the provider as one that answers requests; nil when it has none.
func (g *generation) stream(p *provider) llm.Provider {
	if !p.Stream {
		return nil
	}
	return &extProvider{g: g, p: p}
}

func (g *generation) offerNow(p *provider) error {
	h := g.x.host.Load()
	if !g.bound.Load() || h.RegisterProvider == nil {
		return nil
	}
	return h.RegisterProvider(p.Name, p.Config, g.stream(p))
}

func (g *generation) withdraw(name string) error {
	h := g.x.host.Load()
	if !g.bound.Load() || h.RegisterProvider == nil {
		return nil
	}
	return h.RegisterProvider(name, nil, nil)
}

// extProvider is a provider that an extension implements.
type extProvider struct {
	g *generation
	p *provider
}

// streams are the answers of extensions' providers that are under way.
type streams struct {
	mu *sync.Mutex
	m  map[string]func(jsonx.Raw)
}

func newStreams() streams { return streams{mu: &sync.Mutex{}, m: map[string]func(jsonx.Raw){}} }

func (g *generation) streamed(key string, ev jsonx.Raw) {
	g.streams.mu.Lock()
	f := g.streams.m[key]
	g.streams.mu.Unlock()
	if f != nil {
		f(ev)
	}
}

// Stream implements llm.Provider. The extension's steps come in as they are made; they
// are kept until the reader takes them.
func (p *extProvider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		key := p.g.key()
		steps := make(chan jsonx.Raw, 1024)
		p.g.streams.mu.Lock()
		p.g.streams.m[key] = func(ev jsonx.Raw) {
			select {
			case steps <- ev:
			case <-ctx.Done():
			}
		}
		p.g.streams.mu.Unlock()
		defer func() {
			p.g.streams.mu.Lock()
			delete(p.g.streams.m, key)
			p.g.streams.mu.Unlock()
		}()
		final := make(chan error, 1)
		var message jsonx.Raw
		go func() {
			raw, err := p.g.call(ctx, p.p.Ext, "provider", p.args(req, key), func() { p.g.rt.Post("", "abort", key, nil) })
			message = raw
			final <- err
		}()
		t := newTranslator()
		for {
			select {
			case ev := <-steps:
				for _, e := range t.step(ev) {
					if !yield(e, nil) {
						cancel()
						<-final
						return
					}
				}
			case err := <-final:
				for len(steps) > 0 {
					for _, e := range t.step(<-steps) {
						if !yield(e, nil) {
							return
						}
					}
				}
				ev, err := t.end(message, err)
				yield(ev, err)
				return
			}
		}
	}
}

func (p *extProvider) args(req *llm.Request, key string) any {
	opts := map[string]any{"apiKey": req.APIKey, "headers": req.Headers, "sessionId": req.SessionID}
	if req.MaxTokens > 0 {
		opts["maxTokens"] = req.MaxTokens
	}
	if req.Thinking != "" && req.Thinking != "off" {
		opts["reasoning"] = req.Thinking
	}
	return map[string]any{
		"ext": p.p.Ext, "name": p.p.Name, "key": key, "model": req.Model, "options": opts,
		"context": map[string]any{"systemPrompt": req.System, "messages": req.Messages, "tools": req.Tools},
	}
}
