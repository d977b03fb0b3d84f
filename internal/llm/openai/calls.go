package openai

import (
	"bytes"
	"strconv"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// call is a tool call that is being streamed.
type call struct {
	content  int // content index
	index    int // the server's index, -1 for none
	id, name string
	args     []byte // the arguments' JSON text so far
	pieces   jsonx.Pieces
	custom   bool      // args wraps the free text of a custom tool
	extra    jsonx.Raw // extra_content
}

// complete reports whether the arguments are a whole JSON value.
func (c *call) complete() bool {
	t := bytes.TrimSpace(c.args)
	return len(t) > 1 && t[len(t)-1] == '}' && jsonx.Valid(t)
}

// calls tells the pieces of tool calls apart. Servers number them by index, by id,
// by both or by neither, reuse indexes, repeat ids and names (field reports 103-107).
type calls struct {
	all     []*call
	byIndex map[int]*call
	byID    map[string]*call
}

// piece is a toolDelta with its values decoded.
type piece struct {
	index    int // -1 for none
	id, name string
	hasArgs  bool
}

// find returns the call that a piece belongs to, nil when it begins a new one.
func (cs *calls) find(p piece) *call {
	if p.index >= 0 {
		if c := cs.byIndex[p.index]; c != nil {
			if p.name != "" && (p.id != "" && c.id != "" && p.id != c.id || p.hasArgs && c.complete()) {
				return nil // another call under a used index
			}
			return c
		}
		if c := cs.byID[p.id]; p.id != "" && c != nil && c.index < 0 {
			return c // its earlier pieces had no index
		}
		return nil
	}
	var last *call
	if len(cs.all) > 0 {
		last = cs.all[len(cs.all)-1]
	}
	if p.id != "" {
		c := cs.byID[p.id]
		switch {
		case c == nil && p.name == "":
			return last // ids that change within a call
		case c != nil && p.name != "" && p.hasArgs && c.complete():
			return nil // two calls that share an id
		}
		return c
	}
	if last == nil || p.name == "" || last.name == p.name && !last.complete() {
		return last
	}
	return nil
}

// add records a piece's index, id and name with its call.
func (cs *calls) add(c *call, p piece) {
	if cs.byIndex == nil {
		cs.byIndex, cs.byID = map[int]*call{}, map[string]*call{}
	}
	if p.index >= 0 {
		c.index = p.index
		cs.byIndex[p.index] = c
	}
	if p.id != "" {
		cs.byID[p.id] = c
		if c.id == "" {
			c.id = p.id
		}
	}
	if c.name == "" {
		c.name = p.name
	}
}

// toolCalls handles the tool_calls of a delta.
func (s *stream) toolCalls(raw jsonx.Raw) {
	s.toolDeltas = s.toolDeltas[:0]
	if jsonx.Unmarshal(raw, &s.toolDeltas) != nil {
		return
	}
	for i := range s.toolDeltas {
		s.toolCall(&s.toolDeltas[i])
	}
}

func (s *stream) toolCall(d *toolDelta) {
	p := piece{index: -1, id: text(d.ID)}
	if n, err := strconv.Atoi(string(d.Index)); err == nil {
		p.index = n
	}
	var args jsonx.Raw
	custom := d.Function == nil && d.Custom != nil // beside a function it is an echo
	switch {
	case d.Function != nil:
		p.name, args = text(d.Function.Name), d.Function.Arguments
	case custom:
		p.name, args = text(d.Custom.Name), d.Custom.Input
	}
	p.hasArgs = present(args) && string(args) != `""`
	c := s.calls.find(p)
	if c == nil {
		c = &call{content: s.NewBlock(), index: -1, custom: custom}
		s.calls.all = append(s.calls.all, c)
		s.calls.add(c, p)
		s.Emit(llm.Event{Kind: llm.EventToolCallStart, Index: c.content, ID: c.id, Name: c.name})
	} else {
		s.calls.add(c, p)
	}
	if present(d.ExtraContent) {
		c.extra = bytes.Clone(d.ExtraContent)
	}
	s.Emit(llm.Event{Kind: llm.EventToolCallDelta, Index: c.content, Delta: c.delta(args)})
}

// delta adds a piece of arguments and returns it as a piece of their JSON text.
func (c *call) delta(args jsonx.Raw) string {
	if len(args) == 0 {
		return ""
	}
	d := ""
	switch {
	case args[0] == '{': // an object where its text belongs
		if compact, err := jsonx.Compact(args); err == nil {
			d = string(compact)
		}
	case c.custom:
		if s := c.pieces.Next(args); s != "" || len(c.args) == 0 {
			quoted := jsonx.String(s)
			d = string(quoted[1 : len(quoted)-1])
			if len(c.args) == 0 {
				d = customOpen + d
			}
		}
	default:
		d = c.pieces.Next(args)
	}
	c.args = append(c.args, d...)
	return d
}

// A custom tool has free text as its input; its arguments are {"input": text}.
const (
	customOpen  = `{"input":"`
	customClose = `"}`
)

// endCall ends a call's block.
func (s *stream) endCall(c *call) {
	if c.custom && bytes.HasPrefix(c.args, []byte(customOpen)) {
		s.Emit(llm.Event{Kind: llm.EventToolCallDelta, Index: c.content, Delta: customClose})
	}
	s.Emit(llm.Event{Kind: llm.EventToolCallEnd, Index: c.content, ID: c.id, Name: c.name, Signature: string(c.extra)})
}
