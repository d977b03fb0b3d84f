package rpc

import "github.com/isotope-agent/isotope/internal/engine"

// extensionCommands ask extensions for something.
func extensionCommands() []Command {
	return []Command{
		{
			Name: "get_command_completions", Class: Getter, Summary: "Lists what may follow a command; null when nobody knows.",
			Params: []Param{
				{Name: "commandName", Kind: KindText, Required: true, Doc: "The command."},
				{Name: "argumentPrefix", Kind: KindString, Required: true, Doc: "What was typed behind it."},
			},
			Data: engine.CompletionList{},
			handle: func(s *server, r *request) error {
				s.cfg.Engine.Completions(r.str("commandName"), r.str("argumentPrefix"), data[engine.CompletionList](r))
				return nil
			},
		},
		{
			Name: "get_shortcuts", Class: Getter, Summary: "Lists the keys that extensions listen to.", Data: engine.ShortcutList{},
			handle: func(s *server, r *request) error { s.cfg.Engine.Shortcuts(data[engine.ShortcutList](r)); return nil },
		},
		{
			Name: "invoke_shortcut", Class: Beside, Summary: "Does what a key stands for.",
			Params: []Param{{Name: "key", Kind: KindText, Required: true, Doc: "The key, as get_shortcuts names it."}},
			handle: func(s *server, r *request) error { s.cfg.Engine.InvokeShortcut(r.str("key"), r.done); return nil },
		},
	}
}
