package rpc

import (
	"strings"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/llm"
)

func modelCommands() []Command {
	persist := Param{Name: "persist", Kind: KindBool, Doc: "Make it the default of later sessions too."}
	provider := Param{Name: "provider", Kind: KindText, Required: true, Doc: "The name of the provider."}
	return []Command{
		{
			Name: "set_model", Class: Ordinary, Summary: "Switches to a model, from the next request on.",
			Params: []Param{provider, {Name: "modelId", Kind: KindText, Required: true, Doc: "The id of the model."}, persist},
			Data:   &llm.Model{}, handle: setModel,
		},
		{
			Name: "cycle_model", Class: Ordinary, Summary: "Switches to the next model; null when there is no other.",
			Params: []Param{{Name: "direction", Kind: KindWord, Words: []string{"forward", "backward"}, Doc: "Forward when it is missing."}, persist},
			Data:   engine.Cycled{}, Nullable: true, handle: cycleModel,
		},
		{
			Name: "get_available_models", Class: Getter, Summary: "Lists the models that can be used now.", Data: engine.Catalogue{},
			handle: func(s *server, r *request) error { s.cfg.Engine.AvailableModels(data[engine.Catalogue](r)); return nil },
		},
		{
			Name: "set_thinking_level", Class: Ordinary, Summary: "Sets how much the model reasons; the nearest level it has counts.",
			Params: []Param{{Name: "level", Kind: KindWord, Required: true, Words: levels(), What: "one of " + strings.Join(levels(), ", "), Doc: "The level."}, persist},
			Data:   engine.Level{}, handle: setThinkingLevel,
		},
		{
			Name: "cycle_thinking_level", Class: Ordinary, Summary: "Goes to the next level of the model; null when it has only one.",
			Params: []Param{persist}, Data: engine.Level{}, Nullable: true,
			handle: func(s *server, r *request) error {
				s.cfg.Engine.CycleThinkingLevel(r.flag("persist"), orNull[engine.Level](r))
				return nil
			},
		},
		{
			Name: "get_available_thinking_levels", Class: Getter, Summary: "Lists the levels of the current model.", Data: Levels{},
			handle: func(s *server, r *request) error {
				s.cfg.Engine.ThinkingLevels(func(l []llm.ThinkingLevel, err error) { data[Levels](r)(Levels{l}, err) })
				return nil
			},
		},
		{
			Name: "set_context_window", Class: Ordinary, Summary: "Changes how much of the model's context window is used.",
			Params: []Param{{Name: "contextWindow", Kind: KindTokens, Required: true, Doc: "Tokens, at most the model's context window."}},
			handle: func(s *server, r *request) error {
				s.cfg.Engine.SetContextWindow(r.number("contextWindow"), r.done)
				return nil
			},
		},
		{
			Name: "get_available_context_windows", Class: Getter, Summary: "Lists budgets that make sense for the model.",
			Data: engine.ContextWindows{},
			handle: func(s *server, r *request) error {
				s.cfg.Engine.AvailableContextWindows(data[engine.ContextWindows](r))
				return nil
			},
		},
	}
}

func levels() []string {
	var words []string
	for _, l := range llm.ThinkingLevels() {
		words = append(words, string(l))
	}
	return words
}

func setModel(s *server, r *request) error {
	s.cfg.Engine.SetModel(r.str("provider"), r.str("modelId"), r.flag("persist"), data[*llm.Model](r))
	return nil
}

func cycleModel(s *server, r *request) error {
	s.cfg.Engine.CycleModel(r.str("direction") == "backward", r.flag("persist"), orNull[engine.Cycled](r))
	return nil
}

func setThinkingLevel(s *server, r *request) error {
	s.cfg.Engine.SetThinkingLevel(llm.ThinkingLevel(r.str("level")), r.flag("persist"), data[engine.Level](r))
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
