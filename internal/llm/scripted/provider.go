package scripted

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/isotope-agent/isotope/internal/jsonc"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

const (
	// Name is the provider's id, as in "scripted/demo".
	Name = "scripted"
	// Demo is the id of the model that plays the embedded script.
	Demo = "demo"
)

//go:embed demo.json
var demo string

// Provider answers model calls from scripts. The model's id names the script: Demo,
// or the path of a file. Scripts are read when first needed and kept. It implements
// llm.Provider and may be used concurrently.
type Provider struct {
	dir   string
	fixed *Script

	mu      sync.Mutex
	scripts map[string]*loaded
	used    map[usedKey]int
}

// loaded is a script or why there is none.
type loaded struct {
	script *Script
	err    error
}

// usedKey counts what a turn did in one session.
type usedKey struct {
	session string
	turn    *Turn
	failed  bool
}

// New returns a provider that looks for relative script files in dir ("" is the
// process's working directory).
func New(dir string) *Provider { return &Provider{dir: dir} }

// NewScript returns a provider that answers every model id from one script.
func NewScript(s *Script) *Provider { return &Provider{fixed: s} }

// Model describes the model that plays a script, as the script's model member says.
// The error is that of a script that can not be read.
func (p *Provider) Model(id string) (*llm.Model, error) {
	s, err := p.script(id)
	if err != nil {
		return nil, err
	}
	m := &llm.Model{
		ID: id, Name: id, API: llm.APIScripted, Provider: Name, Reasoning: true,
		Input: []string{"text", "image"}, ContextWindow: 200_000, MaxTokens: 32_000,
	}
	spec := s.Model
	if spec == nil {
		return m, nil
	}
	if spec.Name != "" {
		m.Name = spec.Name
	}
	if spec.ContextWindow > 0 {
		m.ContextWindow = spec.ContextWindow
	}
	if spec.MaxTokens > 0 {
		m.MaxTokens = spec.MaxTokens
	}
	if spec.Reasoning != nil {
		m.Reasoning = *spec.Reasoning
	}
	if spec.Images != nil && !*spec.Images {
		m.Input = []string{"text"}
	}
	return m, nil
}

// Stream plays the turn that the script has for the request. A script that can not be
// used, or has no turn for it, fails with llm.ErrBadRequest.
func (p *Provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(llm.Event{}, err)
			return
		}
		s, err := p.script(req.Model.ID)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		c, position := s.locate(req)
		t, err := s.choose(c, position, func(t *Turn) int { return p.count(req.SessionID, t, false) })
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		pl := &player{ctx: ctx, yield: yield, script: s, turn: t, call: c}
		pl.failed = p.count(req.SessionID, t, true)
		pl.over = func(failed bool) { p.add(req.SessionID, t, failed) }
		pl.play()
	}
}

// count returns how often a turn was played, or failed, in a session.
func (p *Provider) count(session string, t *Turn, failed bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used[usedKey{session, t, failed}]
}

func (p *Provider) add(session string, t *Turn, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used == nil {
		p.used = map[usedKey]int{}
	}
	p.used[usedKey{session, t, false}]++
	if failed {
		p.used[usedKey{session, t, true}]++
	}
}

// script returns the script of a model id.
func (p *Provider) script(id string) (*Script, error) {
	if p.fixed != nil {
		return p.fixed, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.scripts[id]
	if l == nil {
		l = &loaded{}
		if l.script, l.err = p.load(id); l.err != nil {
			err := fmt.Errorf(ErrScript, id, l.err)
			l.err = &llm.Error{Kind: llm.ErrBadRequest, Message: err.Error(), Err: err}
		}
		if p.scripts == nil {
			p.scripts = map[string]*loaded{}
		}
		p.scripts[id] = l
	}
	return l.script, l.err
}

func (p *Provider) load(id string) (*Script, error) {
	if id == Demo {
		return Parse([]byte(demo))
	}
	path := id
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.dir, path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(data)
}

// plain returns the JSON of a text that people may have written: comments, trailing
// commas and a UTF-8 mark are taken out.
func plain(data []byte) ([]byte, error) {
	if jsonx.Valid(data) {
		return data, nil
	}
	doc, err := jsonc.Parse(data)
	if err != nil {
		return nil, err
	}
	return doc.Raw(doc.Root), nil
}

var _ llm.Provider = (*Provider)(nil)

// stop reports the stop reason of a turn that names none.
func (t *Turn) stop(called bool) llm.StopReason {
	switch {
	case t.StopReason != "":
		return t.StopReason
	case called:
		return llm.StopToolUse
	}
	return llm.StopEnd
}

// message returns the text of an error that a script gives no text.
func (e *Error) message() string {
	if e.Message != "" {
		return e.Message
	}
	return strings.TrimSpace(fmt.Sprintf("Scripted failure %s", e.Code))
}
