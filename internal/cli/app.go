package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/isotope-agent/isotope/internal/auth"
	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/model"
	"github.com/isotope-agent/isotope/internal/network"
	"github.com/isotope-agent/isotope/internal/picture"
	"github.com/isotope-agent/isotope/internal/proc"
	"github.com/isotope-agent/isotope/internal/prompt"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/settings"
	"github.com/isotope-agent/isotope/internal/trust"
)

// app is everything a mode works with, built from the command line. Building it
// reads nothing but the settings: the rest is read when it is needed.
type app struct {
	flags   *flags
	argv0   string // the name the program was started by
	std     stdio
	limits  limits
	dialect dialect.Dialect
	env     dialect.Lookup
	home    string
	started string   // the folder the program was started in: flags are relative to it
	dirs    []string // agent directories, the first is written to

	settings  *settings.Settings
	models    *model.Registry
	keys      *auth.Keys
	providers *providers
	runner    *proc.Local
	sessions  *session.Registry
	scope     atomic.Pointer[[]model.Scoped] // see scoped; nil until readScope
	sweep     sweeper
	newDir    string // where new_session makes sessions
	here      atomic.Pointer[place]
	ext       *extensions // nil until an engine is made
	quit      func()      // ends the program in order
	trace     io.Writer   // of --debug-http; nil for nothing
	network   *network.Network
}

// place is the folder the session works in and what comes of it. It is never changed: a
// session of another folder brings another place.
type place struct {
	cwd         string
	trust       trust.Decision // whether the project's own resources are used
	projectDirs []string       // the project's own directories, none without trust
	library     *prompt.Library
}

// at returns where the session works now.
func (a *app) at() *place { return a.here.Load() }

// newApp builds the surroundings of an engine.
func newApp(f *flags, argv0 string, std stdio, lim limits) (*app, error) {
	a := &app{flags: f, argv0: argv0, std: std, limits: lim, env: os.LookupEnv, runner: proc.New(), sessions: session.NewRegistry()}
	var err error
	choice, _ := a.env(dialect.EnvChoice)
	if a.dialect, err = dialect.Choose(f.dialect, choice, argv0); err != nil {
		return nil, err
	}
	if a.started, err = os.Getwd(); err != nil {
		return nil, fmt.Errorf("finding the working folder (was it removed?): %w", err)
	}
	a.quit = func() {}
	a.home, _ = os.UserHomeDir()
	a.dirs = a.dialect.AgentDirs(a.env, a.home)
	a.network = network.New(network.Options{Env: a.env, Proxy: func() string { return a.settings.HTTPProxy() }})
	a.models = model.New(model.Options{
		Files: in(a.dirs, "models.json"), HasKey: func(p string) bool { return a.keys.Has(p) },
		Allowed: func(p string) ([]string, bool) { return a.keys.AvailableModels(p) },
	})
	callback, _ := a.dialect.Getenv("OAUTH_CALLBACK_HOST", a.env)
	a.keys = auth.New(auth.Options{
		Files: in(a.dirs, "auth.json"), Env: a.env, Config: a.models.RequestConfig, Known: a.models.Known,
		Program: dialect.Isotope, Flow: auth.FlowOptions{DeviceID: a.deviceID, Transport: a.network, CallbackHost: callback},
	})
	a.enter(a.started)
	a.providers = newProviders(a)
	return a, nil
}

// enter makes dir the folder to work in: its project's settings and resources count.
func (a *app) enter(dir string) {
	if a.settings == nil {
		a.settings = settings.Open(settings.Options{User: in(a.dirs, "settings.json"), Home: a.home})
	}
	p := &place{cwd: dir, trust: a.decideTrust(dir)}
	if p.trust.Trusted {
		p.projectDirs = a.dialect.ProjectDirs(dir)
	}
	a.settings.SetProject(in(a.dialect.ProjectDirs(dir), "settings.json"), p.trust.Trusted)
	p.library = a.newLibrary(p)
	a.here.Store(p)
}

// deviceID returns the id of this installation, made when a login first asks for it.
func (a *app) deviceID() (string, error) {
	if id := a.settings.DeviceID(); id != "" {
		return id, nil
	}
	id := uuid.NewString()
	return id, a.settings.Set(context.Background(), id, "deviceId")
}

// in returns the file of that name in each directory.
func in(dirs []string, name string) []string {
	out := make([]string, len(dirs))
	for i, d := range dirs {
		out[i] = filepath.Join(d, name)
	}
	return out
}

// warn tells the user on stderr that something is not as it should be.
func (a *app) warn(text string) {
	fmt.Fprintln(a.std.err, "Warning: "+strings.TrimPrefix(text, "Warning: "))
}

// note tells the user something on stderr.
func (a *app) note(text string) { fmt.Fprintln(a.std.err, text) }

const textKeyNeedsModel = "--api-key requires a model to be specified via --model or --provider/--model"

// snapshots reports whether message updates are told in their older form (seeds/002).
func (a *app) snapshots() bool {
	records := a.flags.mode == modeRPC || a.flags.mode == modeJSON
	return records && (a.flags.snapshots || dialect.Snapshots(a.env))
}

// start checks the flags that need more than the line itself, before anything is
// opened or made. The errors are start-up errors.
func (a *app) start() error {
	if path := a.flags.debugHTTP; path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("opening the file of --debug-http: %w", err)
		}
		a.trace = f // it ends with the process
	}
	if err := settings.CheckToolList(splitNames(a.flags.tools)); err != nil {
		return fmt.Errorf("--tools: %w", err)
	}
	if err := a.checkModel(); err != nil && len(a.extensionSources()) == 0 {
		return err // else one of them may bring the model
	}
	return nil
}

// checkModel resolves the flags about the model and gives its provider the key of
// --api-key.
func (a *app) checkModel() error {
	sel, err := a.models.Resolve(a.modelFlags())
	if err != nil {
		return err
	}
	if a.flags.apiKey != "" {
		if sel.Model == nil {
			return errors.New(textKeyNeedsModel)
		}
		a.keys.SetRuntime(sel.Model.Provider, a.flags.apiKey)
	}
	return nil
}

// readScope resolves the models to cycle through, and returns what names none.
func (a *app) readScope() (unmatched []string) {
	patterns := splitNames(a.flags.models)
	if len(patterns) == 0 {
		patterns = a.settings.EnabledModels()
	}
	scope, unmatched := a.models.Scope(patterns)
	a.scope.Store(&scope)
	return unmatched
}

// scoped returns the models to cycle through, none for all.
func (a *app) scoped() []model.Scoped {
	if scope := a.scope.Load(); scope != nil {
		return *scope
	}
	return nil
}

// tellFaults tells what is wrong with the user's and the project's files.
func (a *app) tellFaults() {
	unmatched := a.readScope()
	for _, w := range append(a.fileFaults(), unmatched...) {
		a.warn(w)
	}
}

// fileFaults is what is wrong with the user's files. They are left out then, in whole
// or in part.
func (a *app) fileFaults() []string {
	faults := a.settings.Warnings()
	for _, d := range a.models.Diagnostics() {
		faults = append(faults, d.Message)
	}
	return append(faults, a.keys.Diagnostics()...)
}

func (a *app) modelFlags() model.Flags {
	return model.Flags{
		Provider: a.flags.provider, Model: a.flags.model,
		Thinking: llm.ThinkingLevel(a.flags.thinking), APIKey: a.flags.apiKey != "",
	}
}

// choose picks the model for a session: flags, scope, session, settings, any.
func (a *app) choose(had session.Selection) (model.Initial, error) {
	s := model.Start{
		Flags: a.modelFlags(), Scope: a.scoped(), HasMessages: had.HasMessages, SessionThinking: had.Thinking,
		Saved: engine.SavedModel(a.settings),
	}
	if had.Model != nil {
		s.SessionProvider, s.SessionModel = had.Model.Provider, had.Model.ID
	}
	return a.models.Initial(s)
}

// newEngine starts an engine on a session. The error is a start-up error.
func (a *app) newEngine(store *session.Store, out engine.Output) (*engine.Engine, error) {
	files, unknown := newToolbox(a)
	var err error
	if a.ext, err = a.newExtensions(files, out); err != nil {
		return nil, err
	}
	if a.ext.Loaded() {
		if err := a.checkModel(); err != nil {
			return nil, errors.Join(err, a.ext.Close(context.Background()))
		}
	}
	files.ext = a.ext
	for _, name := range files.missing(unknown) {
		a.warn(fmt.Sprintf(textUnknownTool, name))
	}
	a.tellFaults()
	had, err := store.View().Selection()
	if err != nil {
		return nil, err
	}
	first, err := a.choose(had)
	if err != nil {
		return nil, err
	}
	a.tellTrust(first.Warning, first.FallbackMessage)
	if err := a.providers.record(a.flags.record); err != nil {
		return nil, err
	}
	a.sweep.after(a.limits.sweep, a.spill(store.ID()))
	eng := engine.New(engine.Config{
		Output: out, Hooks: a.ext.hooks(), Models: a.models, Keys: a.keys, Settings: a.settings,
		Provider: a.providers.get,
		Choose: func(had session.Selection) model.Initial {
			again, err := a.choose(had)
			if err != nil {
				a.warn(err.Error())
				return first
			}
			return again
		},
		Scope: a.scoped, Tools: files.build, SystemPrompt: files.systemPrompt, Expand: a.expand,
		NormalizeImages: a.normalizeImages,
		NewStore:        a.newStore,
		OpenStore:       a.openStore,
		ImportStore:     a.importStore,
		Sessions:        a.listed,
		Enter:           a.enterWith,
		Reload:          func() error { return a.reload(files) },
		Refresh:         a.refresh,
		Bash:            engine.BashConfig{Runner: a.runner, Command: files.directCommand, Spill: a.spill},
		Strategy:        a.dialect.DefaultCompaction, NullCompactionResult: a.dialect.NullCompactionResult,
		Snapshots: a.snapshots(),
		Cwd:       a.at().cwd,
		Untrusted: func() []trust.Resource { return a.at().trust.LeftOut() },
		Report:    a.warn,
	}, store)
	a.ext.start(eng)
	return eng, nil
}

// normalizeImages makes pictures fit for models and collects the notes about it.
func (a *app) normalizeImages(images []*llm.Image) (kept []*llm.Image, notes []string) {
	for _, img := range images {
		fit, note := picture.Normalize(img, picture.Options{KeepSize: !a.settings.Images().AutoResize})
		if fit != nil {
			kept = append(kept, fit)
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	return kept, notes
}

// spill is where the long output of a session's commands goes.
func (a *app) spill(sessionID string) proc.Spill { return proc.NewSpill(a.dialect.Name, sessionID) }
