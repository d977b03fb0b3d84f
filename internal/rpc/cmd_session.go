package rpc

import (
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/session"
)

func sessionCommands() []Command {
	return []Command{
		{
			Name: "new_session", Class: Ordinary, Summary: "Replaces the session by a new one.",
			Params: []Param{{Name: "parentSession", Kind: KindString, Doc: "The file that the new session continues, for its header."}},
			Data:   engine.Switched{},
			handle: func(s *server, r *request) error {
				s.cfg.Engine.NewSession(r.str("parentSession"), data[engine.Switched](r))
				return nil
			},
		},
		{
			Name: "switch_session", Class: Ordinary, Summary: "Replaces the session by that of a file, which must be there.",
			Params: []Param{{Name: "sessionPath", Kind: KindText, Required: true, Doc: "The session file."}},
			Data:   engine.Switched{},
			handle: func(s *server, r *request) error {
				s.cfg.Engine.SwitchSession(r.str("sessionPath"), data[engine.Switched](r))
				return nil
			},
		},
		{
			Name: "import_session", Class: Ordinary, Summary: "Copies a session file into the session folder and switches to the copy.",
			Params: []Param{
				{Name: "inputPath", Kind: KindText, Required: true, Doc: "The file to copy; it is only read."},
				{Name: "cwdOverride", Kind: KindText, Doc: "The folder to work in instead of that of the file."},
			},
			Data: engine.Switched{},
			handle: func(s *server, r *request) error {
				s.cfg.Engine.ImportSession(r.str("inputPath"), r.str("cwdOverride"), data[engine.Switched](r))
				return nil
			},
		},
		{
			Name: "list_sessions", Class: Beside, Summary: "Lists the sessions of this folder, or of all.",
			Params: []Param{{Name: "scope", Kind: KindWord, Words: []string{"folder", "all"}, Doc: "This folder when it is missing."}},
			Data:   engine.SessionList{},
			handle: func(s *server, r *request) error {
				s.cfg.Engine.ListSessions(r.str("scope") == "all", data[engine.SessionList](r))
				return nil
			},
		},
		{
			Name: "set_session_name", Class: Ordinary, Summary: "Names the session.",
			Params: []Param{{Name: "name", Kind: KindName, Required: true, Doc: "The name; space around it is cut off."}},
			handle: func(s *server, r *request) error {
				s.cfg.Engine.SetName(string(valueOf[jsonx.Str](r.values, "name")), r.done)
				return nil
			},
		},
		{
			Name: "export_html", Class: Beside, Summary: "Writes the session as one HTML page.",
			Params: []Param{{Name: "outputPath", Kind: KindString, Doc: "The page; in the working folder, named for the session, when it is missing."}},
			Data:   Exported{}, handle: exportHTML,
		},
		{
			Name: "reload", Class: Ordinary, Summary: "Reads settings, models, keys, resources and extensions again.",
			handle: func(s *server, r *request) error { s.cfg.Engine.Reload(r.done); return nil },
		},
	}
}

func exportHTML(s *server, r *request) error {
	if s.cfg.Export == nil {
		return errNotYet(r.command)
	}
	path := r.str("outputPath")
	s.cfg.Engine.Look(func(v *session.View) (string, error) { return s.cfg.Export(v, path) }, func(path string, err error) {
		data[Exported](r)(Exported{path}, err)
	})
	return nil
}
