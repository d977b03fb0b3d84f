package engine

// Released says whether ResumeQueued let anything go.
type Released struct {
	Released bool `json:"released"`
}

// PauseQueued holds queued messages back, those that come from now on included: a run
// goes on without them and ends without being continued (atomic-facts.md 9.6).
func (e *Engine) PauseQueued(reply func(struct{}, error)) {
	ask(e, true, reply, func() (struct{}, error) {
		e.queues.paused = true
		return struct{}{}, nil
	})
}

// ResumeQueued lets queued messages be delivered again, in their order, once an abort
// that is under way is persisted. It starts no run.
func (e *Engine) ResumeQueued(reply func(Released, error)) {
	ok := e.post(func() {
		resume := func() {
			held := e.queues.paused && e.queues.len() > 0
			e.queues.paused = false
			reply(Released{held}, nil)
		}
		if r := e.run; r != nil && len(r.aborts) > 0 {
			r.aborts = append(r.aborts, resume)
			return
		}
		resume()
	})
	if !ok {
		reply(Released{}, ErrShutdown)
	}
}
