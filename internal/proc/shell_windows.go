package proc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const errNoBash = "No bash shell found. Install Git for Windows, put a bash.exe on PATH, or set shellPath in settings.json."

// defaultShell looks for Git Bash where its installer puts it, then for a bash.exe
// on PATH that is not the launcher of the Linux subsystem: that one has other
// paths and another environment.
func defaultShell() (string, error) {
	for _, name := range []string{"ProgramFiles", "ProgramFiles(x86)"} {
		if dir := os.Getenv(name); dir != "" {
			path := filepath.Join(dir, "Git", "bin", "bash.exe")
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
	}
	path, err := exec.LookPath("bash.exe")
	if err != nil || isSubsystemLauncher(path) {
		return "", errors.New(errNoBash)
	}
	return path, nil
}

func isSubsystemLauncher(path string) bool {
	root := os.Getenv("SystemRoot")
	if root == "" {
		root = `C:\Windows`
	}
	for _, dir := range []string{"System32", "Sysnative"} {
		if strings.EqualFold(filepath.Clean(path), filepath.Join(root, dir, "bash.exe")) {
			return true
		}
	}
	return false
}
