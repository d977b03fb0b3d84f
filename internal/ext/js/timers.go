package js

import (
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// timer is a timer of a script. It belongs to the engine's goroutine; only its
// expiry comes from elsewhere, as a job.
type timer struct {
	owner  string
	every  time.Duration // 0 for once
	t      *time.Timer
	cancel bool
}

type timerArgs struct {
	ID     string  `json:"id"`
	Ms     float64 `json:"ms"`
	Repeat bool    `json:"repeat"`
}

func (r *Runtime) startTimer(a timerArgs) (any, error) {
	const most = float64(1<<31 - 1)
	if a.Ms > most || a.Ms < 1 {
		a.Ms = 1 // as Node does
	}
	d := time.Duration(a.Ms * float64(time.Millisecond))
	t := &timer{owner: r.owner}
	if a.Repeat {
		t.every = d
	}
	r.timers[a.ID] = t
	t.t = time.AfterFunc(d, func() { r.post(func() { r.fire(a.ID, t) }) })
	return nil, nil
}

// fire runs a timer's function. A repeated one is started again afterwards, so that
// slow functions do not pile up.
func (r *Runtime) fire(id string, t *timer) {
	if t.cancel {
		return
	}
	if t.every == 0 {
		delete(r.timers, id)
	}
	err := r.enter(t.owner, r.cfg.Limits.Slice, func() error { return r.dispatch("timer", id, jsonx.Raw("null")) })
	if err != nil {
		if _, endless := err.(*Interrupted); endless { //nolint:errorlint // made by enter
			r.stopTimer(id)
		}
		r.failed(t.owner, err)
	}
	if t.every > 0 && !t.cancel {
		t.t.Reset(t.every)
	}
}

func (r *Runtime) stopTimer(id string) {
	if t := r.timers[id]; t != nil {
		t.cancel = true
		t.t.Stop()
		delete(r.timers, id)
	}
}

func (r *Runtime) stopTimers() {
	for id := range r.timers {
		r.stopTimer(id)
	}
}
