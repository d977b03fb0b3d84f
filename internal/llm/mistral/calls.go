package mistral

import (
	"bytes"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// call is a tool call that is being streamed.
type call struct {
	content  int // content index
	id, name string
	args     []byte // the arguments' JSON text so far
	pieces   jsonx.Pieces
}

// complete reports whether the arguments are a whole JSON value.
func (c *call) complete() bool {
	t := bytes.TrimSpace(c.args)
	return len(t) > 1 && t[len(t)-1] == '}' && jsonx.Valid(t)
}

// delta adds a piece of arguments and returns it as a piece of their JSON text.
func (c *call) delta(raw jsonx.Raw) string {
	d := c.pieces.Next(raw)
	if len(raw) > 0 && raw[0] == '{' {
		if compact, err := jsonx.Compact(raw); err == nil {
			d = string(compact)
		}
	}
	c.args = append(c.args, d...)
	return d
}

// piece is what a delta says of the call it belongs to.
type piece struct {
	index    int64 // -1 for none
	id, name string
}

// calls tells the pieces of tool calls apart: by index, by id where there is no index,
// else they belong to the last call. A call usually comes in one piece, with or without
// an index; some models send its arguments later, with an empty name and no id.
type calls struct {
	all     []*call
	byIndex map[int64]*call
	byID    map[string]*call
}

// find returns the call that a piece belongs to, nil when it begins a new one.
func (cs *calls) find(p piece) *call {
	c := cs.byIndex[p.index]
	switch {
	case p.index >= 0:
	case p.id != "":
		c = cs.byID[p.id]
	case p.name == "" && len(cs.all) > 0:
		c = cs.all[len(cs.all)-1]
	}
	if c == nil {
		return nil
	}
	another := p.id != "" && c.id != "" && p.id != c.id
	if p.name != "" && (another || c.complete()) {
		return nil // another call under a used index or id
	}
	return c
}

// begin adds the call that a piece begins.
func (cs *calls) begin(p piece, content int) *call {
	if cs.byIndex == nil {
		cs.byIndex, cs.byID = map[int64]*call{}, map[string]*call{}
	}
	c := &call{content: content, id: p.id, name: p.name}
	cs.all = append(cs.all, c)
	if p.index >= 0 {
		cs.byIndex[p.index] = c
	}
	if p.id != "" {
		cs.byID[p.id] = c
	}
	return c
}

// whole reports whether every call's arguments are whole.
func (cs *calls) whole() bool {
	for _, c := range cs.all {
		if len(c.args) > 0 && !c.complete() {
			return false
		}
	}
	return true
}
