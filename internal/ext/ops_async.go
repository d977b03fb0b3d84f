package ext

import (
	"context"

	"github.com/isotope-agent/isotope/internal/ext/js"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/tool"
)

// asyncOps are what the host modules start and are told of later.
func (g *generation) asyncOps() map[string]js.AsyncOp {
	x := g.x
	return map[string]js.AsyncOp{
		"ui.dialog":          later(x.dialogs.await),
		"tools.run":          x.runBuiltin,
		"ai.stream":          x.aiStream,
		"models.credentials": later(x.credentials),
		"sessions.list": later(func(ctx context.Context, a struct {
			Cwd string `json:"cwd"`
		},
		) (any, error) {
			h := x.host.Load()
			if h.ListSessions == nil {
				return []any{}, nil
			}
			return h.ListSessions(ctx, a.Cwd)
		}),
		"host.compact": later(func(ctx context.Context, a struct {
			Instructions string `json:"customInstructions"`
		},
		) (any, error) {
			h := x.host.Load()
			if h.Compact == nil {
				return nil, errNoHost
			}
			return h.Compact(ctx, a.Instructions)
		}),
		"host.waitForIdle":   later(func(ctx context.Context, _ *struct{}) (any, error) { return nil, waited(ctx, x.host.Load().WaitIdle) }),
		"host.reload":        later(func(ctx context.Context, _ *struct{}) (any, error) { return nil, waited(ctx, x.host.Load().Reload) }),
		"host.newSession":    later(x.newSession),
		"host.fork":          later(x.fork),
		"host.switchSession": later(x.switchSession),
		"host.navigateTree":  g.navigate,
		"host.executeTool":   later(x.executeTool),
	}
}

func waited(ctx context.Context, f func(context.Context) error) error {
	if f == nil {
		return errNoHost
	}
	return f(ctx)
}

type cancelledAnswer struct {
	Cancelled bool `json:"cancelled"`
}

func (x *Extensions) newSession(ctx context.Context, a struct {
	Parent string `json:"parentSession"`
},
) (any, error) {
	h := x.host.Load()
	if h.NewSession == nil {
		return nil, errNoHost
	}
	cancelled, err := h.NewSession(ctx, a.Parent)
	return cancelledAnswer{cancelled}, err
}

func (x *Extensions) fork(ctx context.Context, a struct {
	Entry    string `json:"entryId"`
	Position string `json:"position"`
},
) (any, error) {
	h := x.host.Load()
	if h.Fork == nil {
		return nil, errNoHost
	}
	cancelled, err := h.Fork(ctx, a.Entry, a.Position)
	return cancelledAnswer{cancelled}, err
}

func (x *Extensions) switchSession(ctx context.Context, a struct {
	Path string `json:"sessionPath"`
},
) (any, error) {
	h := x.host.Load()
	if h.Switch == nil {
		return nil, errNoHost
	}
	cancelled, err := h.Switch(ctx, a.Path)
	return cancelledAnswer{cancelled}, err
}

func (g *generation) navigate(ctx context.Context, _ string, args jsonx.Raw, _ func(any)) (any, error) {
	h := g.x.host.Load()
	if h.NavigateTree == nil {
		return nil, errNoHost
	}
	var a struct {
		Target string `json:"targetId"`
	}
	if err := jsonx.Unmarshal(args, &a); err != nil {
		return nil, err
	}
	return h.NavigateTree(ctx, a.Target, args)
}

// executeTool runs another tool for a tool; its failure is a result, not an error.
func (x *Extensions) executeTool(ctx context.Context, a struct {
	Name string    `json:"name"`
	Args jsonx.Raw `json:"args"`
},
) (any, error) {
	all, _, err := x.tools()
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		if t.Spec().Name != a.Name {
			continue
		}
		res, err := t.Run(ctx, tool.Call{ID: x.newCallID(), Args: a.Args}, func(tool.Result) {})
		if err != nil {
			res = tool.ErrorResult(err.Error())
			res.IsError = true
		}
		return res, nil
	}
	res := tool.ErrorResult("Tool " + a.Name + " not found")
	res.IsError = true
	return res, nil
}

func (x *Extensions) newCallID() string { return "nested-" + newID() }
