package cli

import (
	"io"
	"os"
	"runtime/pprof"

	"golang.org/x/term"
)

// isTerminal reports whether a stream is a terminal. What is no file is none.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// profile writes a CPU profile until stop is called; "" does nothing.
func profile(path string) (stop func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() { pprof.StopCPUProfile(); closeQuietly(f) }, nil
}

// closeQuietly closes what was only diagnostics.
func closeQuietly(c io.Closer) { _ = c.Close() }
