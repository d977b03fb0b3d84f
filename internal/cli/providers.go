package cli

import (
	"fmt"
	"os"
	"sync"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/anthropic"
	"github.com/isotope-agent/isotope/internal/llm/openai"
	"github.com/isotope-agent/isotope/internal/llm/record"
	"github.com/isotope-agent/isotope/internal/llm/responses"
	"github.com/isotope-agent/isotope/internal/llm/scripted"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// providers makes the client for each wire protocol when it is first asked for.
type providers struct {
	client func() *wire.Client
	cwd    string
	record string // file for --record; "" for none

	mu    sync.Mutex
	made  map[string]llm.Provider
	tape  *os.File
	fault error
}

func newProviders(a *app) *providers {
	return &providers{
		cwd: a.cwd, record: a.flags.record, made: map[string]llm.Provider{},
		client: sync.OnceValue(func() *wire.Client {
			idle := a.settings.HTTPIdleTimeout()
			if idle == 0 {
				idle = wire.NoLimit
			}
			first := a.settings.Retry().ProviderTimeout
			if first == 0 {
				first = wire.NoLimit
			}
			return wire.New(wire.Options{UserAgent: wire.UserAgent(Version()), FirstByte: first, Idle: idle})
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
	var made llm.Provider
	switch api {
	case llm.APIOpenAICompletions:
		made = openai.New(p.client())
	case llm.APIOpenAIResponses:
		made = responses.New(p.client())
	case llm.APIAnthropicMessages:
		made = anthropic.New(p.client())
	case llm.APIScripted:
		made = scripted.New(p.cwd)
	default:
		return nil, fmt.Errorf("the protocol %q is not available yet: choose a model of another provider", api)
	}
	if p.record != "" {
		if err := p.openTape(); err != nil {
			return nil, err
		}
		made = record.New(made, p.tape)
	}
	p.made[api] = made
	return made, nil
}

// openTape makes the file of --record; what a model sends may be private.
func (p *providers) openTape() error {
	if p.tape == nil && p.fault == nil {
		p.tape, p.fault = os.OpenFile(p.record, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	}
	if p.fault != nil {
		return fmt.Errorf("opening the file of --record: %w", p.fault)
	}
	return nil
}
