package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/ext"
	"github.com/isotope-agent/isotope/internal/ext/child"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/prompt"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/settings"
	"github.com/isotope-agent/isotope/internal/tool"
)

// extensions are the extensions of the program and what connects them with its engine.
type extensions struct {
	*ext.Extensions
	app   *app
	files *toolbox
	out   engine.Output
	eng   *engine.Engine // set before the first one runs
	began chan struct{}  // closed when session_start is over
	wg    sync.WaitGroup
}

// newExtensions loads the extensions of the folder. It costs nothing when there are none.
// One of -e that cannot be loaded is a start-up error, another one is told and left out.
func (a *app) newExtensions(files *toolbox, out engine.Output) (*extensions, error) {
	x := &extensions{app: a, files: files, out: out, began: make(chan struct{})}
	mode := "print"
	if a.flags.mode == modeRPC || a.flags.mode == modeJSON {
		mode = a.flags.mode
	}
	cache, _ := os.UserCacheDir()
	if cache != "" {
		cache = filepath.Join(cache, a.dialect.Name, "extensions")
	}
	x.Extensions = ext.New(ext.Config{
		Paths: a.extensionSources(), Discover: func() (string, []ext.Source) { return a.at().cwd, a.extensionSources() },
		Cwd: a.at().cwd, AgentDir: a.dirs[0], Home: a.home, CacheDir: cache, Mode: mode,
		Name: a.dialect.Name, Version: Version(), ConfigDir: filepath.Base(filepath.Dir(a.dirs[0])),
		Report: a.note, Runner: a.runner, Child: a.runner.Adopt, Network: a.network, Process: a.hostProcess,
	})
	for _, err := range x.Load(context.Background()) {
		if err.Source.From == "cli" {
			return nil, errors.Join(err, x.Close(context.Background()))
		}
		a.note(err.Error())
	}
	if err := x.takeFlags(); err != nil {
		return nil, errors.Join(err, x.Close(context.Background()))
	}
	x.Offer(x.registerProvider)
	return x, nil
}

// hostProcess describes the process for the extensions, nil for this one.
func (a *app) hostProcess() *child.Process {
	if a.settings.ExtensionIsolation() != settings.IsolationProcess {
		return nil
	}
	exe, err := os.Executable()
	if err != nil {
		exe = a.argv0 // found in the same way again, mostly
	}
	return &child.Process{Path: exe, Args: []string{a.argv0, child.Argument}, Proxy: a.settings.HTTPProxy(), Adopt: a.runner.Adopt}
}

// takeFlags gives extensions the options that are theirs.
func (x *extensions) takeFlags() error {
	f := x.app.flags
	known := map[string]ext.Flag{}
	for _, k := range x.Flags() {
		known[k.Name] = k
	}
	for _, o := range f.foreign {
		k, ok := known[o.name]
		isSwitch := k.Type == "boolean"
		var value any = o.value
		switch {
		case !ok:
			return errUnknownOption("--" + o.name)
		case isSwitch && o.joined:
			on, err := strconv.ParseBool(o.value)
			if err != nil {
				return fmt.Errorf("--%s must be true or false, not %q", o.name, o.value)
			}
			value = on
		case isSwitch:
			value = true
		case o.value == "" && !o.joined:
			return fmt.Errorf("--%s requires a value", o.name)
		}
		f.settle(o, isSwitch)
		x.SetFlag(o.name, value)
	}
	return nil
}

// registerProvider adds the models of an extension's provider, or takes them away when
// config is nil. With stream the extension answers their requests itself.
func (x *extensions) registerProvider(name string, config jsonx.Raw, stream llm.Provider) error {
	if config == nil {
		x.app.models.Unregister(name)
		x.app.providers.drop(name)
		return nil
	}
	members, err := jsonx.Members(config)
	if err != nil {
		return fmt.Errorf("provider %s: %w", name, err)
	}
	var own jsonx.Object
	api := name
	for _, m := range members {
		if m.Name == "api" && jsonx.Unmarshal(m.Value, &api) != nil {
			api = name
		}
		if m.Name != "oauth" { // an object of functions here, a word in models.json
			own.Set(m.Name, m.Value)
		}
	}
	if stream != nil {
		own.Set("api", api)
		x.app.providers.use(name, api, stream)
	}
	text, err := jsonx.Marshal(&own)
	if err != nil {
		return fmt.Errorf("provider %s: %w", name, err)
	}
	return x.app.models.Register(name, text)
}

// extensionSources finds the extensions: of the project when it is trusted, of the user,
// of settings, and those of -e.
func (a *app) extensionSources() []ext.Source {
	var lists []ext.Listed
	for _, r := range a.settings.Resources(settings.Extensions) {
		lists = append(lists, ext.Listed{Paths: r.Entries, BaseDir: r.BaseDir, Project: r.Project})
	}
	return ext.Discover(ext.Places{
		Explicit: a.flags.extensions, Cwd: a.started, Home: a.home,
		AgentDirs: a.dirs, ProjectDirs: a.at().projectDirs, Settings: lists, Only: a.flags.noExtensions,
	})
}

// nobodysFlag returns an option that nobody can know: there is no extension, or none is
// loaded for what is to be done.
func (a *app) nobodysFlag(args []string) (name string, ok bool) {
	f := a.flags
	if len(f.foreign) == 0 {
		return "", false
	}
	alone := f.set["export"] || f.wantsSchema(args) || f.wantsAuth(args)
	return f.foreign[0].name, alone || len(a.extensionSources()) == 0
}

// replace loads them anew for a reload.
func (x *extensions) replace() {
	for _, err := range x.Replace(context.Background()) {
		x.app.note(err.Error())
	}
}

// hooks are the engine's hooks; what a prompt needs of them waits for session_start.
func (x *extensions) hooks() engine.Hooks {
	h := x.Hooks()
	input, command := h.Input, h.Command
	h.Input = func(ctx context.Context, in engine.Input) (engine.InputResult, error) {
		x.awaitStart(ctx)
		return input(ctx, in)
	}
	h.Command = func(text string) (func(context.Context), string, bool) {
		run, name, ok := command(text)
		if !ok {
			return nil, "", false
		}
		return func(ctx context.Context) { x.awaitStart(ctx); run(ctx) }, name, true
	}
	return h
}

func (x *extensions) awaitStart(ctx context.Context) {
	select {
	case <-x.began:
	case <-ctx.Done():
	}
}

// start connects the extensions with the engine and begins the session, beside
// everything else: a handler may ask the client something.
func (x *extensions) start(eng *engine.Engine) {
	x.eng = eng
	x.Bind(x.host())
	if !x.Loaded() {
		close(x.began)
		return
	}
	x.wg.Go(func() {
		defer close(x.began)
		x.SessionStart(context.Background(), "startup")
	})
}

// end tells the extensions that the session ends. Dialogs take their defaults.
func (x *extensions) end(ctx context.Context) {
	if x == nil || !x.Loaded() {
		return
	}
	x.Shutdown()
	x.SessionShutdown(ctx, "quit")
}

// close ends the runtime and what start began; what hangs is left behind after a time.
func (x *extensions) close(most time.Duration) {
	if x == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	if err := x.Close(ctx); err != nil {
		x.app.warn(err.Error())
		return
	}
	x.wg.Wait()
}

// commands lists what a text may begin with: commands of extensions, then of the folder.
func (x *extensions) commands() []prompt.Command {
	var list []prompt.Command
	for _, c := range x.Commands() {
		s := c.Source
		list = append(list, prompt.Command{
			Name: c.Name, Description: c.Description, Source: "extension", Path: s.Path,
			SourceInfo: prompt.SourceInfo{Path: s.Path, Source: s.From, Scope: s.Scope, Origin: s.Origin, BaseDir: s.BaseDir},
		})
	}
	return append(list, x.app.at().library.Commands()...)
}

// host is what extensions can do with the session.
func (x *extensions) host() ext.Host {
	a := x.app
	return ext.Host{
		Emit: x.out.Post, State: x.state, SystemPrompt: x.eng.SystemPrompt,
		ContextUsage: func() any {
			if u := x.eng.ContextUsage(); u != nil {
				return u
			}
			return nil
		},
		View: func() (*session.View, error) {
			if v := x.eng.Glance().View; v != nil {
				return v, nil
			}
			return nil, engine.ErrShutdown
		},
		SendMessage: func(m llm.CustomMessage, o ext.SendOptions) error {
			return x.eng.SendCustom(&m, engine.InputKind(o.DeliverAs), o.TriggerTurn)
		},
		SendUser: x.sendUser, AppendEntry: x.eng.AppendEntry,
		SetModel: x.eng.UseModel, SetThinking: x.eng.UseThinking,
		Tools: x.listTools, SetTools: x.setTools, ToolsChanged: x.eng.RebuildTools,
		Commands: func() any { return x.commands() },
		Abort:    x.eng.Stop, Shutdown: a.quit,
		WaitIdle: x.eng.AwaitIdle,
		Compact: func(ctx context.Context, instructions string) (any, error) {
			return await(ctx, func(reply func(any, error)) { x.eng.Compact(instructions, reply) })
		},
		NewSession: func(ctx context.Context, parent string) (bool, error) {
			s, err := await(ctx, func(reply func(engine.Switched, error)) { x.eng.NewSession(parent, reply) })
			return s.Cancelled, err
		},
		Fork: func(ctx context.Context, entryID, _ string) (bool, error) {
			s, err := await(ctx, func(reply func(engine.Forked, error)) { x.eng.Fork(entryID, reply) })
			return s.Cancelled, err
		},
		Switch: func(ctx context.Context, path string) (bool, error) {
			s, err := await(ctx, func(reply func(engine.Switched, error)) { x.eng.SwitchSession(path, reply) })
			return s.Cancelled, err
		},
		NavigateTree: x.navigate,
		Reload: func(ctx context.Context) error {
			_, err := await(ctx, x.eng.Reload)
			return err
		},
		Models: a.models.All, Available: a.models.Available,
		Credential: func(ctx context.Context, provider string) (ext.Credential, error) {
			c, err := a.keys.Provider(ctx, provider)
			return ext.Credential{APIKey: c.APIKey, Headers: c.Headers}, err
		},
		Stream:           x.stream,
		RegisterProvider: x.registerProvider,
	}
}

// navigate moves in the session tree; options have the names of the call's.
func (x *extensions) navigate(ctx context.Context, target string, options jsonx.Raw) (any, error) {
	var o struct {
		Summarize           bool   `json:"summarize"`
		CustomInstructions  string `json:"customInstructions"`
		ReplaceInstructions bool   `json:"replaceInstructions"`
		Label               string `json:"label"`
	}
	if err := jsonx.Unmarshal(options, &o); err != nil {
		return nil, fmt.Errorf("options of navigateTree: %w", err)
	}
	return await(ctx, func(reply func(engine.Navigated, error)) {
		x.eng.NavigateTree(engine.Navigation{
			TargetID: target, Summarize: o.Summarize, CustomInstructions: o.CustomInstructions,
			ReplaceInstructions: o.ReplaceInstructions, Label: o.Label,
		}, reply)
	})
}

func (x *extensions) state() ext.State {
	g := x.eng.Glance()
	return ext.State{
		Model: g.Model, Thinking: g.Thinking, Idle: g.Idle, Pending: g.Pending, Trusted: x.app.at().trust.Trusted,
	}
}

// sendUser sends a text as if the user had typed it.
func (x *extensions) sendUser(text string, images []*llm.Image, o ext.SendOptions) error {
	behavior := engine.InputKind("")
	switch o.DeliverAs {
	case "steer":
		behavior = engine.InputSteer
	case "followUp":
		behavior = engine.InputFollowUp
	}
	x.eng.Submit(engine.Input{Kind: engine.InputPrompt, Text: text, Images: images, Behavior: behavior},
		func(_ engine.Disposition, err error) {
			if err != nil {
				x.app.warn("a message of an extension was not accepted: " + err.Error())
			}
		})
	return nil
}

func (x *extensions) listTools() (all []tool.Tool, active []string) {
	set := x.eng.Glance().Tools
	for _, t := range set.All() {
		active = append(active, t.Spec().Name)
	}
	return x.files.all(x.eng.ToolEnv()), active
}

func (x *extensions) setTools(names []string) error {
	x.files.choose(names)
	x.eng.RebuildTools()
	return nil
}

// stream sends one request with the model's own key.
func (x *extensions) stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		cred, err := x.app.keys.Model(ctx, req.Model)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		p, err := x.app.providers.get(req.Model.API)
		if err != nil {
			yield(llm.Event{}, err)
			return
		}
		full := *req
		engine.Authorize(&full, cred)
		p.Stream(ctx, &full)(yield)
	}
}

// await waits for the reply of an engine method, or for the end of ctx.
func await[T any](ctx context.Context, start func(reply func(T, error))) (T, error) {
	type outcome struct {
		v   T
		err error
	}
	done := make(chan outcome, 1)
	start(func(v T, err error) { done <- outcome{v, err} })
	select {
	case o := <-done:
		return o.v, o.err
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}
