package js

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// watchEvery is how often a watched file or folder is looked at: the systems' own ways
// of watching differ too much to be worth their code.
const watchEvery = 100 * time.Millisecond

type watchArgs struct {
	Path      string  `json:"path"`
	Recursive bool    `json:"recursive"`
	Interval  float64 `json:"interval"` // milliseconds
}

// watch tells changes of a file or of what is in a folder until it is cancelled.
func watch(ctx context.Context, r *Runtime, a watchArgs, emit func(any)) (any, error) {
	p := r.path(a.Path)
	if _, err := os.Stat(p); err != nil {
		return nil, &fs.PathError{Op: "watch", Path: p, Err: fs.ErrNotExist}
	}
	every := max(watchEvery, time.Duration(a.Interval)*time.Millisecond)
	before := look(p, a.Recursive)
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.C:
		}
		now := look(p, a.Recursive)
		for name, st := range now {
			was, known := before[name]
			switch {
			case !known:
				emit(map[string]string{"type": "rename", "name": name})
			case was != st:
				emit(map[string]string{"type": "change", "name": name})
			}
		}
		for name := range before {
			if _, still := now[name]; !still {
				emit(map[string]string{"type": "rename", "name": name})
			}
		}
		before = now
	}
}

type look1 struct {
	size  int64
	mtime int64
	dir   bool
}

// look returns what is at a path now: a file itself, or the content of a folder.
func look(p string, deep bool) map[string]look1 {
	const most = 20000
	out := map[string]look1{}
	st, err := os.Stat(p)
	if err != nil {
		return out
	}
	if !st.IsDir() {
		out[filepath.Base(p)] = look1{st.Size(), st.ModTime().UnixNano(), false}
		return out
	}
	_ = filepath.WalkDir(p, func(q string, d fs.DirEntry, err error) error {
		if err != nil || q == p {
			return nil
		}
		rel, err := filepath.Rel(p, q)
		if err != nil || len(out) >= most {
			return fs.SkipAll
		}
		if info, err := d.Info(); err == nil {
			l := look1{info.Size(), info.ModTime().UnixNano(), d.IsDir()}
			if l.dir {
				l.size, l.mtime = 0, 0
			}
			out[rel] = l
		}
		if d.IsDir() && !deep {
			return fs.SkipDir
		}
		return nil
	})
	return out
}
