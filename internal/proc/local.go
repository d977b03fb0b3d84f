package proc

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// grace is how long a command's output may stay silent after its shell has ended.
	grace = 100 * time.Millisecond
	// killWait is how long a killed shell may take to die. One that hangs in the
	// kernel (a dead network file system) is left behind and reaped when it ends.
	killWait = 2 * time.Second
)

// Local runs commands on this machine.
type Local struct {
	guard  guard
	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	runs   sync.WaitGroup
}

// New returns a runner that starts nothing until the first command.
func New() *Local {
	l := &Local{}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l
}

// Close kills the commands that run, waits for their Run calls to return, and ends
// the guard. Commands that come later fail with ErrClosed. It waits as long as
// output is being taken; a shell that cannot die is not waited for.
func (l *Local) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel(ErrClosed)
	l.runs.Wait()
	l.guard.close()
	return nil
}

// Run implements Runner.
func (l *Local) Run(ctx context.Context, c Cmd, out func(Chunk)) (Exit, error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return Exit{}, ErrClosed
	}
	l.runs.Add(1)
	l.mu.Unlock()
	defer l.runs.Done()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(ErrClosed) })()
	if ctx.Err() != nil {
		return Exit{}, context.Cause(ctx)
	}
	s, err := newStreams()
	if err != nil {
		return Exit{}, fmt.Errorf("opening pipes for a command: %w", err)
	}
	ch, err := l.start(c, s)
	if err != nil {
		s.closeAll()
		return Exit{}, err
	}
	s.closeWriters()
	s.pump(out)
	return follow(ctx, ch, s)
}

func (l *Local) start(c Cmd, s *streams) (*child, error) {
	if err := checkDir(c.Dir); err != nil {
		return nil, err
	}
	argv, err := c.Shell.argv(c.Command)
	if err != nil {
		return nil, err
	}
	l.guard.ready()
	ch, err := start(argv, c.Dir, environ(c), s.w[0], s.w[1], l.guard.remove)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", argv[0], err)
	}
	l.guard.add(ch.pid)
	go ch.watch()
	return ch, nil
}

// environ is the command's environment, with PWD naming its directory as a shell
// would have it: a session opened through a symbolic link shows the link.
func environ(c Cmd) []string {
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, "PWD=") {
			out = append(out, kv)
		}
	}
	return append(out, "PWD="+c.Dir)
}

// follow sees a running command through: until its shell has ended and its output
// is closed or silent, or until ctx has ended and everything is killed.
func follow(ctx context.Context, ch *child, s *streams) (Exit, error) {
	var (
		done   = ctx.Done()
		exited = ch.exited
		eof    = s.eof
		killed = false // ctx ended
		early  = false // the shell ended before ctx did
		timer  = time.NewTimer(time.Hour)
	)
	timer.Stop()
	defer timer.Stop()
	for exited != nil || eof != nil {
		select {
		case <-done:
			done, killed, early = nil, true, exited == nil
			ch.kill()
			if early {
				timer.Reset(grace)
			} else {
				timer.Reset(killWait)
			}
		case <-exited:
			exited = nil
			timer.Reset(grace)
		case <-eof:
			eof = nil
		case <-timer.C:
			switch quiet := s.silence(); {
			case exited != nil: // killed, and hanging in the kernel
				s.stop()
				ch.abandon()
				return Exit{}, context.Cause(ctx)
			case !killed && quiet < grace:
				timer.Reset(grace - quiet)
			default:
				exited, eof = nil, nil
			}
		}
	}
	s.stop()
	exit := ch.reap()
	exit.Exited = !killed || early
	if killed {
		return exit, context.Cause(ctx)
	}
	return exit, nil
}
