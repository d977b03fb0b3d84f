package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/isotope-agent/isotope/internal/auth"
	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/model"
	"github.com/isotope-agent/isotope/internal/picture"
	"github.com/isotope-agent/isotope/internal/proc"
	"github.com/isotope-agent/isotope/internal/prompt"
	"github.com/isotope-agent/isotope/internal/session"
	"github.com/isotope-agent/isotope/internal/settings"
)

// app is everything a mode works with, built from the command line. Building it
// reads nothing but the settings: the rest is read when it is needed.
type app struct {
	flags   *flags
	dialect dialect.Dialect
	env     dialect.Lookup
	home    string
	cwd     string
	dirs    []string // agent directories, the first is written to
	stderr  io.Writer

	settings  *settings.Settings
	models    *model.Registry
	keys      *auth.Keys
	library   *prompt.Library
	providers *providers
	runner    *proc.Local
	sessions  *session.Registry
	scope     []model.Scoped
}

// newApp builds the surroundings of an engine.
func newApp(f *flags, argv0 string, stderr io.Writer) (*app, error) {
	a := &app{flags: f, env: os.LookupEnv, stderr: stderr, runner: proc.New(), sessions: session.NewRegistry()}
	var err error
	choice, _ := a.env(dialect.EnvChoice)
	if a.dialect, err = dialect.Choose(f.dialect, choice, argv0); err != nil {
		return nil, err
	}
	if a.cwd, err = os.Getwd(); err != nil {
		return nil, fmt.Errorf("finding the working folder: %w", err)
	}
	a.home, _ = os.UserHomeDir()
	a.dirs = a.dialect.AgentDirs(a.env, a.home)
	a.settings = settings.Open(settings.Options{
		User: in(a.dirs, "settings.json"), Project: in(a.dialect.ProjectDirs(a.cwd), "settings.json"),
		Trusted: f.approve, Home: a.home,
	})
	a.models = model.New(model.Options{Files: in(a.dirs, "models.json"), HasKey: func(p string) bool { return a.keys.Has(p) }})
	a.keys = auth.New(auth.Options{Files: in(a.dirs, "auth.json"), Env: a.env, Config: a.models.RequestConfig})
	a.library = a.newLibrary()
	a.providers = newProviders(a)
	return a, nil
}

// in returns the file of that name in each directory.
func in(dirs []string, name string) []string {
	out := make([]string, len(dirs))
	for i, d := range dirs {
		out[i] = filepath.Join(d, name)
	}
	return out
}

// warn tells the user something on stderr.
func (a *app) warn(text string) { fmt.Fprintln(a.stderr, "Warning: "+text) }

// start resolves what the flags say about models and tells what is wrong with the
// files. The errors are start-up errors.
func (a *app) start() error {
	if a.flags.apiKey != "" {
		sel, err := a.models.Resolve(a.modelFlags())
		if err != nil {
			return err
		}
		if sel.Model == nil {
			return errors.New("--api-key requires a model to be specified via --model or --provider/--model")
		}
		a.keys.SetRuntime(sel.Model.Provider, a.flags.apiKey)
	}
	patterns := a.flags.models
	if len(patterns) == 0 {
		patterns = a.settings.EnabledModels()
	}
	var warnings []string
	a.scope, warnings = a.models.Scope(patterns)
	for _, w := range slices.Concat(a.settings.Warnings(), warnings) {
		a.warn(w)
	}
	return a.noteLater()
}

// noteLater tells about flags whose machinery is not there.
func (a *app) noteLater() error {
	for _, e := range a.flags.extensions {
		a.warn("extensions are not run yet: " + e + " is left out")
	}
	return nil
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
		Flags: a.modelFlags(), Scope: a.scope, HasMessages: had.HasMessages, SessionThinking: had.Thinking,
		Saved: engine.SavedModel(a.settings),
	}
	if had.Model != nil {
		s.SessionProvider, s.SessionModel = had.Model.Provider, had.Model.ID
	}
	return a.models.Initial(s)
}

// newEngine starts an engine on a session. The error is a start-up error.
func (a *app) newEngine(store *session.Store, out engine.Output) (*engine.Engine, error) {
	had, err := store.View().Selection()
	if err != nil {
		return nil, err
	}
	first, err := a.choose(had)
	if err != nil {
		return nil, err
	}
	for _, text := range []string{first.Warning, first.FallbackMessage} {
		if text != "" {
			a.warn(text)
		}
	}
	files := newToolbox(a)
	return engine.New(engine.Config{
		Output: out, Models: a.models, Keys: a.keys, Settings: a.settings,
		Provider: a.providers.get,
		Choose: func(had session.Selection) model.Initial {
			again, err := a.choose(had)
			if err != nil {
				a.warn(err.Error())
				return first
			}
			return again
		},
		Scope: a.scope, Tools: files.build, SystemPrompt: files.systemPrompt, Expand: a.library.Expand,
		NormalizeImages: a.normalizeImages,
		NewStore:        func(parent string) (*session.Store, error) { return session.Create(a.sessionConfig(parent)) },
		Bash:            engine.BashConfig{Runner: a.runner, Command: files.directCommand, Spill: a.spill},
		Cwd:             a.cwd,
		Report:          a.warn,
	}, store), nil
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

// close ends what the app started. It waits for children until ctx ends.
func (a *app) close(ctx context.Context) error {
	var wg sync.WaitGroup
	var err error
	done := make(chan struct{})
	wg.Go(func() { err = a.runner.Close() })
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
