package ext

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/isotope-agent/isotope/internal/ext/bundle"
	"github.com/isotope-agent/isotope/internal/ext/js"
	"github.com/isotope-agent/isotope/internal/frontmatter"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/textdiff"
	"github.com/isotope-agent/isotope/internal/tool"
)

// sync makes an operation of a function of typed arguments.
func op[T any](f func(owner string, a T) (any, error)) js.SyncOp {
	return func(owner string, args jsonx.Raw) (any, error) {
		var a T
		if err := jsonx.Unmarshal(args, &a); err != nil {
			return nil, fmt.Errorf("bad argument: %w", err)
		}
		return f(owner, a)
	}
}

func later[T any](f func(ctx context.Context, a T) (any, error)) js.AsyncOp {
	return func(ctx context.Context, _ string, args jsonx.Raw, _ func(any)) (any, error) {
		var a T
		if err := jsonx.Unmarshal(args, &a); err != nil {
			return nil, fmt.Errorf("bad argument: %w", err)
		}
		return f(ctx, a)
	}
}

type named struct {
	Name string `json:"name"`
}

// syncOps are what the host modules ask and wait for.
func (g *generation) syncOps() map[string]js.SyncOp {
	ops := map[string]js.SyncOp{
		"ext.hostModule": op(func(_ string, a named) (any, error) { return bundle.HostModule(a.Name), nil }),
		"ext.on": op(func(_ string, a struct {
			Ext     string `json:"ext"`
			Event   string `json:"event"`
			Handler int    `json:"handler"`
		},
		) (any, error) {
			g.on(a.Ext, a.Event, a.Handler)
			return nil, nil
		}),
		"ext.off": op(func(_ string, a struct {
			Event   string `json:"event"`
			Handler int    `json:"handler"`
		},
		) (any, error) {
			g.off(a.Event, a.Handler)
			return nil, nil
		}),
		"ext.tool":         op(func(_ string, d *toolDef) (any, error) { g.addTool(d); g.toolsChanged(); return nil, nil }),
		"ext.command":      op(func(_ string, c *command) (any, error) { g.addCommand(c); return nil, nil }),
		"ext.shortcut":     op(func(_ string, s *shortcut) (any, error) { g.addShortcut(s); return nil, nil }),
		"ext.flag":         op(func(_ string, f *flag) (any, error) { g.addFlag(f); return nil, nil }),
		"ext.provider":     op(func(_ string, p *provider) (any, error) { g.addProvider(p); return nil, g.offerNow(p) }),
		"ext.unprovider":   op(func(_ string, a named) (any, error) { g.removeProvider(a.Name); return nil, g.withdraw(a.Name) }),
		"ext.virtualModel": func(string, jsonx.Raw) (any, error) { return nil, nil },
		"ext.mcpServer":    func(string, jsonx.Raw) (any, error) { return nil, nil },
		"ext.flagValue": op(func(_ string, a struct {
			Ext  string `json:"ext"`
			Name string `json:"name"`
		},
		) (any, error) {
			return g.flagValue(a.Ext, a.Name), nil
		}),
		"ext.update": op(func(_ string, a struct {
			Key    string    `json:"key"`
			Update jsonx.Raw `json:"update"`
		},
		) (any, error) {
			return nil, g.update(a.Key, a.Update)
		}),
		"ext.streamed": op(func(_ string, a struct {
			Key   string    `json:"key"`
			Event jsonx.Raw `json:"event"`
		},
		) (any, error) {
			g.streamed(a.Key, a.Event)
			return nil, nil
		}),
		"agent.about": func(string, jsonx.Raw) (any, error) {
			c := g.x.cfg
			return map[string]string{"name": c.Name, "version": c.Version, "configDir": c.ConfigDir, "agentDir": c.AgentDir}, nil
		},
		"ctx": op(func(_ string, a struct {
			Key string `json:"key"`
		},
		) (any, error) {
			return g.x.ctxValue(a.Key), nil
		}),
		"ui.tell":      op(func(_ string, a askArgs) (any, error) { g.x.dialogs.tell(a); return nil, nil }),
		"ui.open":      op(func(owner string, a askArgs) (any, error) { return g.x.dialogs.show(g, owner, a), nil }),
		"session.read": op(g.x.readSession),
		"tools.output": op(g.x.remotes.told),
		"tools.spec":   op(func(_ string, a named) (any, error) { return g.x.builtinSpec(a.Name) }),
		"yaml": op(func(_ string, a struct {
			Text string `json:"text"`
		},
		) (any, error) {
			head, _, err := frontmatter.Parse("---\n" + a.Text + "\n---\n")
			return map[string]any(head), err
		}),
		"diff": op(func(_ string, a struct {
			A string `json:"a"`
			B string `json:"b"`
		},
		) (any, error) {
			return textdiff.Strings("file", a.A, a.B).Patch, nil
		}),
	}
	for name, f := range g.x.actions() {
		ops["host."+name] = f
	}
	for name, f := range g.x.modelOps() {
		ops[name] = f
	}
	return ops
}

// toolsChanged tells the host of tools that come while the session runs.
func (g *generation) toolsChanged() {
	if h := g.x.host.Load(); g.bound.Load() && h.ToolsChanged != nil {
		h.ToolsChanged()
	}
}

// actions are what extensions do with the session and do not wait for.
func (x *Extensions) actions() map[string]js.SyncOp {
	return map[string]js.SyncOp{
		"sendMessage":     op(x.sendMessage),
		"sendUserMessage": op(x.sendUser),
		"appendEntry": op(func(_ string, a struct {
			Type string    `json:"customType"`
			Data jsonx.Raw `json:"data"`
		},
		) (any, error) {
			return nil, x.appendEntry(session.Custom{CustomType: a.Type, Data: a.Data})
		}),
		"appendMessage": op(x.appendMessage),
		"setSessionName": op(func(_ string, a named) (any, error) {
			return nil, x.appendEntry(session.SessionInfo{Name: jsonx.Str(session.CleanName(a.Name))})
		}),
		"getSessionName": func(string, jsonx.Raw) (any, error) { return x.sessionName() },
		"setLabel": op(func(_ string, a struct {
			Entry string `json:"entryId"`
			Label string `json:"label"`
		},
		) (any, error) {
			return nil, x.appendEntry(session.Label{TargetID: a.Entry, Label: a.Label})
		}),
		"activeTools":    func(string, jsonx.Raw) (any, error) { _, active, err := x.tools(); return active, err },
		"allTools":       func(string, jsonx.Raw) (any, error) { return x.allTools() },
		"setActiveTools": op(x.setTools),
		"commands": func(string, jsonx.Raw) (any, error) {
			return provided(x.host.Load().Commands)
		},
		"settings": func(string, jsonx.Raw) (any, error) { return provided(x.host.Load().Settings) },
		"setModel": op(func(_ string, a struct {
			Provider string `json:"provider"`
			ID       string `json:"id"`
		},
		) (any, error) {
			h := x.host.Load()
			if h.SetModel == nil {
				return nil, errNoHost
			}
			return h.SetModel(a.Provider, a.ID)
		}),
		"thinkingLevel": func(string, jsonx.Raw) (any, error) { return x.state().Thinking, nil },
		"setThinkingLevel": op(func(_ string, a struct {
			Level llm.ThinkingLevel `json:"level"`
		},
		) (any, error) {
			h := x.host.Load()
			if h.SetThinking == nil {
				return nil, errNoHost
			}
			return nil, h.SetThinking(a.Level)
		}),
		"abort":    func(string, jsonx.Raw) (any, error) { return nil, done(x.host.Load().Abort) },
		"shutdown": func(string, jsonx.Raw) (any, error) { return nil, x.askShutdown() },
	}
}

// askShutdown ends the program where a client drives it; elsewhere it ends by itself.
func (x *Extensions) askShutdown() error {
	if x.cfg.Mode == "print" {
		return nil
	}
	return done(x.host.Load().Shutdown)
}

func done(f func()) error {
	if f == nil {
		return errNoHost
	}
	f()
	return nil
}

func provided(f func() any) (any, error) {
	if f == nil {
		return nil, nil
	}
	return f(), nil
}

func (x *Extensions) sendMessage(_ string, a struct {
	Message jsonx.Raw   `json:"message"`
	Options SendOptions `json:"options"`
},
) (any, error) {
	h := x.host.Load()
	if h.SendMessage == nil {
		return nil, errNoHost
	}
	m, err := x.customMessage(a.Message)
	if err != nil {
		return nil, err
	}
	return nil, h.SendMessage(m, a.Options)
}

func (x *Extensions) sendUser(_ string, a struct {
	Content llm.Content `json:"content"`
	Options SendOptions `json:"options"`
},
) (any, error) {
	h := x.host.Load()
	if h.SendUser == nil {
		return nil, errNoHost
	}
	return nil, h.SendUser(a.Content.PlainText("\n"), images(a.Content), a.Options)
}

func (x *Extensions) appendEntry(b session.Body) error {
	h := x.host.Load()
	if h.AppendEntry == nil {
		return errNoHost
	}
	return h.AppendEntry(b)
}

func (x *Extensions) appendMessage(_ string, a struct {
	Message jsonx.Raw `json:"message"`
},
) (any, error) {
	h := x.host.Load()
	if h.AppendMessage == nil {
		return nil, errNoHost
	}
	m, err := llm.DecodeMessage(a.Message)
	if err != nil {
		return nil, err
	}
	return nil, h.AppendMessage(m)
}

// ctxValue is what ctx tells of the session.
func (x *Extensions) ctxValue(key string) any {
	switch key {
	case "mode":
		return x.cfg.Mode
	case "hasUI":
		return x.hasUI()
	case "cwd":
		return x.cwd()
	case "contextUsage":
		usage, _ := provided(x.host.Load().ContextUsage)
		return usage
	case "systemPrompt":
		return x.systemPrompt()
	}
	st := x.state()
	switch key {
	case "model":
		if st.Model == nil {
			return nil
		}
		return st.Model
	case "scopedModels":
		return st.Scoped
	case "thinkingLevel":
		return st.Thinking
	case "isIdle":
		return st.Idle
	case "trusted":
		return st.Trusted
	case "pending":
		return st.Pending
	case "systemPromptOptions":
		return st.PromptOptions
	}
	return nil
}

// readSession gives the scripts the entries that they do not have yet.
func (x *Extensions) readSession(_ string, a struct {
	Session string `json:"session"`
	From    int    `json:"from"`
},
) (any, error) {
	h := x.host.Load()
	if h.View == nil {
		return nil, errNoHost
	}
	v, err := h.View()
	if err != nil {
		return nil, err
	}
	head := v.Header()
	file := v.Path()
	out := struct {
		Session string      `json:"session"`
		Reset   bool        `json:"reset,omitzero"`
		Entries []jsonx.Raw `json:"entries,omitzero"`
		Leaf    string      `json:"leaf"`
		Name    string      `json:"name"`
		File    string      `json:"file"`
		Dir     string      `json:"dir"`
		Cwd     string      `json:"cwd"`
		Header  jsonx.Raw   `json:"header,omitzero"`
	}{Session: head.ID, Leaf: v.LeafID(), Name: v.Name(), File: file, Cwd: head.Cwd, Header: head.Raw}
	if file != "" {
		out.Dir = filepath.Dir(file)
	}
	from := a.From
	if a.Session != head.ID || from > v.Len() {
		out.Reset, from = true, 0
	}
	for i := from; i < v.Len(); i++ {
		raw, err := v.Raw(i)
		if err != nil {
			return nil, err
		}
		out.Entries = append(out.Entries, raw)
	}
	return out, nil
}

func (x *Extensions) sessionName() (any, error) {
	h := x.host.Load()
	if h.View == nil {
		return nil, nil
	}
	v, err := h.View()
	if err != nil || v.Name() == "" {
		return nil, err
	}
	return v.Name(), nil
}

func (x *Extensions) tools() ([]tool.Tool, []string, error) {
	h := x.host.Load()
	if h.Tools == nil {
		return nil, nil, errNoHost
	}
	all, active := h.Tools()
	return all, active, nil
}

// toolInfo is what getAllTools tells of a tool.
type toolInfo struct {
	llm.ToolSpec
	Exposure   string `json:"exposure"`
	SourceInfo Source `json:"sourceInfo"`
}

func (x *Extensions) allTools() (any, error) {
	all, _, err := x.tools()
	out := []toolInfo{}
	for _, t := range all {
		info := toolInfo{ToolSpec: t.Spec(), Exposure: "direct"}
		src, ok := ToolPath(t)
		if !ok {
			src = Source{Path: "builtin:" + info.Name, From: "builtin", Scope: "temporary", Origin: "top-level"}
		}
		info.SourceInfo = src
		out = append(out, info)
	}
	return out, err
}

func (x *Extensions) setTools(_ string, a struct {
	Names []string `json:"names"`
},
) (any, error) {
	h := x.host.Load()
	if h.SetTools == nil {
		return nil, errNoHost
	}
	return nil, h.SetTools(a.Names)
}
