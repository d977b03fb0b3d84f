//go:build linux || darwin

package proc

import (
	"fmt"
	"os"
	"sync"
	"syscall"
)

// guardScript reads "+ ID" and "- ID" lines. When its input ends, because this
// process closed it or died, it kills the groups that are still listed. Builtins
// only: it needs no PATH and starts nothing.
const guardScript = `trap '' HUP INT QUIT TERM PIPE
live=
while read -r op id; do
	case $op in
	+) live="$live $id " ;;
	-) live="${live%% $id *}${live#* $id }" ;;
	esac
done
for id in $live; do kill -9 "-$id"; done`

// guard is the process that outlives this one by a moment, so that even a SIGKILL
// leaves no survivors. It is started with the first command and again should it
// have been killed; a machine without /bin/sh works without it. It has a session of
// its own: what kills our group must not kill it too.
type guard struct {
	mu     sync.Mutex
	live   map[int]struct{}
	pipe   *os.File // nil when it does not run
	p      *os.Process
	broken bool // could not be started: do not try for every command
}

// add lists the group; the child is already running.
func (g *guard) add(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live == nil {
		g.live = make(map[int]struct{})
	}
	g.live[pid] = struct{}{}
	if g.pipe != nil && g.send('+', pid) {
		return
	}
	g.restart()
}

// remove takes the group off the list; its leader is not reaped yet.
func (g *guard) remove(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.live, pid)
	if g.pipe != nil {
		g.send('-', pid)
	}
}

// adopt lists a group whose leader others wait for, until the function it returns.
func (g *guard) adopt(pid int) (release func()) {
	g.add(pid)
	return func() { g.remove(pid) }
}

// ready starts the guard if there is none.
func (g *guard) ready() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe == nil {
		g.restart()
	}
}

// close ends the guard and waits for it.
func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop()
	g.broken = true
}

func (g *guard) send(op byte, pid int) bool {
	_, err := fmt.Fprintf(g.pipe, "%c %d\n", op, pid)
	return err == nil
}

func (g *guard) restart() {
	g.stop()
	if g.broken {
		return
	}
	if err := g.start(); err != nil {
		g.broken = true
		return
	}
	for pid := range g.live {
		g.send('+', pid)
	}
}

func (g *guard) stop() {
	if g.pipe == nil {
		return
	}
	g.pipe.Close()
	g.pipe = nil
	_, _ = g.p.Wait()
}

func (g *guard) start() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		w.Close()
		return err
	}
	defer null.Close()
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", guardScript, "isotope-guard"}, &os.ProcAttr{
		Dir:   "/",
		Env:   []string{},
		Files: []*os.File{r, null, null},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		w.Close()
		return err
	}
	g.pipe, g.p = w, p
	return nil
}
