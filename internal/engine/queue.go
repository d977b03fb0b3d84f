package engine

import (
	"slices"

	"github.com/isotope-agent/isotope/internal/agent"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
)

// QueueMode says how many queued messages one delivery takes.
type QueueMode string

// The queue modes of the protocol.
const (
	QueueAll QueueMode = "all"
	QueueOne QueueMode = "one-at-a-time"
)

// Valid reports whether m is one of the two modes.
func (m QueueMode) Valid() bool { return m == QueueAll || m == QueueOne }

// queued is one waiting message. It leaves its queue when it is delivered; between
// the poll and the delivery it is taken: still listed, no longer cleared.
type queued struct {
	text   string
	msg    llm.Message // nil for one that only waits to be listed
	hidden bool        // of an extension: clients are not told of it
	taken  bool
}

// queues are the two lists of waiting messages. paused holds everything back.
type queues struct {
	steering, followUp         []*queued
	steeringMode, followUpMode QueueMode
	paused                     bool
}

func texts(list []*queued) []string {
	out := make([]string, 0, len(list))
	for _, q := range list {
		if !q.hidden {
			out = append(out, q.text)
		}
	}
	return out
}

func (q *queues) event() event.QueueUpdate {
	return event.QueueUpdate{Steering: texts(q.steering), FollowUp: texts(q.followUp)}
}

func (q *queues) len() int { return len(q.steering) + len(q.followUp) }

// enqueue adds a message to a queue and tells the queues.
func (e *Engine) enqueue(list *[]*queued, msg *llm.UserMessage) {
	e.enqueueText(list, &queued{text: msg.Content.PlainText(""), msg: msg})
}

func (e *Engine) enqueueText(list *[]*queued, q *queued) {
	*list = append(*list, q)
	e.cfg.Output.Post(e.queues.event())
}

// take marks what a poll of list delivers: everything, or the first.
func take(list []*queued, mode QueueMode) []*queued {
	var out []*queued
	for _, q := range list {
		if q.taken {
			continue
		}
		q.taken = true
		out = append(out, q)
		if mode != QueueAll {
			break
		}
	}
	return out
}

// untake gives back what was polled and never delivered.
func (q *queues) untake() {
	for _, list := range [][]*queued{q.steering, q.followUp} {
		for _, m := range list {
			m.taken = false
		}
	}
}

// pollFollowUp is the run's source of follow-ups (agent.Config). It is called on the
// run goroutine.
func (e *Engine) pollFollowUp() (out []agent.Queued) {
	e.sync(func() { out = e.due(&e.queues.followUp, e.queues.followUpMode) })
	return out
}

// due takes what is to be delivered now from list.
func (e *Engine) due(list *[]*queued, mode QueueMode) (out []agent.Queued) {
	if e.queues.paused {
		return nil
	}
	for _, q := range take(*list, mode) {
		out = append(out, agent.Queued{
			Message: q.msg,
			Deliver: func() { e.sync(func() { e.delivered(list, q) }) },
			Return:  func() { e.sync(func() { e.returned(list, q) }) },
		})
	}
	return out
}

// returned puts a message back that could not be stored, at the head of its queue.
func (e *Engine) returned(list *[]*queued, q *queued) {
	*list = append([]*queued{q}, *list...)
	e.cfg.Output.Post(e.queues.event())
}

// delivered removes a message from its queue and tells the queues without it.
func (e *Engine) delivered(list *[]*queued, q *queued) {
	if i := slices.Index(*list, q); i >= 0 {
		*list = slices.Delete(slices.Clone(*list), i, i+1)
		if !q.hidden {
			e.cfg.Output.Post(e.queues.event())
		}
	}
}

// Cleared is what ClearQueue removed: the texts in order.
type Cleared struct {
	Steering []string `json:"steering"`
	FollowUp []string `json:"followUp"`
}

// ClearQueue empties both queues and replies with their texts, those that are still
// on their way to a queue included: it acts on everything that came before it. It
// always tells the queues, also when they were empty. A message that is just being
// delivered stays.
func (e *Engine) ClearQueue(reply func(Cleared, error)) {
	ask(e, true, reply, func() (Cleared, error) {
		e.queueAtOnce()
		clear := func(list []*queued) (kept, gone []*queued) {
			for _, q := range list {
				if q.taken {
					kept = append(kept, q)
				} else {
					gone = append(gone, q)
				}
			}
			return kept, gone
		}
		var steering, followUp []*queued
		e.queues.steering, steering = clear(e.queues.steering)
		e.queues.followUp, followUp = clear(e.queues.followUp)
		e.cfg.Output.Post(e.queues.event())
		e.admitNext()
		return Cleared{Steering: texts(steering), FollowUp: texts(followUp)}, nil
	})
}

// queueAtOnce queues the inputs that are still being prepared for a queue, as they
// came, so that they can be cleared from it.
func (e *Engine) queueAtOnce() {
	held := e.held()
	queues := func(it *incoming) bool {
		switch {
		case it == nil || it.in.Text == "" && len(it.in.Images) == 0:
			return false
		case it.in.Kind != InputPrompt:
			return true
		case it.in.Behavior != "" && held:
			return true
		}
		held = true // a prompt that starts holds those behind it
		return false
	}
	list := e.admit.take(queues)
	for _, w := range e.lane.take(func(w *waiter) bool { return queues(w.input) }) {
		list = append(list, w.input)
	}
	for _, it := range list {
		to := &e.queues.steering
		if it.in.Kind == InputFollowUp || it.in.Behavior == InputFollowUp {
			to = &e.queues.followUp
		}
		e.enqueueText(to, &queued{text: it.in.Text})
		if it.cancel != nil {
			it.cancel(nil)
		}
		it.reply(Queued, nil)
	}
}

// SetSteeringMode sets how steering messages are delivered, from the next delivery
// on, and writes it to the settings.
func (e *Engine) SetSteeringMode(m QueueMode, reply func(struct{}, error)) {
	ask(e, false, reply, func() (struct{}, error) {
		e.queues.steeringMode = m
		return struct{}{}, e.saveSetting(string(m), "steeringMode")
	})
}

// SetFollowUpMode is SetSteeringMode for follow-ups.
func (e *Engine) SetFollowUpMode(m QueueMode, reply func(struct{}, error)) {
	ask(e, false, reply, func() (struct{}, error) {
		e.queues.followUpMode = m
		return struct{}{}, e.saveSetting(string(m), "followUpMode")
	})
}
