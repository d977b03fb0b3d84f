//go:build unix

package grep

import (
	"io"
	"io/fs"
	"syscall"
)

// rawFile is a file descriptor read without the runtime's poller: a search opens tens
// of thousands of small files, and each system call counts.
type rawFile int

// open never waits, also not for the other end of a named pipe.
func open(name string) (rawFile, error) {
	for {
		fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
		if err == nil {
			return rawFile(fd), nil
		}
		if err != syscall.EINTR {
			return -1, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

// Read implements io.Reader.
func (f rawFile) Read(p []byte) (int, error) {
	for {
		n, err := syscall.Read(int(f), p)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN || err == nil && n == 0:
			return 0, io.EOF
		case err != nil:
			return 0, err
		}
		return n, nil
	}
}

func (f rawFile) close() { syscall.Close(int(f)) }
