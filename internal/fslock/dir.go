package fslock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Times of proper-lockfile: a lock whose directory was not touched for so long has
// lost its owner; an owner touches it twice in that time.
const (
	defaultStale = 10 * time.Second
	minStale     = 2 * time.Second
)

// DirOptions of a lock directory.
type DirOptions struct {
	Wait  time.Duration    // how long to try; 0: once
	Stale time.Duration    // age at which a lock is taken over; 0: 10 s, the other programs' default
	Now   func() time.Time // clock for the age and the refresh; nil: time.Now
}

// A DirLock is a held lock directory. A goroutine keeps its time fresh until
// Release.
type DirLock struct {
	path string
	opt  DirOptions
	stop chan struct{}
	done sync.WaitGroup

	mu   sync.Mutex // guards the two below
	mine time.Time  // modification time that we set last
	lost bool
}

// AcquireDir takes the lock of target: the directory "<target>.lock", which is
// what proper-lockfile makes for the same file. target itself need not exist. A
// lock that its owner left behind is taken over. After opt.Wait it returns a
// *HeldError.
func AcquireDir(ctx context.Context, target string, opt DirOptions) (*DirLock, error) {
	if opt.Stale == 0 {
		opt.Stale = defaultStale
	}
	opt.Stale = max(opt.Stale, minStale)
	if opt.Now == nil {
		opt.Now = time.Now
	}
	l := &DirLock{path: target + ".lock", opt: opt, stop: make(chan struct{})}
	var waited time.Duration
	for {
		err := os.Mkdir(l.path, 0o777)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("locking %s: %w", target, err)
		}
		if l.evictStale() {
			continue
		}
		if waited >= opt.Wait {
			return nil, &HeldError{Path: l.path}
		}
		if err := pause(ctx, pollEvery); err != nil {
			return nil, err
		}
		waited += pollEvery
	}
	l.touch()
	l.done.Go(l.refresh)
	return l, nil
}

// evictStale removes a lock whose owner is gone and reports whether it is worth
// trying again at once. Looking at the age and removing are two steps: a lock of the
// system keeps a second Isotope, which saw the same stale directory, from removing
// the one that the first has made since. Nothing of the kind can be agreed with the
// JavaScript programs, whose own takeover has that gap.
func (l *DirLock) evictStale() bool {
	if st, err := os.Stat(l.path); err != nil || !l.stale(st) {
		return errors.Is(err, fs.ErrNotExist)
	}
	guard, err := try(l.path + ".evict")
	if guard == nil || err != nil {
		return false
	}
	defer guard.Release()
	if st, err := os.Stat(l.path); err != nil || !l.stale(st) {
		return errors.Is(err, fs.ErrNotExist)
	}
	return os.RemoveAll(l.path) == nil
}

func (l *DirLock) stale(st fs.FileInfo) bool {
	return st.ModTime().Before(l.opt.Now().Add(-l.opt.Stale))
}

// touch sets the time of the directory and remembers what the file system made of
// it. It reports false once the directory is no longer ours.
func (l *DirLock) touch() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if st, err := os.Stat(l.path); err != nil || !l.mine.IsZero() && !st.ModTime().Equal(l.mine) {
		l.lost = true
		return false
	}
	now := l.opt.Now().Truncate(time.Second) // coarse enough for every file system
	if err := os.Chtimes(l.path, now, now); err != nil {
		return true // tried again at the next tick
	}
	if st, err := os.Stat(l.path); err == nil {
		l.mine = st.ModTime()
	}
	return true
}

func (l *DirLock) refresh() {
	t := time.NewTicker(l.opt.Stale / 2)
	defer t.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-t.C:
			if !l.touch() {
				return
			}
		}
	}
}

// Lost reports whether another program took the lock over, which can only happen
// when this process stood still for longer than the stale time.
func (l *DirLock) Lost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Release frees the lock, unless another program has it by now. It waits for the
// refreshing goroutine and may be called only once.
func (l *DirLock) Release() error {
	close(l.stop)
	l.done.Wait()
	if st, err := os.Stat(l.path); l.Lost() || err != nil || !st.ModTime().Equal(l.mine) {
		return nil
	}
	return os.Remove(l.path)
}
