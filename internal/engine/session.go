package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/model"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/tool"
)

// errNameEmpty refuses a blank session name.
var errNameEmpty = errors.New("Session name cannot be empty")

// installation is a session that is ready to become the live one.
type installation struct {
	store    *session.Store
	cwd      string // where it works
	had      session.Selection
	fresh    bool  // it says nothing yet
	budget   int64 // of its model, in tokens; 0 for the model's own
	tools    *tool.Set
	chosen   model.Initial
	steering QueueMode
	followUp QueueMode
	retry    bool
	compact  bool
}

// ready reads what a session needs to become the live one: settings, models and its
// own choice. It may read files and is not called on the engine goroutine.
func (e *Engine) ready(store *session.Store) installation {
	var view *session.View
	e.sync(func() { view = store.View() }) // it may be open already, for a command that runs
	var had session.Selection
	if view != nil {
		var err error
		if had, err = view.Selection(); err != nil {
			e.cfg.Report("reading the session's model: " + err.Error())
		}
	}
	set := e.cfg.Settings
	chosen := e.cfg.Choose(had)
	return installation{
		store: store, budget: e.budgetFor(chosen.Model, had), had: had, fresh: !had.HasMessages && had.Model == nil,
		tools:    e.cfg.Tools(e.toolEnv(store)),
		chosen:   chosen,
		steering: QueueMode(set.SteeringMode()), followUp: QueueMode(set.FollowUpMode()), retry: set.Retry().Enabled,
		compact: set.Compaction("", "").Enabled,
	}
}

// install makes a session the live one. A new session gets its first entries.
func (e *Engine) install(in installation) {
	before, level := e.model, e.thinking
	replaces := e.store != nil
	e.store, e.tools, e.chosen = in.store, in.tools, in.chosen
	if in.cwd != "" {
		e.cwd = in.cwd
	}
	e.queues.steeringMode, e.queues.followUpMode = in.steering, in.followUp
	e.retry.enabled, e.autoCompact = in.retry, in.compact
	e.nextTurn = nil
	e.conv.reset(in.fresh)
	e.setModel(in.chosen.Model, in.budget)
	e.thinking = in.chosen.Thinking
	e.firstEntries(in.fresh, in.had)
	if replaces {
		e.tellChoice(before, level)
	}
}

// tellChoice tells clients when a replacement brought another model or level.
func (e *Engine) tellChoice(before *llm.Model, level llm.ThinkingLevel) {
	if e.model != nil {
		e.tellModel(before, "restore")
	}
	if e.thinking != level {
		e.tell(event.ThinkingLevelChanged{Level: e.thinking})
	}
}

// firstEntries appends what a session must say of itself: its model and level.
func (e *Engine) firstEntries(fresh bool, had session.Selection) {
	var bodies []session.Body
	if m := e.model; m != nil && (fresh || had.Model != nil && (had.Model.Provider != m.Provider || had.Model.ID != m.ID)) {
		bodies = append(bodies, session.ModelChange{Provider: m.Provider, ModelID: m.ID})
	}
	if fresh && e.budgeted() {
		bodies = append(bodies, session.ContextWindowChange{ContextWindow: e.model.ContextWindow})
	}
	if fresh && e.model != nil || !fresh && had.Thinking != e.thinking {
		bodies = append(bodies, session.ThinkingLevelChange{ThinkingLevel: e.thinking})
	}
	for _, b := range bodies {
		if _, err := e.store.Append(b); err != nil {
			e.cfg.Report("storing the session's settings: " + err.Error())
			return
		}
	}
}

// stopRun aborts prompts that are not accepted and the run, drops the queues, and
// waits until all is persisted and told.
func (e *Engine) stopRun(cause error) {
	settled := make(chan struct{})
	e.sync(func() {
		e.refuseInputs(cause)
		if e.queues.len() > 0 {
			e.queues.steering, e.queues.followUp = nil, nil
			e.cfg.Output.Post(e.queues.event())
		}
		e.whenIdle(cause, func() { close(settled) })
		e.admitNext()
	})
	select {
	case <-settled:
	case <-e.stopped:
	}
}

func (e *Engine) hookLife(hook func(context.Context, string), reason string) {
	if hook != nil {
		hook(e.ctx, reason)
	}
}

// SetName names the session. The name is trimmed; newlines become spaces.
func (e *Engine) SetName(name string, reply func(struct{}, error)) {
	ask(e, false, reply, func() (struct{}, error) {
		if name = session.CleanName(name); name == "" {
			return struct{}{}, errNameEmpty
		}
		if _, err := e.store.Append(session.SessionInfo{Name: jsonx.Str(name)}); err != nil {
			return struct{}{}, fmt.Errorf("storing the session name: %w", err)
		}
		e.tell(event.SessionInfoChanged{Name: jsonx.Str(name)})
		return struct{}{}, nil
	})
}

// View replies with an immutable snapshot of the session, for getters that read it
// beside the engine.
func (e *Engine) View(reply func(*session.View, error)) {
	ask(e, true, reply, func() (*session.View, error) { return e.store.View(), nil })
}

// Look replies with what fn makes of a snapshot of the session, beside the lane.
func (e *Engine) Look(fn func(*session.View) (string, error), reply func(string, error)) {
	beside(e, reply, func(context.Context) (string, error) {
		var v *session.View
		e.sync(func() { v = e.store.View() })
		if v == nil {
			return "", ErrShutdown
		}
		return fn(v)
	})
}

// syncStore writes what was appended through to the disk, beside the engine.
func (e *Engine) syncStore() {
	store := e.store
	e.goDo(func() {
		if err := store.Sync(); err != nil {
			e.cfg.Report("syncing the session: " + err.Error())
		}
	})
}

// currentModel is asked for on tool goroutines.
func (e *Engine) currentModel() (m *llm.Model) {
	e.sync(func() { m = e.model })
	return m
}

// childVars are the variables that tell a tool's child about its session. They are
// asked for on tool goroutines.
func (e *Engine) childVars() (vars []string) {
	e.sync(func() {
		if e.store == nil {
			return
		}
		vars = append(vars, "PI_SESSION_ID="+e.store.ID())
		if p := e.store.Path(); p != "" {
			vars = append(vars, "PI_SESSION_FILE="+p)
		}
		if e.model != nil {
			vars = append(vars, "PI_PROVIDER="+e.model.Provider, "PI_MODEL="+e.model.ID, "PI_REASONING_LEVEL="+string(e.thinking))
		}
	})
	return vars
}
