package rpc

import (
	"reflect"

	"github.com/isotope-agent/isotope/internal/engine"
)

// switchCommands are the queue modes, retry and compaction.
func switchCommands() []Command {
	mode := []Param{{
		Name: "mode", Kind: KindWord, Required: true, Words: []string{string(engine.QueueAll), string(engine.QueueOne)},
		Doc: "How many messages one delivery takes.",
	}}
	enabled := []Param{{Name: "enabled", Kind: KindBool, Required: true, Doc: "On or off."}}
	return []Command{
		{
			Name: "set_steering_mode", Class: Ordinary, Summary: "Sets how steering messages are delivered.", Params: mode,
			handle: func(s *server, r *request) error {
				s.cfg.Engine.SetSteeringMode(engine.QueueMode(r.str("mode")), r.done)
				return nil
			},
		},
		{
			Name: "set_follow_up_mode", Class: Ordinary, Summary: "Sets how follow-up messages are delivered.", Params: mode,
			handle: func(s *server, r *request) error {
				s.cfg.Engine.SetFollowUpMode(engine.QueueMode(r.str("mode")), r.done)
				return nil
			},
		},
		{
			Name: "set_auto_retry", Class: Ordinary, Summary: "Says whether failed requests are tried again.", Params: enabled,
			handle: func(s *server, r *request) error { s.cfg.Engine.SetAutoRetry(r.flag("enabled"), r.done); return nil },
		},
		{
			Name: "abort_retry", Class: Interrupt, Summary: "Gives up waiting for the next try.",
			handle: func(s *server, r *request) error { s.cfg.Engine.AbortRetry(r.done); return nil },
		},
		{
			Name: "compact", Class: Beside, Summary: "Shortens the context.",
			Params: []Param{{Name: "customInstructions", Kind: KindString, Doc: "What the summary must pay attention to."}},
			Data:   reflect.TypeFor[Compacted](),
			handle: func(s *server, r *request) error {
				s.cfg.Engine.Compact(r.str("customInstructions"), data[any](r))
				return nil
			},
		},
		{
			Name: "set_auto_compaction", Class: Ordinary, Summary: "Says whether the context is shortened without being asked.",
			Params: enabled,
			handle: func(s *server, r *request) error {
				s.cfg.Engine.SetAutoCompaction(r.flag("enabled"), r.done)
				return nil
			},
		},
		{
			Name: "abort_compaction", Class: Interrupt, Summary: "Cancels a compaction that is under way.",
			handle: func(s *server, r *request) error { s.cfg.Engine.AbortCompaction(r.done); return nil },
		},
	}
}
