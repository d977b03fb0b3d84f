package js

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// nodeError is how Node names an error of the system. number is Linux's.
type nodeError struct {
	err    error
	code   string
	text   string
	number int
}

// nodeErrors are the errors that scripts tell apart by their code.
var nodeErrors = sync.OnceValue(func() []nodeError {
	return []nodeError{
		{syscall.ENOENT, "ENOENT", "no such file or directory", 2},
		{syscall.EEXIST, "EEXIST", "file already exists", 17},
		{syscall.EACCES, "EACCES", "permission denied", 13},
		{syscall.EPERM, "EPERM", "operation not permitted", 1},
		{syscall.ENOTDIR, "ENOTDIR", "not a directory", 20},
		{syscall.EISDIR, "EISDIR", "illegal operation on a directory", 21},
		{syscall.ENOTEMPTY, "ENOTEMPTY", "directory not empty", 39},
		{syscall.EINVAL, "EINVAL", "invalid argument", 22},
		{syscall.EBADF, "EBADF", "bad file descriptor", 9},
		{syscall.EXDEV, "EXDEV", "cross-device link not permitted", 18},
		{syscall.ENOSPC, "ENOSPC", "no space left on device", 28},
		{syscall.EROFS, "EROFS", "read-only file system", 30},
		{syscall.ELOOP, "ELOOP", "too many symbolic links encountered", 40},
		{syscall.ENAMETOOLONG, "ENAMETOOLONG", "name too long", 36},
		{syscall.EMFILE, "EMFILE", "too many open files", 24},
		{syscall.ECONNREFUSED, "ECONNREFUSED", "connection refused", 111},
		{syscall.ECONNRESET, "ECONNRESET", "connection reset by peer", 104},
		{syscall.EADDRINUSE, "EADDRINUSE", "address already in use", 98},
		{syscall.EPIPE, "EPIPE", "broken pipe", 32},
		{syscall.ETIMEDOUT, "ETIMEDOUT", "connection timed out", 110},
		{fs.ErrNotExist, "ENOENT", "no such file or directory", 2},
		{fs.ErrExist, "EEXIST", "file already exists", 17},
		{fs.ErrPermission, "EACCES", "permission denied", 13},
		{fs.ErrClosed, "EBADF", "bad file descriptor", 9},
		{exec.ErrNotFound, "ENOENT", "no such file or directory", 2},
	}
})

// systemError makes an error of the system one that looks like Node's.
func systemError(err error) *OpError {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return &OpError{Message: "getaddrinfo ENOTFOUND " + dns.Name, Code: "ENOTFOUND", Syscall: "getaddrinfo"}
	}
	call, path, dest := place(err)
	for _, n := range nodeErrors() {
		if !errors.Is(err, n.err) {
			continue
		}
		msg := n.code + ": " + n.text
		if call != "" {
			msg += ", " + call
		}
		if path != "" {
			msg += " '" + path + "'"
		}
		if dest != "" {
			msg += " -> '" + dest + "'"
		}
		return &OpError{Message: msg, Code: n.code, Errno: -n.number, Syscall: call, Path: path, Dest: dest}
	}
	return &OpError{Message: err.Error()}
}

// place returns what an error says of the call that failed.
func place(err error) (call, path, dest string) {
	var (
		pe *fs.PathError
		le *os.LinkError
		se *os.SyscallError
	)
	switch {
	case errors.As(err, &pe):
		return nodeCall(pe.Op), pe.Path, ""
	case errors.As(err, &le):
		return nodeCall(le.Op), le.Old, le.New
	case errors.As(err, &se):
		return nodeCall(se.Syscall), "", ""
	}
	return "", "", ""
}

// nodeCall is what Node calls a system call.
func nodeCall(op string) string {
	switch op {
	case "openat", "open":
		return "open"
	case "readdirent", "fdopendir", "readdir":
		return "scandir"
	case "remove", "unlinkat":
		return "unlink"
	case "chtimes":
		return "utime"
	case "mkdirat", "renameat", "linkat", "symlinkat", "readlinkat", "fchmodat", "fchownat":
		return strings.TrimSuffix(op, "at")
	case "fstatat", "newfstatat", "statx":
		return "stat"
	}
	return op
}
