package engine

import (
	"context"
	"fmt"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/tool"
)

// What extensions do with their session. These methods wait for the engine goroutine,
// which never waits for a script, and pass by the lane: a script may call them while a
// session that is being replaced waits for it. They are not called on the engine
// goroutine.

// Glance is what an extension sees of the session, as far as it is at hand.
type Glance struct {
	Model    *llm.Model
	Thinking llm.ThinkingLevel
	Idle     bool
	Pending  bool // messages wait in a queue
	View     *session.View
	Tools    *tool.Set
}

// Glance returns the session as it is now. It reads no file.
func (e *Engine) Glance() (g Glance) {
	e.sync(func() {
		g = Glance{
			Model: e.model, Thinking: e.thinking, Idle: e.run == nil, Pending: e.queues.len() > 0,
			View: e.store.View(), Tools: e.tools,
		}
	})
	return g
}

// ContextUsage returns the size of the active context, nil when it is not known. It goes
// through the whole conversation.
func (e *Engine) ContextUsage() *ContextUsage {
	m := e.currentModel()
	if m == nil {
		return nil
	}
	u, _ := e.contextUsage(m) // unknown when the file cannot be read
	return u
}

// SystemPrompt returns the system prompt of the active tools; it may read files.
func (e *Engine) SystemPrompt() string {
	tools := e.Glance().Tools
	if tools == nil { // the engine has left
		return ""
	}
	return e.systemPrompt(tools)
}

// SendCustom brings a message of an extension in: into a queue while a run is active, that
// of steers unless how says another, and else into the conversation, with a run when
// trigger is set. An error says that it did not come in.
func (e *Engine) SendCustom(m *llm.CustomMessage, how InputKind, trigger bool) error {
	err := error(ErrShutdown)
	e.sync(func() { err = e.sendCustom(m, how, trigger) })
	return err
}

func (e *Engine) sendCustom(m *llm.CustomMessage, how InputKind, trigger bool) error {
	switch {
	case e.closing && (trigger || e.held()): // nothing begins any more
		return ErrShutdown
	case how == InputNextTurn:
		e.nextTurn = append(e.nextTurn, m)
		return nil
	case e.held():
		list := &e.queues.steering
		if how == InputFollowUp {
			list = &e.queues.followUp
		}
		*list = append(*list, &queued{msg: m, hidden: true})
		return nil
	case trigger:
		if err := e.promptBlocked(); err != nil {
			return err
		}
		e.startRun(m)
		return nil
	}
	if err := e.appendMessage(m); err != nil {
		return err
	}
	e.cfg.Output.Post(event.MessageStart{Message: m})
	e.cfg.Output.Post(event.MessageEnd{Message: m})
	return nil
}

// AppendEntry stores an entry of an extension: session.Custom, session.Label or
// session.SessionInfo.
func (e *Engine) AppendEntry(b session.Body) error {
	err := error(ErrShutdown)
	e.sync(func() { err = e.appendEntry(b) })
	return err
}

func (e *Engine) appendEntry(b session.Body) error {
	id, err := e.store.Append(b)
	if err != nil {
		return fmt.Errorf("storing an entry: %w", err)
	}
	if info, ok := b.(session.SessionInfo); ok {
		e.tell(event.SessionInfoChanged{Name: info.Name})
	}
	view := e.store.View()
	raw, err := view.Raw(view.Index(id))
	if err != nil {
		return fmt.Errorf("reading an entry back: %w", err)
	}
	e.cfg.Output.Post(event.EntryAppended{Entry: jsonx.Raw(raw)})
	return nil
}

// UseModel makes a model the session's; ok is false when there is no key for it.
func (e *Engine) UseModel(provider, id string) (ok bool, err error) {
	m, err := e.cfg.Models.Select(provider, id)
	if err != nil {
		return false, err
	}
	if !e.cfg.Models.Usable(provider) {
		return false, nil
	}
	err = ErrShutdown
	e.sync(func() { err = e.switchModel(m, "", "set", false) })
	return err == nil, err
}

// UseThinking asks for a level; the nearest that the model supports counts.
func (e *Engine) UseThinking(level llm.ThinkingLevel) error {
	err := error(ErrShutdown)
	e.sync(func() { err = e.changeThinking(e.model.ClampThinking(level)) })
	return err
}

// RebuildTools asks for the session's tools again: others are registered, or chosen.
func (e *Engine) RebuildTools() {
	var store *session.Store
	e.sync(func() { store = e.store })
	if store == nil {
		return
	}
	tools := e.cfg.Tools(e.toolEnv(store))
	e.sync(func() {
		if e.store == store {
			e.tools = tools
			e.conv.systemFor = nil
		}
	})
}

// ToolEnv returns what tools see of the live session.
func (e *Engine) ToolEnv() (env ToolEnv) {
	e.sync(func() { env = e.toolEnv(e.store) })
	return env
}

func (e *Engine) toolEnv(store *session.Store) ToolEnv {
	return ToolEnv{SessionID: store.ID(), Model: e.currentModel, Vars: e.childVars}
}

// AwaitIdle returns when no run is active, or with the cause of ctx.
func (e *Engine) AwaitIdle(ctx context.Context) error {
	idle := make(chan struct{})
	e.post(func() {
		if e.run == nil {
			close(idle)
			return
		}
		e.run.settled = append(e.run.settled, func() { close(idle) })
	})
	select {
	case <-idle:
		return nil
	case <-e.stopped:
		return ErrShutdown
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stop aborts the run and does not wait for its end.
func (e *Engine) Stop() { e.Abort(func(struct{}, error) {}) }
