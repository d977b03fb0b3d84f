package engine

// lane holds ordinary commands back while a session replacement is under way. They
// go on in their order. It belongs to the engine goroutine.
type lane struct {
	held    bool
	waiting []*waiter
}

// waiter is a command in the lane: exactly one of its functions is called.
type waiter struct {
	step   func()
	refuse func(error)
	input  *incoming // what it brings in, nil when that is not text
}

// enter runs a command now, or when the lane is free again. After the engine was told
// to stop it refuses the command.
func (e *Engine) enter(w *waiter) {
	switch {
	case e.closing:
		w.refuse(ErrShutdown)
	case e.lane.held:
		e.lane.waiting = append(e.lane.waiting, w)
	default:
		e.step(w.step)
	}
}

// releaseLane frees the lane and runs what waited, until something holds it again.
func (e *Engine) releaseLane() {
	e.lane.held = false
	for len(e.lane.waiting) > 0 && !e.lane.held {
		w := e.lane.waiting[0]
		e.lane.waiting = e.lane.waiting[1:]
		e.step(w.step)
	}
}

// take removes the waiters that match and returns them in order.
func (l *lane) take(match func(*waiter) bool) (taken []*waiter) {
	var kept []*waiter
	for _, w := range l.waiting {
		if match(w) {
			taken = append(taken, w)
		} else {
			kept = append(kept, w)
		}
	}
	l.waiting = kept
	return taken
}
