package proc

import (
	"syscall"
	"time"
)

func killGroup(pgid int) { _ = syscall.Kill(-pgid, syscall.SIGKILL) }

// nap sleeps on the thread: the runtime's own timers are no finer than 1 ms here.
func nap(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil)
}
