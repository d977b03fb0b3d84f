package atomicfile

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// rename replaces to. A virus scanner or an indexer that looks at either file at
// this moment makes the call fail for a short time, so it is tried again.
func rename(from, to string) error {
	const tries = 10
	for i := 1; ; i++ {
		err := os.Rename(from, to)
		busy := errors.Is(err, windows.ERROR_ACCESS_DENIED) || errors.Is(err, windows.ERROR_SHARING_VIOLATION)
		if !busy || i == tries {
			return err
		}
		time.Sleep(time.Duration(i) * 5 * time.Millisecond)
	}
}

// SyncDir does nothing: Windows has no fsync of directories.
func SyncDir(string) error { return nil }
