package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/model"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/settings"
)

// Cycled is what CycleModel switched to.
type Cycled struct {
	Model    *llm.Model        `json:"model"`
	Thinking llm.ThinkingLevel `json:"thinkingLevel"`
	IsScoped bool              `json:"isScoped"`
}

// Level is what SetThinkingLevel arrived at; Provider and ModelID name the model for
// which it counts.
type Level struct {
	Level    llm.ThinkingLevel `json:"level"`
	Provider string            `json:"provider,omitzero"`
	ModelID  string            `json:"modelId,omitzero"`
}

// SetModel switches the session to a model whose provider has a key, from the next
// request on. persist makes it the default of later sessions.
func (e *Engine) SetModel(provider, id string, persist bool, reply func(*llm.Model, error)) {
	ask(e, false, reply, func() (*llm.Model, error) {
		m, err := e.cfg.Models.Select(provider, id)
		if err != nil {
			return nil, err
		}
		if !e.cfg.Models.Usable(provider) {
			return nil, errors.New(e.cfg.Keys.MissingKey(provider))
		}
		err = e.switchModel(m, "", "set", persist)
		return e.model, err
	})
}

// CycleModel switches to the next model of the scope, or of all available ones; back
// goes the other way. It replies nil when there is no other.
func (e *Engine) CycleModel(back, persist bool, reply func(*Cycled, error)) {
	ask(e, false, reply, func() (*Cycled, error) {
		scope := e.cfg.Scope()
		next, ok := e.cfg.Models.Cycle(e.model, scope, back)
		if !ok {
			return nil, nil
		}
		if err := e.switchModel(next.Model, next.Thinking, "cycle", persist); err != nil {
			return nil, err
		}
		return &Cycled{Model: e.model, Thinking: e.thinking, IsScoped: len(scope) > 0}, nil
	})
}

// SavedModel is what settings say about the model of a session.
func SavedModel(s *settings.Settings) model.Saved {
	return model.Saved{
		Provider: s.DefaultProvider(), Model: s.DefaultModel(),
		Thinking: s.DefaultThinking(), ModelThinking: s.ModelThinking,
	}
}

// switchModel makes m the session's model. asked is the level that comes with the
// choice, "" for what settings and session say.
func (e *Engine) switchModel(m *llm.Model, asked llm.ThinkingLevel, source string, persist bool) error {
	if _, err := e.store.Append(session.ModelChange{Provider: m.Provider, ModelID: m.ID}); err != nil {
		return fmt.Errorf("storing the model change: %w", err)
	}
	before := e.model
	e.setModel(m, e.cfg.Settings.DefaultContextWindow(m.Provider, m.ID))
	e.chosen = model.Initial{}
	err := e.changeThinking(SavedModel(e.cfg.Settings).SwitchThinking(m, asked, e.thinking))
	e.tellModel(before, source) // the entry stands, whatever became of the level's
	if err != nil {
		return err
	}
	if persist {
		e.save(m.Provider, "defaultProvider")
		e.save(m.ID, "defaultModel")
		e.save(string(e.thinking), "defaultThinkingLevel")
	}
	return nil
}

// tellModel tells that the session has another model, and another budget with it.
func (e *Engine) tellModel(before *llm.Model, source string) {
	if before == nil || before.Ref() != e.model.Ref() {
		e.tell(event.ModelChanged{Model: e.model, PreviousModel: before, Source: source})
	}
	if before == nil || before.ContextWindow != e.model.ContextWindow {
		e.cfg.Output.Post(event.ContextWindowChanged{ContextWindow: e.model.ContextWindow})
	}
}

// changeThinking stores and tells another level; the same one is no change.
func (e *Engine) changeThinking(level llm.ThinkingLevel) error {
	if level == e.thinking {
		return nil
	}
	if _, err := e.store.Append(session.ThinkingLevelChange{ThinkingLevel: level}); err != nil {
		return fmt.Errorf("storing the thinking level: %w", err)
	}
	e.thinking = level
	e.tell(event.ThinkingLevelChanged{Level: level})
	return nil
}

// SetThinkingLevel asks for a level; the nearest that the model supports counts.
func (e *Engine) SetThinkingLevel(level llm.ThinkingLevel, persist bool, reply func(Level, error)) {
	ask(e, false, reply, func() (Level, error) {
		if err := e.changeThinking(e.model.ClampThinking(level)); err != nil {
			return Level{}, err
		}
		out := Level{Level: e.thinking}
		if e.model != nil {
			out.Provider, out.ModelID = e.model.Provider, e.model.ID
		}
		if persist {
			e.save(string(e.thinking), "defaultThinkingLevel")
			if e.model != nil {
				e.save(string(e.thinking), "modelThinkingLevels", e.model.Ref())
			}
		}
		return out, nil
	})
}

// CycleThinkingLevel goes to the next level of the model; it replies nil when the
// model has only one.
func (e *Engine) CycleThinkingLevel(persist bool, reply func(*Level, error)) {
	ask(e, false, reply, func() (*Level, error) {
		levels := e.model.ThinkingLevels()
		if len(levels) < 2 {
			return nil, nil
		}
		next := levels[(slices.Index(levels, e.thinking)+1)%len(levels)]
		if err := e.changeThinking(next); err != nil {
			return nil, err
		}
		if persist {
			e.save(string(next), "defaultThinkingLevel")
		}
		return &Level{Level: next}, nil
	})
}

// ThinkingLevels replies with the levels that the current model supports.
func (e *Engine) ThinkingLevels(reply func([]llm.ThinkingLevel, error)) {
	ask(e, true, reply, func() ([]llm.ThinkingLevel, error) { return e.model.ThinkingLevels(), nil })
}

// Catalogue is what get_available_models shows.
type Catalogue struct {
	Models       []*llm.Model   `json:"models"`
	ScopedModels []model.Scoped `json:"scopedModels"`
}

// AvailableModels replies with the models that can be used now.
func (e *Engine) AvailableModels(reply func(Catalogue, error)) {
	ask(e, true, reply, func() (Catalogue, error) {
		return e.catalogue(), nil
	})
}

// promptBlocked says why no prompt can start.
func (e *Engine) promptBlocked() error {
	if e.chosen.Blocked != "" {
		return errors.New(e.chosen.Blocked)
	}
	if e.model == nil {
		return errNoModel
	}
	return nil
}

// saveSetting writes one setting and never fails the command: the change holds for
// this process whatever becomes of the file.
func (e *Engine) saveSetting(value any, path ...string) error {
	e.save(value, path...)
	return nil
}

// save writes settings one after the other on a goroutine of their own: the file is
// locked, and another program may hold it.
func (e *Engine) save(value any, path ...string) {
	e.saves = append(e.saves, func() {
		if err := e.cfg.Settings.Set(context.Background(), value, path...); err != nil {
			e.cfg.Report("saving settings: " + err.Error())
		}
	})
	if len(e.saves) == 1 {
		e.saveNext()
	}
}

// awaitSaves waits until what was changed before is in the settings: a session that takes
// the live one's place reads them. It is not called on the engine goroutine.
func (e *Engine) awaitSaves() {
	done := make(chan struct{})
	e.sync(func() {
		if len(e.saves) == 0 {
			close(done)
		} else {
			e.saves = append(e.saves, func() { close(done) })
		}
	})
	select {
	case <-done:
	case <-e.stopped:
	}
}

func (e *Engine) saveNext() {
	fn := e.saves[0]
	e.goDo(func() {
		e.step(fn)
		e.post(func() {
			if e.saves = e.saves[1:]; len(e.saves) > 0 {
				e.saveNext()
			} else {
				e.checkClosed()
			}
		})
	})
}
