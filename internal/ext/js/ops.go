package js

import (
	"context"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

type (
	syncOp  func(r *Runtime, args jsonx.Raw) (any, error)
	asyncOp func(ctx context.Context, r *Runtime, args jsonx.Raw, emit func(any)) (any, error)
)

// with decodes the arguments of an operation.
func with[T any](f func(r *Runtime, a T) (any, error)) syncOp {
	return func(r *Runtime, args jsonx.Raw) (any, error) {
		var a T
		if err := decode(args, &a); err != nil {
			return nil, err
		}
		return f(r, a)
	}
}

func withAsync[T any](f func(ctx context.Context, r *Runtime, a T, emit func(any)) (any, error)) asyncOp {
	return func(ctx context.Context, r *Runtime, args jsonx.Raw, emit func(any)) (any, error) {
		var a T
		if err := decode(args, &a); err != nil {
			return nil, err
		}
		return f(ctx, r, a, emit)
	}
}

// besides makes a blocking operation one that runs beside the scripts.
func besides[T any](f func(r *Runtime, a T) (any, error)) asyncOp {
	return withAsync(func(_ context.Context, r *Runtime, a T, _ func(any)) (any, error) { return f(r, a) })
}

func decode(args jsonx.Raw, v any) error {
	if len(args) == 0 {
		return nil
	}
	if err := jsonx.Unmarshal(args, v); err != nil {
		return &OpError{Message: "bad argument: " + err.Error(), Name: "TypeError", Code: "ERR_INVALID_ARG_TYPE"}
	}
	return nil
}

type (
	none  struct{}
	idArg struct {
		ID string `json:"id"`
	}
	nameArg struct {
		Name string `json:"name"`
	}
)

// syncOps are the operations that scripts wait for.
var syncOps = sync.OnceValue(func() map[string]syncOp {
	ops := map[string]syncOp{
		"reply": func(r *Runtime, args jsonx.Raw) (any, error) {
			var a struct {
				ID     string    `json:"id"`
				Answer jsonx.Raw `json:"answer"`
			}
			if err := decode(args, &a); err != nil {
				return nil, err
			}
			r.replied(a.ID, a.Answer)
			return nil, nil
		},
		"failed": with(func(r *Runtime, a failure) (any, error) { r.failed(a.Owner, r.thrown(a.Error)); return nil, nil }),
		"log": with(func(r *Runtime, a struct {
			Text string `json:"text"`
		},
		) (any, error) {
			r.log(a.Text)
			return nil, nil
		}),
		"cancel":      with(func(r *Runtime, a idArg) (any, error) { r.cancelOp(a.ID); return nil, nil }),
		"timer.start": with((*Runtime).startTimer),
		"timer.stop":  with(func(r *Runtime, a idArg) (any, error) { r.stopTimer(a.ID); return nil, nil }),
		"owner.set":   with(func(r *Runtime, a nameArg) (any, error) { r.owner = a.Name; return nil, nil }),
		"now": func(*Runtime, jsonx.Raw) (any, error) {
			return float64(time.Since(processStart()).Nanoseconds()) / 1e6, nil
		},
		"system":         with(func(r *Runtime, _ none) (any, error) { return r.system() }),
		"memory":         with(func(*Runtime, none) (any, error) { return memory(), nil }),
		"env.get":        with(envGet),
		"env.set":        with(envSet),
		"env.keys":       with(envKeys),
		"module.resolve": with(resolveModule),
	}
	for _, more := range []map[string]syncOp{fileOps(), procOps(), cryptoOps(), textOps(), netSyncOps()} {
		for name, op := range more {
			ops[name] = op
		}
	}
	return ops
})

// asyncOps are the operations that run beside the scripts.
var asyncOps = sync.OnceValue(func() map[string]asyncOp {
	ops := map[string]asyncOp{
		"fs.watch":   withAsync(watch),
		"proc.spawn": withAsync(spawn),
		"exec":       withAsync(execOp),
		"fetch":      withAsync(fetch),
		"dns.lookup": withAsync(lookup),
	}
	for name, op := range netOps() {
		ops[name] = op
	}
	for name, op := range besidesOps() {
		ops[name] = op
	}
	return ops
})

// failure is an error that belongs to no call.
type failure struct {
	Owner string `json:"owner"`
	Error Error  `json:"error"`
}

func (r *Runtime) thrown(e Error) error {
	e.Stack = r.mapStack(e.Stack)
	return &e
}

func (r *Runtime) log(text string) {
	if r.cfg.Log != nil {
		r.cfg.Log(text)
	}
}

// processStart is the zero of performance.now().
var processStart = sync.OnceValue(time.Now)

// system tells what does not change while scripts run.
func (r *Runtime) system() (any, error) {
	host, _ := os.Hostname()
	home, _ := os.UserHomeDir()
	exe, _ := os.Executable()
	return map[string]any{
		"platform": nodePlatform(runtime.GOOS), "arch": nodeArch(runtime.GOARCH), "hostname": host, "home": home, "tmp": strings.TrimRight(os.TempDir(), `/\`),
		"cpus": runtime.NumCPU(), "pid": os.Getpid(), "ppid": os.Getppid(), "uid": os.Getuid(), "gid": os.Getgid(), "cwd": r.cfg.Cwd, "exe": exe,
		"user": userName(), "release": osRelease(),
	}, nil
}

func nodePlatform(goos string) string {
	if goos == "windows" {
		return "win32"
	}
	return goos
}

func nodeArch(goarch string) string {
	switch goarch {
	case "amd64":
		return "x64"
	case "386":
		return "ia32"
	}
	return goarch
}

func userName() string {
	for _, k := range []string{"USER", "LOGNAME", "USERNAME"} {
		if v := os.Getenv(k); v != "" {
			return v
		}
	}
	return "user"
}

// osRelease is the kernel's version where it is easily known.
func osRelease() string {
	data, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "0.0.0"
	}
	return strings.TrimSpace(string(data))
}

func memory() map[string]uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return map[string]uint64{"rss": m.Sys, "heapTotal": m.HeapSys, "heapUsed": m.HeapAlloc, "external": 0, "arrayBuffers": 0}
}

// Scripts change their view of the environment, never this process's own: it belongs
// to the engine and to other extensions' children.
func envGet(r *Runtime, a nameArg) (any, error) {
	r.procs.mu.Lock()
	defer r.procs.mu.Unlock()
	if v, ok := r.procs.env[a.Name]; ok {
		if v == nil {
			return nil, nil
		}
		return *v, nil
	}
	if v, ok := os.LookupEnv(a.Name); ok {
		return v, nil
	}
	return nil, nil
}

func envSet(r *Runtime, a struct {
	Name  string  `json:"name"`
	Value *string `json:"value"`
},
) (any, error) {
	r.procs.mu.Lock()
	r.procs.env[a.Name] = a.Value
	r.procs.mu.Unlock()
	return nil, nil
}

func envKeys(r *Runtime, _ none) (any, error) {
	out := []string{}
	for _, kv := range r.environ(nil) {
		k, _, _ := strings.Cut(kv, "=")
		out = append(out, k)
	}
	return out, nil
}

// besidesOps are the file operations again, beside the scripts.
func besidesOps() map[string]asyncOp {
	out := map[string]asyncOp{}
	for name, f := range fileOpTable() {
		out["fs."+name] = besides(f)
	}
	out["zlib"] = besides(zlibOp)
	out["crypto.derive"] = besides(deriveOp)
	return out
}
