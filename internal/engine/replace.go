package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/isotope-agent/isotope/internal/session"
)

// Texts of session replacements (atomic-facts.md 1.3).
const (
	textNotHere  = "%s is not available in this session"
	textNoFile   = "File not found: %s"
	textCwdGone  = "Stored session working directory does not exist: %s\nSession file: %s\nCurrent working directory: %s"
	textOverride = "cwdOverride is no directory: %s"
)

// Switched is the outcome of a session replacement.
type Switched struct {
	Cancelled bool `json:"cancelled"`
}

// Forked is the outcome of a fork: the text of the message before which it was made.
type Forked struct {
	Text      string `json:"text"`
	Cancelled bool   `json:"cancelled"`
}

// replacement is a session that is to take the live one's place.
type replacement struct {
	kind string // what hooks are told: "new", "resume" or "fork"
	// check says early, before a hook is asked, that it cannot be done; nil: it can. It
	// is called on the engine goroutine.
	check func() error
	// open makes or opens the session; copy does it from the live one, and is called once
	// nothing runs in that: it takes down, on the engine goroutine, what run then copies.
	open func() (*session.Store, error)
	copy func() (run func() (*session.Store, error), err error)
	cwd  string // to work in instead of the session's own folder
}

// NewSession replaces the session by a new one. parent is recorded in its header.
func (e *Engine) NewSession(parent string, reply func(Switched, error)) {
	e.replace(replacement{kind: "new", open: func() (*session.Store, error) { return e.cfg.NewStore(parent) }}, reply)
}

// SwitchSession replaces the session by that of a file, which must be there.
func (e *Engine) SwitchSession(path string, reply func(Switched, error)) {
	if e.cfg.OpenStore == nil {
		e.InTurn(func() { reply(Switched{}, fmt.Errorf(textNotHere, "switch_session")) })
		return
	}
	e.replace(replacement{kind: "resume", open: func() (*session.Store, error) { return e.cfg.OpenStore(path) }}, reply)
}

// ImportSession replaces the session by a copy of a file, made in the folder of the
// sessions. cwd is the folder to work in, "" for that of the file.
func (e *Engine) ImportSession(path, cwd string, reply func(Switched, error)) {
	if e.cfg.ImportStore == nil {
		e.InTurn(func() { reply(Switched{}, fmt.Errorf(textNotHere, "import_session")) })
		return
	}
	open := func() (*session.Store, error) {
		if err := e.importable(path, cwd); err != nil {
			return nil, err
		}
		return e.cfg.ImportStore(path)
	}
	e.replace(replacement{kind: "resume", open: open, cwd: cwd}, reply)
}

// importable looks at what is to be imported before anything is copied.
func (e *Engine) importable(path, cwd string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("importing the session: %w", err)
	}
	if _, err := os.Stat(abs); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf(textNoFile, abs)
	}
	if cwd != "" {
		if !isFolder(cwd) {
			return fmt.Errorf(textOverride, cwd)
		}
		return nil
	}
	if h, err := session.ReadHeader(abs); err == nil {
		return e.mustExist(h.Cwd, abs)
	}
	return nil // what is wrong with it is said when it is opened
}

// Fork replaces the session by a new one with the branch before a user message.
func (e *Engine) Fork(entryID string, reply func(Forked, error)) {
	var text string
	begin := func() (run func() (*session.Store, error), err error) {
		text, run, err = e.store.BeginFork(entryID)
		return run, err
	}
	e.replace(replacement{kind: "fork", check: checkOnly(begin), copy: begin}, func(s Switched, err error) {
		reply(Forked{Text: text, Cancelled: s.Cancelled}, err)
	})
}

// Clone replaces the session by a new one with the whole current branch.
func (e *Engine) Clone(reply func(Switched, error)) {
	begin := func() (func() (*session.Store, error), error) { return e.store.BeginClone() }
	e.replace(replacement{kind: "fork", check: checkOnly(begin), copy: begin}, reply)
}

func checkOnly[T any](begin func() (T, error)) func() error {
	return func() error {
		_, err := begin()
		return err
	}
}

// replace runs a session replacement: it holds the lane until it is done.
func (e *Engine) replace(r replacement, reply func(Switched, error)) {
	alone(e, reply, func() (Switched, error) { return e.swap(r) })
}

// alone runs fn on a goroutine of its own while it holds the lane. What ordinary
// commands come meanwhile wait; getters and interrupts do not.
func alone[T any](e *Engine, reply func(T, error), fn func() (T, error)) {
	refuse := func(err error) {
		var zero T
		reply(zero, err)
	}
	step := func() {
		e.lane.held = true
		e.goDo(func() {
			res, err := try(e, fn)
			e.post(func() {
				reply(res, err)
				e.releaseLane()
				e.checkClosed()
			})
		})
	}
	ok := e.post(func() { e.enter(&waiter{step: step, refuse: refuse}) })
	if !ok {
		refuse(ErrShutdown)
	}
}

// beside runs fn on a goroutine of its own, beside the lane. ctx ends with the engine.
func beside[T any](e *Engine, reply func(T, error), fn func(ctx context.Context) (T, error)) {
	refuse := func(err error) {
		var zero T
		reply(zero, err)
	}
	ok := e.post(func() {
		if e.closing {
			refuse(ErrShutdown)
			return
		}
		e.goDo(func() {
			res, err := try(e, func() (T, error) { return fn(e.ctx) })
			e.post(func() { reply(res, err) })
		})
	})
	if !ok {
		refuse(ErrShutdown)
	}
}

// swap does a replacement on its own goroutine: look, ask, open, abort and persist what
// runs, then switch. A failure before the switch leaves the old session as it was.
func (e *Engine) swap(r replacement) (Switched, error) {
	if r.check != nil {
		err := error(ErrShutdown)
		e.sync(func() { err = r.check() })
		if err != nil {
			return Switched{}, err
		}
	}
	if hook := e.hooks().BeforeSwitch; hook != nil {
		cancelled, err := hook(e.ctx, r.kind)
		if err != nil || cancelled {
			return Switched{Cancelled: cancelled && err == nil}, err
		}
	}
	store, err := e.openNext(r)
	if err != nil {
		return Switched{}, err
	}
	if err := e.enterFolder(store, r); err != nil {
		return Switched{}, errors.Join(err, store.Close())
	}
	e.stopRun(errReplaced)
	e.hookLife(e.hooks().SessionShutdown, r.kind)
	e.installNext(store, r)
	e.hookLife(e.hooks().SessionStart, r.kind)
	return Switched{}, nil
}

// openNext opens the session of a replacement. One that is copied from the live one is
// copied when nothing runs in that any more.
func (e *Engine) openNext(r replacement) (*session.Store, error) {
	if r.copy == nil {
		return r.open()
	}
	e.stopRun(errReplaced)
	var run func() (*session.Store, error)
	err := error(ErrShutdown)
	e.sync(func() { run, err = r.copy() })
	if err != nil {
		return nil, err
	}
	return run()
}

// enterFolder makes the folder of a session the one to work in.
func (e *Engine) enterFolder(store *session.Store, r replacement) error {
	cwd := r.cwd
	if cwd == "" {
		cwd = store.Cwd()
		if err := e.mustExist(cwd, store.Path()); err != nil {
			return err
		}
	}
	if e.cfg.Enter == nil {
		return nil
	}
	return e.cfg.Enter(store, cwd)
}

// mustExist refuses a session whose folder is gone: tools would work somewhere else.
func (e *Engine) mustExist(cwd, path string) error {
	if cwd == "" || path == "" || isFolder(cwd) {
		return nil
	}
	here := ""
	e.sync(func() { here = e.cwd })
	return fmt.Errorf(textCwdGone, cwd, path, here)
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// installNext makes a session the live one and closes the old one. A file that is open
// already is the same store: it goes on from its last entry.
func (e *Engine) installNext(store *session.Store, r replacement) {
	e.sync(func() {
		if v := store.View(); r.kind == "resume" && v.Len() > 0 {
			if id := v.Entry(v.Len() - 1).ID; id != "" {
				_ = store.SetLeaf(id)
			}
		}
	})
	e.awaitSaves()
	next := e.ready(store)
	if next.cwd = r.cwd; next.cwd == "" {
		next.cwd = store.Cwd()
	}
	var old *session.Store
	e.sync(func() {
		old = e.store
		e.install(next)
	})
	if old == nil {
		return
	}
	if err := errors.Join(old.Sync(), old.Close()); err != nil {
		e.cfg.Report("closing the session: " + err.Error())
	}
}
