package compact

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// maxBackupBytes is the size above which a session is not copied.
	maxBackupBytes = 256 << 20
	// keptBackups is how many backups of a session stay.
	keptBackups = 3
	backupEnd   = ".bak"
	// backupTries is how many milliseconds are tried for a name that is free.
	backupTries = 4
)

// errNoClone says that the file system does not clone files.
var errNoClone = errors.New("no clone")

// Backup copies a session file to "<file>.<time>.<label>.bak", cloned by the file
// system where that can do it, removes all but the newest three backups of the
// session, and returns the path. It returns "" for a session that is too large or
// has no file yet. label is Cause.BackupLabel.
func Backup(sessionFile, label string, now time.Time) (string, error) {
	st, err := os.Stat(sessionFile)
	switch {
	case sessionFile == "", os.IsNotExist(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("backing up the session: %w", err)
	case st.Size() > maxBackupBytes:
		return "", nil
	}
	for try := range backupTries {
		at := now.Add(time.Duration(try) * time.Millisecond)
		path := sessionFile + "." + strings.NewReplacer(":", "-", ".", "-").Replace(isoTime(at)) + "." + label + backupEnd
		if err = copyNew(path, sessionFile); err == nil {
			pruneBackups(sessionFile)
			return path, nil
		}
		if !os.IsExist(err) {
			break
		}
	}
	return "", fmt.Errorf("backing up the session: %w", err)
}

// copyNew copies a file to a path where none may be.
func copyNew(to, from string) error {
	err := cloneFile(to, from)
	if err == nil {
		return os.Chmod(to, 0o600)
	}
	if os.IsExist(err) {
		return err
	}
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if closing := dst.Close(); err == nil {
		err = closing
	}
	if err != nil {
		os.Remove(to)
	}
	return err
}

// pruneBackups removes the oldest backups. Names sort by time. One that cannot be
// removed stays: it is only too many.
func pruneBackups(sessionFile string) {
	dir, base := filepath.Split(sessionFile)
	entries, err := os.ReadDir(filepath.Clean(dir + "."))
	if err != nil {
		return
	}
	var names []string
	for _, e := range entries {
		if isBackup(e.Name(), base) && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	for _, name := range names[:max(0, len(names)-keptBackups)] {
		os.Remove(filepath.Join(dir, name))
	}
}

// isBackup reports whether a name is one that Backup gives to backups of base.
func isBackup(name, base string) bool {
	rest, ok := strings.CutPrefix(name, base+".")
	if !ok {
		return false
	}
	rest, ok = strings.CutSuffix(rest, backupEnd)
	if !ok {
		return false
	}
	stamp, label, ok := strings.Cut(rest, ".")
	return ok && isStamp(stamp) && slices.Contains([]string{CauseManual.BackupLabel(), CauseThreshold.BackupLabel(), CauseOverflow.BackupLabel()}, label)
}

// isStamp recognises the time in the name of a backup.
func isStamp(s string) bool {
	const form = "0000-00-00T00-00-00-000Z"
	if len(s) != len(form) {
		return false
	}
	for i, c := range []byte(form) {
		if digit := s[i] >= '0' && s[i] <= '9'; digit != (c == '0') || !digit && s[i] != c {
			return false
		}
	}
	return true
}
