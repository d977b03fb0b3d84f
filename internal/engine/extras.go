package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/session"
)

// textNoShortcut is the text for a key that no extension listens to.
const textNoShortcut = "Shortcut not found: %s"

// CompletionList is what get_command_completions shows. It is null when nobody can
// complete the command.
type CompletionList struct {
	Completions *[]Completion `json:"completions"`
}

// ShortcutList is what get_shortcuts shows.
type ShortcutList struct {
	Shortcuts []Shortcut `json:"shortcuts"`
}

// Completions replies with what may follow a command of an extension. Extensions are
// asked beside the lane.
func (e *Engine) Completions(command, prefix string, reply func(CompletionList, error)) {
	beside(e, reply, func(ctx context.Context) (out CompletionList, err error) {
		if hook := e.hooks().Completions; hook != nil {
			var list []Completion
			if list, err = hook(ctx, strings.TrimPrefix(command, "/"), prefix); list != nil {
				out.Completions = &list
			}
		}
		return out, err
	})
}

// Shortcuts replies with the keys that extensions listen to.
func (e *Engine) Shortcuts(reply func(ShortcutList, error)) {
	beside(e, reply, func(context.Context) (out ShortcutList, err error) {
		if hook := e.hooks().Shortcuts; hook != nil {
			out.Shortcuts = hook()
		}
		out.Shortcuts = orEmpty(out.Shortcuts)
		return out, nil
	})
}

// InvokeShortcut does what a key stands for, beside the lane, and replies when it is
// done.
func (e *Engine) InvokeShortcut(key string, reply func(struct{}, error)) {
	refuse := func(err error) { reply(struct{}{}, err) }
	ok := e.post(func() {
		e.enter(&waiter{refuse: refuse, step: func() {
			var run func(context.Context)
			found := false
			if hook := e.hooks().Shortcut; hook != nil {
				run, found = hook(key)
			}
			if !found {
				refuse(fmt.Errorf(textNoShortcut, key))
				return
			}
			e.goDo(func() {
				_, err := try(e, func() (struct{}, error) { run(e.ctx); return struct{}{}, nil })
				e.post(func() { reply(struct{}{}, err) })
			})
		}})
	})
	if !ok {
		refuse(ErrShutdown)
	}
}

// SessionInfo is one session in a list. Times are ISO 8601. MessageCount is null when
// the file is long and was not read as a whole; Current marks the live session.
type SessionInfo struct {
	Path          string `json:"path"`
	ID            string `json:"id"`
	Cwd           string `json:"cwd"`
	Name          string `json:"name,omitzero"`
	ParentSession string `json:"parentSessionPath,omitzero"`
	Created       string `json:"created,omitzero"`
	Modified      string `json:"modified"`
	MessageCount  *int   `json:"messageCount"`
	FirstMessage  string `json:"firstMessage"`
	Size          int64  `json:"size"`
	Current       bool   `json:"current,omitzero"`
}

// SessionList is what list_sessions shows, the one with the newest message first.
type SessionList struct {
	Sessions []SessionInfo `json:"sessions"`
}

// ListSessions replies with the sessions of this folder, or of all folders. Files are
// read beside the lane.
func (e *Engine) ListSessions(all bool, reply func(SessionList, error)) {
	beside(e, reply, func(context.Context) (SessionList, error) {
		out := SessionList{Sessions: []SessionInfo{}}
		if e.cfg.Sessions == nil {
			return out, nil
		}
		here := ""
		e.sync(func() { here = e.store.Path() })
		for _, s := range e.cfg.Sessions(all) {
			out.Sessions = append(out.Sessions, sessionInfo(s, here))
		}
		return out, nil
	})
}

func sessionInfo(s session.Info, here string) SessionInfo {
	out := SessionInfo{
		Path: s.Path, ID: s.ID, Cwd: s.Cwd, Name: s.Name, ParentSession: s.ParentSession,
		Created: isoTime(s.Created), Modified: isoTime(s.Modified), FirstMessage: s.FirstMessage, Size: s.Size,
		Current: here != "" && s.Path == here,
	}
	if s.MessageCount >= 0 {
		out.MessageCount = &s.MessageCount
	}
	return out
}

func isoTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
