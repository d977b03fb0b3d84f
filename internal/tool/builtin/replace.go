package builtin

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/isotope-agent/isotope/internal/atomicfile"
)

// replaceFile gives a file new content, which write produces. A reader sees the old
// content or the new; mode and symbolic links stay. Files that must keep their
// identity (other names, another owner, devices) are written in place, after the
// content was produced elsewhere. Write may read the old file.
func replaceFile(ctx context.Context, path string, write func(io.Writer) error) error {
	target := followLinks(path)
	st, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return createFile(ctx, path, target, write)
	case err != nil:
		return fileError(err, "open", path)
	case st.IsDir():
		return fileError(syscall.EISDIR, "open", path)
	case st.Mode().IsRegular() && !mustStay(st):
		done, err := swapFile(ctx, path, target, write)
		if done || err != nil {
			return err
		}
	}
	return overwriteFile(ctx, path, target, write)
}

// createFile makes a file that did not exist. One that could not be written whole is
// removed.
func createFile(ctx context.Context, path, target string, write func(io.Writer) error) error {
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fileError(err, "open", path)
	}
	err = write(&guarded{ctx, f})
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(target)
		return fileError(err, "write", "")
	}
	return nil
}

// swapFile replaces a file by a new one. It reports false, with nothing changed, when
// the directory does not allow that.
func swapFile(ctx context.Context, path, target string, write func(io.Writer) error) (bool, error) {
	// A file that may not be written must not be replaced either.
	probe, err := os.OpenFile(target, os.O_WRONLY, 0)
	if err != nil {
		return false, fileError(err, "open", path)
	}
	_ = probe.Close()
	f, err := atomicfile.Create(target, atomicfile.Options{NoSync: true})
	if err != nil {
		return false, nil
	}
	defer f.Abort()
	if err := write(&guarded{ctx, f}); err != nil {
		return false, fileError(err, "write", "")
	}
	if err := aborted(ctx); err != nil {
		return false, err
	}
	return f.Commit() == nil, nil
}

// overwriteFile writes into the existing file.
func overwriteFile(ctx context.Context, path, target string, write func(io.Writer) error) error {
	spool, err := os.CreateTemp("", "edit-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(spool.Name())
	defer spool.Close()
	if err := write(&guarded{ctx, spool}); err != nil {
		return fileError(err, "write", "")
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_TRUNC|openNonblock, 0)
	if err != nil {
		return fileError(err, "open", path)
	}
	_, err = io.Copy(f, spool) // not to be stopped half-way
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fileError(err, "write", "")
	}
	return nil
}

// guarded writes until its context is cancelled.
type guarded struct {
	ctx context.Context
	w   io.Writer
}

func (g *guarded) Write(p []byte) (int, error) {
	if err := aborted(g.ctx); err != nil {
		return 0, err
	}
	return g.w.Write(p)
}
