//go:build unix

package builtin

import (
	"io/fs"
	"os"
	"syscall"
)

// openNonblock lets a named pipe be opened that nobody writes to.
const openNonblock = syscall.O_NONBLOCK

// mustStay reports whether a file has to keep its identity: it has other names, or an
// owner that a new file would not have.
func mustStay(st fs.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && (s.Nlink > 1 || int(s.Uid) != os.Geteuid() || int(s.Gid) != os.Getegid())
}
