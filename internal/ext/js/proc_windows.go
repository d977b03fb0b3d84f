package js

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// OwnGroup gives a child a process group.
func OwnGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func shellArgv(shell, command string) []string {
	if shell == "default" {
		return []string{"cmd.exe", "/d", "/s", "/c", command}
	}
	return []string{shell, "-c", command}
}

// killGroup ends a child with its children; Windows has no signals.
func killGroup(c *exec.Cmd, _ string) {
	if c.Process == nil {
		return
	}
	if err := exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(c.Process.Pid)).Run(); err != nil {
		_ = c.Process.Kill()
	}
}

func killPid(pid int, signal string) error {
	p, err := os.FindProcess(pid)
	if err != nil || signal == "0" {
		return err
	}
	return p.Kill()
}

func endSignal(*os.ProcessState) (name string, number int) { return "", 0 }
