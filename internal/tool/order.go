package tool

import (
	"context"
	"sync"
)

// RunFunc executes a call that was started; it is called exactly once, from any
// goroutine, and returns what Tool.Run returns. Update is Tool.Run's.
type RunFunc func(update func(Result)) (Result, error)

// Ordered is implemented by tools whose calls on one thing (a file) must take
// effect in the order of the calls, not in the order in which goroutines get going.
type Ordered interface {
	// Start takes the call's place in line and returns at once; the returned
	// function waits for the calls before it. The loop starts the calls of a batch
	// one after the other, in call order, with their final arguments, and runs every
	// function that it got, also after ctx was cancelled: that gives the place up.
	Start(ctx context.Context, call Call) RunFunc
}

// Start prepares one checked call for running: the place of an Ordered tool is taken
// before Start returns. Starting calls in call order is all that a loop has to do.
func Start(ctx context.Context, t Tool, call Call) RunFunc {
	if o, ok := t.(Ordered); ok {
		return o.Start(ctx, call)
	}
	return func(update func(Result)) (Result, error) { return t.Run(ctx, call, update) }
}

// Queue keeps one line of waiters for each key: first come, first served. The zero
// value is ready; all methods may be called concurrently.
type Queue struct {
	mu    sync.Mutex
	lines map[string][]*Place
}

// Place is a place in a line of a Queue.
type Place struct {
	queue    *Queue
	key      string
	turn     chan struct{} // closed when the place is at the head
	released bool
}

// Reserve takes the last place in the line of key. It never blocks. The place must be
// released, whether or not its turn came.
func (q *Queue) Reserve(key string) *Place {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := &Place{queue: q, key: key, turn: make(chan struct{})}
	if q.lines == nil {
		q.lines = make(map[string][]*Place)
	}
	if len(q.lines[key]) == 0 {
		close(p.turn)
	}
	q.lines[key] = append(q.lines[key], p)
	return p
}

// Wait returns when every earlier place of the line is released, or with the cause of
// ctx when that comes first.
func (p *Place) Wait(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case <-p.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Release gives the place up. A place that is released before its turn does not let
// those behind it overtake those before it. Further calls do nothing.
func (p *Place) Release() {
	q := p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	p.released = true
	line := q.lines[p.key]
	for len(line) > 0 && line[0].released {
		line = line[1:]
		if len(line) > 0 {
			close(line[0].turn)
		}
	}
	if len(line) == 0 {
		delete(q.lines, p.key)
	} else {
		q.lines[p.key] = line
	}
}
