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
	text  string
	msg   *llm.UserMessage
	taken bool
}

// queues are the two lists of waiting messages. paused holds everything back.
type queues struct {
	steering, followUp         []*queued
	steeringMode, followUpMode QueueMode
	paused                     bool
}

func texts(list []*queued) []string {
	out := make([]string, len(list))
	for i, q := range list {
		out[i] = q.text
	}
	return out
}

func (q *queues) event() event.QueueUpdate {
	return event.QueueUpdate{Steering: texts(q.steering), FollowUp: texts(q.followUp)}
}

func (q *queues) len() int { return len(q.steering) + len(q.followUp) }

// enqueue adds a message to a queue and tells the queues.
func (e *Engine) enqueue(list *[]*queued, msg *llm.UserMessage) {
	*list = append(*list, &queued{text: msg.Content.PlainText(""), msg: msg})
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

// pollSteering and pollFollowUp are the run's sources (agent.Config). They are
// called on the run goroutine.
func (e *Engine) pollSteering() (out []agent.Queued) {
	e.sync(func() { out = e.due(&e.queues.steering, e.queues.steeringMode) })
	return out
}

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
		out = append(out, agent.Queued{Message: q.msg, Deliver: func() {
			e.sync(func() { e.delivered(list, q) })
		}})
	}
	return out
}

// delivered removes a message from its queue and tells the queues without it.
func (e *Engine) delivered(list *[]*queued, q *queued) {
	if i := slices.Index(*list, q); i >= 0 {
		*list = slices.Delete(slices.Clone(*list), i, i+1)
		e.cfg.Output.Post(e.queues.event())
	}
}

// Cleared is what ClearQueue removed: the texts in order.
type Cleared struct {
	Steering []string `json:"steering"`
	FollowUp []string `json:"followUp"`
}

// ClearQueue empties both queues and replies with their texts. It always tells the
// queues, also when they were empty. A message that is just being delivered stays.
func (e *Engine) ClearQueue(reply func(Cleared, error)) {
	ask(e, true, reply, func() (Cleared, error) {
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
		return Cleared{Steering: texts(steering), FollowUp: texts(followUp)}, nil
	})
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
