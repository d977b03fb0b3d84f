package cli

import (
	"context"
	"errors"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/output"
)

// json is JSON mode: the session's header, then events, one run a prompt.
func (a *app) json(ctx context.Context) int {
	files, err := a.attachFiles()
	if err != nil {
		return failed(a.std.err, err)
	}
	store, err := a.openSession(ctx)
	if err != nil {
		return failed(a.std.err, err)
	}
	reader := &pulse{w: a.std.out}
	out := output.New(reader)
	h := newHeadless(out)
	eng, err := a.newEngine(store, h)
	if err != nil {
		return failed(a.std.err, errors.Join(err, store.Close()))
	}
	head := store.Header()
	out.Post(event.Session{Version: head.Version, ID: head.ID, Timestamp: head.Timestamp, Cwd: head.Cwd, ParentSession: head.ParentSession})
	bad := a.prompt(ctx, eng, h, files, out.Broken(), func() {
		eng.State(func(s engine.State, _ error) {
			if s.Model != nil {
				out.Post(event.ContextWindowChanged{ContextWindow: s.Model.ContextWindow})
			}
		})
	})
	whole := a.leave(ctx, eng, out, reader, true)
	return code(ctx, !whole, bad)
}

// print is print mode: the answer for people and scripts.
func (a *app) print(ctx context.Context) int {
	files, err := a.attachFiles()
	if err != nil {
		return failed(a.std.err, err)
	}
	var st *status
	if a.std.errTerm {
		st = newStatus(a.std.err, a.colored())
		a.std.err = st // what is told takes the spinner's line
	}
	store, err := a.openSession(ctx)
	if err != nil {
		return failed(a.std.err, err)
	}
	p := newPrinter(a.std.out, a.std.outTerm, a.colored(), st)
	h := newHeadless(p)
	eng, err := a.newEngine(store, h)
	if err != nil {
		return failed(a.std.err, errors.Join(err, store.Close()))
	}
	bad := a.prompt(ctx, eng, h, files, p.gone, func() {})
	a.bounded(ctx, func() { p.finish(ctx.Err() == nil) })
	if err := h.verdict(); bad && err != nil && ctx.Err() == nil {
		a.tellVerdict(err)
	}
	a.leave(ctx, eng, nil, nil, true)
	return code(ctx, p.isGone(), bad)
}

// tellVerdict says on stderr what became of an answer that did not end well.
func (a *app) tellVerdict(err error) {
	if errors.Is(err, errCutOff) {
		a.warn(err.Error())
		return
	}
	text := err.Error()
	if a.std.errTerm {
		text = harmless(text)
	}
	a.note("Error: " + text)
}

// colored reports whether what is told on a terminal may have colors (no-color.org).
func (a *app) colored() bool {
	plain, _ := a.env("NO_COLOR")
	term, _ := a.env("TERM")
	return plain == "" && term != "dumb" && !a.flags.noColor
}
