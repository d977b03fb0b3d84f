package rpc

import (
	"io"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/session"
)

func treeCommands() []Command {
	entryID := Param{Name: "entryId", Kind: KindString, Required: true, Doc: "The id of an entry."}
	options := Param{Name: "options", Kind: KindObject, Doc: "What else is to be done.", Fields: []Param{
		{Name: "summarize", Kind: KindBool, Doc: "Leave a summary of the branch that is left."},
		{Name: "customInstructions", Kind: KindString, Doc: "What the summary must pay attention to."},
		{Name: "replaceInstructions", Kind: KindBool, Doc: "The instructions stand for the usual ones."},
		{Name: "label", Kind: KindString, Doc: "A label for the summary, or for the target."},
	}}
	return []Command{
		{
			Name: "get_entries", Class: Getter, Summary: "Lists the entries of the session file, in its order.",
			Params: []Param{{Name: "since", Kind: KindText, NoNull: true, What: "the id of an entry", Doc: "Only the entries behind this one."}},
			Data:   Entries{}, handle: getEntries,
		},
		{Name: "get_tree", Class: Getter, Summary: "Returns the session as a tree of entries.", Data: Tree{}, handle: getTree},
		{
			Name: "get_fork_messages", Class: Getter, Summary: "Lists the user's messages, before which a fork can be made.",
			Data: ForkMessages{}, handle: getForkMessages,
		},
		{
			Name: "fork", Class: Ordinary, Summary: "Replaces the session by a new one with the branch before a user's message.",
			Params: []Param{entryID}, Data: engine.Forked{},
			handle: func(s *server, r *request) error {
				s.cfg.Engine.Fork(r.str("entryId"), data[engine.Forked](r))
				return nil
			},
		},
		{
			Name: "clone", Class: Ordinary, Summary: "Replaces the session by a new one with the current branch.", Data: engine.Switched{},
			handle: func(s *server, r *request) error { s.cfg.Engine.Clone(data[engine.Switched](r)); return nil },
		},
		{
			Name: "navigate_tree", Class: Beside, Summary: "Moves to another entry of the session tree.",
			Params: []Param{{Name: "targetId", Kind: KindString, Required: true, Doc: "The id of an entry."}, options},
			Data:   engine.Navigated{}, handle: navigateTree,
		},
		{
			Name: "set_label", Class: Ordinary, Summary: "Labels an entry, or takes its label away.",
			Params: []Param{entryID, {Name: "label", Kind: KindString, Doc: "The label; none when it is missing or empty."}},
			handle: func(s *server, r *request) error {
				s.cfg.Engine.SetLabel(r.str("entryId"), r.str("label"), r.done)
				return nil
			},
		},
	}
}

func getEntries(s *server, r *request) error {
	since := r.str("since")
	return s.readTo(r, func(v *session.View, w io.Writer) error {
		entries, err := v.Entries(since)
		if err != nil {
			return err
		}
		return writeList(w, `{"entries":[`, entries, `],"leafId":`+string(leaf(v))+`}`)
	})
}

func getTree(s *server, r *request) error {
	return s.readTo(r, func(v *session.View, w io.Writer) error {
		if _, err := io.WriteString(w, `{"tree":`); err != nil {
			return err
		}
		if err := v.WriteTree(w); err != nil {
			return err
		}
		_, err := io.WriteString(w, `,"leafId":`+string(leaf(v))+`}`)
		return err
	})
}

// leaf is the id of the current leaf as JSON, null in an empty session.
func leaf(v *session.View) jsonx.Raw {
	if id := v.LeafID(); id != "" {
		return jsonx.String(id)
	}
	return jsonx.Raw("null")
}

// writeList writes raw values between a head and a tail, one after the other.
func writeList(w io.Writer, head string, values func(func(jsonx.Raw, error) bool), tail string) error {
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	sep := []byte(nil)
	for raw, err := range values {
		if err != nil {
			return err
		}
		if _, err := w.Write(sep); err != nil {
			return err
		}
		if _, err := w.Write(raw); err != nil {
			return err
		}
		sep = []byte(",")
	}
	_, err := io.WriteString(w, tail)
	return err
}

func getForkMessages(s *server, r *request) error {
	return s.read(r, func(v *session.View) (any, error) {
		list, err := v.ForkMessages()
		return ForkMessages{list}, err
	})
}

func navigateTree(s *server, r *request) error {
	opt := valueOf[map[string]any](r.values, "options")
	s.cfg.Engine.NavigateTree(engine.Navigation{
		TargetID: r.str("targetId"), Summarize: valueOf[bool](opt, "summarize"),
		CustomInstructions:  valueOf[string](opt, "customInstructions"),
		ReplaceInstructions: valueOf[bool](opt, "replaceInstructions"), Label: valueOf[string](opt, "label"),
	}, data[engine.Navigated](r))
	return nil
}
