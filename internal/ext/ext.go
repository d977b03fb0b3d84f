// Package ext runs extensions: it finds and loads them, keeps what they register, has
// their handlers take part in what the engine does, and answers what they ask of it.
//
// It must not know the client protocol or any JavaScript value; scripts run in ext/js.
//
// Concurrency: the extensions of a session share one runtime, a generation; reloading
// and replacing the session start another one. Methods may be called from any goroutine
// that may wait, except Command, which only looks up and may be called on the engine's.
// Nothing runs, and no runtime exists, while no extension is loaded.
package ext

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/ext/child"
	"github.com/isotope-agent/isotope/internal/ext/js"
	"github.com/isotope-agent/isotope/internal/network"
	"github.com/isotope-agent/isotope/internal/proc"
	"github.com/isotope-agent/isotope/internal/tool"
)

// Config says where extensions come from and what they live in.
type Config struct {
	// Paths are the extensions to load, in order: see Discover.
	Paths []Source
	// Discover finds them again at a reload and for another session, and says where that
	// works; nil keeps Paths and Cwd.
	Discover func() (cwd string, paths []Source)
	Cwd      string // absolute
	AgentDir string
	Home     string
	CacheDir string // for bundles and bytecode; "" for none
	Mode     string // "rpc", "json" or "print"
	// Name, Version and ConfigDir are what the program says of itself.
	Name, Version, ConfigDir string
	// Report takes text for people (stderr): what scripts print, and errors in modes
	// without a client.
	Report func(string)
	// Child is told of every child of an extension; see js.Config.
	Child  func(pid int) (ended func())
	Limits js.Limits
	// Process describes a process to run the scripts of a generation in; nil: they run in
	// this one.
	Process func() *child.Process
	// Runner runs the commands of the bash tool that extensions make; nil for an own one.
	Runner proc.Runner
	// Network carries the requests of extensions; see js.Config.
	Network *network.Network
	Now     func() time.Time
}

// A LoadError says which extension could not be loaded and why.
type LoadError struct {
	Source Source
	Err    error
}

// Error returns the text that the reference prints.
func (e *LoadError) Error() string {
	return fmt.Sprintf("Failed to load extension %q: %v", e.Source.Path, e.Err)
}

// Unwrap returns the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// Extensions are the extensions of one engine, over all generations.
type Extensions struct {
	cfg     Config
	host    atomic.Pointer[Host]
	current atomic.Pointer[generation]
	dialogs *dialogs
	wg      sync.WaitGroup

	mu    sync.Mutex
	flags map[string]any // values from the command line
	own   *proc.Local

	turns   turns
	files   tool.Queue
	remotes remotes
}

// errText is what extensions hear after their generation is over.
const staleText = "This extension ctx is stale after session replacement or reload."

var errNoHost = errors.New("not available in this mode")

// New returns extensions that are not loaded yet.
func New(cfg Config) *Extensions {
	if cfg.Report == nil {
		cfg.Report = func(string) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	x := &Extensions{cfg: cfg, flags: map[string]any{}}
	x.dialogs = newDialogs(x)
	x.host.Store(&Host{})
	return x
}

// hasUI reports whether a client can answer dialogs.
func (x *Extensions) hasUI() bool { return x.cfg.Mode == "rpc" }

// Loaded reports whether any extension runs.
func (x *Extensions) Loaded() bool {
	g := x.current.Load()
	return g != nil && !g.crashed.Load()
}

// live reports whether extensions were loaded, if only to say no after a crash.
func (x *Extensions) live() bool { return x.current.Load() != nil }

// cwd is where the session works.
func (x *Extensions) cwd() string {
	if g := x.current.Load(); g != nil {
		return g.cwd
	}
	return x.cfg.Cwd
}

// Load starts the first generation. The errors are those of single extensions; the
// others run. With no extension it does nothing.
func (x *Extensions) Load(ctx context.Context) []*LoadError {
	g, errs := x.start(ctx, x.cfg.Cwd, x.cfg.Paths)
	x.current.Store(g)
	return errs
}

// SetFlag gives a flag that extensions register its value from the command line.
func (x *Extensions) SetFlag(name string, value any) {
	x.mu.Lock()
	x.flags[name] = value
	x.mu.Unlock()
}

// Bind connects the loaded extensions with the session: from now on they may act.
// Providers that they registered are told to the host.
func (x *Extensions) Bind(h Host) {
	x.host.Store(&h)
	if g := x.current.Load(); g != nil {
		g.bind()
	}
}

// Replace starts another generation, after a reload or for another session. The old one
// is over at once; it is closed when what runs in it has ended.
func (x *Extensions) Replace(ctx context.Context) []*LoadError {
	cwd, paths := x.cfg.Cwd, x.cfg.Paths
	if x.cfg.Discover != nil {
		cwd, paths = x.cfg.Discover()
	}
	old := x.current.Load()
	g, errs := x.start(ctx, cwd, paths)
	x.current.Store(g)
	if old != nil {
		for _, p := range old.providerList() {
			_ = old.withdraw(p.Name) // what goes cannot fail
		}
		x.retire(old)
	}
	if g != nil {
		g.bind()
	}
	if h := x.host.Load(); h.ToolsChanged != nil && (old != nil || g != nil) {
		h.ToolsChanged()
	}
	return errs
}

// retire ends a generation beside everything else.
func (x *Extensions) retire(g *generation) {
	g.stale(staleText)
	x.wg.Go(func() {
		g.idle(30 * time.Second)
		g.rt.Close()
	})
}

// Shutdown lets dialogs take their defaults: nobody will answer them any more.
func (x *Extensions) Shutdown() { x.dialogs.closeAll() }

// Close ends all generations and their children. It waits until ctx ends.
func (x *Extensions) Close(ctx context.Context) error {
	x.dialogs.closeAll()
	done := make(chan struct{})
	x.wg.Go(func() {
		if g := x.current.Swap(nil); g != nil {
			g.rt.Close()
		}
		x.closeRunner()
	})
	go func() { x.wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for extensions to end: %w", context.Cause(ctx))
	}
}

// failed tells that an extension failed in a handler, command or tool.
func (x *Extensions) failed(path, where string, err error) {
	text := err.Error()
	var e *js.Error
	detail := text
	if errors.As(err, &e) {
		detail = e.Full()
	}
	if h := x.host.Load(); h.Emit != nil && x.hasUI() {
		h.Emit(event.ExtensionError{ExtensionPath: path, Event: where, Error: text})
		if e != nil && e.Stack != "" {
			x.cfg.Report(fmt.Sprintf("Extension error (%s, %s): %s", path, where, detail))
		}
		return
	}
	x.cfg.Report(fmt.Sprintf("Extension error (%s): %s", path, detail))
}
