// Package rpc speaks the client protocol: a line becomes a command, a command calls
// one method of the engine, its outcome becomes one response. It owns envelopes,
// parameters, responses and the dispatch table (seeds/000, seeds/003, dialects.md).
//
// It must not decide anything about sessions or runs: that is the engine's.
//
// Concurrency: Serve's goroutine reads lines, a second one hands commands to the
// engine in their order (interrupts overtake it); replies come on the engine goroutine
// and only append to the output. Every line read gets exactly one response, except
// answers to extension dialogs, which get none.
package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/isotope-agent/isotope/internal/dialect"
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/output"
	"github.com/isotope-agent/isotope/internal/prompt"
	"github.com/isotope-agent/isotope/internal/session"
)

// Config is what a server works with.
type Config struct {
	Engine  *engine.Engine
	Output  *output.Writer
	Dialect dialect.Dialect
	// Commands lists what get_commands shows; nil for nothing.
	Commands func() []prompt.Command
	// Snapshots: message updates carry the message so far.
	Snapshots bool
	// Version is the program's, for get_protocol_info.
	Version string
	// Export writes a session as a page and returns its path; path may be "". Nil: it
	// cannot be done.
	Export func(v *session.View, path string) (string, error)
	// DialogAnswer takes the answer to an extension dialog; nil ignores all.
	DialogAnswer func(id string, answer jsonx.Raw)
}

// Serve reads commands from in until its end, a read error, or ctx's end. It returns
// nil at the end of in. It does not close the engine.
func Serve(ctx context.Context, in io.Reader, cfg Config) error {
	s := &server{cfg: cfg, table: table()}
	s.backlog = newBacklog(cfg.Output, s.execute)
	handing, stop := context.WithCancel(ctx)
	go s.backlog.run(handing)
	defer func() { stop(); s.backlog.finish() }()
	lines := jsonx.NewLines(in)
	for ctx.Err() == nil {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading commands: %w", err)
		}
		s.handle(ctx, line)
	}
	return context.Cause(ctx)
}

type server struct {
	cfg       Config
	table     *commandTable
	backlog   *backlog
	questions questions
}

// handle answers one line, now or when the client has read enough of its answers.
// Interrupts never wait for that, and act on every line before them.
func (s *server) handle(ctx context.Context, line []byte) {
	req, err := s.parse(line)
	switch {
	case err == nil && req.command == "extension_ui_response" && s.dialogAnswer(req):
	case err == nil && s.table.interrupts(req.command):
		s.backlog.interrupt(req)
	default:
		req.fault = err
		s.backlog.add(ctx, req)
	}
}

// execute runs the handler of a command. A panic costs only this command. Faults are
// answered in their turn too: a client that sends no ids goes by the order.
func (s *server) execute(req *request) {
	fail := func(err error) { s.cfg.Engine.InTurn(func() { req.fail(err) }) }
	defer func() {
		if p := recover(); p != nil {
			fail(fmt.Errorf("internal error: %v", p))
		}
	}()
	if req.fault != nil {
		fail(req.fault)
		return
	}
	c, ok := s.table.byName[req.command]
	if !ok {
		fail(errUnknown(req.command))
		return
	}
	err := req.check(c.Params)
	if err == nil {
		err = c.handle(s, req)
	}
	if err != nil {
		fail(err)
	}
}

// dialogAnswer hands the answer to a question of a login or an extension on. Unknown and late ids are
// the host's to ignore; without a string id it is no answer.
func (s *server) dialogAnswer(req *request) bool {
	var id string
	if req.id.Kind() != '"' || jsonx.Unmarshal(req.id, &id) != nil {
		return false
	}
	if !s.questions.take(id, req.line) && s.cfg.DialogAnswer != nil {
		s.cfg.DialogAnswer(id, req.line)
	}
	return true
}
