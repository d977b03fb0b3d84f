package rpc

import (
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/proc"
)

func bashCommands() []Command {
	params := []Param{
		{Name: "command", Kind: KindText, Required: true, Doc: "What the shell runs."},
		{Name: "excludeFromContext", Kind: KindBool, Doc: "Keep the command and its output from the model."},
	}
	return []Command{
		{
			Name: "bash", Class: Beside, Summary: "Runs a shell command and records it in the session.",
			Params: params, Data: proc.BashResult{}, handle: bash,
		},
		{
			Name: "user_bash", Class: Beside, Summary: "The same as bash.", Params: params, Data: proc.BashResult{}, handle: bash,
		},
		{
			Name: "abort_bash", Class: Interrupt, Summary: "Cancels the bash commands with an id, or all.",
			Params: []Param{{Name: "requestId", Kind: KindID, Doc: "The id of the command to cancel; all when it is missing."}},
			handle: func(s *server, r *request) error { s.cfg.Engine.AbortBash(r.raw("requestId"), r.done); return nil },
		},
	}
}

func bash(s *server, r *request) error {
	req := engine.BashRequest{ID: r.id, Command: r.str("command"), ExcludeFromContext: r.flag("excludeFromContext")}
	s.cfg.Engine.Bash(req, data[proc.BashResult](r))
	return nil
}
