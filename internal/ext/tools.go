package ext

import (
	"context"
	"fmt"
	"sync"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

// Tools returns the tools that extensions registered, in order. One with the name of a
// built-in tool takes its place (tool.NewSet with these last).
func (x *Extensions) Tools() []tool.Tool {
	g := x.current.Load()
	if g == nil {
		return nil
	}
	var out []tool.Tool
	for _, d := range g.toolList() {
		out = append(out, &extTool{x: x, d: d})
	}
	return out
}

// Inactive reports whether a tool of an extension is off unless chosen.
func Inactive(t tool.Tool) bool {
	e, ok := t.(*extTool)
	return ok && (e.d.DefaultActive != nil && !*e.d.DefaultActive || e.d.Exposure != "" && e.d.Exposure != "direct")
}

// ToolPath returns where a tool of an extension comes from, "" for others.
func ToolPath(t tool.Tool) (Source, bool) {
	e, ok := t.(*extTool)
	if !ok {
		return Source{}, false
	}
	g := e.x.current.Load()
	if g == nil {
		return Source{}, false
	}
	return g.source(e.d.Ext)
}

// extTool is a tool of an extension. It belongs to the current generation, whichever
// that is when it runs.
type extTool struct {
	x *Extensions
	d *toolDef
}

var (
	_ tool.Tool       = (*extTool)(nil)
	_ tool.Prompted   = (*extTool)(nil)
	_ tool.Sequential = (*extTool)(nil)
)

// Spec implements tool.Tool.
func (t *extTool) Spec() llm.ToolSpec {
	return llm.ToolSpec{Name: t.d.Name, Description: t.d.Description, Parameters: t.d.Parameters, Sampling: t.d.sampling()}
}

// sampling returns how strictly providers are to hold models to the tool's schema.
func (d *toolDef) sampling() llm.Sampling {
	var c struct {
		Type   string       `json:"type"`
		Strict llm.Sampling `json:"strict"`
	}
	if jsonx.Unmarshal(d.Constrained, &c) != nil || c.Type != "json_schema" {
		return ""
	}
	return c.Strict
}

// Snippet implements tool.Prompted.
func (t *extTool) Snippet() string { return t.d.Snippet }

// Guidelines implements tool.Prompted.
func (t *extTool) Guidelines() []string { return t.d.Guidelines }

// Sequential implements tool.Sequential.
func (t *extTool) Sequential() bool { return t.d.ExecutionMode == "sequential" }

// Run implements tool.Tool.
func (t *extTool) Run(ctx context.Context, c tool.Call, update func(tool.Result)) (tool.Result, error) {
	g := t.x.current.Load()
	if g == nil {
		return tool.Result{}, fmt.Errorf("tool %s: the extension host is not running", t.d.Name)
	}
	d := g.tool(t.d.Name)
	if d == nil || g.isMuted(d.Ext) {
		return tool.Result{}, fmt.Errorf("tool %s: its extension is not running", t.d.Name)
	}
	key := g.key()
	g.updates.set(key, update)
	defer g.updates.set(key, nil)
	raw, err := g.call(ctx, d.Ext, "tool", struct {
		Ext    string    `json:"ext"`
		Name   string    `json:"name"`
		Key    string    `json:"key"`
		CallID string    `json:"callId"`
		Args   jsonx.Raw `json:"args"`
	}{d.Ext, d.Name, key, c.ID, c.Args}, func() { g.rt.Post("", "abort", key, nil) })
	if err != nil {
		return tool.Result{}, err
	}
	var a toolAnswer
	if err := jsonx.Unmarshal(raw, &a); err != nil || isNull(raw) {
		return tool.Result{}, fmt.Errorf("tool %s returned no result: an object with content is wanted", d.Name)
	}
	return a.patch(tool.Result{Content: llm.Content{}, Terminate: a.Terminate}), nil
}

func (r *reg) tool(name string) *toolDef {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.tools {
		if d.Name == name {
			return d
		}
	}
	return nil
}

// toolAnswer is a result or a change of one, as scripts write it.
type toolAnswer struct {
	Content    *llm.Content `json:"content"`
	Details    jsonx.Raw    `json:"details"`
	Structured jsonx.Raw    `json:"structuredContent"`
	IsError    *bool        `json:"isError"`
	Usage      *llm.Usage   `json:"usage"`
	Terminate  bool         `json:"terminate"`
}

// patch puts what the script gave into res. New content without structured content
// drops the old one.
func (a toolAnswer) patch(res tool.Result) tool.Result {
	if a.Content != nil {
		res.Content, res.StructuredContent = *a.Content, nil
	}
	if len(a.Details) > 0 {
		res.Details = a.Details
	}
	if !isNull(a.Structured) {
		res.StructuredContent = a.Structured
	}
	if a.IsError != nil {
		res.IsError = *a.IsError
	}
	if a.Usage != nil {
		res.Usage = a.Usage
	}
	return res
}

// updates are the tool calls that show output while they run.
type updates struct {
	mu *sync.Mutex
	m  map[string]func(tool.Result)
}

func newUpdates() updates { return updates{mu: &sync.Mutex{}, m: map[string]func(tool.Result){}} }

func (u updates) set(key string, f func(tool.Result)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if f == nil {
		delete(u.m, key)
		return
	}
	u.m[key] = f
}

func (u updates) get(key string) func(tool.Result) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.m[key]
}

// update shows a partial result of a tool call.
func (g *generation) update(key string, raw jsonx.Raw) error {
	f := g.updates.get(key)
	if f == nil {
		return nil
	}
	var a toolAnswer
	if err := jsonx.Unmarshal(raw, &a); err != nil {
		return fmt.Errorf("onUpdate: %w", err)
	}
	f(a.patch(tool.Result{Content: llm.Content{}}))
	return nil
}
