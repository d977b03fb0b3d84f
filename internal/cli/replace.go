package cli

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/export"
	"github.com/isotope-agent/isotope/internal/session"
)

// openStore opens the session of switch_session.
func (a *app) openStore(path string) (*session.Store, error) {
	cfg := a.sessionConfig()
	cfg.Dir, cfg.Name, cfg.ReadOnly = a.chosenDir(), "", a.flags.readOnly
	return session.Open(a.path(path), cfg)
}

// importStore copies the session of import_session into the folder of the sessions.
func (a *app) importStore(path string) (*session.Store, error) {
	cfg := a.sessionConfig()
	cfg.Name = ""
	if a.newDir != "" {
		cfg.Dir = a.newDir
	}
	return session.Import(a.path(path), cfg)
}

// path completes a path of a client: it is relative to the folder the program was
// started in.
func (a *app) path(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		return filepath.Join(a.home, rest)
	}
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.started, name)
}

// listed describes the sessions of this folder, or of all.
func (a *app) listed(all bool) []session.Info {
	if all {
		return session.List(a.anywhere()...)
	}
	return session.List(a.folders()...)
}

// enterWith makes the folder of a session the one to work in, and its place that of
// later new sessions.
func (a *app) enterWith(store *session.Store, cwd string) error {
	if cwd != "" && !sameFolder(cwd, a.at().cwd) {
		a.enter(cwd)
		a.tellTrust()
	}
	if a.newDir = ""; store.Path() != "" && !a.inLowerLayer(store.Dir()) {
		a.newDir = store.Dir()
	}
	return nil
}

// reload reads settings, models and resources again.
func (a *app) reload(files *toolbox) error {
	a.settings.Reload()
	a.models.Reload()
	a.enter(a.at().cwd)
	files.names, _ = activeTools(a.flags, a.settings)
	a.tellFaults()
	a.tellTrust()
	a.ext.replace()
	return nil
}

// refresh reads models.json again. Lists of models are not asked for over the network.
func (a *app) refresh(context.Context, engine.RefreshOptions) []engine.ProviderError {
	a.models.Reload()
	a.readScope()
	return nil
}

// exportSession writes the page of export_html. It is named in the folder that the
// program was started in.
func (a *app) exportSession(v *session.View, path string) (string, error) {
	if err := export.Exportable(v); err != nil {
		return "", err
	}
	if path == "" {
		path = export.DefaultName(a.dialect.Name, v.Path())
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(a.home, rest)
	}
	return path, export.File(a.path(path), v, export.Options{Dialect: a.dialect.Name, Now: time.Now()})
}

// expand replaces skill and template commands of the folder.
func (a *app) expand(text string) (string, error) { return a.at().library.Expand(text) }
