package session

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Durability says when written entries are forced to the disk.
type Durability string

// The durabilities. The zero value is DurabilitySettle.
const (
	DurabilityNone   Durability = "none"   // never; the system decides
	DurabilitySettle Durability = "settle" // when Sync is called, and at Close
	DurabilityEntry  Durability = "entry"  // before Append returns
)

// ParseDurability returns the durability of that name.
func ParseDurability(name string) (Durability, error) {
	switch d := Durability(name); d {
	case DurabilityNone, DurabilitySettle, DurabilityEntry:
		return d, nil
	}
	return "", fmt.Errorf("durability must be none, settle or entry, not %q", name)
}

// Config says how a store is made. The zero value of every field is usable except
// for Dir, which Create needs to have a place for the file.
type Config struct {
	Dir           string // folder of new session files, also of forks; Open: "" means the folder of the file
	Path          string // Create: exactly this file instead of one in Dir
	Cwd           string // working directory for the header of a new session
	ID            string // session id; "" makes a new one
	ParentSession string // file that the new session continues
	Name          string // name of the new session; "" for none
	AppName       string // stands in the error of files that are no session; "" means isotope

	Now   func() time.Time // clock for timestamps; nil: time.Now
	NewID func() string    // source of entry ids; nil: 8 random hex digits

	ReadOnly   bool // only look: no lock, no repair, no append
	MemoryOnly bool // no file at all
	Durability Durability
	Warn       func(text string) // told about what a user should know; nil: nobody
	Registry   *Registry         // open stores of this process; nil: none are shared
	LockWait   time.Duration     // how long Open waits for another writer; 0: 2 s

	open       openFunc             // nil: the operating system
	beforeCopy func(p []byte) error // tests: called before each write of a copy
}

func (c Config) withDefaults() Config {
	if c.AppName == "" {
		c.AppName = "isotope"
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = func() string { return uuid.NewString()[:8] }
	}
	if c.Durability == "" {
		c.Durability = DurabilitySettle
	}
	if c.Warn == nil {
		c.Warn = func(string) {}
	}
	if c.LockWait == 0 {
		c.LockWait = 2 * time.Second
	}
	if c.open == nil {
		c.open = openOS
	}
	return c
}

// Errors that callers tell apart. Their texts reach clients.
var (
	// ErrNotFound is in the chain of the error of Open for a file that is not there.
	ErrNotFound = errors.New("session file does not exist")
	// ErrDirectory is the error of Open for a directory.
	ErrDirectory = errors.New("EISDIR: illegal operation on a directory, read")
	// ErrInvalidFork is the error of Fork for an id that is no user message.
	ErrInvalidFork = errors.New("Invalid entry ID for forking")
	// ErrNotSaved is the error of Fork and Clone while the session has no file.
	ErrNotSaved = errors.New("This session has not been saved yet. Send a message before cloning or forking it.")
	// ErrNothingToClone is the error of Clone when the leaf is before every entry.
	ErrNothingToClone = errors.New("Cannot clone session: no current entry selected")
	// ErrReadOnly is the error of a change to a store that was opened to look.
	ErrReadOnly = errors.New("the session was opened read-only")
	// ErrClosed is the error of a change after the last Close.
	ErrClosed = errors.New("the session is closed")
	// ErrRemoved is in the chain of the error of Append when the file is gone.
	ErrRemoved = errors.New("the session file was removed")
)

// An InvalidFileError says that a file is no session; it was not touched.
type InvalidFileError struct{ App, Path string }

// Error is the text that clients of the dialect know.
func (e *InvalidFileError) Error() string {
	return fmt.Sprintf("Session file is not a valid %s session: %s", e.App, e.Path)
}

// An InUseError says that another process writes the session.
type InUseError struct {
	Path string
	PID  int // 0 when it is not known
}

// Error names the holder.
func (e *InUseError) Error() string {
	who := "another process"
	if e.PID != 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("session file %s is in use by %s; end it, or open the session with --read-only", e.Path, who)
}

// An EntryNotFoundError names an entry that is not in the session.
type EntryNotFoundError struct {
	ID    string
	since bool // asked for with since
}

// Error is the text of the reference for either question.
func (e *EntryNotFoundError) Error() string {
	if e.since {
		return "Entry not found: " + e.ID
	}
	return fmt.Sprintf("Entry %s not found", e.ID)
}

// FileName returns the name of the file of a new session: its time of creation
// (ISO 8601) and its id.
func FileName(timestamp, id string) string {
	return strings.NewReplacer(":", "-", ".", "-").Replace(timestamp) + "_" + id + ".jsonl"
}

// FolderFor returns the folder below sessionsRoot in which the sessions of a working
// directory lie. cwd should be absolute.
func FolderFor(sessionsRoot, cwd string) string {
	name := cwd
	if strings.HasPrefix(name, "/") || strings.HasPrefix(name, `\`) {
		name = name[1:]
	}
	name = strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(name)
	return filepath.Join(sessionsRoot, "--"+name+"--")
}
