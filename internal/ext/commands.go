package ext

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// A Command is what clients see of a command.
type Command struct {
	Name        string
	Description string
	Source      Source
	Completes   bool // it offers completions of its argument
}

// A Shortcut is a key that an extension listens to.
type Shortcut struct {
	Key         string
	Description string
	Source      Source
}

// A Flag is an option of the command line that an extension asks for. Type is "boolean"
// or "string".
type Flag struct {
	Name        string
	Description string
	Type        string
	Source      Source
}

func numbered(name string, n int) string { return name + ":" + strconv.Itoa(n) }

// Commands returns the commands of all extensions, in order of registration.
func (x *Extensions) Commands() []Command {
	g := x.current.Load()
	if g == nil {
		return nil
	}
	var out []Command
	for _, c := range g.commandList() {
		src, _ := g.source(c.Ext)
		out = append(out, Command{c.invoked, c.Description, src, c.Completions})
	}
	return out
}

// Command implements engine.Hooks.Command: the first word of text, behind a slash,
// names a command of an extension; the rest is its argument.
func (x *Extensions) Command(text string) (run func(context.Context), name string, ok bool) {
	g := x.current.Load()
	if g == nil || !strings.HasPrefix(text, "/") {
		return nil, "", false
	}
	name, args, _ := strings.Cut(text[1:], " ")
	for _, c := range g.commandList() {
		if c.invoked == name {
			return func(ctx context.Context) { g.runCommand(ctx, c, args) }, name, true
		}
	}
	return nil, "", false
}

func (g *generation) runCommand(ctx context.Context, c command, args string) {
	if g.isMuted(c.Ext) {
		g.x.failed("command:"+c.invoked, "command", fmt.Errorf("the extension of /%s was switched off", c.invoked))
		return
	}
	_, err := g.call(ctx, c.Ext, "command", map[string]string{"ext": c.Ext, "name": c.Name, "args": args}, nil)
	if err != nil {
		g.x.failed("command:"+c.invoked, "command", err)
	}
}

// Complete returns how the argument of a command may go on; nil when it offers nothing.
func (x *Extensions) Complete(ctx context.Context, name, prefix string) ([]engine.Completion, error) {
	g := x.current.Load()
	if g == nil {
		return nil, nil
	}
	for _, c := range g.commandList() {
		if c.invoked != name || !c.Completions {
			continue
		}
		raw, err := g.call(ctx, c.Ext, "complete", map[string]string{"ext": c.Ext, "name": c.Name, "prefix": prefix}, nil)
		if err != nil || isNull(raw) {
			return nil, err
		}
		var out []engine.Completion
		err = jsonx.Unmarshal(raw, &out)
		return out, err
	}
	return nil, nil
}

// Shortcuts returns the keys that extensions listen to.
func (x *Extensions) Shortcuts() []Shortcut {
	g := x.current.Load()
	if g == nil {
		return nil
	}
	g.mu.Lock()
	list := g.shortcuts
	g.mu.Unlock()
	var out []Shortcut
	for _, s := range list {
		src, _ := g.source(s.Ext)
		out = append(out, Shortcut{s.Key, s.Description, src})
	}
	return out
}

// InvokeShortcut runs what an extension does at a key; ok false when none listens to it.
func (x *Extensions) InvokeShortcut(ctx context.Context, key string) (ok bool, err error) {
	g := x.current.Load()
	if g == nil {
		return false, nil
	}
	g.mu.Lock()
	list := g.shortcuts
	g.mu.Unlock()
	for _, s := range list {
		if s.Key == key {
			_, err := g.call(ctx, s.Ext, "shortcut", map[string]string{"ext": s.Ext, "name": s.Key}, nil)
			return true, err
		}
	}
	return false, nil
}

// Flags returns the options that extensions ask for.
func (x *Extensions) Flags() []Flag {
	g := x.current.Load()
	if g == nil {
		return nil
	}
	g.mu.Lock()
	list := g.flags
	g.mu.Unlock()
	var out []Flag
	for _, f := range list {
		src, _ := g.source(f.Ext)
		out = append(out, Flag{f.Name, f.Description, f.Type, src})
	}
	return out
}

// flagValue is what getFlag answers: the command line's value, else the default.
func (g *generation) flagValue(ext, name string) any {
	g.x.mu.Lock()
	v, ok := g.x.flags[name]
	g.x.mu.Unlock()
	if ok {
		return v
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.flags {
		if f.Name == name && f.Ext == ext && len(f.Default) > 0 {
			return f.Default
		}
	}
	return nil
}
