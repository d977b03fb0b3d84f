package ext

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/isotope-agent/isotope/internal/ext/js"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/proc"
	"github.com/isotope-agent/isotope/internal/tool"
	"github.com/isotope-agent/isotope/internal/tool/builtin"
)

var errUnknownTool = errors.New("no such built-in tool")

// builtinArgs say which built-in tool runs, and how. Env, Prefix, Shell and Remote are
// for bash only.
type builtinArgs struct {
	Name   string            `json:"name"`
	ID     string            `json:"id"`
	Args   jsonx.Raw         `json:"args"`
	Cwd    string            `json:"cwd"`
	Env    map[string]string `json:"env"`
	Prefix string            `json:"prefix"`
	Shell  string            `json:"shell"`
	Remote string            `json:"remote"` // the key under which the script runs the command itself
}

// builtinEvent is what a script hears of a built-in tool that runs for it.
type builtinEvent struct {
	Update *tool.Result `json:"update,omitzero"`
	Exec   *remoteExec  `json:"exec,omitzero"`
	Abort  bool         `json:"abort,omitzero"`
}

type remoteExec struct {
	Command string `json:"command"`
	Cwd     string `json:"cwd"`
}

// runBuiltin runs a built-in tool for the tool factories.
func (x *Extensions) runBuiltin(ctx context.Context, _ string, args jsonx.Raw, emit func(any)) (any, error) {
	var a builtinArgs
	if err := jsonx.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	t, err := x.builtin(a, emit)
	if err != nil {
		return nil, err
	}
	update := func(r tool.Result) { emit(builtinEvent{Update: &r}) }
	if o, ok := t.(tool.Opener); ok {
		if r, ok := o.Opening(); ok {
			update(r)
		}
	}
	res, err := t.Run(ctx, tool.Call{ID: a.ID, Args: a.Args}, update)
	if err != nil {
		return nil, &js.OpError{Message: err.Error()} // the tool's own words
	}
	return res, nil
}

// builtin makes a built-in tool that works in a folder.
func (x *Extensions) builtin(a builtinArgs, emit func(any)) (tool.Tool, error) {
	cfg := builtin.Config{Cwd: a.Cwd, Home: x.cfg.Home, Files: &x.files, Model: nil}
	switch a.Name {
	case "read":
		return builtin.NewRead(cfg), nil
	case "edit":
		return builtin.NewEdit(cfg), nil
	case "write":
		return builtin.NewWrite(cfg), nil
	case "grep":
		return builtin.NewGrep(cfg), nil
	case "find":
		return builtin.NewFind(cfg), nil
	case "ls":
		return builtin.NewLs(cfg), nil
	case "bash":
		return builtin.NewBash(x.bash(a, emit)), nil
	}
	return nil, fmt.Errorf("%w: %s", errUnknownTool, a.Name)
}

func (x *Extensions) bash(a builtinArgs, emit func(any)) builtin.BashConfig {
	cfg := builtin.BashConfig{
		Cwd: a.Cwd, Shell: proc.Shell{Path: a.Shell, Prefix: a.Prefix},
		Env:   func() []string { return environ(a.Env) },
		Spill: func() proc.Spill { return proc.NewSpill(x.cfg.Name, "extensions") },
	}
	if a.Remote != "" {
		cfg.Runner, cfg.Shell = &remote{x: x, key: a.Remote, emit: emit}, proc.Shell{}
	} else {
		cfg.Runner = x.runner()
	}
	return cfg
}

func environ(m map[string]string) []string {
	var out []string
	for k, v := range m {
		out = append(out, k+"="+v)
	}
	return out
}

// remote runs the commands of a bash tool through the operations that an extension
// gave the factory: on another machine, in a container.
type remote struct {
	x    *Extensions
	key  string
	emit func(any)
}

// remoteOutput is what a script tells of a command that it runs; Ended comes last.
type remoteOutput struct {
	Key   string `json:"key"`
	Data  string `json:"data"` // one character a byte
	Ended bool   `json:"ended"`
	Code  *int   `json:"code"` // nil after a signal
	Error string `json:"error"`
}

// Run implements proc.Runner.
func (r *remote) Run(ctx context.Context, c proc.Cmd, out func(proc.Chunk)) (proc.Exit, error) {
	told := r.x.remotes.open(r.key)
	defer r.x.remotes.close(r.key)
	r.emit(builtinEvent{Exec: &remoteExec{Command: c.Command, Cwd: c.Dir}})
	for {
		select {
		case <-told.more:
			for _, o := range told.take() {
				if o.Data != "" {
					out(proc.Chunk{Data: js.Bytes(o.Data)})
				}
				if o.Ended {
					return remoteExit(ctx, o)
				}
			}
		case <-ctx.Done():
			r.emit(builtinEvent{Abort: true})
			return proc.Exit{}, context.Cause(ctx)
		}
	}
}

func remoteExit(ctx context.Context, o remoteOutput) (proc.Exit, error) {
	switch {
	case strings.HasPrefix(o.Error, "timeout:"): // the operations keep the same time
		<-ctx.Done()
		return proc.Exit{}, context.Cause(ctx)
	case o.Error != "":
		return proc.Exit{}, errors.New(o.Error)
	case o.Code == nil:
		return proc.Exit{Exited: true}, nil
	}
	return proc.Exit{Exited: true, Code: *o.Code}, nil
}

// remotes are the commands that scripts run for bash tools, by key.
type remotes struct {
	mu sync.Mutex
	m  map[string]*remoteQueue
}

// remoteQueue keeps what a script told until the command's goroutine takes it: the
// script's must not wait for that, since updates wait for the script.
type remoteQueue struct {
	more chan struct{} // capacity 1

	mu   sync.Mutex
	list []remoteOutput
}

func (r *remotes) open(key string) *remoteQueue {
	q := &remoteQueue{more: make(chan struct{}, 1)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.m == nil {
		r.m = map[string]*remoteQueue{}
	}
	r.m[key] = q
	return q
}

func (r *remotes) close(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.m, key)
}

// told hands over what a script tells of a command; nobody hears it once it is over.
func (r *remotes) told(_ string, o remoteOutput) (any, error) {
	r.mu.Lock()
	q := r.m[o.Key]
	r.mu.Unlock()
	if q == nil {
		return nil, nil
	}
	q.mu.Lock()
	q.list = append(q.list, o)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
	return nil, nil
}

func (q *remoteQueue) take() []remoteOutput {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.list
	q.list = nil
	return out
}

// runner is what the bash tool of the factories runs on; it is made at its first use.
func (x *Extensions) runner() proc.Runner {
	if x.cfg.Runner != nil {
		return x.cfg.Runner
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.own == nil {
		x.own = proc.New()
	}
	return x.own
}

func (x *Extensions) closeRunner() {
	x.mu.Lock()
	own := x.own
	x.mu.Unlock()
	if own != nil {
		_ = own.Close()
	}
}

// builtinSpec describes a built-in tool for the tool factories.
func (x *Extensions) builtinSpec(name string) (any, error) {
	t, err := x.builtin(builtinArgs{Name: name, Cwd: x.cwd()}, nil)
	if err != nil {
		return nil, err
	}
	spec := t.Spec()
	out := map[string]any{"description": spec.Description, "parameters": spec.Parameters, "snippet": "", "guidelines": []string{}}
	if p, ok := t.(tool.Prompted); ok {
		out["snippet"], out["guidelines"] = p.Snippet(), p.Guidelines()
	}
	return out, nil
}
