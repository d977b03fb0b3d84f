package proc

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Shell says which shell runs commands. Path is the shellPath setting, "" for the
// default: on Unix /bin/bash, else bash on PATH, else sh; on Windows Git Bash, else
// bash on PATH. Prefix is the shellCommandPrefix setting: a line put before every
// command.
type Shell struct {
	Path   string
	Prefix string
}

// argv returns the argument vector that runs command.
func (s Shell) argv(command string) ([]string, error) {
	path := s.Path
	if path == "" {
		var err error
		if path, err = defaultShell(); err != nil {
			return nil, err
		}
	} else if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf(errNoShellPath, path)
	}
	if s.Prefix != "" {
		command = s.Prefix + "\n" + command
	}
	if strings.IndexByte(command, 0) >= 0 {
		return nil, errors.New(errNUL)
	}
	return []string{path, "-c", command}, nil
}

func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return fmt.Errorf(errNoDir, dir)
	case !info.IsDir():
		return fmt.Errorf(errNotDir, dir)
	}
	return nil
}
