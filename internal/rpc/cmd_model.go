package rpc

import (
	"fmt"
	"strings"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/llm"
)

func setModel(s *server, r *request) error {
	provider, err := r.text("provider")
	if err != nil {
		return err
	}
	id, err := r.text("modelId")
	if err != nil {
		return err
	}
	persist, err := r.optBool("persist")
	if err != nil {
		return err
	}
	s.cfg.Engine.SetModel(provider, id, persist, data[*llm.Model](r))
	return nil
}

func cycleModel(s *server, r *request) error {
	direction, err := optOneOf(r, "direction", "forward", "backward")
	if err != nil {
		return err
	}
	persist, err := r.optBool("persist")
	if err != nil {
		return err
	}
	s.cfg.Engine.CycleModel(direction == "backward", persist, orNull[engine.Cycled](r))
	return nil
}

func getAvailableModels(s *server, r *request) error {
	s.cfg.Engine.AvailableModels(data[engine.Catalogue](r))
	return nil
}

func setThinkingLevel(s *server, r *request) error {
	level, err := param[llm.ThinkingLevel](r, "level", levelWords())
	if err != nil {
		return err
	}
	if !level.Valid() {
		return fmt.Errorf(textWrong, "level", levelWords(), fmt.Sprintf("%q", string(level)))
	}
	persist, err := r.optBool("persist")
	if err != nil {
		return err
	}
	s.cfg.Engine.SetThinkingLevel(level, persist, data[engine.Level](r))
	return nil
}

func levelWords() string {
	words := make([]string, 0, 7)
	for _, l := range llm.ThinkingLevels() {
		words = append(words, string(l))
	}
	return "one of " + strings.Join(words, ", ")
}

func cycleThinkingLevel(s *server, r *request) error {
	persist, err := r.optBool("persist")
	if err != nil {
		return err
	}
	s.cfg.Engine.CycleThinkingLevel(persist, orNull[engine.Level](r))
	return nil
}

func getAvailableThinkingLevels(s *server, r *request) error {
	s.cfg.Engine.ThinkingLevels(func(levels []llm.ThinkingLevel, err error) {
		if err != nil {
			r.fail(err)
			return
		}
		r.reply(struct {
			Levels []llm.ThinkingLevel `json:"levels"`
		}{levels})
	})
	return nil
}

func setSteeringMode(s *server, r *request) error {
	mode, err := oneOf(r, "mode", engine.QueueAll, engine.QueueOne)
	if err != nil {
		return err
	}
	s.cfg.Engine.SetSteeringMode(mode, r.done)
	return nil
}

func setFollowUpMode(s *server, r *request) error {
	mode, err := oneOf(r, "mode", engine.QueueAll, engine.QueueOne)
	if err != nil {
		return err
	}
	s.cfg.Engine.SetFollowUpMode(mode, r.done)
	return nil
}

func setAutoRetry(s *server, r *request) error {
	on, err := r.boolean("enabled")
	if err != nil {
		return err
	}
	s.cfg.Engine.SetAutoRetry(on, r.done)
	return nil
}

func setAutoCompaction(s *server, r *request) error {
	on, err := r.boolean("enabled")
	if err != nil {
		return err
	}
	s.cfg.Engine.SetAutoCompaction(on, r.done)
	return nil
}

func abortRetry(s *server, r *request) error {
	s.cfg.Engine.AbortRetry(r.done)
	return nil
}

func compact(s *server, r *request) error {
	if _, err := r.optStr("customInstructions"); err != nil {
		return err
	}
	s.cfg.Engine.Compact(r.done)
	return nil
}

// orNull answers with what the pointer holds, or with null.
func orNull[T any](r *request) func(*T, error) {
	return func(v *T, err error) {
		switch {
		case err != nil:
			r.fail(err)
		case v == nil:
			r.reply(nil)
		default:
			r.reply(v)
		}
	}
}
