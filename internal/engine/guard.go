package engine

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/isotope-agent/isotope/internal/agent"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

// recovered runs fn. A panic becomes an error, and is reported with its stack.
func recovered(report func(string), what string, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			report(fmt.Sprintf("%s: %v\n%s", what, p, debug.Stack()))
			err = fmt.Errorf("%s: %v", what, p)
		}
	}()
	return fn()
}

// guarded returns hooks whose panics cost only the call: those that can refuse do so
// (fail closed), the others leave everything as it was.
func (h Hooks) guarded(report func(string)) Hooks {
	catch := func(what string, fn func() error) error { return recovered(report, what+" hook", fn) }
	h.guardInputs(catch)
	h.guardRun(catch)
	h.guardSession(catch)
	h.guardCompaction(catch)
	return h
}

type catcher func(what string, fn func() error) error

func (h *Hooks) guardInputs(catch catcher) {
	if f := h.Command; f != nil {
		h.Command = func(text string) (run func(context.Context), name string, ok bool) {
			if catch("command", func() error { run, name, ok = f(text); return nil }) != nil {
				return nil, "", false
			}
			return run, name, ok
		}
	}
	if f := h.Input; f != nil {
		h.Input = func(ctx context.Context, in Input) (res InputResult, err error) {
			err = catch("input", func() (err error) { res, err = f(ctx, in); return err })
			return res, err
		}
	}
	if f := h.BeforeRun; f != nil {
		h.BeforeRun = func(ctx context.Context, m llm.Message) (res BeforeRunResult, err error) {
			err = catch("before run", func() (err error) { res, err = f(ctx, m); return err })
			return res, err
		}
	}
	if f := h.UserBash; f != nil {
		h.UserBash = func(ctx context.Context, command string) (handled bool, output string, code int, err error) {
			err = catch("bash", func() (err error) { handled, output, code, err = f(ctx, command); return err })
			return handled, output, code, err
		}
	}
}

func (h *Hooks) guardRun(catch catcher) {
	if f := h.Context; f != nil {
		h.Context = func(ctx context.Context, msgs []llm.Message) (out []llm.Message, err error) {
			err = catch("context", func() (err error) { out, err = f(ctx, msgs); return err })
			return out, err
		}
	}
	if f := h.BeforeTool; f != nil {
		h.BeforeTool = func(ctx context.Context, call *llm.ToolCall) (d agent.Decision, err error) {
			err = catch("tool call", func() (err error) { d, err = f(ctx, call); return err })
			return d, err
		}
	}
	if f := h.AfterTool; f != nil {
		h.AfterTool = func(ctx context.Context, call *llm.ToolCall, res tool.Result) tool.Result {
			out := res
			if catch("tool result", func() error { out = f(ctx, call, res); return nil }) != nil {
				return res
			}
			return out
		}
	}
	if f := h.MessageEnd; f != nil {
		h.MessageEnd = func(ctx context.Context, m llm.Message) llm.Message {
			out := m
			if catch("message end", func() error { out = f(ctx, m); return nil }) != nil {
				return m
			}
			return out
		}
	}
	if f := h.Event; f != nil {
		h.Event = func(ctx context.Context, ev event.Event) {
			_ = catch("event", func() error { f(ctx, ev); return nil })
		}
	}
}

func (h *Hooks) guardSession(catch catcher) {
	if f := h.BeforeSwitch; f != nil {
		h.BeforeSwitch = func(ctx context.Context, kind string) (cancelled bool, err error) {
			err = catch("session switch", func() (err error) { cancelled, err = f(ctx, kind); return err })
			return cancelled, err
		}
	}
	if f := h.BeforeTree; f != nil {
		h.BeforeTree = func(ctx context.Context, target string) (cancelled bool, err error) {
			err = catch("session tree", func() (err error) { cancelled, err = f(ctx, target); return err })
			return cancelled, err
		}
	}
	if f := h.TreeMoved; f != nil {
		h.TreeMoved = func(ctx context.Context, m TreeMove) {
			_ = catch("session moved", func() error { f(ctx, m); return nil })
		}
	}
	if f := h.Completions; f != nil {
		h.Completions = func(ctx context.Context, command, prefix string) (list []Completion, err error) {
			err = catch("completions", func() (err error) { list, err = f(ctx, command, prefix); return err })
			return list, err
		}
	}
	if f := h.Shortcut; f != nil {
		h.Shortcut = func(key string) (run func(context.Context), ok bool) {
			if catch("shortcut", func() error { run, ok = f(key); return nil }) != nil {
				return nil, false
			}
			return run, ok
		}
	}
	for name, hook := range map[string]*func(context.Context, string){"session start": &h.SessionStart, "session shutdown": &h.SessionShutdown} {
		if f := *hook; f != nil {
			*hook = func(ctx context.Context, reason string) {
				_ = catch(name, func() error { f(ctx, reason); return nil })
			}
		}
	}
}

func (h *Hooks) guardCompaction(catch catcher) {
	if f := h.BeforeCompact; f != nil {
		h.BeforeCompact = func(ctx context.Context, c CompactRequest) (d CompactDecision, err error) {
			err = catch("compaction", func() (err error) { d, err = f(ctx, c); return err })
			return d, err
		}
	}
	if f := h.Compacted; f != nil {
		h.Compacted = func(ctx context.Context, c CompactDone) {
			_ = catch("compacted", func() error { f(ctx, c); return nil })
		}
	}
}
