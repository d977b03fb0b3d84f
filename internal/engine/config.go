package engine

import (
	"context"
	"time"

	"github.com/isotope-agent/isotope/internal/auth"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/model"
	"github.com/isotope-agent/isotope/internal/proc"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/settings"
	"github.com/isotope-agent/isotope/internal/tool"
	"github.com/isotope-agent/isotope/internal/trust"
)

// Config connects an engine with its surroundings. Functions may be called from any
// goroutine.
type Config struct {
	Output   Output
	Hooks    Hooks
	Models   *model.Registry
	Keys     *auth.Keys
	Settings *settings.Settings
	// Provider returns the client for a wire protocol; the error names a protocol
	// that is not there.
	Provider func(api string) (llm.Provider, error)
	// Choose picks model and thinking level for a session that is being installed.
	Choose func(session.Selection) model.Initial
	// Scope returns the list of models to cycle through (--models); nil, or none: all. A
	// reload may change it.
	Scope func() []model.Scoped
	// Tools builds the active tools for a session.
	Tools func(ToolEnv) *tool.Set
	// SystemPrompt builds the system prompt; it may read files.
	SystemPrompt func(*tool.Set) string
	// Expand replaces skill and template commands in a text; nil for none.
	Expand func(text string) (string, error)
	// NormalizeImages makes pictures fit for a model and returns notes to be added to
	// the text; nil keeps them.
	NormalizeImages func(images []*llm.Image) (kept []*llm.Image, notes []string)
	// NewStore makes a new session; parent is recorded in its header.
	NewStore func(parent string) (*session.Store, error)
	// OpenStore opens a session file that must be there, ImportStore a copy of one. Nil:
	// it cannot be done here.
	OpenStore   func(path string) (*session.Store, error)
	ImportStore func(path string) (*session.Store, error)
	// Sessions lists sessions: of this folder, or of all. Nil lists none.
	Sessions func(all bool) []session.Info
	// Enter makes a folder the one to work in, for a session that is about to take the
	// live one's place: settings, resources and tools are those of that folder then. An
	// error leaves everything as it was. Nil: sessions of other folders work in this one.
	Enter func(store *session.Store, cwd string) error
	// Reload reads settings, models, keys and resources again; nil: nothing is to be read.
	Reload func() error
	// Refresh reads keys again and gets the newest lists of models; nil: there is nothing
	// newer than the registry.
	Refresh func(ctx context.Context, opt RefreshOptions) []ProviderError
	// Bash runs direct bash commands; see BashConfig.
	Bash BashConfig
	// Strategy is the compaction strategy where the settings name none; "" is the
	// verbatim one. NullCompactionResult writes a compaction_end without a result as
	// null; else the key is left out.
	Strategy             string
	NullCompactionResult bool
	// Cwd is the folder in which the session works.
	Cwd string
	// Untrusted returns the project's resources that are left out; nil: none are.
	Untrusted func() []trust.Resource
	// Snapshots tells message updates in their older form, with the message so far.
	Snapshots bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Report takes diagnostics for people (stderr); nil drops them.
	Report func(string)
}

// BashConfig is what direct bash commands need.
type BashConfig struct {
	Runner proc.Runner
	// Command completes a command with shell, folder and environment.
	Command func(command string) proc.Cmd
	// Spill says where the full output of a session's commands goes.
	Spill func(sessionID string) proc.Spill
}

// ToolEnv is what tools see of the session they belong to.
type ToolEnv struct {
	SessionID string
	// Model returns the current model, nil when there is none.
	Model func() *llm.Model
	// Vars returns the session's variables for children (PI_SESSION_ID …), as they
	// are now.
	Vars func() []string
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Report == nil {
		c.Report = func(string) {}
	}
	if c.Scope == nil {
		c.Scope = func() []model.Scoped { return nil }
	}
	if c.Untrusted == nil {
		c.Untrusted = func() []trust.Resource { return nil }
	}
	if c.Snapshots {
		c.Output = &snapshots{Output: c.Output}
	}
	c.Hooks = c.Hooks.guarded(c.Report)
	return c
}
