package session

import (
	"path/filepath"
	"sync"
)

// A Registry knows the sessions that this process has open for writing, by real
// path, so that a second Open of a file gives the same Store instead of waiting for
// a lock that the process holds itself. The program makes one. Its methods may be
// called concurrently.
type Registry struct {
	mu   sync.Mutex
	open map[string]*Store
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{open: map[string]*Store{}} }

// retain returns the open store of a path with one more reference, or nil.
func (r *Registry) retain(path string) *Store {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.open[path]
	if s == nil || !s.tryRetain() {
		return nil
	}
	return s
}

func (r *Registry) put(path string, s *Store) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[path] = s
}

func (r *Registry) remove(path string, s *Store) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[path] == s {
		delete(r.open, path)
	}
}

// realPath is the absolute path without symbolic links, as far as it exists: also
// that of a file that is not there yet.
func realPath(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	if dir := filepath.Dir(abs); dir != abs {
		return filepath.Join(realPath(dir), filepath.Base(abs))
	}
	return abs
}
