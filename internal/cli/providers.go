package cli

import (
	"errors"
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
	cwd    string // where relative paths of scripts start

	mu   sync.Mutex
	made map[string]llm.Provider
	file *os.File
	tape *record.Script // what --record writes; nil for nothing
}

func newProviders(a *app) *providers {
	return &providers{
		cwd: a.started, made: map[string]llm.Provider{},
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
	if p.tape != nil {
		made = p.tape.Record(made)
	}
	p.made[api] = made
	return made, nil
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
