package compact

import (
	"os"

	"golang.org/x/sys/unix"
)

// cloneFile makes to share the blocks of from. It fails where the file system has no
// such thing; to does not exist then.
func cloneFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = unix.IoctlFileClone(int(dst.Fd()), int(src.Fd()))
	if closing := dst.Close(); err == nil {
		err = closing
	}
	if err != nil {
		os.Remove(to)
		return errNoClone
	}
	return nil
}
