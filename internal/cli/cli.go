// Package cli owns the command line: flags, the modes of the program (rpc, json,
// print), start-up errors and exit codes, and the wiring of everything below.
//
// It must not decide anything about sessions or the protocol. Main may be called
// several times in one process only one after the other.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/output"
	"github.com/isotope-agent/isotope/internal/rpc"
)

// Exit codes. After a signal it is 128 and the signal's number.
const (
	exitOK         = 0
	exitFailed     = 1   // start-up errors, a run that did not end well, no prompt
	exitClientGone = 141 // stdout was closed, as after SIGPIPE
)

// leaveAfter is how long an orderly end may take before the process leaves anyway.
const leaveAfter = 5 * time.Second

// Main runs the program and returns its exit code. args holds the program's name
// first.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f, err := parseFlags(args[1:])
	if err != nil {
		return failed(stderr, err)
	}
	switch {
	case f.help:
		io.WriteString(stdout, usage)
		return exitOK
	case f.version:
		fmt.Fprintln(stdout, Version())
		return exitOK
	}
	stop, err := profile(f.profile)
	if err != nil {
		return failed(stderr, err)
	}
	defer stop()
	a, err := newApp(f, args[0], stderr)
	if err != nil {
		return failed(stderr, err)
	}
	if f.set["list-models"] {
		return a.listModels(stdout)
	}
	if err := a.start(); err != nil {
		return failed(stderr, err)
	}
	ctx, end := withSignals(ctx)
	defer end()
	switch f.mode {
	case modeRPC:
		return a.serve(ctx, stdin, stdout)
	case modeJSON:
		return a.json(ctx, stdin, stdout)
	}
	return a.print(ctx, stdin, stdout)
}

// failed tells a start-up error.
func failed(stderr io.Writer, err error) int {
	fmt.Fprintln(stderr, "Error: "+err.Error())
	return exitFailed
}

// signalled is the cause of a context that a signal ended.
type signalled struct{ code int }

func (s signalled) Error() string { return "ended by a signal" }

// withSignals ends the context at the first signal; a second one ends the process.
func withSignals(parent context.Context) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(parent)
	watchPipe()
	got, quit := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(got, endSignals()...)
	go func() {
		for n := 0; ; n++ {
			select {
			case s := <-got:
				if n > 0 {
					os.Exit(signalCode(s))
				}
				cancel(signalled{signalCode(s)})
			case <-quit:
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(got); close(quit); cancel(nil) }
}

// code returns the exit code for how a mode ended.
func code(ctx context.Context, out *output.Writer, failed bool) int {
	var s signalled
	if errors.As(context.Cause(ctx), &s) {
		return s.code
	}
	if out != nil {
		select {
		case <-out.Broken():
			return exitClientGone
		default:
		}
	}
	if failed {
		return exitFailed
	}
	return exitOK
}

// serve is RPC mode: commands until stdin ends, a signal comes or the client is gone.
func (a *app) serve(ctx context.Context, stdin io.Reader, stdout io.Writer) int {
	store, err := a.openSession()
	if err != nil {
		return failed(a.stderr, err)
	}
	out := output.New(stdout)
	eng, err := a.newEngine(store, out)
	if err != nil {
		return failed(a.stderr, errors.Join(err, store.Close()))
	}
	served := make(chan error, 1)
	go func() { // reading stdin cannot be interrupted; it ends with the process
		served <- rpc.Serve(ctx, stdin, rpc.Config{Engine: eng, Output: out, Dialect: a.dialect, Commands: a.library.Commands})
	}()
	bad := false
	select {
	case err := <-served:
		if err != nil && ctx.Err() == nil {
			a.warn(err.Error())
			bad = true
		}
	case <-ctx.Done():
	case <-out.Broken():
	}
	a.leave(eng, out)
	return code(ctx, out, bad)
}

// leave ends engine, children and output in order, and in time.
func (a *app) leave(eng *engine.Engine, out *output.Writer) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveAfter)
	defer cancel()
	if err := eng.Close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		a.warn(err.Error())
	}
	if err := a.close(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		a.warn(err.Error())
	}
	if out != nil {
		_ = out.Close(ctx) // a client that is gone is told by the exit code
	}
}

// json is JSON mode: the session's header, then events, one run a prompt.
func (a *app) json(ctx context.Context, stdin io.Reader, stdout io.Writer) int {
	files, err := attachFiles(a.flags.files, a.cwd)
	if err != nil {
		return failed(a.stderr, err)
	}
	store, err := a.openSession()
	if err != nil {
		return failed(a.stderr, err)
	}
	out := output.New(stdout)
	h := newHeadless(out)
	eng, err := a.newEngine(store, h)
	if err != nil {
		return failed(a.stderr, errors.Join(err, store.Close()))
	}
	if err := out.Write(store.Header().Raw); err != nil {
		a.warn("writing the session header: " + err.Error())
	}
	bad := a.runHeadless(ctx, eng, h, out, files, stdin)
	a.leave(eng, out)
	return code(ctx, out, bad)
}

// print is print mode: the answer for people and scripts.
func (a *app) print(ctx context.Context, stdin io.Reader, stdout io.Writer) int {
	files, err := attachFiles(a.flags.files, a.cwd)
	if err != nil {
		return failed(a.stderr, err)
	}
	store, err := a.openSession()
	if err != nil {
		return failed(a.stderr, err)
	}
	var st *status
	if isTerminal(a.stderr) {
		_, plain := a.env("NO_COLOR")
		st = newStatus(a.stderr, !plain && !a.flags.noColor)
	}
	p := newPrinter(stdout, isTerminal(stdout), st)
	h := newHeadless(p)
	eng, err := a.newEngine(store, h)
	if err != nil {
		return failed(a.stderr, errors.Join(err, store.Close()))
	}
	bad := a.runHeadless(ctx, eng, h, nil, files, stdin)
	if err := p.finish(); err != nil {
		a.leave(eng, nil)
		return exitClientGone
	}
	if err := h.verdict(); err != nil && ctx.Err() == nil {
		fmt.Fprintln(a.stderr, "Error: "+err.Error())
	}
	a.leave(eng, nil)
	return code(ctx, nil, bad)
}

// runHeadless sends the prompts and reports whether the run failed.
func (a *app) runHeadless(ctx context.Context, eng *engine.Engine, h *headless, out *output.Writer, files engine.Input, stdin io.Reader) bool {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if out != nil {
		go func() {
			select {
			case <-out.Broken():
				cancel(errors.New("the reader of the output is gone"))
			case <-ctx.Done():
			}
		}()
	}
	list, err := prompts(ctx, a.flags.args, files, stdin, a.warn)
	if err == nil {
		if out != nil {
			eng.State(func(s engine.State, err error) {
				if s.Model != nil {
					out.Post(event.ContextWindowChanged{ContextWindow: s.Model.ContextWindow})
				}
			})
		}
		err = h.run(ctx, eng, list)
	}
	if err != nil {
		if ctx.Err() == nil {
			fmt.Fprintln(a.stderr, "Error: "+err.Error())
		}
		return true
	}
	return h.verdict() != nil
}
