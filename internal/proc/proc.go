// Package proc runs shell commands: process groups and their death, capture of
// the output with a tail window and a spill file, and the direct bash command of
// the protocol.
//
// It must not know tools, sessions or the client protocol. A Local runner may be
// used by any number of goroutines. Everything else (Capture, Sanitizer, Joiner)
// belongs to one command and is not safe for concurrent use.
//
// Three promises hold for every command of Local. It runs in a process group of
// its own, and a cancelled context kills that group while its leader is still
// unreaped, so that no foreign process can ever be hit. A command ends when its
// shell has ended and its output is closed or has been silent for 100 ms: what it
// left in the background keeps running. When this program itself is killed, a
// guard process kills the groups that were running (see guard_unix.go).
package proc

import (
	"context"
	"errors"
	"time"
)

// Cmd is one shell command. Env is the whole environment; nil means this
// process's own. Dir is the absolute working directory.
type Cmd struct {
	Command string
	Shell   Shell
	Dir     string
	Env     []string
}

// Channel says where output came from.
type Channel uint8

// The channels of a command.
const (
	Stdout Channel = iota
	Stderr
)

// String returns the wire name: "stdout" or "stderr".
func (c Channel) String() string {
	if c == Stderr {
		return "stderr"
	}
	return "stdout"
}

// Chunk is a piece of output as it was read. Data is valid only during the call.
type Chunk struct {
	Channel Channel
	Data    []byte
}

// Exit is how a command ended. Code is the shell's exit code, 128+n when signal n
// killed it. Exited says that the shell ended by itself, which it may also have
// done before a cancellation; After is the time from its start to its end.
type Exit struct {
	Code   int
	Exited bool
	After  time.Duration
}

// A Runner runs commands. Run blocks until the command is over and calls out with
// its output in order of arrival, one call at a time, never after Run has
// returned; a blocking out holds the command back. When ctx ends first, the
// command is killed and the error is the cause of ctx. Any other error means that
// the command could not be run, and its text is meant for the user.
type Runner interface {
	Run(ctx context.Context, c Cmd, out func(Chunk)) (Exit, error)
}

// RunnerFunc is a function that runs commands.
type RunnerFunc func(ctx context.Context, c Cmd, out func(Chunk)) (Exit, error)

// Run implements Runner.
func (f RunnerFunc) Run(ctx context.Context, c Cmd, out func(Chunk)) (Exit, error) {
	return f(ctx, c, out)
}

// ErrClosed is the error of commands that Close ended or that came after it.
var ErrClosed = errors.New("the command was stopped because the program is shutting down")

// Error texts that clients see (pi-facts.md section 4, atomic-facts.md 11.4).
const (
	errNoShellPath = "Custom shell path not found: %s"
	errNoDir       = "Working directory does not exist: %s\nCannot execute bash commands."
	errNotDir      = "Working directory is not a directory: %s"
	errNUL         = "The command contains a NUL character, which no shell accepts."
)
