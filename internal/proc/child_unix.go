//go:build linux || darwin

package proc

import (
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// child is a started command: the leader of its own session, so that nothing can
// ask a question on the terminal of this program and wait for ever, and thereby of
// its own process group. It is reaped only on request: until then its process id,
// and with it the group's, cannot be used again, so kill is always safe.
//
// Parent-death signals are not used: they reach the leader only, and they come with
// the end of the thread that started it, not with the end of the process. The guard
// covers both.
type child struct {
	pid     int
	p       *os.Process
	exited  chan struct{} // closed when the leader has ended
	release chan struct{} // closed by reap
	reaped  chan struct{} // closed when status is valid
	status  Exit
	started time.Time
	forget  func(pid int)

	mu   sync.Mutex
	gone bool // reaped, or about to be
}

// start runs argv with its output in stdout and stderr and nothing to read. forget
// is called right before the leader is reaped.
func start(argv []string, dir string, env []string, stdout, stderr *os.File, forget func(int)) (*child, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{
		Dir:   dir,
		Env:   env,
		Files: []*os.File{null, stdout, stderr},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return nil, err
	}
	c := &child{
		pid: p.Pid, p: p, started: time.Now(), forget: forget,
		exited: make(chan struct{}), release: make(chan struct{}), reaped: make(chan struct{}),
	}
	return c, nil
}

// watch sees the child through to its end. Its goroutine is waited for by reap; one
// whose child was abandoned ends with the child.
func (c *child) watch() {
	waitExit(c.pid)
	c.status.After = time.Since(c.started)
	close(c.exited)
	<-c.release
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	c.forget(c.pid)
	if state, err := c.p.Wait(); err == nil {
		c.status.Code = exitCode(state)
	} else {
		c.status.Code = -1
	}
	close(c.reaped)
}

// reap lets the leader go and returns how it ended; it waits for that end.
func (c *child) reap() Exit {
	close(c.release)
	<-c.reaped
	return c.status
}

// abandon lets the leader go whenever it ends.
func (c *child) abandon() { close(c.release) }

// kill ends the whole group, if it has not been let go.
func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return
	}
	killGroup(c.pid)
}

// exitCode follows the shells: 128+n for death by signal n.
func exitCode(state *os.ProcessState) int {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}

// waitExit blocks until the process has ended and leaves it unreaped.
func waitExit(pid int) {
	const byPID = 1
	var info [16]uint64 // siginfo_t is at most 128 bytes
	for {
		_, _, e := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), uintptr(unsafe.Pointer(&info)),
			syscall.WEXITED|syscall.WNOWAIT, 0, 0)
		if e != syscall.EINTR {
			return
		}
	}
}
