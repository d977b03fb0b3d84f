//go:build unix

package proc

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

func ownerName() string { return strconv.Itoa(os.Getuid()) }

// owned reports whether the file is the user's.
func owned(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
