//go:build !windows

package fslock

import "os"

// release removes the file while the lock is held, so that nobody who waits can
// have locked the name that goes away without noticing (see try).
func release(l *Lock) error {
	os.Remove(l.path)
	return l.fl.Close()
}
