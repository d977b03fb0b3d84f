package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// How long spilled output is kept, and how often that is looked at
// (atomic-facts.md 11.14).
const (
	keepFor    = 30 * 24 * time.Hour
	sweepEvery = 24 * time.Hour
	lockStale  = time.Hour
	sweepStamp = ".last-cleanup"
	sweepLock  = ".cleanup.lock"
)

// Sweep removes the directories of the user's sessions whose newest entry is older
// than 30 days, and returns how many. It looks at most once in 24 hours, one
// process at a time, never follows a symbolic link, and leaves s's own session,
// those that live names, and loose files alone. live may be nil. The process calls
// it some time after its start, from a goroutine of its own.
func (s Spill) Sweep(now time.Time, live func(session string) bool) int {
	root := s.Root()
	if root == "" || privateDir(root, false) != nil {
		return 0
	}
	stamp := filepath.Join(root, sweepStamp)
	if info, err := os.Lstat(stamp); err == nil && now.Sub(info.ModTime()) < sweepEvery {
		return 0
	}
	lock := filepath.Join(root, sweepLock)
	if !takeLock(lock, now) {
		return 0
	}
	defer os.Remove(lock)
	entries, err := os.ReadDir(root)
	if err != nil {
		return 0
	}
	removed := 0
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || name == safeName(s.Session) || live != nil && live(name) {
			continue
		}
		dir := filepath.Join(root, name)
		if t, ok := newest(dir); ok && now.Sub(t) > keepFor && os.RemoveAll(dir) == nil {
			removed++
		}
	}
	touch(stamp, now)
	return removed
}

// takeLock makes the lock file; one that is an hour old belongs to nobody.
func takeLock(path string, now time.Time) bool {
	for range 2 {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			f.Close()
			return true
		}
		info, err := os.Lstat(path)
		if err != nil || now.Sub(info.ModTime()) < lockStale {
			return false
		}
		os.Remove(path)
	}
	return false
}

// newest returns the time of the youngest entry of the tree, links not followed;
// false when a part of it cannot be read, and so cannot be judged.
func newest(dir string) (t time.Time, ok bool) {
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.ModTime().After(t) {
			t = info.ModTime()
		}
		return err
	})
	return t, err == nil
}

func touch(path string, now time.Time) {
	if f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		f.Close()
		_ = os.Chtimes(path, now, now)
	}
}
