package engine

import (
	"context"

	"github.com/isotope-agent/isotope/internal/llm"
)

// InputKind says by which command a text came.
type InputKind string

// The commands that bring text, and the values of streamingBehavior.
const (
	InputPrompt   InputKind = "prompt"
	InputSteer    InputKind = "steer"
	InputFollowUp InputKind = "followUp"
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
}

// prepared is what preparation made of an input.
type prepared struct {
	handled bool // an input hook or an extension command took it
	msg     *llm.UserMessage
	model   *llm.Model // for which the key was checked; nil when it was not
}

func (a *admission) busy() bool { return a.preparing != nil || len(a.waiting) > 0 }

// cancelAll aborts what is being prepared and answers what waits.
func (a *admission) cancelAll(cause error) {
	if a.preparing != nil {
		a.preparing.cancel(cause)
	}
	waiting := a.waiting
	a.waiting = nil
	for _, it := range waiting {
		it.cancel(cause)
		it.reply("", cause)
	}
}

// abortPrompts aborts prompts that are not accepted yet; steers and follow-ups go on
// to their queue, which an abort does not empty.
func (a *admission) abortPrompts() {
	if p := a.preparing; p != nil && p.in.Kind == InputPrompt {
		p.cancel(ErrAbortedEarly)
	}
	kept := a.waiting[:0:0]
	for _, it := range a.waiting {
		if it.in.Kind == InputPrompt {
			it.cancel(ErrAbortedEarly)
			it.reply("", ErrAbortedEarly)
		} else {
			kept = append(kept, it)
		}
	}
	a.waiting = kept
}

// Submit brings a prompt, steer or follow-up in. reply gets its disposition once it
// is decided; the run that a prompt starts begins in that same step.
func (e *Engine) Submit(in Input, reply func(Disposition, error)) {
	ok := e.post(func() {
		if e.closing {
			reply("", ErrShutdown)
			return
		}
		e.lane.enter(func() {
			if e.submitCommand(in, reply) {
				return
			}
			it := &incoming{in: in, reply: reply}
			it.ctx, it.cancel = context.WithCancelCause(e.ctx)
			e.admit.waiting = append(e.admit.waiting, it)
			e.admitNext()
		}, func(err error) { reply("", err) })
	})
	if !ok {
		reply("", ErrShutdown)
	}
}

// submitCommand hands an extension command to its extension at once, also while a
// run is active or another input is being prepared. It reports whether it did.
func (e *Engine) submitCommand(in Input, reply func(Disposition, error)) bool {
	if e.cfg.Hooks.Command == nil {
		return false
	}
	run, name, ok := e.cfg.Hooks.Command(in.Text)
	if !ok {
		return false
	}
	if in.Kind != InputPrompt {
		reply("", errCommandNotQueued(name))
		return true
	}
	e.goDo(func() {
		run(e.ctx)
		e.post(func() { reply(Handled, nil) })
	})
	return true
}

// admitNext prepares the first waiting input, unless one is being prepared.
func (e *Engine) admitNext() {
	if e.admit.preparing != nil || len(e.admit.waiting) == 0 {
		if e.admit.preparing == nil {
			e.admissionDrained()
		}
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
		p, err := e.prepare(it.ctx, it.in, check)
		e.post(func() { e.admitted(it, p, err) })
	})
}

// prepare runs the input hook, expands commands, normalises images and checks the
// key of the model that a prompt would start with.
func (e *Engine) prepare(ctx context.Context, in Input, check *llm.Model) (prepared, error) {
	text, images := in.Text, in.Images
	if e.cfg.Hooks.Input != nil {
		res, err := e.cfg.Hooks.Input(ctx, in)
		if err != nil {
			return prepared{}, err
		}
		if res.Handled {
			return prepared{handled: true}, nil
		}
		if res.Replace {
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
	p := prepared{msg: e.userMessage(text, images)}
	if len(p.msg.Content) == 0 {
		return prepared{}, ErrNothingToSend
	}
	if check != nil {
		if _, err := e.cfg.Keys.Model(ctx, check); err != nil {
			return prepared{}, err
		}
		p.model = check
	}
	return p, context.Cause(ctx)
}

// admitted decides about a prepared input: the one step in which a prompt becomes a
// run, joins a queue, or is refused.
func (e *Engine) admitted(it *incoming, p prepared, err error) {
	if cause := context.Cause(it.ctx); cause != nil {
		err = cause
	}
	again := false
	switch {
	case err != nil:
		it.reply("", err)
	case p.handled:
		it.reply(Handled, nil)
	default:
		again = e.decide(it, p)
	}
	e.admit.preparing = nil
	if again {
		e.admit.waiting = append([]*incoming{it}, e.admit.waiting...)
	} else {
		it.cancel(nil)
	}
	e.admitNext()
	e.checkClosed()
}

// decide starts, queues or refuses a message. It reports whether the input must be
// prepared again, because the model changed under it.
func (e *Engine) decide(it *incoming, p prepared) (again bool) {
	in := it.in
	switch {
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
