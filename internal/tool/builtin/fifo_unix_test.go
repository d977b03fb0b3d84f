//go:build unix

package builtin

import (
	"syscall"
	"testing"
)

func makeFIFO(tb testing.TB, path string) {
	tb.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		tb.Skip(err)
	}
}
