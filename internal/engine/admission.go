package engine

import (
	"context"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// InputKind says how something comes in.
type InputKind string

// The commands that bring text, the values of streamingBehavior, and how extensions
// deliver messages.
const (
	InputPrompt   InputKind = "prompt"
	InputSteer    InputKind = "steer"
	InputFollowUp InputKind = "followUp"
	InputNextTurn InputKind = "nextTurn" // with the next prompt; of extensions only
)

// Input is a text on its way in. Behavior says how a prompt queues itself when a run
// is active: InputSteer, InputFollowUp, or "" for not at all.
type Input struct {
	Kind     InputKind
	Text     string
	Images   []*llm.Image
	Behavior InputKind
}

// Disposition is what became of an accepted input.
type Disposition string

// The dispositions of the protocol.
const (
	Started Disposition = "started"
	Queued  Disposition = "queued"
	Handled Disposition = "handled"
)

// admission is the one queue through which prompts, steers and follow-ups come in:
// an input is prepared on its own goroutine, its outcome is decided in one step of
// the engine goroutine, then the next one is prepared. Nothing is ever accepted and
// lost between the two.
type admission struct {
	waiting   []*incoming
	preparing *incoming
}

type incoming struct {
	in     Input
	ctx    context.Context
	cancel context.CancelCauseFunc
	reply  func(Disposition, error)
	ready  prepared // what an earlier preparation made of it
}

// refuse answers an input that does not come in.
func (it *incoming) refuse(cause error) {
	if it.cancel != nil {
		it.cancel(cause)
	}
	it.reply("", cause)
}

// prepared is what preparation made of an input.
type prepared struct {
	handled bool // an input hook or an extension command took it
	msg     *llm.UserMessage
	model   *llm.Model // for which the key was checked; nil when it was not
}

func (a *admission) busy() bool { return a.preparing != nil || len(a.waiting) > 0 }

// take removes the inputs that match and returns them in order. One that is being
// prepared is cancelled and let go: nobody waits for a hook that does not listen, and
// what comes of it is dropped. admitNext must be called afterwards.
func (a *admission) take(match func(*incoming) bool) (taken []*incoming) {
	var kept []*incoming
	if p := a.preparing; p != nil && match(p) {
		a.preparing = nil
		taken = append(taken, p)
	}
	for _, it := range a.waiting {
		if match(it) {
			taken = append(taken, it)
		} else {
			kept = append(kept, it)
		}
	}
	a.waiting = kept
	return taken
}

// refuseInputs answers everything that is on its way in with cause.
func (e *Engine) refuseInputs(cause error) {
	for _, it := range e.admit.take(func(*incoming) bool { return true }) {
		it.refuse(cause)
	}
}

// abortPrompts answers prompts that are not accepted yet; steers and follow-ups go on
// to their queue, which an abort does not empty.
func (e *Engine) abortPrompts() {
	prompt := func(it *incoming) bool { return it != nil && it.in.Kind == InputPrompt }
	for _, it := range e.admit.take(prompt) {
		it.refuse(ErrAbortedEarly)
	}
	for _, w := range e.lane.take(func(w *waiter) bool { return prompt(w.input) }) {
		w.refuse(ErrAbortedEarly)
	}
}

// Submit brings a prompt, steer or follow-up in. reply gets its disposition once it
// is decided; the run that a prompt starts begins in that same step.
func (e *Engine) Submit(in Input, reply func(Disposition, error)) {
	it := &incoming{in: in, reply: reply}
	ok := e.post(func() {
		e.enter(&waiter{step: func() { e.submit(it) }, refuse: it.refuse, input: it})
	})
	if !ok {
		it.refuse(ErrShutdown)
	}
}

func (e *Engine) submit(it *incoming) {
	if e.submitCommand(it.in, it.reply) {
		return
	}
	it.ctx, it.cancel = context.WithCancelCause(e.ctx)
	e.admit.waiting = append(e.admit.waiting, it)
	e.admitNext()
}

// submitCommand hands an extension command to its extension at once, also while a
// run is active or another input is being prepared. It reports whether it did.
func (e *Engine) submitCommand(in Input, reply func(Disposition, error)) bool {
	hook := e.hooks().Command
	if hook == nil {
		return false
	}
	run, name, ok := hook(in.Text)
	if !ok {
		return false
	}
	if in.Kind != InputPrompt {
		reply("", errCommandNotQueued(name))
		return true
	}
	e.goDo(func() {
		e.step(func() { run(e.ctx) })
		e.post(func() { reply(Handled, nil) })
	})
	return true
}

// admitNext prepares the first waiting input, unless one is being prepared.
func (e *Engine) admitNext() {
	if e.admit.preparing != nil {
		return
	}
	if len(e.admit.waiting) == 0 {
		e.admissionDrained()
		e.checkClosed()
		return
	}
	it := e.admit.waiting[0]
	e.admit.waiting = e.admit.waiting[1:]
	e.admit.preparing = it
	var check *llm.Model
	if it.in.Kind == InputPrompt && e.run == nil {
		check = e.model
	}
	e.goDo(func() {
		p, err := try(e, func() (prepared, error) { return e.prepare(it, check) })
		e.post(func() { e.admitted(it, p, err) })
	})
}

// prepare runs the input hook, expands commands, normalises images and checks the
// key of the model that a prompt would start with. What was done before is not done
// again.
func (e *Engine) prepare(it *incoming, check *llm.Model) (prepared, error) {
	p := it.ready
	if p.msg == nil {
		var err error
		if p, err = e.compose(it); err != nil || p.handled {
			return p, err
		}
	}
	if check != nil && p.model != check {
		if _, err := e.cfg.Keys.Model(it.ctx, check); err != nil {
			return p, err
		}
		p.model = check
	}
	return p, nil
}

// compose makes the message of an input.
func (e *Engine) compose(it *incoming) (prepared, error) {
	text, images := it.in.Text, it.in.Images
	if hook := e.hooks().Input; hook != nil {
		res, err := hook(it.ctx, it.in)
		switch {
		case err != nil:
			return prepared{}, err
		case res.Handled:
			return prepared{handled: true}, nil
		case res.Replace:
			text, images = res.Text, res.Images
		}
	}
	if e.cfg.Expand != nil {
		expanded, err := e.cfg.Expand(text)
		if err != nil {
			return prepared{}, err
		}
		text = expanded
	}
	msg := e.userMessage(text, images)
	if len(msg.Content) == 0 {
		return prepared{}, ErrNothingToSend
	}
	return prepared{msg: msg}, nil
}

// admitted decides about a prepared input: the one step in which a prompt becomes a
// run, joins a queue, or is refused.
func (e *Engine) admitted(it *incoming, p prepared, err error) {
	if e.admit.preparing != it {
		return // it was answered while it was prepared
	}
	e.admit.preparing = nil
	again := false
	switch {
	case err != nil:
		it.reply("", err)
	case p.handled:
		it.reply(Handled, nil)
	default:
		again = e.decide(it, p)
	}
	if again {
		it.ready = p
		e.admit.waiting = append([]*incoming{it}, e.admit.waiting...)
	} else {
		it.cancel(nil)
	}
	e.admitNext()
}

// decide starts, queues or refuses a message. It reports whether the input must be
// prepared again, because the model changed under it.
func (e *Engine) decide(it *incoming, p prepared) (again bool) {
	in := it.in
	if in.Kind == InputPrompt && in.Behavior == "" {
		e.settleParked()
	}
	switch {
	case e.store.ReadOnly():
		it.reply("", session.ErrReadOnly)
	case in.Kind == InputSteer, in.Kind == InputPrompt && e.held() && in.Behavior == InputSteer:
		e.enqueue(&e.queues.steering, p.msg)
		it.reply(Queued, nil)
	case in.Kind == InputFollowUp, in.Kind == InputPrompt && e.held() && in.Behavior == InputFollowUp:
		e.enqueue(&e.queues.followUp, p.msg)
		it.reply(Queued, nil)
	case e.queues.paused && !e.closing:
		e.enqueue(&e.queues.steering, p.msg)
		it.reply(Queued, nil)
	case e.run != nil:
		it.reply("", ErrBusy)
	case e.compacting():
		it.reply("", ErrCompacting)
	default:
		if err := e.promptBlocked(); err != nil {
			it.reply("", err)
			return false
		}
		if p.model != e.model {
			return true
		}
		it.reply(Started, nil)
		e.startRun(p.msg)
	}
	return false
}

// held reports whether a prompt cannot start now: a run is active or the queue is
// paused or a compaction is under way.
func (e *Engine) held() bool { return e.run != nil || e.queues.paused || e.compacting() }
