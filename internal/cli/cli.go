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
	"time"

	"github.com/isotope-agent/isotope/internal/ext/child"
)

// Exit codes. After a signal it is 128 and the signal's number.
const (
	exitOK         = 0
	exitFailed     = 1   // start-up errors, a run that did not end well, no prompt
	exitClientGone = 141 // stdout was closed, as after SIGPIPE, or its reader is stuck at the end
)

// limits are the times that the program allows. Tests have shorter ones.
type limits struct {
	hint   time.Duration // an argument and a silent stdin: say what is waited for
	giveUp time.Duration // and go on without it
	leave  time.Duration // for an orderly end; the process leaves anyway then
	sweep  time.Duration // after the start: remove what old sessions spilled
}

func usualLimits() limits {
	return limits{hint: 2 * time.Second, giveUp: 30 * time.Second, leave: 5 * time.Second, sweep: 10 * time.Second}
}

// stdio are the three streams and which of them are terminals.
type stdio struct {
	in                       io.Reader
	out, err                 io.Writer
	inTerm, outTerm, errTerm bool
}

// Main runs the program and returns its exit code. args holds the program's name
// first.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return run(ctx, args, stdio{
		in: stdin, out: stdout, err: stderr,
		inTerm: isTerminal(stdin), outTerm: isTerminal(stdout), errTerm: isTerminal(stderr),
	}, usualLimits())
}

func run(ctx context.Context, args []string, std stdio, lim limits) int {
	if len(args) == 2 && args[1] == child.Argument {
		return extensionHost(std)
	}
	f, err := parseFlags(args[1:])
	if err != nil {
		return failed(std.err, err)
	}
	switch {
	case f.help:
		return written(io.WriteString(std.out, usage))
	case f.version:
		return written(fmt.Fprintln(std.out, Version()))
	}
	ctx, end := withSignals(ctx)
	defer end()
	stop, err := profile(f.profile)
	if err != nil {
		return failed(std.err, err)
	}
	defer stop()
	a, err := newApp(f, args[0], std, lim)
	if err != nil {
		return failed(std.err, err)
	}
	if name, nobodys := a.nobodysFlag(args); nobodys {
		return failed(std.err, errUnknownOption("--"+name))
	}
	switch {
	case f.wantsSchema(args):
		return a.schema()
	case f.settings:
		return failed(std.err, errSettingsFlag)
	case f.wantsAuth(args):
		return a.auth(ctx)
	case f.set["list-models"]:
		return a.listModels()
	case f.set["export"]:
		return a.exportFile()
	}
	if err := a.start(); err != nil {
		return failed(std.err, err)
	}
	switch f.mode {
	case modeRPC:
		return a.serve(ctx)
	case modeJSON:
		return a.json(ctx)
	}
	return a.print(ctx)
}

// extensionHost is the process that another one of this program runs its extensions in
// (extensions.isolation).
func extensionHost(std stdio) int {
	if err := child.Serve(std.in, std.out); err != nil {
		return failed(std.err, err)
	}
	return exitOK
}

// failed tells a start-up error.
func failed(stderr io.Writer, err error) int {
	fmt.Fprintln(stderr, "Error: "+err.Error())
	return exitFailed
}

// written is the exit code after something was written to stdout.
func written(_ int, err error) int {
	if err != nil {
		return exitClientGone
	}
	return exitOK
}

// code returns the exit code for how a mode ended: after a signal that of the signal.
func code(ctx context.Context, clientGone, failed bool) int {
	var s signalled
	switch {
	case errors.As(context.Cause(ctx), &s):
		return s.code
	case clientGone:
		return exitClientGone
	case failed:
		return exitFailed
	}
	return exitOK
}
