package fslock

import "os"

// release removes the file after the lock: Windows refuses to remove an open
// file, and does so also when the next owner was faster, which is fine.
func release(l *Lock) error {
	err := l.fl.Close()
	os.Remove(l.path)
	return err
}
