// Package fslock keeps two processes from writing one file at a time.
//
// It owns two forms. Acquire takes an advisory lock of the system on a file of its
// own (the kernel frees it when the process dies, so it is never stale); sessions
// use it among Isotope processes. AcquireDir makes the lock directory
// "<file>.lock" that proper-lockfile makes, for the files shared with the
// JavaScript programs (settings.json, auth.json). Neither ever locks the data file
// itself: on Windows that would shut readers out.
//
// Functions may be called concurrently; a lock is released once, by anyone.
package fslock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// pollEvery is how often a held lock is tried again: short beside what a human
// notices, long beside a system call.
const pollEvery = 25 * time.Millisecond

// A HeldError says that another owner kept the lock for the whole waiting time.
type HeldError struct {
	Path string // of the lock file or directory
	PID  int    // of the holder; 0 when it is not known
}

// Error names the holder.
func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("lock %s is held by another process", e.Path)
	}
	return fmt.Sprintf("lock %s is held by process %d", e.Path, e.PID)
}

// A Lock is a held advisory lock.
type Lock struct {
	fl   *flock.Flock
	path string
}

// Acquire takes the lock file path, creating it with mode 0600, and writes the
// process id into it for others to name. It tries for at most wait (0: once) and
// then returns a *HeldError. Other errors mean that no lock can be made there at
// all (a directory without write permission, a file system without locks).
func Acquire(ctx context.Context, path string, wait time.Duration) (*Lock, error) {
	var waited time.Duration
	for {
		l, err := try(path)
		if l != nil || err != nil {
			return l, err
		}
		if waited >= wait {
			return nil, &HeldError{Path: path, PID: holder(path)}
		}
		if err := pause(ctx, pollEvery); err != nil {
			return nil, err
		}
		waited += pollEvery
	}
}

// try returns nil, nil when someone else holds the lock.
func try(path string) (*Lock, error) {
	fl := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err := fl.TryLock()
	if err != nil {
		fl.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	if !ok {
		fl.Close()
		return nil, nil
	}
	// The last owner removes the file: what was locked may no longer be what others
	// find under this name.
	mine, err1 := fl.Stat()
	there, err2 := os.Stat(path)
	if err1 != nil || err2 != nil || !os.SameFile(mine, there) {
		fl.Close()
		return nil, nil
	}
	writeHolder(path)
	return &Lock{fl: fl, path: path}, nil
}

// The first byte of a lock file is left alone: it is the range that Windows locks,
// and a locked range cannot be read by others.
func writeHolder(path string) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return // only the name of the holder is lost
	}
	defer f.Close()
	f.WriteAt([]byte(fmt.Sprintf("%-10d\n", os.Getpid())), 1)
}

func holder(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 1)
	pid, err := strconv.Atoi(strings.TrimSpace(string(bytes.TrimRight(b[:n], "\x00"))))
	if err != nil {
		return 0
	}
	return pid
}

// Release frees the lock and removes its file. It may be called again.
func (l *Lock) Release() error {
	if !l.fl.Locked() {
		return nil
	}
	return release(l)
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// IsHeld reports whether err says that somebody else holds the lock.
func IsHeld(err error) bool {
	var h *HeldError
	return errors.As(err, &h)
}
