package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/isotope-agent/isotope/internal/session"
)

// sessionsRoot is where the sessions of one agent directory lie.
func sessionsRoot(agentDir string) string { return filepath.Join(agentDir, "sessions") }

// sessionDir is the folder in which new sessions are made: the flag's, the
// environment's or the setting's, else that of the working folder.
func (a *app) sessionDir() string {
	if dir := a.chosenDir(); dir != "" {
		return dir
	}
	return session.FolderFor(sessionsRoot(a.dirs[0]), a.cwd)
}

func (a *app) chosenDir() string {
	for _, dir := range []string{a.flags.sessionDir, a.dialect.SessionDir(a.env, a.home), a.settings.SessionDir()} {
		if dir != "" {
			if abs, err := filepath.Abs(dir); err == nil {
				return abs
			}
			return dir
		}
	}
	return ""
}

// folders are the places to look for sessions of this working folder.
func (a *app) folders() []session.Folder {
	if dir := a.chosenDir(); dir != "" {
		return []session.Folder{{Path: dir, Cwd: a.cwd}}
	}
	var out []session.Folder
	for _, d := range a.dirs {
		out = append(out, session.Folder{Path: session.FolderFor(sessionsRoot(d), a.cwd)})
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

func (a *app) sessionConfig(parent string) session.Config {
	return session.Config{
		Dir: a.sessionDir(), Cwd: a.cwd, ParentSession: parent, Name: a.flags.name,
		AppName: a.dialect.SessionWord(), MemoryOnly: a.flags.noSession, Registry: a.sessions, Warn: a.warn,
	}
}

// openSession opens or makes the session that the flags name. The errors are start-up
// errors and say what to do next.
func (a *app) openSession() (*session.Store, error) {
	f := a.flags
	switch {
	case f.resume:
		return nil, errors.New("--resume needs a terminal to choose in: use --continue for the newest session, or --session with an id or a path")
	case f.fork != "":
		return nil, errors.New("--fork is not available yet: use --session to continue a session")
	case f.set["session"]:
		path, err := a.findSession(f.session)
		if err != nil {
			return nil, err
		}
		return a.resume(path)
	case f.continueLast:
		if path := session.Latest(a.folders()...); path != "" {
			return a.resume(path)
		}
	case f.sessionID != "" && !f.noSession:
		path, err := session.Find(f.sessionID, a.folders()...)
		if h, headErr := session.ReadHeader(path); err == nil && headErr == nil && h.ID == f.sessionID {
			return a.resume(path)
		}
		a.warn(fmt.Sprintf("No session found with id '%s'; creating a new session.", f.sessionID))
	}
	cfg := a.sessionConfig("")
	cfg.ID = f.sessionID
	return session.Create(cfg)
}

// findSession returns the file for --session: a path, an id, or the beginning of one.
func (a *app) findSession(name string) (string, error) {
	if strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".jsonl") {
		return filepath.Abs(name)
	}
	path, err := session.Find(name, a.folders()...)
	if err == nil {
		return path, nil
	}
	if path, err = session.Find(name, a.anywhere()...); err != nil {
		return "", err
	}
	return path, nil
}

// resume opens a session file. The folder it was made in must still be there: tools
// would work somewhere else otherwise.
func (a *app) resume(path string) (*session.Store, error) {
	cfg := a.sessionConfig("")
	cfg.Dir = a.chosenDir()
	store, err := session.Open(path, cfg)
	if errors.Is(err, session.ErrNotFound) {
		return nil, fmt.Errorf("No session found matching '%s'", path)
	}
	if err != nil {
		return nil, err
	}
	if cwd := store.Cwd(); cwd != "" {
		if _, err := os.Stat(cwd); err != nil {
			return nil, errors.Join(fmt.Errorf("Stored session working directory does not exist: %s\nSession file: %s\nCurrent working directory: %s", cwd, path, a.cwd), store.Close())
		}
		a.cwd = cwd
	}
	return store, nil
}
