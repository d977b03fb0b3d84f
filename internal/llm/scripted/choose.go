package scripted

import (
	"fmt"

	"github.com/isotope-agent/isotope/internal/llm"
)

const (
	// ErrNoTurn is what clients see when a script has no turn left; its verbs are the
	// number of the model call in order, from 1, and how many turns go in order.
	ErrNoTurn = "The script has no turn for model call %d: %d go in order, and no condition holds"
	// ErrScript is what clients see when a script can not be used; its verbs are the
	// model id and the cause.
	ErrScript = "Script %s: %w"
)

// choose returns the turn that answers a call: of the turns with conditions the first
// whose conditions all hold; else the next of those that go in order.
func (s *Script) choose(c *call, position int, played func(*Turn) int) (*Turn, error) {
	if at := s.rule(c); at != nil {
		return at.turn(played), nil
	}
	n := len(s.ordered)
	if position < n {
		return s.ordered[position].turn(played), nil
	}
	switch {
	case n == 0 || s.OnEnd == "" || s.OnEnd == EndError:
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Message: fmt.Sprintf(ErrNoTurn, position+1, n)}
	case s.OnEnd == EndRepeat:
		return s.ordered[n-1].turn(played), nil
	}
	return s.ordered[position%n].turn(played), nil
}

// turn returns the first turn of the place that has not been played as often as it is
// meant to be, else the last one.
func (p *place) turn(played func(*Turn) int) *Turn {
	last := len(p.turns) - 1
	for _, t := range p.turns[:last] {
		if played(t) < t.attempts() {
			return t
		}
	}
	return p.turns[last]
}

// locate reads a request and returns the call with its position among the turns that
// go in order: the number of earlier answers that no condition chose.
func (s *Script) locate(req *llm.Request) (*call, int) {
	if len(s.rules) == 0 {
		c := newCall(req, nil)
		return c, c.answers
	}
	if len(s.ordered) == 0 {
		return newCall(req, nil), 0
	}
	position := 0
	c := newCall(req, func(c *call) {
		if s.rule(c) == nil {
			position++
		}
	})
	return c, position
}

// rule returns the place of the first turn whose conditions all hold, nil when there
// is none.
func (s *Script) rule(c *call) *place {
	for _, at := range s.rules {
		if at.turns[0].holds(c) {
			return at
		}
	}
	return nil
}

func (t *Turn) holds(c *call) bool {
	switch {
	case t.Turn != nil && !t.Turn.holds(c.number):
	case t.HasTool != "" && !c.offers(t.HasTool):
	case t.AfterTool != "" && !t.afterTool(c):
	case t.Match != nil && !t.Match.find(c.userText()):
	default:
		return true
	}
	return false
}

// AnyTool as a turn's AfterTool is every tool.
const AnyTool = "*"

func (t *Turn) afterTool(c *call) bool {
	for _, r := range c.results {
		switch {
		case t.AfterTool != AnyTool && t.AfterTool != r.ToolName:
		case t.ToolFailed != nil && *t.ToolFailed != r.IsError:
		case t.Result != nil && !t.Result.find(r.Content.PlainText("\n")):
		default:
			return true
		}
	}
	return false
}

// attempts returns how many calls the turn answers before the retry turn behind it
// takes over.
func (t *Turn) attempts() int {
	if n := len(t.Steps); n > 0 && t.Steps[n-1].Error != nil {
		return max(1, t.Steps[n-1].Error.Times)
	}
	return 1
}

// Place says where an answer to a request stands in a script.
type Place struct {
	Position int    // how many answers the history holds that no condition chose
	InOrder  bool   // the next turn without conditions that is added will answer it
	Number   int    // the call's number in its run, from 0
	UserText string // the last user text
}

// Locate returns the place of the answer to a request. A recorder asks before it adds
// the turn.
func (s *Script) Locate(req *llm.Request) Place {
	c, position := s.locate(req)
	return Place{
		Position: position, InOrder: position == len(s.ordered) && s.rule(c) == nil,
		Number: c.number, UserText: c.userText(),
	}
}
