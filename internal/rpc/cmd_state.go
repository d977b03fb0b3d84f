package rpc

import (
	"io"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/prompt"
	"github.com/isotope-agent/isotope/internal/session"
)

// protocolVersion counts the breaks of the protocol.
const protocolVersion = 1

func stateCommands() []Command {
	return []Command{
		{
			Name: "get_state", Class: Getter, Summary: "Tells the state of the session.",
			Data: engine.State{}, NullModel: true, handle: getState,
		},
		{
			Name: "get_messages", Class: Getter, Summary: "Lists the messages of the active context.",
			Data: Messages{}, handle: getMessages,
		},
		{
			Name: "get_last_assistant_text", Class: Getter, Summary: "Returns the text of the last answer.",
			Data: LastText{}, handle: getLastAssistantText,
		},
		{
			Name: "get_session_stats", Class: Getter, Summary: "Counts messages, tokens and cost of the whole session file.",
			Data:   engine.Stats{},
			handle: func(s *server, r *request) error { s.cfg.Engine.Stats(data[engine.Stats](r)); return nil },
		},
		{
			Name: "get_commands", Class: Getter, Summary: "Lists the commands that a prompt may begin with.",
			Data: CommandList{}, handle: getCommands,
		},
		{
			Name: "get_protocol_info", Class: Getter, Summary: "Tells versions, commands, events and capabilities.",
			Data: ProtocolInfo{}, handle: getProtocolInfo,
		},
	}
}

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

func getLastAssistantText(s *server, r *request) error {
	return s.read(r, func(v *session.View) (any, error) {
		text, ok, err := v.LastAssistantText()
		out := LastText{}
		if ok {
			out.Text = &text
		}
		return out, err
	})
}

// getCommands lists what a text may begin with. Finding it may read files, so that is
// done when the response's turn comes.
func getCommands(s *server, r *request) error {
	return s.read(r, func(*session.View) (any, error) {
		list := []prompt.Command{}
		if s.cfg.Commands != nil {
			list = append(list, s.cfg.Commands()...)
		}
		return CommandList{list}, nil
	})
}

func getProtocolInfo(s *server, r *request) error {
	info := ProtocolInfo{
		ProtocolVersion: protocolVersion, Dialect: s.cfg.Dialect.Name,
		Program: Program{Name: "isotope", Version: s.cfg.Version}, Capabilities: s.capabilities(),
	}
	for _, c := range s.table.list {
		info.Commands = append(info.Commands, c.Name)
	}
	for _, e := range event.All() {
		info.Events = append(info.Events, e.Kind())
	}
	s.cfg.Engine.InTurn(func() { r.reply(info) })
	return nil
}

// capabilities are what a client may count on in this process.
func (s *server) capabilities() map[string]bool {
	return map[string]bool{
		"attachments": true, "dispositions": true, "targetedBashAbort": true, "pauseQueue": true, "sessionTree": true,
		"listSessions": true, "deltas": !s.cfg.Snapshots, "exportHtml": s.cfg.Export != nil, "extensions": s.cfg.DialogAnswer != nil,
	}
}
