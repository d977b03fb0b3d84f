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
	name := nameOf(ev)
	take := name != "" && g.has(name)
	payload := x.describe(g, ev, take)
	if take {
		_, _ = g.emit(ctx, name, payload, emission{}) // failures were told
	}
}

// nameOf returns the extensions' name for an event, "" for one that they do not see here
// (message_end is theirs to change, see messageEnd).
func nameOf(ev event.Event) string {
	switch ev := ev.(type) {
	case event.AgentStart, event.AgentEnd, event.AgentSettled, event.TurnStart, event.TurnEnd, event.MessageStart, event.MessageUpdate,
		event.ToolExecutionStart, event.ToolExecutionUpdate, event.ToolExecutionEnd, event.SessionInfoChanged:
		return ev.Kind()
	case event.ModelChanged:
		if ev.Source == "set" || ev.Source == "cycle" {
			return "model_select"
		}
	case event.ThinkingLevelChanged:
		return "thinking_level_select"
	case event.CompactionEnd:
		if ev.Result == nil || ev.ErrorMessage != "" || ev.Aborted {
			return "session_compact_failed"
		}
	}
	return ""
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

// describe keeps what later events carry, and returns the members of this one when
// somebody is to take it. Most events are taken by nobody: they cost nothing then.
func (x *Extensions) describe(g *generation, ev event.Event, take bool) any {
	x.turns.mu.Lock()
	defer x.turns.mu.Unlock()
	level := x.turns.level
	switch ev := ev.(type) {
	case event.MessageStart:
		x.turns.begin(g, ev)
	case event.ThinkingLevelChanged:
		x.turns.level = ev.Level
	}
	if !take {
		return nil
	}
	switch ev := ev.(type) {
	case event.AgentStart:
		return nil
	case event.AgentEnd:
		return struct {
			Messages []llm.Message `json:"messages"`
		}{ev.Messages}
	case event.TurnStart:
		return map[string]any{"turnIndex": x.turns.index, "timestamp": x.cfg.Now().UnixMilli()}
	case event.TurnEnd:
		return struct {
			TurnIndex int `json:"turnIndex"`
			event.TurnEnd
			Outcome  string `json:"outcome"`
			Entries  []any  `json:"entries"`
			Continue bool   `json:"continue"`
		}{x.turns.index, ev, outcome(ev.Message), []any{}, len(ev.ToolResults) > 0}
	case event.MessageUpdate:
		return x.turns.update(ev)
	case event.ThinkingLevelChanged:
		return struct {
			Level  llm.ThinkingLevel `json:"level"`
			Before llm.ThinkingLevel `json:"previousLevel"`
		}{ev.Level, level}
	}
	return ev
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
