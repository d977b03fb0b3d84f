package cli

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/anthropic"
	"github.com/isotope-agent/isotope/internal/llm/bedrock"
	"github.com/isotope-agent/isotope/internal/llm/google"
	"github.com/isotope-agent/isotope/internal/llm/mistral"
	"github.com/isotope-agent/isotope/internal/llm/openai"
	"github.com/isotope-agent/isotope/internal/llm/record"
	"github.com/isotope-agent/isotope/internal/llm/responses"
	"github.com/isotope-agent/isotope/internal/llm/scripted"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// providers makes the client for each wire protocol when it is first asked for.
type providers struct {
	client func() *wire.Client
	cwd    string // where relative paths of scripts start

	mu   sync.Mutex
	made map[string]llm.Provider
	own  map[string]string // protocols that extensions' providers brought, by provider
	file *os.File
	tape *record.Script // what --record writes; nil for nothing
}

func newProviders(a *app) *providers {
	return &providers{
		cwd: a.started, made: map[string]llm.Provider{}, own: map[string]string{},
		client: sync.OnceValue(func() *wire.Client {
			idle := a.settings.HTTPIdleTimeout()
			if idle == 0 {
				idle = wire.NoLimit
			}
			first := a.settings.Retry().ProviderTimeout
			if first == 0 {
				first = wire.NoLimit
			}
			return wire.New(wire.Options{UserAgent: wire.UserAgent(Version()), FirstByte: first, Idle: idle, Transport: a.network, Trace: a.trace})
		}),
	}
}

// get returns the client for a protocol.
func (p *providers) get(api string) (llm.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if made, ok := p.made[api]; ok {
		return made, nil
	}
	made, err := p.make(api)
	if err != nil {
		return nil, err
	}
	if p.tape != nil {
		made = p.tape.Record(made)
	}
	p.made[api] = made
	return made, nil
}

// use makes p the client for a protocol that an extension's provider brings.
func (p *providers) use(provider, api string, client llm.Provider) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tape != nil {
		client = p.tape.Record(client)
	}
	p.made[api], p.own[provider] = client, api
}

// drop forgets what a provider brought.
func (p *providers) drop(provider string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if api, ok := p.own[provider]; ok {
		delete(p.made, api)
		delete(p.own, provider)
	}
}

// make builds the client for a protocol.
func (p *providers) make(api string) (llm.Provider, error) {
	switch api {
	case llm.APIOpenAICompletions:
		return openai.New(p.client()), nil
	case llm.APIOpenAIResponses:
		return responses.New(p.client()), nil
	case llm.APIAzureResponses:
		return responses.NewAzure(p.client(), os.Getenv), nil
	case llm.APICodexResponses:
		return responses.NewCodex(p.client(), nil), nil
	case llm.APIAnthropicMessages:
		return anthropic.New(p.client()), nil
	case llm.APIBedrockConverse:
		return bedrock.New(p.client(), bedrock.Options{Getenv: os.Getenv}), nil
	case llm.APIGoogleGenerative:
		return google.New(p.client()), nil
	case llm.APIGoogleVertex:
		return google.NewVertex(p.client(), google.VertexOptions{Getenv: os.Getenv}), nil
	case llm.APIMistral:
		return mistral.New(p.client()), nil
	case llm.APIScripted:
		return scripted.New(p.cwd), nil
	}
	return nil, fmt.Errorf("the protocol %q is not known: choose a model of another provider", api)
}

// record makes the file of --record, to which all providers write from now on; what a
// model sends may be private. "" does nothing.
func (p *providers) record(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the file of --record: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.file, p.tape = f, record.NewScript(f)
	for api, made := range p.made { // those of extensions
		p.made[api] = p.tape.Record(made)
	}
	return nil
}

// close completes the recording.
func (p *providers) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tape == nil {
		return nil
	}
	return errors.Join(p.tape.Close(), p.file.Close())
}
