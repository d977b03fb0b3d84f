package proc

import (
	"syscall"
	"time"
)

// killGroup stops the group first: this kernel signals the members one by one, and
// a shell that outlives its command for a moment would start the next one.
func killGroup(pgid int) {
	_ = syscall.Kill(-pgid, syscall.SIGSTOP)
	_ = syscall.Kill(-pgid, syscall.SIGKILL)
}

func nap(d time.Duration) { time.Sleep(d) }
