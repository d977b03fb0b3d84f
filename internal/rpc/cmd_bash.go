package rpc

import (
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/proc"
)

func bash(s *server, r *request) error {
	command, err := r.text("command")
	if err != nil {
		return err
	}
	exclude, err := r.optBool("excludeFromContext")
	if err != nil {
		return err
	}
	s.cfg.Engine.Bash(engine.BashRequest{ID: r.id, Command: command, ExcludeFromContext: exclude}, data[proc.BashResult](r))
	return nil
}

func abortBash(s *server, r *request) error {
	id, given := r.raw("requestId")
	if given && id.Kind() == 'n' {
		id, given = nil, false
	}
	if !given {
		id = nil
	}
	s.cfg.Engine.AbortBash(id, r.done)
	return nil
}
