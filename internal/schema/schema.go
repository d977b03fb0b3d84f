// Package schema makes the protocol's contract that machines can read: one JSON Schema
// (2020-12) of all commands, responses and events of a dialect, from the Go types that
// are encoded and the table of commands that is executed.
//
// It must not know any command or event by itself, but what reflection cannot see: the
// members of unions, the values of named strings, and what stands in a field that holds
// anything. All functions may be called concurrently.
package schema

import (
	"fmt"

	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/rpc"
)

// Names of definitions: a command, its response and an event have one each, by these
// prefixes and their wire names. FailedResponse is that of every command.
const (
	CommandPrefix  = "command."
	ResponsePrefix = "response."
	EventPrefix    = "event."
	FailedResponse = "failed"
	// SnapshotEvent is message_update in its older form (--snapshots).
	SnapshotEvent = EventPrefix + "message_update.snapshot"
)

const version = "https://json-schema.org/draft/2020-12/schema"

// Document returns the schema of a dialect, indented. Its root is any record, of either
// direction; $defs hold one definition a command, response, event and type. Objects are
// closed, except for what tools, providers and extensions put into them.
func Document(d dialect.Dialect) ([]byte, error) {
	g := newGenerator(d)
	var commands, responses, events []any
	for _, c := range rpc.Commands() {
		commands = append(commands, g.define(CommandPrefix+c.Name, command(c)))
		responses = append(responses, g.define(ResponsePrefix+c.Name, g.response(c)))
	}
	commands = append(commands, g.define(CommandPrefix+"extension_ui_response", dialogAnswer()))
	responses = append(responses, g.define(ResponsePrefix+FailedResponse, failed()))
	for _, e := range event.All() {
		s := g.event(e)
		if _, ok := e.(event.ExtensionUIRequest); ok {
			s = g.uiRequests()
		}
		events = append(events, g.define(EventPrefix+e.Kind(), s))
	}
	events = append(events, g.define(SnapshotEvent, g.event(event.MessageSnapshot{})))
	if g.err != nil {
		return nil, fmt.Errorf("making the schema: %w", g.err)
	}
	g.define("command", anyOf(commands...))
	g.define("response", anyOf(responses...))
	g.define("event", anyOf(events...))
	root := &jsonx.Object{}
	root.Set("$schema", version)
	root.Set("title", "The protocol of Isotope, dialect "+d.Name)
	root.Set("description", "Each line of standard input is a command, each line of standard output a response or an event.")
	root.Set("anyOf", []any{ref("command"), ref("response"), ref("event")})
	root.Set("$defs", g.defs)
	out, err := jsonx.MarshalIndent(root)
	return append(out, '\n'), err
}

// response describes the success of a command.
func (g *generator) response(c rpc.Command) *jsonx.Object {
	o := newObject(c.Summary)
	o.member("id", anything("As the command had it."), false)
	o.member("type", constant("response"), true)
	o.member("command", constant(c.Name), true)
	o.member("success", constant(true), true)
	if c.Data != nil {
		data := g.of(c.Data)
		switch {
		case c.Nullable:
			data = anyOf(data, null())
		case c.NullModel && g.dialect.NullModel:
			data = g.nullModel(c.Data)
		}
		o.member("data", data, true)
	}
	return o.closed()
}

// failed describes the failure of any command, and of lines that are none.
func failed() *jsonx.Object {
	o := newObject("A command failed, or a line was no command (parse, unknown).")
	o.member("id", anything("As the command had it."), false)
	o.member("type", constant("response"), true)
	o.member("command", typed("string"), true)
	o.member("success", constant(false), true)
	o.member("error", typed("string"), true)
	return o.closed()
}

func (g *generator) event(e event.Event) *jsonx.Object {
	o := newObject("")
	o.member("type", constant(e.Kind()), true)
	g.fields(o, typeOf(e))
	return o.closed()
}

// command describes what a client sends. Other members are ignored, so it is open.
func command(c rpc.Command) *jsonx.Object {
	o := newObject(c.Summary)
	o.member("id", anything("Comes back with the response."), false)
	o.member("type", constant(c.Name), true)
	params(o, c.Params)
	return o.open()
}

func params(o *object, list []rpc.Param) {
	for _, p := range list {
		s := param(p)
		s.Set("description", p.Doc)
		if !p.Required && !p.NoNull && p.Kind != rpc.KindID {
			s = anyOf(s, null())
		}
		o.member(p.Name, s, p.Required)
	}
}

func param(p rpc.Param) *jsonx.Object {
	switch p.Kind {
	case rpc.KindText:
		s := typed("string")
		s.Set("minLength", 1)
		return s
	case rpc.KindBool:
		return typed("boolean")
	case rpc.KindWord:
		return enum(p.Words)
	case rpc.KindTokens:
		s := typed("integer", "string")
		s.Set("exclusiveMinimum", 0)
		return s
	case rpc.KindMillis:
		s := typed("integer")
		s.Set("minimum", 0)
		return s
	case rpc.KindID:
		return anything("")
	case rpc.KindObject:
		o := newObject("")
		params(o, p.Fields)
		return o.open()
	case rpc.KindImages:
		return array(image())
	case rpc.KindAttachments:
		return array(attachment())
	}
	return typed("string")
}

func image() *jsonx.Object {
	o := newObject("A picture.")
	o.member("type", constant("image"), true)
	o.member("data", described(typed("string"), "Base64."), true)
	o.member("mimeType", described(typed("string"), "image/png, image/jpeg …"), true)
	return o.open()
}

func attachment() *jsonx.Object {
	o := newObject("A file.")
	o.member("type", typed("string"), false)
	o.member("fileName", typed("string"), false)
	o.member("mimeType", typed("string"), false)
	o.member("content", described(typed("string"), "Base64."), false)
	o.member("extractedText", typed("string", "null"), false)
	return o.open()
}

func dialogAnswer() *jsonx.Object {
	o := newObject("Answers a question that came as extension_ui_request. It gets no response.")
	o.member("id", typed("string"), true)
	o.member("type", constant("extension_ui_response"), true)
	o.member("value", anything("The answer."), false)
	o.member("confirmed", typed("boolean"), false)
	o.member("cancelled", typed("boolean"), false)
	return o.open()
}
