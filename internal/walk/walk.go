// Package walk owns the ordered walk over a directory tree with the ignore files in
// it, and the globs that choose from it.
//
// It must not know what the files are for. A walk runs on the goroutine of its
// caller; Rules and Globs are immutable and may be shared.
package walk

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Options of a walk. The zero value keeps to the ignore files as ripgrep does.
type Options struct {
	// GitAnywhere makes .gitignore files count also outside of repositories.
	GitAnywhere bool
	// GlobalIgnore names the user's ignore file for all repositories; "" for none.
	GlobalIgnore string
	// Filter decides before the ignore files do, path by path; nil decides nothing. A
	// directory that it excludes is not entered; one that it includes is, whatever the
	// ignore files say.
	Filter func(path, name string, dir bool) Verdict
}

// Entry is one thing that a walk came upon. A directory comes before what is in it.
type Entry struct {
	Path string // below the root, with slashes
	Full string // the root, a slash, and Path
	Dir  bool
	Type fs.FileMode // the type bits; symbolic links are not followed
}

// Walk visits what is below root, a directory, in the order of the names, byte by byte,
// one directory after the other: the order of paths, always the same. Hidden files are
// visited; anything named .git is not. Directories that cannot be read are passed over.
// The walk ends early when visit returns false, and with the cause of ctx when that is
// cancelled. The error is that of the root otherwise.
func Walk(ctx context.Context, root string, opt Options, visit func(Entry) bool) error {
	abs, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real // the ignore files that count are those around the real directory
	}
	w := &walker{ctx: ctx, opt: opt, visit: visit, base: len(root) + 1}
	if strings.HasSuffix(root, "/") {
		w.base--
		root = root[:len(root)-1]
	}
	if opt.GlobalIgnore != "" {
		w.global = readRules(opt.GlobalIgnore)
	}
	return w.dir(root, ancestors(abs, w.global), true)
}

// InRepository reports whether dir or a directory above it is the top of a repository.
func InRepository(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

type walker struct {
	ctx    context.Context
	opt    Options
	visit  func(Entry) bool
	base   int // where a path below the root begins
	global *Rules
	done   bool
}

// dir walks one directory; full is its path.
func (w *walker) dir(full string, parent *level, isRoot bool) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	name := full
	if isRoot && name == "" {
		name = "/"
	}
	entries, err := os.ReadDir(name)
	if err != nil && (isRoot || w.ctx.Err() != nil) {
		return err
	}
	l := w.enter(full, entries, parent, isRoot)
	git := w.opt.GitAnywhere || l.inRepo()
	for i, e := range entries {
		if i&1023 == 1023 && w.ctx.Err() != nil {
			return context.Cause(w.ctx)
		}
		if e.Name() == ".git" {
			continue
		}
		entry := Entry{Full: full + "/" + e.Name(), Dir: e.IsDir(), Type: e.Type()}
		entry.Path = entry.Full[w.base:]
		if !w.wanted(entry.Path, e.Name(), entry.Dir, l, git) {
			continue
		}
		if !w.visit(entry) {
			w.done = true
			return nil
		}
		if entry.Dir {
			if err := w.dir(entry.Full, l, false); err != nil || w.done {
				return err
			}
		}
	}
	return nil
}

// enter returns the level of a directory: the parent's when it has no ignore files.
func (w *walker) enter(full string, entries []fs.DirEntry, parent *level, isRoot bool) *level {
	has := func(name string) bool {
		i := sort.Search(len(entries), func(i int) bool { return entries[i].Name() >= name })
		return i < len(entries) && entries[i].Name() == name
	}
	ignore, gitignore, repo := has(".ignore"), has(".gitignore"), has(".git")
	if !ignore && !gitignore && !repo {
		return parent
	}
	l := &level{parent: parent}
	if !isRoot {
		l.skip = len(full) - w.base + 1
	}
	l.load(full, ignore, gitignore, repo, w.global)
	return l
}

func (w *walker) wanted(path, name string, dir bool, l *level, git bool) bool {
	if w.opt.Filter != nil {
		if v := w.opt.Filter(path, name, dir); v != Undecided {
			return v == Include
		}
	}
	return l == nil || l.verdict(path, name, dir, git) != Exclude
}
