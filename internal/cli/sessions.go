package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/session"
)

// Texts about sessions at start (atomic-facts.md 13).
const (
	textNoSession    = "%w. Give its path or the beginning of its id, or use --continue for the newest session of this folder"
	textNewWithID    = "No session found with id '%s'; creating a new session."
	textNewAtPath    = "There is no session file %s; creating a new session there."
	textIDTaken      = "Session already exists with id '%s': choose another --session-id, or open it with --session"
	textContinuing   = "Continuing %s"
	textOtherProject = "This session belongs to another folder; tools work there: %s"
	textCwdGone      = "Stored session working directory does not exist: %s\nSession file: %s\nCurrent working directory: %s\n" +
		"Make that folder again, or use --fork with the session file to go on with a copy in the current one"
)

// sessionsRoot is where the sessions of one agent directory lie.
func sessionsRoot(agentDir string) string { return filepath.Join(agentDir, "sessions") }

// sessionDir is the folder in which new sessions are made: the flag's, the
// environment's or the setting's, else that of the working folder.
func (a *app) sessionDir() string {
	if dir := a.chosenDir(); dir != "" {
		return dir
	}
	return session.FolderFor(sessionsRoot(a.dirs[0]), a.at().cwd)
}

func (a *app) chosenDir() string {
	for _, dir := range []string{a.flags.sessionDir, a.dialect.SessionDir(a.env, a.home), a.settings.SessionDir()} {
		switch {
		case dir == "":
		case filepath.IsAbs(dir):
			return dir
		default:
			return filepath.Join(a.started, dir)
		}
	}
	return ""
}

// folders are the places to look for sessions of this working folder.
func (a *app) folders() []session.Folder {
	if dir := a.chosenDir(); dir != "" {
		return []session.Folder{{Path: dir, Cwd: a.at().cwd}}
	}
	var out []session.Folder
	for _, d := range a.dirs {
		out = append(out, session.Folder{Path: session.FolderFor(sessionsRoot(d), a.at().cwd)})
	}
	return out
}

// anywhere are all places to look for sessions.
func (a *app) anywhere() []session.Folder {
	if dir := a.chosenDir(); dir != "" {
		return []session.Folder{{Path: dir}}
	}
	var out []session.Folder
	for _, d := range a.dirs {
		out = append(out, session.Folders(sessionsRoot(d))...)
	}
	return out
}

func (a *app) sessionConfig() session.Config {
	return session.Config{
		Dir: a.sessionDir(), Cwd: a.at().cwd, Name: a.flags.name, AppName: a.dialect.SessionWord(),
		Durability: session.Durability(a.flags.durability),
		MemoryOnly: a.flags.noSession, Registry: a.sessions, Warn: a.warn,
	}
}

// newStore makes the session of new_session: beside the one that was opened, unless
// that lies in a layer that new sessions do not go to.
func (a *app) newStore(parent string) (*session.Store, error) {
	cfg := a.sessionConfig()
	cfg.ParentSession, cfg.Name = parent, ""
	if a.newDir != "" {
		cfg.Dir = a.newDir
	}
	return session.Create(cfg)
}

// openSession opens or makes the session that the flags name. The errors are start-up
// errors and say what to do next.
func (a *app) openSession(ctx context.Context) (*session.Store, error) {
	f := a.flags
	switch {
	case f.resume:
		path, err := a.chooseSession(ctx)
		if err != nil {
			return nil, err
		}
		return a.resume(path)
	case f.set["fork"]:
		return a.fork()
	case f.set["session"]:
		path, isPath, err := a.findSession(f.session)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); isPath && errors.Is(err, os.ErrNotExist) {
			a.warn(fmt.Sprintf(textNewAtPath, path))
			cfg := a.sessionConfig()
			cfg.Path, cfg.Dir = path, filepath.Dir(path)
			a.newDir = cfg.Dir
			return session.Create(cfg)
		}
		return a.resume(path)
	case f.continueLast:
		if path := session.Latest(a.folders()...); path != "" {
			if len(a.dirs) > 1 {
				a.note(fmt.Sprintf(textContinuing, path))
			}
			return a.resume(path)
		}
	case f.set["session-id"] && !f.noSession:
		if path := a.withID(f.sessionID); path != "" {
			return a.resume(path)
		}
		a.warn(fmt.Sprintf(textNewWithID, f.sessionID))
	}
	cfg := a.sessionConfig()
	cfg.ID = f.sessionID
	return session.Create(cfg)
}

// withID returns the session of this folder with exactly that id, "" without one.
func (a *app) withID(id string) string {
	path, err := session.Find(id, a.folders()...)
	if err != nil {
		return ""
	}
	if h, err := session.ReadHeader(path); err != nil || h.ID != id {
		return ""
	}
	return path
}

// findSession returns the file for --session and --fork: a path, an id, or the
// beginning of one. A file at a path need not be there.
func (a *app) findSession(name string) (path string, isPath bool, err error) {
	if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".jsonl") {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(a.home, rest)
		}
		path, err = filepath.Abs(name)
		return path, true, err
	}
	path, err = session.Find(name, a.folders()...)
	var match *session.MatchError
	if errors.As(err, &match) && len(match.Matches) == 0 {
		path, err = session.Find(name, a.anywhere()...)
	}
	if err != nil {
		return "", false, fmt.Errorf(textNoSession, err)
	}
	return path, false, nil
}

// fork starts a session with a copy of another one, in the current folder.
func (a *app) fork() (*session.Store, error) {
	path, _, err := a.findSession(a.flags.fork)
	if err != nil {
		return nil, err
	}
	cfg := a.sessionConfig()
	if cfg.ID = a.flags.sessionID; cfg.ID != "" && a.withID(cfg.ID) != "" {
		return nil, fmt.Errorf(textIDTaken, cfg.ID)
	}
	store, err := session.ForkFile(path, cfg)
	if errors.Is(err, session.ErrNotFound) {
		return nil, fmt.Errorf(textNoSession, &session.MatchError{ID: path})
	}
	if err != nil {
		return nil, err
	}
	return a.named(store)
}

// named gives a session that was opened the name of --name.
func (a *app) named(store *session.Store) (*session.Store, error) {
	name := session.CleanName(a.flags.name)
	if name == "" || name == store.Name() {
		return store, nil
	}
	if _, err := store.Append(session.SessionInfo{Name: jsonx.Str(name)}); err != nil {
		return nil, errors.Join(fmt.Errorf("naming the session: %w", err), store.Close())
	}
	return store, nil
}

// resume opens a session file. The folder it was made in must still be there: tools
// would work somewhere else otherwise.
func (a *app) resume(path string) (*session.Store, error) {
	cfg := a.sessionConfig()
	cfg.Dir, cfg.ReadOnly = a.chosenDir(), a.flags.readOnly
	store, err := session.Open(path, cfg)
	if errors.Is(err, session.ErrNotFound) {
		return nil, fmt.Errorf(textNoSession, &session.MatchError{ID: path})
	}
	if err != nil {
		return nil, err
	}
	if cwd := store.Cwd(); cwd != "" && !sameFolder(cwd, a.at().cwd) {
		if !isFolder(cwd) {
			return nil, errors.Join(fmt.Errorf(textCwdGone, cwd, path, a.at().cwd), store.Close())
		}
		a.note(fmt.Sprintf(textOtherProject, cwd))
		a.enter(cwd)
	}
	if !a.inLowerLayer(store.Dir()) {
		a.newDir = store.Dir()
	}
	return a.named(store)
}

func sameFolder(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// inLowerLayer reports whether a folder of sessions belongs to another program's
// directory: what is there is appended to, new sessions are made in our own.
func (a *app) inLowerLayer(dir string) bool {
	return slices.ContainsFunc(a.dirs[1:], func(layer string) bool {
		rel, err := filepath.Rel(sessionsRoot(layer), dir)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	})
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
