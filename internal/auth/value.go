package auth

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// commandTimeout bounds a "!command" value.
const commandTimeout = 10 * time.Second

var (
	errCommandTime  = errors.New("its command took longer than 10 seconds")
	errCommandEmpty = errors.New("its command printed nothing")
)

// values resolves config values: "!command" is what the command prints, trimmed;
// $NAME and ${NAME} stand for variables; $$ is $, $! is !; the rest is literal.
// Results of commands are kept for the life of the process, failures are not.
type values struct {
	run func(ctx context.Context, command string) (string, error)

	mu      sync.Mutex
	flights map[string]*flight
}

// flight is a command that runs or has run.
type flight struct {
	done  chan struct{}
	value string
	err   error
}

func (v *values) resolve(ctx context.Context, value string, env func(string) (string, bool)) (string, error) {
	if command, ok := strings.CutPrefix(value, "!"); ok {
		return v.command(ctx, command)
	}
	var missing []string
	text := expand(value, func(name string) string {
		found, ok := env(name)
		if !ok || found == "" {
			missing = append(missing, name)
		}
		return found
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("%s is not set", strings.Join(missing, ", "))
	}
	return text, nil
}

// missingVariables returns the variables that a value needs and that are not set.
func missingVariables(value string, env func(string) (string, bool)) []string {
	if strings.HasPrefix(value, "!") {
		return nil
	}
	var missing []string
	expand(value, func(name string) string {
		if found, ok := env(name); (!ok || found == "") && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
		return ""
	})
	return missing
}

// expand replaces the variables of a value.
func expand(value string, variable func(name string) string) string {
	var out strings.Builder
	for {
		i := strings.IndexByte(value, '$')
		if i < 0 || i+1 == len(value) {
			out.WriteString(value)
			return out.String()
		}
		out.WriteString(value[:i])
		value = value[i+1:]
		switch c := value[0]; {
		case c == '$' || c == '!':
			out.WriteByte(c)
			value = value[1:]
		case c == '{':
			end := strings.IndexByte(value, '}')
			if end < 0 {
				out.WriteByte('$')
				continue
			}
			if name := value[1:end]; name != "" && nameLen(name) == len(name) {
				out.WriteString(variable(name))
			} else {
				out.WriteString("$" + value[:end+1])
			}
			value = value[end+1:]
		default:
			n := nameLen(value)
			if n == 0 {
				out.WriteByte('$')
				continue
			}
			out.WriteString(variable(value[:n]))
			value = value[n:]
		}
	}
}

// nameLen returns the length of the name of a variable at the start of s.
func nameLen(s string) int {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}

// command returns what a command prints. The first caller runs it, others wait; when
// the first gives up, the next one runs it.
func (v *values) command(ctx context.Context, command string) (string, error) {
	for {
		v.mu.Lock()
		f, known := v.flights[command]
		if !known {
			f = &flight{done: make(chan struct{})}
			if v.flights == nil {
				v.flights = map[string]*flight{}
			}
			v.flights[command] = f
		}
		v.mu.Unlock()
		if !known {
			f.value, f.err = v.execute(ctx, command)
			if f.err != nil {
				v.mu.Lock()
				delete(v.flights, command)
				v.mu.Unlock()
			}
			close(f.done)
			return f.value, f.err
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		if f.err == nil || !errors.Is(f.err, context.Canceled) {
			return f.value, f.err
		}
	}
}

func (v *values) execute(ctx context.Context, command string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	out, err := v.run(limited, command)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "", errCommandTime
	case err != nil:
		if exit, ok := errors.AsType[*exec.ExitError](err); ok { // its text has no output of the command
			return "", fmt.Errorf("its command failed: %s", exit.ProcessState)
		}
		return "", errors.New("its command could not be run")
	}
	if out = strings.TrimSpace(out); out == "" {
		return "", errCommandEmpty
	}
	return out, nil
}

// runShell runs a command in the system's shell, without stdin; stderr is dropped.
func runShell(ctx context.Context, command string) (string, error) {
	name, flag := "sh", "-c"
	if runtime.GOOS == "windows" {
		name, flag = "cmd", "/C"
	}
	cmd := exec.CommandContext(ctx, name, flag, command)
	cmd.WaitDelay = time.Second // a grandchild that keeps the pipe must not keep us
	out, err := cmd.Output()
	return string(out), err
}
