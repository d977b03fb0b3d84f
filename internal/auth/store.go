package auth

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/isotope-agent/isotope/internal/atomicfile"
	"github.com/isotope-agent/isotope/internal/fslock"
	"github.com/isotope-agent/isotope/internal/jsonc"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

// The types of entries of auth.json.
const (
	typeKey   = "api_key"
	typeOAuth = "oauth"
)

// Modes of the file and its directory.
const (
	fileMode = 0o600
	dirMode  = 0o700
)

// How long a writer waits for other programs, and when their lock counts as left behind.
// The other programs hold the lock while they renew a login (up to 15 s), touch it every
// 15 s and give up on one after 30 s.
const (
	lockWait  = 5 * time.Second  // for what a person can do again
	lockLong  = 32 * time.Second // for what would be lost
	lockStale = 30 * time.Second
)

// Texts about auth.json.
const (
	errRead   = "Failed to read %s: %s"
	errParse  = "Failed to parse %s: %s. Its logins are not used, and it is not changed."
	errEntry  = "%s: %s: %s (line %d, column %d)"
	errBroken = "%s is not valid JSON (%s): correct or remove it first"
)

// ErrBroken is the class of errors of writes to a file that cannot be read.
var ErrBroken = errors.New("file is broken")

// entry is one provider's part of auth.json.
type entry struct {
	Type    string            `json:"type"`
	Key     string            `json:"key"`
	Env     map[string]string `json:"env"`
	Access  string            `json:"access"`
	Refresh string            `json:"refresh"`
	Expires float64           `json:"expires"` // ms since 1970
	raw     jsonx.Raw
}

// Login is an OAuth login of auth.json. Raw is the whole entry, with what a provider
// keeps there beside the tokens; File is where it is stored and goes back to.
type Login struct {
	Access  string
	Refresh string
	Expires time.Time
	Raw     jsonx.Raw
	File    string
}

func (e entry) login(file string) Login {
	return Login{e.Access, e.Refresh, time.UnixMilli(int64(e.Expires)), e.raw, file}
}

func (l Login) expired(now time.Time) bool { return !now.Before(l.Expires) }

// usable reports whether the entry gives the provider a key, without resolving it. env
// looks into the entry's own variables first.
func (e entry) usable(provider string, env func(string) (string, bool)) bool {
	if e.Type == typeOAuth {
		return e.Access != "" || e.Refresh != ""
	}
	if e.Key != "" {
		return len(missingVariables(e.Key, env)) == 0
	}
	if _, _, ok := fromEnv(provider, lookupIn(e.Env)); ok {
		return true
	}
	_, ok := ambient(provider, env)
	return ok && len(e.Env) > 0
}

// store reads the layers. A file is read again when its time or size has changed, so
// that a login of another program counts at once.
type store struct {
	layers []*layer
	read   func(string) ([]byte, error)
	mu     sync.Mutex
}

// layer is one file. entries is the last state that could be read.
type layer struct {
	path    string
	mtime   time.Time
	size    int64
	loaded  bool
	entries map[string]entry
	faults  []string
}

// entry returns the provider's entry of the first layer that has one, and its file.
func (s *store) entry(provider string) (entry, string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.layers {
		l.refresh(s.read)
		if e, ok := l.entries[provider]; ok {
			return e, l.path, true
		}
	}
	return entry{}, "", false
}

// forget makes the next question read the files again, whatever their times say.
func (s *store) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.layers {
		l.loaded = false
	}
}

func (s *store) diagnostics() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, l := range s.layers {
		l.refresh(s.read)
		out = append(out, l.faults...)
	}
	return out
}

// refresh reads the file when it has changed. What cannot be read leaves the entries
// as they were.
func (l *layer) refresh(read func(string) ([]byte, error)) {
	info, err := os.Stat(l.path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			l.loaded, l.mtime, l.size, l.entries, l.faults = false, time.Time{}, 0, nil, nil // path is read without the lock
		} else {
			l.faults = []string{fmt.Sprintf(errRead, l.path, reason(err))}
		}
		return
	}
	if l.loaded && info.ModTime().Equal(l.mtime) && info.Size() == l.size {
		return
	}
	data, err := read(l.path)
	if err != nil {
		l.faults = []string{fmt.Sprintf(errRead, l.path, reason(err))}
		return
	}
	l.loaded, l.mtime, l.size = true, info.ModTime(), info.Size()
	entries, faults, err := parse(l.path, data)
	if err != nil {
		l.faults = []string{fmt.Sprintf(errParse, l.path, err)}
		return
	}
	l.entries, l.faults = entries, faults
}

func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

func parse(path string, data []byte) (map[string]entry, []string, error) {
	doc, err := jsonc.Parse(data)
	if err != nil {
		return nil, nil, err
	}
	if doc.Root.Kind != jsonc.Object {
		return nil, nil, fmt.Errorf("it must be an object, not %s", doc.Root.Kind)
	}
	entries := make(map[string]entry, len(doc.Root.Members))
	var faults []string
	for _, m := range doc.Root.Members {
		e := entry{raw: doc.Raw(m.Value)}
		problem := ""
		if m.Value.Kind != jsonc.Object {
			problem = "must be an object, not " + m.Value.Kind.String()
		} else if err := jsonx.Unmarshal(e.raw, &e); err != nil {
			problem = "has a member of the wrong type" // the error could show a value
		} else if e.Type != typeKey && e.Type != typeOAuth {
			problem = `"type" must be "api_key" or "oauth"`
		}
		if problem != "" {
			line, column := doc.Position(m.Value.Start)
			faults = append(faults, fmt.Sprintf(errEntry, path, m.Key, problem, line, column))
			continue
		}
		entries[m.Key] = e
	}
	return entries, faults, nil
}

// SaveKey stores an API key for a provider in the first layer.
func (k *Keys) SaveKey(ctx context.Context, provider, key string) error {
	raw, err := jsonx.Marshal(keyEntry{Type: typeKey, Key: key})
	if err != nil {
		return err
	}
	return k.SaveNew(ctx, provider, raw)
}

// Save stores an entry of a provider in a file: a new one in the first layer, a
// renewed login where it came from (Login.File). The rest of the file is kept.
func (k *Keys) Save(ctx context.Context, file, provider string, raw jsonx.Raw) error {
	defer k.store.forget()
	return edit(ctx, file, lockLong, true, func(src []byte) ([]byte, error) { return jsonc.Set(src, raw, provider) })
}

// Delete removes a provider's entry from every layer, and the runtime key.
func (k *Keys) Delete(ctx context.Context, provider string) error {
	k.SetRuntime(provider, "")
	defer k.store.forget()
	var errs []error
	for _, l := range k.store.layers {
		errs = append(errs, edit(ctx, l.path, lockWait, false, func(src []byte) ([]byte, error) { return jsonc.Delete(src, provider) }))
	}
	return errors.Join(errs...)
}

// storedEntry is an entry with its place.
type storedEntry struct {
	entry
	provider, file string
}

// all returns the entries of all layers, the strongest first, those of a layer sorted.
func (s *store) all() []storedEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []storedEntry
	for _, l := range s.layers {
		l.refresh(s.read)
		for _, provider := range slices.Sorted(maps.Keys(l.entries)) {
			out = append(out, storedEntry{l.entries[provider], provider, l.path})
		}
	}
	return out
}

// Stored returns the providers that have an entry in any layer, sorted.
func (k *Keys) Stored() []string {
	var out []string
	for _, e := range k.store.all() {
		out = append(out, e.provider)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// edit changes a file under its lock. A file that is not there is made only when
// create says so; one that cannot be read is left alone.
func edit(ctx context.Context, path string, wait time.Duration, create bool, change func([]byte) ([]byte, error)) error {
	if create {
		if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
			return fmt.Errorf("storing credentials: %w", err)
		}
	} else if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := acquire(ctx, path, wait)
	if err != nil {
		return err
	}
	err = editLocked(path, change)
	return errors.Join(err, lock.Release())
}

// acquire takes the lock of a file, the one that the other programs take: that of the
// file a link points to.
func acquire(ctx context.Context, path string, wait time.Duration) (*fslock.DirLock, error) {
	target := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
	}
	lock, err := fslock.AcquireDir(ctx, target, fslock.DirOptions{Wait: wait, Stale: lockStale})
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return lock, nil
}

func editLocked(path string, change func([]byte) ([]byte, error)) error {
	src, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	out, err := change(src)
	if syntax, ok := errors.AsType[*jsonc.SyntaxError](err); ok {
		return fmt.Errorf("%w: "+errBroken, ErrBroken, path, syntax)
	}
	if err != nil {
		return fmt.Errorf("changing %s: %w", path, err)
	}
	if string(out) == string(src) {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&^fileMode != 0 {
		if err := os.Chmod(path, fileMode); err != nil {
			return fmt.Errorf("closing %s to others: %w", path, err)
		}
	}
	return atomicfile.WriteFile(path, out, fileMode)
}
