// Package atomicfile replaces files so that a reader, or a crash at any moment,
// sees either the old content or the new one, never a part.
//
// It owns the sequence temporary file, write, fsync, rename, fsync of the
// directory, and what differs between systems in it. It knows nothing about what
// the files mean; who may write when is the business of fslock.
//
// Functions may be called concurrently; a File belongs to one goroutine.
package atomicfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Options of a replacement. The zero value is the safe one.
type Options struct {
	// Perm is the mode of a file that did not exist; one that did keeps its own.
	Perm fs.FileMode
	// NoSync leaves out both fsyncs: the change is still atomic for readers and
	// for a crash of the process, not for a power cut.
	NoSync bool
}

// A File is new content on its way: written beside the target, and put in its
// place by Commit.
type File struct {
	f      *os.File
	target string
	opt    Options
	ops    ops
	done   bool
}

// ops are the steps that tests make fail.
type ops struct {
	rename  func(from, to string) error
	sync    func(f *os.File) error
	syncDir func(dir string) error
}

func realOps() ops { return ops{rename: rename, sync: (*os.File).Sync, syncDir: SyncDir} }

// WriteFile replaces the content of path by data. The mode of an existing file is
// kept, a symbolic link stays a link (the file it points to is replaced). The
// directory must exist.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	f, err := Create(path, Options{Perm: perm})
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Abort()
		return err
	}
	return f.Commit()
}

// Create starts a replacement of path. The caller ends it with Commit or Abort.
func Create(path string, opt Options) (*File, error) { return create(path, opt, realOps()) }

func create(path string, opt Options, o ops) (*File, error) {
	target := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
	}
	perm := opt.Perm
	if perm == 0 {
		perm = 0o600
	}
	if st, err := os.Stat(target); err == nil {
		if st.IsDir() {
			return nil, &fs.PathError{Op: "replace", Path: path, Err: fmt.Errorf("is a directory")}
		}
		perm = st.Mode().Perm()
	}
	tmp, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*.tmp")
	if err != nil {
		return nil, err
	}
	f := &File{f: tmp, target: target, opt: opt, ops: o}
	if err := tmp.Chmod(perm); err != nil {
		f.Abort()
		return nil, err
	}
	return f, nil
}

// Write adds p to the new content.
func (f *File) Write(p []byte) (int, error) { return f.f.Write(p) }

// Commit puts the new content in place. After an error the target is as it was
// and the temporary file is gone; only when the directory could not be synced is
// the new content in place without being certain to outlast a power cut.
func (f *File) Commit() error {
	if f.done {
		return fs.ErrClosed
	}
	if !f.opt.NoSync {
		if err := f.ops.sync(f.f); err != nil {
			f.Abort()
			return fmt.Errorf("syncing %s: %w", f.target, err)
		}
	}
	f.done = true
	name := f.f.Name()
	if err := f.f.Close(); err != nil {
		os.Remove(name)
		return err
	}
	if err := f.ops.rename(name, f.target); err != nil {
		os.Remove(name)
		return err
	}
	if f.opt.NoSync {
		return nil
	}
	if err := f.ops.syncDir(filepath.Dir(f.target)); err != nil {
		return fmt.Errorf("syncing the directory of %s: %w", f.target, err)
	}
	return nil
}

// Abort gives the new content up. It does nothing after Commit.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	f.f.Close()
	os.Remove(f.f.Name())
}
