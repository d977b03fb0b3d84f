package cli

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/ext"
	"github.com/isotope-agent/isotope/internal/proc"
	"github.com/isotope-agent/isotope/internal/prompt"
	"github.com/isotope-agent/isotope/internal/settings"
	"github.com/isotope-agent/isotope/internal/tool"
	"github.com/isotope-agent/isotope/internal/tool/builtin"
)

const textUnknownTool = "there is no tool %q: it is left out"

// toolbox builds the active tools of a session, as flags and settings say.
type toolbox struct {
	app   *app
	files *tool.Queue
	names []string
	ext   *extensions // nil until they are loaded

	mu     sync.Mutex
	chosen []string // by an extension; nil: as flags and settings say
}

// newToolbox also returns the names that were asked for and are not there.
func newToolbox(a *app) (b *toolbox, unknown []string) {
	b = &toolbox{app: a, files: &tool.Queue{}}
	b.names, unknown = activeTools(a.flags, a.settings)
	return b, unknown
}

// activeTools returns the names of the active built-in tools, in the order in which
// models see them, and those of --tools that are none. --tools is a list of its own,
// or changes (+name, -name) to the default; it wins over --no-tools. --exclude-tools
// takes away. Both may have patterns (*).
func activeTools(f *flags, s *settings.Settings) (active, unknown []string) {
	var all, chosen []string
	for _, b := range builtin.Names() {
		all = append(all, b.Name)
		if b.Default {
			chosen = append(chosen, b.Name)
		}
	}
	if chosen = s.DefaultTools(chosen); f.noTools || f.noBuiltinTools {
		chosen = nil
	}
	if f.set["tools"] {
		list := splitNames(f.tools)
		if len(list) > 0 && strings.ContainsAny(list[0][:1], "+-") {
			chosen = settings.ApplyToolChanges(chosen, list)
		} else {
			chosen = list
		}
		for _, name := range list {
			if name = strings.TrimLeft(name, "+-"); !slices.ContainsFunc(all, func(t string) bool { return named(name, t) }) {
				unknown = append(unknown, name)
			}
		}
	}
	has := func(list []string, tool string) bool {
		return slices.ContainsFunc(list, func(pattern string) bool { return named(pattern, tool) })
	}
	excluded := splitNames(f.excludeTools)
	return slices.DeleteFunc(all, func(name string) bool { return !has(chosen, name) || has(excluded, name) }), unknown
}

// named reports whether a name or pattern means a tool.
func named(pattern, tool string) bool {
	ok, err := path.Match(pattern, tool)
	return ok && err == nil || pattern == tool
}

func splitNames(list string) []string {
	var out []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// build makes the tools for a session.
func (b *toolbox) build(env engine.ToolEnv) *tool.Set {
	chosen, extra := b.choice(), b.registered()
	names := b.names
	if chosen != nil {
		names = nil
		for _, t := range builtin.Names() {
			if slices.Contains(chosen, t.Name) {
				names = append(names, t.Name)
			}
		}
	}
	tools := b.builtin(env, names)
	for _, t := range extra {
		if b.wants(t, chosen) {
			tools = append(tools, t)
		}
	}
	return tool.NewSet(tools...)
}

// builtin makes the built-in tools of these names.
func (b *toolbox) builtin(env engine.ToolEnv, names []string) (tools []tool.Tool) {
	keepSize := func() bool { return !b.app.settings.Images().AutoResize }
	cfg := builtin.Config{Cwd: b.app.at().cwd, Home: b.app.home, Files: b.files, Model: env.Model, KeepImageSize: keepSize}
	for _, name := range names {
		switch name {
		case "read":
			tools = append(tools, builtin.NewRead(cfg))
		case "bash":
			tools = append(tools, b.bash(env))
		case "edit":
			tools = append(tools, builtin.NewEdit(cfg))
		case "write":
			tools = append(tools, builtin.NewWrite(cfg))
		case "grep":
			tools = append(tools, builtin.NewGrep(cfg))
		case "find":
			tools = append(tools, builtin.NewFind(cfg))
		case "ls":
			tools = append(tools, builtin.NewLs(cfg))
		}
	}
	return tools
}

// registered are the tools of extensions. One with the name of a built-in tool takes its
// place.
func (b *toolbox) registered() []tool.Tool {
	if b.ext == nil {
		return nil
	}
	return b.ext.Tools()
}

// wants reports whether a tool of an extension is active: as an extension chose, or
// flags allow.
func (b *toolbox) wants(t tool.Tool, chosen []string) bool {
	name, f := t.Spec().Name, b.app.flags
	in := func(list string) bool {
		return slices.ContainsFunc(splitNames(list), func(pattern string) bool { return named(pattern, name) })
	}
	switch {
	case in(f.excludeTools):
		return false
	case chosen != nil:
		return slices.Contains(chosen, name)
	case f.set["tools"] && !strings.ContainsAny(f.tools, "+-"):
		return in(f.tools)
	}
	return !f.noTools && !ext.Inactive(t)
}

// missing returns the names that are no tools of extensions either.
func (b *toolbox) missing(names []string) []string {
	extra := b.registered()
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(extra, func(t tool.Tool) bool { return named(name, t.Spec().Name) })
	})
}

// choose makes the tools of these names the active ones.
func (b *toolbox) choose(names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.chosen = slices.Clone(names)
}

func (b *toolbox) choice() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.chosen
}

// all are all tools there are, active or not.
func (b *toolbox) all(env engine.ToolEnv) []tool.Tool {
	var names []string
	for _, t := range builtin.Names() {
		names = append(names, t.Name)
	}
	return tool.NewSet(append(b.builtin(env, names), b.registered()...)...).All()
}

func (b *toolbox) bash(env engine.ToolEnv) tool.Tool {
	return builtin.NewBash(builtin.BashConfig{
		Cwd: b.app.at().cwd, Runner: b.app.runner, Shell: b.shell(), BinDir: b.binDir(), EnvPrefix: "PI",
		Env:   func() []string { return append(b.identity(), env.Vars()...) },
		Spill: func() proc.Spill { return b.app.spill(env.SessionID) },
	})
}

func (b *toolbox) shell() proc.Shell {
	return proc.Shell{Path: b.app.settings.ShellPath(), Prefix: b.app.settings.ShellCommandPrefix()}
}

func (b *toolbox) binDir() string { return filepath.Join(b.app.dirs[0], "bin") }

// identity are the variables by which a child knows which agent runs it.
func (b *toolbox) identity() []string {
	name := b.app.dialect.Name
	return []string{"AI_AGENT=" + name, strings.ToUpper(name) + "_CODING_AGENT=true"}
}

// directCommand completes a direct bash command of a client.
func (b *toolbox) directCommand(command string) proc.Cmd {
	env := proc.Env{BinDir: b.binDir(), Set: b.identity()}
	return proc.Cmd{Command: command, Shell: b.shell(), Dir: b.app.at().cwd, Env: env.Environ(os.Environ())}
}

// systemPrompt builds the system prompt for a set of tools.
func (b *toolbox) systemPrompt(tools *tool.Set) string {
	return prompt.Build(b.app.promptOptions(tools))
}
