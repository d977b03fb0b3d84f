package js

import (
	"fmt"
	"time"
)

// An Interrupted is the error of code that ran longer than it may.
type Interrupted struct{ After time.Duration }

// Error implements error.
func (e *Interrupted) Error() string {
	return fmt.Sprintf("stopped: the code ran for more than %s without a pause", e.After)
}

// A Stuck is the error of a handler that does not settle although nothing that it
// could wait for is under way.
type Stuck struct{ After time.Duration }

// Error implements error.
func (e *Stuck) Error() string {
	return fmt.Sprintf("the handler did not finish within %s", e.After)
}

// maxLoops is how many entries in a row may end with promises that never come to rest:
// their jobs cannot be taken out of the engine, so the engine is given up.
const maxLoops = 3

// enter is the only way into the scripts: f runs on behalf of owner, then the promises
// that it settled, each for at most limit.
func (r *Runtime) enter(owner string, limit time.Duration, f func() error) error {
	prev := r.owner
	r.owner = owner
	defer func() { r.owner = prev }()
	r.eng.limit(limit)
	err := f()
	r.eng.limit(limit)
	drained := r.eng.drain()
	switch {
	case interrupted(err):
		err = &Interrupted{limit}
	case interrupted(drained):
		err = &Interrupted{limit}
		r.loops++
		if r.loops >= maxLoops {
			panic("promises of extensions never come to rest")
		}
	default:
		r.loops = 0
		if err == nil {
			err = drained
		}
	}
	if e, ok := err.(*Interrupted); ok { //nolint:errorlint // made above
		r.interrupted(owner, e)
	}
	return r.mapped(err)
}

// interrupted fails whoever waits for owner: a stopped function never settles what it
// was to settle.
func (r *Runtime) interrupted(owner string, e *Interrupted) {
	r.mu.Lock()
	var waiting []*call
	for id, c := range r.calls {
		if c.owner == owner {
			waiting = append(waiting, c)
			delete(r.calls, id)
		}
	}
	r.mu.Unlock()
	for _, c := range waiting {
		c.reply <- answer{err: e}
	}
}
