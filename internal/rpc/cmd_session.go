package rpc

import (
	"fmt"
	"io"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/prompt"
	"github.com/isotope-agent/isotope/internal/session"
)

func getState(s *server, r *request) error {
	s.cfg.Engine.State(func(st engine.State, err error) {
		switch {
		case err != nil:
			r.fail(err)
		case st.Model == nil && s.cfg.Dialect.NullModel:
			r.reply(nullModelState{State: st})
		default:
			r.reply(st)
		}
	})
	return nil
}

// nullModelState is the state of a session without a model, in the dialect that says
// so with a null.
type nullModelState struct {
	Model jsonNull `json:"model"`
	engine.State
}

type jsonNull struct{}

// MarshalJSONTo writes null.
func (jsonNull) MarshalJSONTo(enc *jsonx.Encoder) error { return enc.WriteValue(jsonx.Raw("null")) }

func getMessages(s *server, r *request) error {
	return s.readTo(r, func(v *session.View, w io.Writer) error {
		return writeList(w, `{"messages":[`, v.Messages(), `]}`)
	})
}

func getEntries(s *server, r *request) error {
	const what = "the id of an entry"
	var since string
	if raw, ok := r.raw("since"); ok { // null is a value here: it must not mean everything
		var err error
		if since, err = param[string](r, "since", what); err != nil {
			return err
		}
		if since == "" {
			return fmt.Errorf(textWrong, "since", what, string(raw))
		}
	}
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
		return struct {
			Messages []session.ForkMessage `json:"messages"`
		}{list}, err
	})
}

func getLastAssistantText(s *server, r *request) error {
	return s.read(r, func(v *session.View) (any, error) {
		text, ok, err := v.LastAssistantText()
		out := struct {
			Text *string `json:"text"`
		}{}
		if ok {
			out.Text = &text
		}
		return out, err
	})
}

func getSessionStats(s *server, r *request) error {
	s.cfg.Engine.Stats(data[engine.Stats](r))
	return nil
}

func setSessionName(s *server, r *request) error {
	name, err := param[jsonx.Str](r, "name", "a string")
	if err != nil {
		return err
	}
	s.cfg.Engine.SetName(string(name), r.done)
	return nil
}

func newSession(s *server, r *request) error {
	parent, err := r.optStr("parentSession")
	if err != nil {
		return err
	}
	s.cfg.Engine.NewSession(parent, data[engine.Switched](r))
	return nil
}

// getCommands lists what a text may begin with. Finding it may read files, so that is
// done when the response's turn comes.
func getCommands(s *server, r *request) error {
	return s.read(r, func(*session.View) (any, error) {
		list := []prompt.Command{}
		if s.cfg.Commands != nil {
			list = append(list, s.cfg.Commands()...)
		}
		return struct {
			Commands []prompt.Command `json:"commands"`
		}{list}, nil
	})
}
