package ext

import (
	"context"
	"sync"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
)

// turns counts the turns of a run and keeps the message that streams, for the events
// that carry them.
type turns struct {
	mu      sync.Mutex
	index   int
	level   llm.ThinkingLevel // told last
	growing *event.Growing    // nil when nobody looks
}

// began forgets the session before; level is where the new one starts from.
func (t *turns) began(level llm.ThinkingLevel) {
	t.reset()
	t.mu.Lock()
	t.level = level
	t.mu.Unlock()
}

func (t *turns) reset() {
	t.mu.Lock()
	t.index, t.growing = 0, nil
	t.mu.Unlock()
}

// Observe tells extensions an event of the session. It waits for their handlers, so
// that they see events in order and hold up what goes too fast for them.
func (x *Extensions) Observe(ctx context.Context, ev event.Event) {
	g := x.current.Load()
	if g == nil {
		return
	}
	switch ev.(type) {
	case event.AgentStart:
		x.turns.reset()
		g.runStart(ctx)
	case event.AgentEnd:
		defer g.rt.Post("", "run", "", map[string]bool{"on": false})
	case event.TurnEnd:
		defer x.turns.next()
	}
	name, payload := x.describe(g, ev)
	if name == "" || !g.has(name) {
		return
	}
	_, _ = g.emit(ctx, name, payload, emission{}) // failures were told
}

func (t *turns) next() {
	t.mu.Lock()
	t.index++
	t.mu.Unlock()
}

// runStart gives the scripts a signal that ends with the run.
func (g *generation) runStart(ctx context.Context) {
	g.rt.Post("", "run", "", map[string]bool{"on": true})
	context.AfterFunc(ctx, func() { g.rt.Post("", "abort", "run", nil) })
}

// describe returns the extensions' name for an event and its members; "" for one that
// they do not see here (message_end is theirs to change, see messageEnd).
func (x *Extensions) describe(g *generation, ev event.Event) (string, any) {
	x.turns.mu.Lock()
	defer x.turns.mu.Unlock()
	switch ev := ev.(type) {
	case event.AgentStart:
		return "agent_start", nil
	case event.AgentEnd:
		return "agent_end", struct {
			Messages []llm.Message `json:"messages"`
		}{ev.Messages}
	case event.AgentSettled:
		return "agent_settled", ev
	case event.TurnStart:
		return "turn_start", map[string]any{"turnIndex": x.turns.index, "timestamp": x.cfg.Now().UnixMilli()}
	case event.TurnEnd:
		return "turn_end", struct {
			TurnIndex int `json:"turnIndex"`
			event.TurnEnd
			Outcome  string `json:"outcome"`
			Entries  []any  `json:"entries"`
			Continue bool   `json:"continue"`
		}{x.turns.index, ev, outcome(ev.Message), []any{}, len(ev.ToolResults) > 0}
	case event.MessageStart:
		x.turns.begin(g, ev)
		return "message_start", ev
	case event.MessageUpdate:
		return "message_update", x.turns.update(ev)
	case event.ToolExecutionStart:
		return "tool_execution_start", ev
	case event.ToolExecutionUpdate:
		return "tool_execution_update", ev
	case event.ToolExecutionEnd:
		return "tool_execution_end", ev
	case event.SessionInfoChanged:
		return "session_info_changed", ev
	case event.ModelChanged:
		if ev.Source == "set" || ev.Source == "cycle" {
			return "model_select", ev
		}
	case event.ThinkingLevelChanged:
		before := x.turns.level
		x.turns.level = ev.Level
		return "thinking_level_select", struct {
			Level  llm.ThinkingLevel `json:"level"`
			Before llm.ThinkingLevel `json:"previousLevel"`
		}{ev.Level, before}
	case event.CompactionEnd:
		if ev.Result == nil || ev.ErrorMessage != "" || ev.Aborted {
			return "session_compact_failed", ev
		}
	}
	return "", nil
}

// outcome says how a turn's answer ended.
func outcome(m llm.Message) string {
	if a, ok := m.(*llm.AssistantMessage); ok {
		switch a.StopReason {
		case llm.StopError:
			return "error"
		case llm.StopAborted:
			return "aborted"
		}
	}
	return "completed"
}

// begin keeps the head of a message when somebody wants to see it grow.
func (t *turns) begin(g *generation, ev event.MessageStart) {
	t.growing = nil
	if g.has("message_update") {
		t.growing = &event.Growing{}
		t.growing.Begin(ev)
	}
}

// update adds a step to the message and returns what a handler sees: the step, and the
// message so far.
func (t *turns) update(ev event.MessageUpdate) any {
	payload := struct {
		Message *llm.AssistantMessage `json:"message"`
		Update  event.Update          `json:"assistantMessageEvent"`
		Usage   *llm.Usage            `json:"usage,omitzero"`
	}{Update: ev.Update, Usage: ev.Usage}
	if t.growing != nil {
		payload.Message = t.growing.Add(ev)
	}
	return payload
}
