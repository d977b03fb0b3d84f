//go:build unix

package proc

import (
	"os"
	"os/exec"
)

func defaultShell() (string, error) {
	const usual = "/bin/bash"
	if _, err := os.Stat(usual); err == nil {
		return usual, nil
	}
	if path, err := exec.LookPath("bash"); err == nil {
		return path, nil
	}
	if path, err := exec.LookPath("sh"); err == nil {
		return path, nil
	}
	return "/bin/sh", nil
}
