package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal makes a terminal: what is written to tty can be read from screen.
func terminal(t *testing.T) (screen, tty *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	screen = os.NewFile(uintptr(fd), "screen")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		screen.Close()
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { screen.Close() })
	return screen, tty
}

// onTerminal runs print mode with a terminal for stderr, and for stdout too unless stdout
// is given. It returns the exit code and what the terminal got, without the spinner.
func onTerminal(t *testing.T, home, dir string, stdout *os.File, env []string, args ...string) (code int, shown string) {
	t.Helper()
	screen, tty := terminal(t)
	cmd := exec.Command("isotope", append([]string{"-p"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), homeEnv(home)...), append([]string{"TERM=xterm", "NO_COLOR="}, env...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	if stdout != nil {
		cmd.Stdout = stdout
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	all, err := io.ReadAll(screen) // the last one who has the terminal open gone, this ends with EIO
	if err != nil && !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	err = cmd.Wait()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(all), "\r\n", "\n")
	return cmd.ProcessState.ExitCode(), regexp.MustCompile(`\r\x1b\[K([⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] [a-z]+ \d+s)?`).ReplaceAllString(text, "")
}

// Print mode on a terminal: the answer is dressed, tools are told as they run, and at the
// end stands what it took: time, tokens and cost. Without colors, by flag, NO_COLOR or a
// dumb terminal, the answer is as the model wrote it, and the rest is told all the same.
func TestPrintOnATerminal(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	model := script(t, `{"turn":0,"steps":[{"toolCall":{"name":"read","arguments":{"path":"notes.txt"}}}],"usage":{"input":1200,"output":70,"costTotal":0.0123}},
		{"match":"cut","steps":[{"text":"half an \u001b]0;owned"}],"stopReason":"length"},
		{"steps":[{"text":["# Fou","nd\n- `+"`mi\",\"lk`"+`"]}],"usage":{"input":1200,"output":60,"costTotal":0.0123}}`)
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	const took = `\d[\d.]*m?s, 2400 tokens in, 130 out, \$0\.0246`
	dressed := regexp.MustCompile(`^\x1b\[2mread notes.txt\x1b\[0m\n\x1b\[1mFound\x1b\[0m\n• \x1b\[36mmilk\x1b\[0m\n\x1b\[2m` + took + `\x1b\[0m\n$`)
	plain := regexp.MustCompile("^read notes.txt\n# Found\n- `milk`\n" + took + "\n$")
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		want *regexp.Regexp
	}{
		{"colors", nil, nil, dressed},
		{"--no-color", nil, []string{"--no-color"}, plain},
		{"NO_COLOR", []string{"NO_COLOR=1"}, nil, plain},
		{"a dumb terminal", []string{"TERM=dumb"}, nil, plain},
	} {
		code, got := onTerminal(t, home, dir, nil, tt.env, append(tt.args, "--model", model, "go")...)
		if code != 0 || !tt.want.MatchString(got) {
			t.Errorf("%s: code %d, screen %q, want %s", tt.name, code, got, tt.want)
		}
	}

	// With only stderr on the terminal stdout gets the answer alone.
	file, err := os.Create(filepath.Join(dir, "answer"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	code, got := onTerminal(t, home, dir, file, nil, "--no-color", "--model", model, "go")
	answer, err := os.ReadFile(file.Name())
	if want := regexp.MustCompile("^read notes.txt\n" + took + "\n$"); code != 0 || !want.MatchString(got) || err != nil || string(answer) != "# Found\n- `milk`\n" {
		t.Errorf("code %d, screen %q, answer %q, %v", code, got, answer, err)
	}

	// A cut answer is shown, with a warning and exit code 1; a terminal obeys none of it.
	code, got = onTerminal(t, home, dir, nil, nil, "--no-color", "--model", model, "cut")
	if code != 1 || !strings.Contains(got, "half an ]0;owned\n") || !strings.Contains(got, "Warning: the answer was cut off at the output token limit\n") {
		t.Errorf("a cut answer: code %d, screen %q", code, got)
	}
}
