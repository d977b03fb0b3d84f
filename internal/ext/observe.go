package ext

import (
	"context"
	"sync"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// turns counts the turns of a run and keeps the message that streams, for the events
// that carry them.
type turns struct {
	mu      sync.Mutex
	index   int
	partial *partial
}

func (t *turns) reset() {
	t.mu.Lock()
	t.index, t.partial = 0, nil
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
		return "message_update", x.turns.update(g, ev)
	case event.ToolExecutionStart:
		return "tool_execution_start", ev
	case event.ToolExecutionUpdate:
		return "tool_execution_update", ev
	case event.ToolExecutionEnd:
		return "tool_execution_end", ev
	case event.SessionInfoChanged:
		return "session_info_changed", ev
	case event.ModelChanged:
		return "model_select", ev
	case event.ThinkingLevelChanged:
		return "thinking_level_select", ev
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

// partial is a message that streams, as far as it has come.
type partial struct {
	head    llm.Message
	content []map[string]any
}

// begin keeps the head of a message when somebody wants to see it grow.
func (t *turns) begin(g *generation, ev event.MessageStart) {
	t.partial = nil
	if g.has("message_update") {
		t.partial = &partial{head: ev.Message}
	}
}

// update adds a step to the message and returns what a handler sees: the step, and the
// message so far.
func (t *turns) update(g *generation, ev event.MessageUpdate) any {
	payload := struct {
		Message jsonx.Raw    `json:"message"`
		Update  event.Update `json:"assistantMessageEvent"`
		Usage   *llm.Usage   `json:"usage,omitzero"`
	}{Message: jsonx.Raw("null"), Update: ev.Update, Usage: ev.Usage}
	if t.partial == nil || !g.has("message_update") {
		return payload
	}
	t.partial.add(ev.Update)
	if raw, err := t.partial.json(); err == nil {
		payload.Message = raw
	}
	return payload
}

func (p *partial) block(i int) map[string]any {
	for len(p.content) <= i {
		p.content = append(p.content, map[string]any{"type": "text", "text": ""})
	}
	return p.content[i]
}

func (p *partial) add(u event.Update) {
	switch u := u.(type) {
	case event.BlockStart:
		p.block(u.ContentIndex)
		switch u.Type {
		case event.TypeThinkingStart:
			p.content[u.ContentIndex] = map[string]any{"type": "thinking", "thinking": ""}
		case event.TypeToolCallStart:
			p.content[u.ContentIndex] = map[string]any{"type": "toolCall", "id": u.ID, "name": u.ToolName, "arguments": map[string]any{}}
		}
	case event.Delta:
		b := p.block(u.ContentIndex)
		if k := textMember(b); k != "" {
			s, _ := b[k].(string)
			b[k] = s + u.Delta
		}
	case event.TextEnd:
		if b := p.block(u.ContentIndex); textMember(b) != "" {
			b[textMember(b)] = u.Content
		}
	case event.ToolCallEnd:
		p.block(u.ContentIndex)["arguments"] = u.ToolCall.Arguments
	}
}

func textMember(b map[string]any) string {
	switch b["type"] {
	case "text":
		return "text"
	case "thinking":
		return "thinking"
	}
	return ""
}

func (p *partial) json() (jsonx.Raw, error) {
	head, err := jsonx.Marshal(p.head)
	if err != nil {
		return nil, err
	}
	var o jsonx.Object
	if err := o.Merge(head); err != nil {
		return nil, err
	}
	o.Set("content", p.content)
	return jsonx.Marshal(&o)
}
