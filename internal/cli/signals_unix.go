//go:build !windows

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// endSignals are the signals that end the program in order. A second one ends it at
// once. A program that was started to survive its terminal (nohup) does.
func endSignals() []os.Signal {
	list := []os.Signal{syscall.SIGTERM, syscall.SIGINT}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// watchPipe keeps a closed stdout from killing the process: the write then fails and
// is dealt with. The signal is caught, not ignored, so that children start with its
// default.
func watchPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// signalCode is the exit code after a signal: 128 and its number.
func signalCode(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return exitFailed
}
