package rpc

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/output"
	"github.com/isotope-agent/isotope/internal/session"
)

// Commands that a response names when the line has none of its own.
const (
	commandParse   = "parse"
	commandUnknown = "unknown"
)

// Error texts that clients see (seeds/000 Error Handling, dialects.md).
const (
	textParse   = "Failed to parse command: %w"
	textUnknown = "Unknown command: %s"
	textNotYet  = "%s is not available yet"
)

func errUnknown(name string) error { return fmt.Errorf(textUnknown, name) }

// request is one command on its way to its response.
type request struct {
	out      *output.Writer
	line     []byte
	id       jsonx.Raw // as sent; nil when there was none
	command  string
	params   map[string]jsonx.Raw
	values   map[string]any // what check made of them
	fault    error          // why the line is no command
	answered atomic.Bool
}

// response is the one record that answers a command. Members are in the protocol's
// order; Data is left out when a command has none.
type response struct {
	ID      jsonx.Raw `json:"id,omitzero"`
	Type    string    `json:"type"`
	Command string    `json:"command"`
	Success bool      `json:"success"`
	Data    any       `json:"data,omitzero"`
	Error   string    `json:"error,omitzero"`
}

// parse reads the envelope of a line. The request is usable for an answer also when
// there is an error.
func (s *server) parse(line []byte) (*request, error) {
	req := &request{out: s.cfg.Output, line: line, command: commandParse}
	if err := jsonx.Unmarshal(line, &req.params); err != nil {
		if syntax := jsonx.SyntaxError(line); syntax != nil {
			return req, fmt.Errorf(textParse, syntax)
		}
		req.command = commandUnknown // JSON, but no object
		return req, errUnknown("undefined")
	}
	req.id = req.params["id"]
	req.command = commandUnknown
	raw, ok := req.params["type"]
	if !ok || req.params == nil {
		return req, errUnknown("undefined")
	}
	if raw.Kind() != '"' || jsonx.Unmarshal(raw, &req.command) != nil {
		req.command = commandUnknown
		return req, errUnknown(string(raw))
	}
	return req, nil
}

// ok answers with success and no data.
func (r *request) ok() { r.respond(response{Success: true}) }

// reply answers with data, which may be nil (written as null).
func (r *request) reply(data any) {
	if data == nil {
		data = jsonx.Raw("null")
	}
	r.respond(response{Success: true, Data: data})
}

// fail answers with an error.
func (r *request) fail(err error) {
	r.respond(response{Error: err.Error()})
}

// respond writes the response, once; later calls are a fault of a handler and are
// dropped, so that a client never sees two answers.
func (r *request) respond(res response) {
	if !r.answered.CompareAndSwap(false, true) {
		return
	}
	res.ID, res.Type, res.Command = r.id, "response", r.command
	if err := r.write(res); err != nil {
		_ = r.write(response{ID: r.id, Type: "response", Command: r.command, Error: "encoding the response: " + err.Error()})
	}
}

// write encodes a response. A panic of an encoder is its error: the client waits for
// an answer.
func (r *request) write(res response) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	return r.out.Write(res)
}

// stream answers with data that produce writes as one JSON value when the response's
// turn comes: large answers are never built in memory. produce returns an error
// before it writes anything, or the stream is broken.
func (r *request) stream(produce func(w io.Writer) error) {
	if !r.answered.CompareAndSwap(false, true) {
		return
	}
	r.out.Stream(func(w io.Writer) error {
		head, err := jsonx.Marshal(response{ID: r.id, Type: "response", Command: r.command, Success: true})
		if err != nil {
			return err
		}
		d := &deferredHead{w: w, head: append(head[:len(head)-1], `,"data":`...)}
		if err := guarded(produce, d); err != nil {
			if d.head == nil { // too late for an answer; the line cannot be saved
				return err
			}
			fail, _ := jsonx.Marshal(response{ID: r.id, Type: "response", Command: r.command, Error: err.Error()})
			_, err = w.Write(fail)
			return err
		}
		_, err = d.Write([]byte("}"))
		return err
	})
}

// guarded calls produce; a panic of it is its error.
func guarded(produce func(io.Writer) error, w io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error: %v", p)
		}
	}()
	return produce(w)
}

// deferredHead writes the response's head before the first byte of its data, so that
// a failure before it can still become an error response.
type deferredHead struct {
	w    io.Writer
	head []byte
}

func (d *deferredHead) Write(b []byte) (int, error) {
	if d.head != nil {
		head := d.head
		d.head = nil
		if _, err := d.w.Write(head); err != nil {
			return 0, err
		}
	}
	return d.w.Write(b)
}

// read answers with what fn makes of a snapshot of the session. fn runs on the
// writer's goroutine, when the response's turn comes.
func (s *server) read(r *request, fn func(*session.View) (any, error)) error {
	return s.readTo(r, func(v *session.View, w io.Writer) error {
		data, err := fn(v)
		if err != nil {
			return err
		}
		return jsonx.Write(w, data)
	})
}

// readTo is read for answers that are written piece by piece.
func (s *server) readTo(r *request, fn func(*session.View, io.Writer) error) error {
	s.cfg.Engine.View(func(v *session.View, err error) {
		if err != nil {
			r.fail(err)
			return
		}
		r.stream(func(w io.Writer) error { return fn(v, w) })
	})
	return nil
}

// done answers without data: the reply of commands that only do something.
func (r *request) done(_ struct{}, err error) {
	if err != nil {
		r.fail(err)
		return
	}
	r.ok()
}

// data returns a reply function that answers with the value it gets.
func data[T any](r *request) func(T, error) {
	return func(v T, err error) {
		if err != nil {
			r.fail(err)
			return
		}
		r.reply(v)
	}
}

// errNotYet answers a command of the protocol whose machinery is not there yet.
func errNotYet(name string) error { return fmt.Errorf(textNotYet, name) }
