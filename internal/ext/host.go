package ext

import (
	"context"
	"iter"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/tool"
)

// Host is what extensions can do with the session they belong to: functions that the
// engine and its surroundings provide. Each is optional; what is nil answers an
// extension that it is not available here. They are called on the goroutine of the
// scripts and must not wait for anything that waits for an extension; those with a
// context are called on goroutines of their own and may wait.
type Host struct {
	// Emit tells the client an event, in order, without waiting for it.
	Emit func(event.Event)
	// State returns what extensions see of the session as it is now. It is cheap.
	State func() State
	// SystemPrompt and ContextUsage are what takes time to make.
	SystemPrompt func() string
	ContextUsage func() any
	// View returns a snapshot of the session for its readers.
	View func() (*session.View, error)

	// SendMessage puts a message of an extension into the transcript; SendUser sends
	// a text as if the user had typed it.
	SendMessage func(m llm.CustomMessage, o SendOptions) error
	SendUser    func(text string, images []*llm.Image, o SendOptions) error
	// AppendEntry stores a session entry: session.Custom, Label or SessionInfo.
	AppendEntry func(b session.Body) error
	// AppendMessage stores a message below the current entry (setup of a new session).
	AppendMessage func(m llm.Message) error
	SetModel      func(provider, id string) (bool, error)
	SetThinking   func(level llm.ThinkingLevel) error
	// Tools returns all tools and the names of the active ones; SetTools chooses.
	Tools    func() (all []tool.Tool, active []string)
	SetTools func(names []string) error
	// ToolsChanged says that extensions registered other tools.
	ToolsChanged func()
	// Commands returns what get_commands lists.
	Commands func() any
	Settings func() any
	Abort    func()
	Shutdown func()

	Compact      func(ctx context.Context, instructions string) (any, error)
	WaitIdle     func(ctx context.Context) error
	NewSession   func(ctx context.Context, parent string) (cancelled bool, err error)
	Fork         func(ctx context.Context, entryID, position string) (cancelled bool, err error)
	Switch       func(ctx context.Context, path string) (cancelled bool, err error)
	NavigateTree func(ctx context.Context, targetID string, options jsonx.Raw) (any, error)
	Reload       func(ctx context.Context) error
	ListSessions func(ctx context.Context, cwd string) (any, error)

	// Models are those of the catalogue; Available those with a key.
	Models    func() []*llm.Model
	Available func() []*llm.Model
	// Credential returns the key for a provider.
	Credential func(ctx context.Context, provider string) (Credential, error)
	// Stream sends one request with the model's own key.
	Stream func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error]
	// RegisterProvider adds models of a provider (models.json's form); stream is set
	// when the extension speaks the protocol itself. A nil config takes it away.
	RegisterProvider func(name string, config jsonx.Raw, stream llm.Provider) error
}

// State is what extensions see of a session.
type State struct {
	Model         *llm.Model
	Scoped        any
	Thinking      llm.ThinkingLevel
	Idle          bool
	Pending       bool // messages wait in a queue
	Trusted       bool
	PromptOptions any
}

// Credential is a key as extensions get it.
type Credential struct {
	APIKey  string            `json:"apiKey,omitzero"`
	Headers map[string]string `json:"headers,omitzero"`
}

// SendOptions say when a message of an extension comes in. DeliverAs is "steer",
// "followUp", "nextTurn" or "".
type SendOptions struct {
	TriggerTurn           bool   `json:"triggerTurn"`
	DeliverAs             string `json:"deliverAs"`
	ExpandPromptTemplates bool   `json:"expandPromptTemplates"`
}
