//go:build unix

package js

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// OwnGroup gives a child a process group, so that it can be killed with its children.
func OwnGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func shellArgv(shell, command string) []string {
	if shell == "default" {
		shell = "/bin/sh"
	}
	return []string{shell, "-c", command}
}

var signals = sync.OnceValue(func() map[string]syscall.Signal {
	return map[string]syscall.Signal{
		"SIGHUP": syscall.SIGHUP, "SIGINT": syscall.SIGINT, "SIGQUIT": syscall.SIGQUIT, "SIGKILL": syscall.SIGKILL, "SIGTERM": syscall.SIGTERM,
		"SIGUSR1": syscall.SIGUSR1, "SIGUSR2": syscall.SIGUSR2, "SIGSTOP": syscall.SIGSTOP, "SIGCONT": syscall.SIGCONT, "SIGPIPE": syscall.SIGPIPE,
		"SIGABRT": syscall.SIGABRT, "SIGSEGV": syscall.SIGSEGV, "SIGALRM": syscall.SIGALRM,
	}
})

func signalOf(name string) syscall.Signal {
	if name == "" {
		return syscall.SIGTERM
	}
	if name == "0" {
		return 0
	}
	if s, ok := signals()[strings.ToUpper(name)]; ok {
		return s
	}
	return syscall.SIGTERM
}

// killGroup signals a child and its children.
func killGroup(c *exec.Cmd, signal string) {
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, signalOf(signal))
	}
}

func killPid(pid int, signal string) error {
	return os.NewSyscallError("kill", syscall.Kill(pid, signalOf(signal)))
}

// endSignal returns the signal that ended a process, "" for none.
func endSignal(state *os.ProcessState) (name string, number int) {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return "", 0
	}
	for name, s := range signals() {
		if s == ws.Signal() {
			return name, int(s)
		}
	}
	return "SIGTERM", int(ws.Signal())
}
