package ext

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isotope-agent/isotope/internal/ext/bundle"
	"github.com/isotope-agent/isotope/internal/ext/child"
	"github.com/isotope-agent/isotope/internal/ext/js"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

//go:embed prelude
var prelude embed.FS

// preludeRoot is where the host modules of this package lie beside those of ext/js.
const preludeRoot = "agent"

func preludeModules() (map[string]string, error) {
	out := map[string]string{}
	err := fs.WalkDir(prelude, "prelude", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := prelude.ReadFile(p)
		out[preludeRoot+strings.TrimPrefix(p, "prelude")] = string(data)
		return err
	})
	return out, err
}

// generation is the extensions that share one runtime.
type generation struct {
	x   *Extensions
	rt  scripts
	cwd string // where its session works
	reg
	keys    atomic.Int64
	running atomic.Int64 // calls that wait for a script
	strikes strikes
	streams streams
	updates updates
}

// start loads extensions into a new generation; nil when there is none.
func (x *Extensions) start(ctx context.Context, cwd string, paths []Source) (*generation, []*LoadError) {
	if len(paths) == 0 {
		return nil, nil
	}
	g := &generation{x: x, cwd: cwd, reg: newReg(), strikes: newStrikes(), streams: newStreams(), updates: newUpdates()}
	b, err := g.open()
	if err != nil {
		return nil, []*LoadError{{Source: paths[0], Err: err}}
	}
	var errs []*LoadError
	for i, src := range paths {
		if err := g.load(ctx, b, i, src); err != nil {
			errs = append(errs, &LoadError{Source: src, Err: err})
		}
	}
	if g.count() == 0 {
		g.rt.Close()
		return nil, errs
	}
	return g, errs
}

// scripts is where scripts run: in this process (js.Runtime) or in one of its own
// (child.Runtime).
type scripts interface {
	caller
	Load(ctx context.Context, owner string, s *bundle.Script) error
	Close()
}

type caller interface {
	Call(ctx context.Context, owner, kind string, arg any) (jsonx.Raw, error)
	Post(owner, kind, id string, arg any)
}

func newRuntime(process func() *child.Process, cfg js.Config) (scripts, error) {
	if process != nil {
		if p := process(); p != nil {
			return child.Start(cfg, *p)
		}
	}
	return js.New(cfg)
}

// open starts the runtime and the bundler that knows its modules.
func (g *generation) open() (*bundle.Bundler, error) {
	modules, err := preludeModules()
	if err != nil {
		return nil, err
	}
	cfg := g.x.cfg
	rt, err := newRuntime(cfg.Process, js.Config{
		Modules: modules, Entry: preludeRoot + "/main.js", Sync: g.syncOps(), Async: g.asyncOps(), Cache: bundle.NewCache(cfg.CacheDir),
		Cwd: g.cwd, Limits: cfg.Limits, Log: cfg.Report, Child: cfg.Child, Network: cfg.Network,
		Failed: func(owner string, err error) { g.strike(owner, "", err) },
		Died:   g.died,
	})
	if err != nil {
		return nil, fmt.Errorf("starting the extension host: %w", err)
	}
	g.rt = rt
	exports, err := js.Exports(context.Background(), rt.Call)
	if err != nil {
		rt.Close()
		return nil, fmt.Errorf("starting the extension host: %w", err)
	}
	return bundle.New(bundle.Config{Exports: exports, CacheDir: cfg.CacheDir, Salt: js.Salt(modules)}), nil
}

// load bundles and runs one extension. What it registered before it failed is undone.
func (g *generation) load(ctx context.Context, b *bundle.Bundler, n int, src Source) error {
	s, err := b.Bundle(src.Path)
	if err != nil {
		return err
	}
	e := &extension{id: "x" + strconv.Itoa(n), Source: src, missing: s.Missing}
	g.add(e)
	err = g.rt.Load(ctx, e.id, s)
	if err == nil {
		_, err = g.rt.Call(ctx, e.id, "factory", struct {
			ID     string `json:"id"`
			Path   string `json:"path"`
			Script string `json:"script"`
		}{e.id, src.Path, s.Name})
	}
	if err != nil {
		g.remove(e.id)
		return loadFailure(err)
	}
	return nil
}

// loadFailure keeps the message and adds where it happened.
func loadFailure(err error) error {
	var e *js.Error
	if errors.As(err, &e) && e.Stack != "" {
		first, _, _ := strings.Cut(strings.TrimSpace(e.Stack), "\n")
		return fmt.Errorf("%w (%s)", err, strings.TrimSpace(first))
	}
	return err
}

// bind lets extensions act and hands their providers over.
func (g *generation) bind() {
	g.rt.Post("", "bind", "", nil)
	g.bound.Store(true)
	for _, p := range g.providerList() {
		g.offer(p)
	}
}

func (g *generation) stale(reason string) {
	g.rt.Post("", "stale", "", map[string]string{"reason": reason})
}

// idle waits until nothing of the generation runs any more, for at most d.
func (g *generation) idle(d time.Duration) {
	const step = 20 * time.Millisecond
	for ; d > 0 && g.running.Load() > 0; d -= step {
		time.Sleep(step)
	}
}

// died marks the generation after a crash of the engine. It stays, so that what it was
// asked about is refused and not waved through, until another one takes its place.
func (g *generation) died(err error) {
	g.crashed.Store(true)
	g.x.failed("<extension host>", "host", err)
}

// callGrace is how long a script may take to notice that it was aborted.
const callGrace = 5 * time.Second

// call has a script answer. When ctx ends the script is told (abort) and has some time
// to answer all the same; an open dialog of its holds the call until it is answered.
func (g *generation) call(ctx context.Context, owner, kind string, arg any, abort func()) (jsonx.Raw, error) {
	g.running.Add(1)
	defer g.running.Add(-1)
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel(nil)
	waiting.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer waiting.Done()
		if abort != nil {
			abort()
		}
		for {
			select {
			case <-inner.Done():
				return
			case <-time.After(callGrace):
				if !g.x.dialogs.open(g, owner) {
					cancel(context.Cause(ctx))
					return
				}
			}
		}
	})
	raw, err := g.rt.Call(inner, owner, kind, arg)
	if stop() {
		waiting.Done()
	}
	return raw, err
}

func (g *generation) key() string { return "k" + strconv.FormatInt(g.keys.Add(1), 10) }

// maxStrikes is how often an extension may be stopped for running too long before it is
// switched off.
const maxStrikes = 3

type strikes struct {
	mu sync.Mutex
	n  map[string]int
}

func newStrikes() strikes { return strikes{n: map[string]int{}} }

// strike reports an error of an extension and switches one off that does not stop.
func (g *generation) strike(owner, where string, err error) {
	path := g.path(owner)
	if where == "" {
		where = "callback"
	}
	g.x.failed(path, where, err)
	var endless *js.Interrupted
	if owner == "" || !errors.As(err, &endless) {
		return
	}
	g.strikes.mu.Lock()
	g.strikes.n[owner]++
	off := g.strikes.n[owner] == maxStrikes
	g.strikes.mu.Unlock()
	if off {
		g.mute(owner)
		g.x.failed(path, where, errors.New("the extension was switched off because its code does not stop"))
	}
}
