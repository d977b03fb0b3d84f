package rpc

import (
	"slices"
	"sync"
)

// Class says when a command is executed (dialects.md, Scheduling).
type Class string

// The classes. Ordinary commands run in order, one after the other. A getter never
// waits. An interrupt acts on every line before it and never waits, not even for a slow
// reader. A command beside the lane starts in order and is answered when it is done.
const (
	Ordinary  Class = "ordinary"
	Getter    Class = "getter"
	Interrupt Class = "interrupt"
	Beside    Class = "beside"
)

// Command is one command of the protocol: the row from which it is parsed, checked,
// executed and described.
type Command struct {
	Name    string
	Summary string // one sentence
	Class   Class
	Params  []Param
	// Data is a zero value of the type of the response's data, or the type itself; nil:
	// there is none.
	// Nullable: the data may be null. NullModel: so may its member "model", in dialects
	// that say so.
	Data      any
	Nullable  bool
	NullModel bool

	handle handler
}

// handler executes one command. It must not block: it posts to the engine and answers
// through req. An error is the response.
type handler func(s *server, req *request) error

// Commands returns the whole protocol, family by family. The caller must not change it.
func Commands() []Command { return table().list }

// commandTable is the protocol, by name too.
type commandTable struct {
	list   []Command
	byName map[string]*Command
}

var table = sync.OnceValue(func() *commandTable {
	t := &commandTable{
		list: slices.Concat(promptCommands(), stateCommands(), modelCommands(), switchCommands(), bashCommands(),
			sessionCommands(), treeCommands(), accountCommands(), extensionCommands()),
		byName: map[string]*Command{},
	}
	for i := range t.list {
		t.byName[t.list[i].Name] = &t.list[i]
	}
	return t
})

// interrupts reports whether a command of that name is an interrupt.
func (t *commandTable) interrupts(name string) bool {
	c := t.byName[name]
	return c != nil && c.Class == Interrupt
}
