package js

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// procs are the children of scripts and what scripts changed in their environment. A
// child has a process group of its own, which is killed when the runtime closes.
type procs struct {
	mu   sync.Mutex
	env  map[string]*string // nil removes
	live map[string]*child
}

type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	input chan []byte // what waits to be written; nil for a child without input

	mu    sync.Mutex
	ended bool // input is closed
}

func newProcs() *procs { return &procs{env: map[string]*string{}, live: map[string]*child{}} }

func (p *procs) set(id string, c *child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c == nil {
		delete(p.live, id)
		return
	}
	p.live[id] = c
}

func (p *procs) get(id string) *child {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live[id]
}

// procArgs describe a child. Shell is "" for none. Stdout and Stderr are "pipe",
// "ignore" or "inherit"; what is inherited goes to stderr of this process, because
// stdout is the protocol's.
type procArgs struct {
	Key       string            `json:"key"` // by which the script writes to the child and kills it
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Cwd       string            `json:"cwd"`
	Env       map[string]string `json:"env"`
	Shell     string            `json:"shell"`
	Timeout   float64           `json:"timeout"` // milliseconds
	Stdin     string            `json:"stdin"`
	Stdout    string            `json:"stdout"`
	Stderr    string            `json:"stderr"`
	Input     *bin              `json:"input"`
	MaxBuffer int64             `json:"maxBuffer"`
	Signal    string            `json:"signal"` // sent at the time-out
}

// environ is the environment for a child: env where a script gives one, else what this
// process has with the scripts' changes.
func (r *Runtime) environ(env map[string]string) []string {
	if env != nil {
		out := make([]string, 0, len(env))
		for k, v := range env {
			out = append(out, k+"="+v)
		}
		slices.Sort(out)
		return out
	}
	r.procs.mu.Lock()
	defer r.procs.mu.Unlock()
	out := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		k, _, _ := strings.Cut(kv, "=")
		_, changed := r.procs.env[k]
		return changed
	})
	for k, v := range r.procs.env {
		if v != nil {
			out = append(out, k+"="+*v)
		}
	}
	return out
}

// command prepares a child without starting it.
func (r *Runtime) command(a procArgs, env []string) *exec.Cmd {
	argv := append([]string{a.Command}, a.Args...)
	if a.Shell != "" {
		argv = shellArgv(a.Shell, strings.Join(argv, " "))
	}
	c := exec.Command(argv[0], argv[1:]...)
	if c.Err == nil && !strings.ContainsAny(argv[0], `/\`) {
		if path := lookIn(env, argv[0]); path != "" {
			c.Path = path
		}
	}
	c.Dir, c.Env = r.cfg.Cwd, env
	if a.Cwd != "" {
		c.Dir = r.path(a.Cwd)
	}
	OwnGroup(c)
	c.WaitDelay = time.Second // for what a child leaves behind with its pipes
	return c
}

// lookIn finds a program in the PATH that the child will have.
func lookIn(env []string, name string) string {
	for _, kv := range env {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range strings.Split(list, string(os.PathListSeparator)) {
			if p, err := exec.LookPath(dir + string(os.PathSeparator) + name); err == nil && dir != "" {
				return p
			}
		}
	}
	return ""
}

// started tells whoever guards children of a new one.
func (r *Runtime) started(c *exec.Cmd) (ended func()) {
	if r.cfg.Child == nil {
		return func() {}
	}
	return r.cfg.Child(c.Process.Pid)
}

// startError is Node's error for a program that cannot be started.
func startError(command string, err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return &OpError{Message: "spawn " + command + " ENOENT", Code: "ENOENT", Errno: -2, Syscall: "spawn " + command, Path: command}
	}
	if errors.Is(err, os.ErrPermission) {
		return &OpError{Message: "spawn " + command + " EACCES", Code: "EACCES", Errno: -13, Syscall: "spawn " + command, Path: command}
	}
	return err
}

type exitInfo struct {
	Code     int    `json:"code"`
	Signal   string `json:"signal"`
	Pid      int    `json:"pid"`
	Stdout   bin    `json:"stdout,omitzero"`
	Stderr   bin    `json:"stderr,omitzero"`
	TimedOut bool   `json:"timedOut,omitzero"`
	TooMuch  bool   `json:"tooMuch,omitzero"`
}

// finished describes how a child ended.
func finished(c *exec.Cmd, err error) (exitInfo, error) {
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) && !errors.Is(err, exec.ErrWaitDelay) || c.ProcessState == nil {
		return exitInfo{}, err
	}
	info := exitInfo{Code: c.ProcessState.ExitCode(), Pid: c.Process.Pid}
	if name, number := endSignal(c.ProcessState); name != "" {
		info.Signal, info.Code = name, 128+number
	}
	return info, nil
}

// spawn runs a child whose output is told as it comes.
func spawn(ctx context.Context, r *Runtime, a procArgs, emit func(any)) (any, error) {
	c := r.command(a, r.environ(a.Env))
	told := func(kind string) io.Writer {
		return writerFunc(func(b []byte) { emit(map[string]any{"type": kind, "data": toBinary(b)}) })
	}
	c.Stdout, c.Stderr = r.sink(a.Stdout, told("out")), r.sink(a.Stderr, told("err"))
	ch := &child{cmd: c}
	if a.Stdin == "pipe" {
		w, err := c.StdinPipe()
		if err != nil {
			return nil, err
		}
		ch.stdin, ch.input = w, make(chan []byte, 64)
	}
	if err := c.Start(); err != nil {
		return nil, startError(a.Command, err)
	}
	defer r.started(c)()
	r.procs.set(a.Key, ch)
	defer r.procs.set(a.Key, nil)
	if ch.input != nil {
		r.ops.Add(1)
		go func() { defer r.ops.Done(); ch.feed() }()
	}
	emit(map[string]any{"type": "pid", "pid": c.Process.Pid})
	stop := r.killOn(ctx, c, a)
	err := c.Wait()
	timedOut := stop()
	ch.end()
	info, err := finished(c, err)
	info.TimedOut = timedOut
	return info, err
}

// sink is where a stream of a child goes.
func (r *Runtime) sink(kind string, pipe io.Writer) io.Writer {
	switch kind {
	case "inherit":
		return writerFunc(func(b []byte) { r.log(strings.TrimSuffix(string(b), "\n")) })
	case "ignore":
		return nil
	}
	return pipe
}

// feed writes what the script sends, so that a child that does not read holds nobody up.
func (c *child) feed() {
	for b := range c.input {
		if _, err := c.stdin.Write(b); err != nil {
			break
		}
	}
	_ = c.stdin.Close()
	for range c.input { // the rest has nowhere to go
		continue
	}
}

// end closes the input.
func (c *child) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.input != nil && !c.ended {
		c.ended = true
		close(c.input)
	}
}

// send queues input. A child that does not read is waited for a little.
func (c *child) send(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.input == nil || c.ended {
		return errInputClosed
	}
	select {
	case c.input <- b:
		return nil
	case <-time.After(time.Second):
		return &OpError{Message: "write EAGAIN: the child does not read its input", Code: "EAGAIN", Syscall: "write"}
	}
}

var errInputClosed = &OpError{Message: "write EPIPE", Code: "EPIPE", Errno: -32, Syscall: "write"}

// killOn ends a child when ctx ends or its time is over: a signal, and 5 s later the
// one that cannot be caught. The function it returns ends the watch and reports whether
// the time was over.
func (r *Runtime) killOn(ctx context.Context, c *exec.Cmd, a procArgs) (stop func() bool) {
	done, over := make(chan struct{}), false
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		var late <-chan time.Time
		if a.Timeout > 0 {
			t := time.NewTimer(time.Duration(a.Timeout * float64(time.Millisecond)))
			defer t.Stop()
			late = t.C
		}
		select {
		case <-done:
			return
		case <-late:
			over = true
		case <-ctx.Done():
		}
		if r.ctx.Err() != nil {
			killGroup(c, "SIGKILL")
			return
		}
		killGroup(c, a.Signal)
		t := time.NewTimer(5 * time.Second)
		defer t.Stop()
		select {
		case <-done:
		case <-t.C:
			killGroup(c, "SIGKILL")
		case <-r.ctx.Done():
			killGroup(c, "SIGKILL")
		}
	}()
	return func() bool { close(done); wg.Wait(); return over }
}

type writerFunc func([]byte)

// Write implements io.Writer.
func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

// bounded keeps at most limit bytes; 0 is 64 MiB.
type bounded struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	limit   int64
	tooMuch bool
	full    func() // called once when there is too much
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	room := b.limit - int64(b.buf.Len())
	if int64(len(p)) > room {
		b.buf.Write(p[:max(room, 0)])
		if !b.tooMuch && b.full != nil {
			b.full()
		}
		b.tooMuch = true
		return len(p), nil
	}
	b.buf.Write(p)
	return len(p), nil
}

const defaultBuffer = 64 << 20

// capture runs a child to its end and returns its output.
func (r *Runtime) capture(ctx context.Context, a procArgs, env []string) (exitInfo, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := r.command(a, env)
	limit := a.MaxBuffer
	if limit <= 0 {
		limit = defaultBuffer
	}
	full := cancel
	if a.MaxBuffer <= 0 {
		full = nil
	}
	out, errs := &bounded{limit: limit, full: full}, &bounded{limit: limit, full: full}
	c.Stdout, c.Stderr = r.sink(a.Stdout, out), r.sink(a.Stderr, errs)
	if a.Input != nil {
		c.Stdin = bytes.NewReader(a.Input.bytes())
	}
	if err := c.Start(); err != nil {
		return exitInfo{}, startError(a.Command, err)
	}
	defer r.started(c)()
	stop := r.killOn(ctx, c, a)
	err := c.Wait()
	timedOut := stop()
	info, err := finished(c, err)
	info.Stdout, info.Stderr = toBinary(out.buf.Bytes()), toBinary(errs.buf.Bytes())
	info.TimedOut, info.TooMuch = timedOut, out.tooMuch || errs.tooMuch
	return info, err
}

// execOp runs a program for pi.exec: it never fails, a program that cannot be started
// has exit code 1.
func execOp(ctx context.Context, r *Runtime, a procArgs, _ func(any)) (any, error) {
	info, err := r.capture(ctx, a, r.environ(a.Env))
	if err != nil {
		return map[string]any{"stdout": "", "stderr": err.Error(), "code": 1, "killed": false, "truncated": false}, nil
	}
	return map[string]any{
		"stdout": string(info.Stdout.bytes()), "stderr": string(info.Stderr.bytes()), "code": info.Code,
		"killed": ctx.Err() != nil || info.TimedOut || info.TooMuch, "truncated": info.TooMuch,
	}, nil
}

// procOps are what scripts do with children while they wait.
func procOps() map[string]syncOp {
	return map[string]syncOp{
		"proc.run": with(func(r *Runtime, a procArgs) (any, error) {
			info, err := r.capture(r.ctx, a, r.environ(a.Env))
			if err != nil {
				return nil, err
			}
			return info, nil
		}),
		"proc.stdin": with(func(r *Runtime, a struct {
			Key  string `json:"key"`
			Data *bin   `json:"data"`
			End  bool   `json:"end"`
		},
		) (any, error) {
			c := r.procs.get(a.Key)
			if c == nil {
				return nil, errInputClosed
			}
			if a.Data != nil {
				if err := c.send(a.Data.bytes()); err != nil {
					return nil, err
				}
			}
			if a.End {
				c.end()
			}
			return nil, nil
		}),
		"proc.kill": with(func(r *Runtime, a struct {
			Key    string `json:"key"`
			Signal string `json:"signal"`
			Pid    int    `json:"pid"`
		},
		) (any, error) {
			if a.Key == "" {
				return nil, killPid(a.Pid, a.Signal)
			}
			if c := r.procs.get(a.Key); c != nil && c.cmd.Process != nil {
				killGroup(c.cmd, a.Signal)
				return true, nil
			}
			return false, nil
		}),
	}
}
