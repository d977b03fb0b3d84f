package engine

import (
	"context"
	"fmt"

	"github.com/isotope-agent/isotope/internal/agent"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

// Hooks are the points at which extensions take part. Each is optional: nil means
// that nobody listens and costs nothing. All but Command are called on goroutines
// that may wait (a run's, a preparation's, a replacement's), never on the engine
// goroutine; a hook that calls the engine back posts like any client.
type Hooks struct {
	// Live reports whether anybody listens now; nil: whoever set a hook does. While
	// nobody listens no hook but SessionStart is called, which may change that. It is
	// called from any goroutine and cheap.
	Live func() bool
	// Command looks an extension command up by the text of a prompt. It is called on
	// the engine goroutine and must only look up; run executes the command.
	Command func(text string) (run func(ctx context.Context), name string, ok bool)
	// Input sees every prompt, steer and follow-up before expansion.
	Input func(ctx context.Context, in Input) (InputResult, error)
	// BeforeRun sees a prompt that was accepted, before its run: it may add messages
	// and replace the system prompt for this run.
	BeforeRun func(ctx context.Context, prompt llm.Message) (BeforeRunResult, error)
	// Context may replace the messages of one request.
	Context func(ctx context.Context, msgs []llm.Message) ([]llm.Message, error)
	// BeforeTool may block a tool call; an error makes it fail (fail closed).
	BeforeTool func(ctx context.Context, call *llm.ToolCall) (agent.Decision, error)
	// AfterTool may replace a tool's result.
	AfterTool func(ctx context.Context, call *llm.ToolCall, res tool.Result) tool.Result
	// MessageEnd may replace a finished message before it is stored and told.
	MessageEnd func(ctx context.Context, m llm.Message) llm.Message
	// Event sees every event of a run before clients do. AgentSettled, and changes of
	// model, thinking level and name, it sees afterwards, in their order.
	Event func(ctx context.Context, ev event.Event)
	// UserBash may answer a direct bash command itself; an error refuses it.
	UserBash func(ctx context.Context, command string) (handled bool, output string, exitCode int, err error)
	// BeforeSwitch may cancel a session replacement; kind is "new", "resume" or "fork".
	BeforeSwitch func(ctx context.Context, kind string) (cancelled bool, err error)
	// BeforeTree may cancel a move to another entry of the session tree.
	BeforeTree func(ctx context.Context, targetID string) (cancelled bool, err error)
	// TreeMoved sees that the session goes on from another entry.
	TreeMoved func(ctx context.Context, m TreeMove)
	// Completions lists what may follow an extension command; nil: it completes nothing.
	Completions func(ctx context.Context, command, prefix string) ([]Completion, error)
	// Shortcuts lists the keys that extensions listen to; Shortcut looks one up, on the
	// engine goroutine, and run does what it stands for.
	Shortcuts func() []Shortcut
	Shortcut  func(key string) (run func(ctx context.Context), ok bool)
	// BeforeCompact may cancel a compaction or make it itself; an error is reported and
	// the compaction goes on. Compacted sees the one that was stored.
	BeforeCompact func(ctx context.Context, c CompactRequest) (CompactDecision, error)
	Compacted     func(ctx context.Context, c CompactDone)
	// SessionStart and SessionShutdown frame the life of a session.
	SessionStart    func(ctx context.Context, reason string)
	SessionShutdown func(ctx context.Context, reason string)
}

// hooks returns those that count now.
func (e *Engine) hooks() *Hooks {
	if live := e.cfg.Hooks.Live; live != nil && !live() {
		return &e.idle
	}
	return &e.cfg.Hooks
}

// TreeMove is what a TreeMoved hook sees: ids of entries, "" before every entry.
// SummaryID is the summary of the branch that was left, "" for none.
type TreeMove struct{ OldLeafID, NewLeafID, SummaryID string }

// InputResult is what an Input hook decided.
type InputResult struct {
	Handled bool // the hook consumed the input
	Replace bool // Text and Images stand for it
	Text    string
	Images  []*llm.Image
}

// Completion is one way to go on with the argument of a command.
type Completion struct {
	Value       string `json:"value"`
	Label       string `json:"label"`
	Description string `json:"description,omitzero"`
}

// Shortcut is a key that an extension listens to.
type Shortcut struct {
	Key         string `json:"key"`
	Description string `json:"description,omitzero"`
}

// BeforeRunResult is what a BeforeRun hook adds.
type BeforeRunResult struct {
	Messages     []llm.Message
	SystemPrompt string // "" keeps it
}

// errCommandNotQueued refuses an extension command in steer and follow_up.
func errCommandNotQueued(name string) error {
	return fmt.Errorf("Extension command \"/%s\" cannot be queued. Use prompt() or execute the command when not streaming.", name)
}
