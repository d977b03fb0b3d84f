package engine

import (
	"context"

	"github.com/isotope-agent/isotope/internal/event"
)

// observers are calls of hooks about what the engine goroutine has done. One goroutine
// makes them, in order: a hook may wait, the engine goroutine may not. It is the engine
// goroutine's own.
type observers struct {
	waiting []func(context.Context)
	running bool
}

// tell tells an event that belongs to no part of a run: the client at once, extensions
// when they come to it. It is called on the engine goroutine.
func (e *Engine) tell(ev event.Event) {
	e.cfg.Output.Post(ev)
	if hook := e.hooks().Event; hook != nil {
		e.observe(func(ctx context.Context) { hook(ctx, ev) })
	}
}

// observe has a hook called behind those that wait.
func (e *Engine) observe(call func(ctx context.Context)) {
	e.observers.waiting = append(e.observers.waiting, call)
	if e.observers.running {
		return
	}
	e.observers.running = true
	e.goDo(func() {
		for {
			var next func(context.Context)
			e.sync(func() {
				if next = nil; len(e.observers.waiting) == 0 {
					e.observers.running = false
					return
				}
				next, e.observers.waiting = e.observers.waiting[0], e.observers.waiting[1:]
			})
			if next == nil {
				return
			}
			next(e.ctx)
		}
	})
}
