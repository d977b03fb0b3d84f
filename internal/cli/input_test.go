package cli

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// Field report 35: with an argument and a pipe that nobody closes the program says what
// it waits for, and goes on some time later.
func TestSilentStdin(t *testing.T) {
	world(t)
	lim := quick()
	lim.hint, lim.giveUp = time.Millisecond, 50*time.Millisecond
	in, w := io.Pipe()
	defer w.Close()
	got := callWith(t, stdio{in: in}, lim, "-p", "--model", script(t, `{"steps":[{"text":"heard {{user}}"}]}`), "hi")
	want := textStdinHint + "\nWarning: " + textStdinSilent + "\n"
	if got.code != 0 || got.out != "heard hi\n" || got.stderr != want {
		t.Errorf("got %+v", got)
	}
}

// A pipe that begins to speak is read to its end, however long that takes.
func TestStdinThatHasBegunIsReadWhole(t *testing.T) {
	world(t)
	lim := quick()
	lim.hint, lim.giveUp = time.Second, time.Second // a loaded machine may stand still for a while
	in, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, "first ")
		time.Sleep(1200 * time.Millisecond)
		_, _ = io.WriteString(w, "last\n")
		w.Close()
	}()
	got := callWith(t, stdio{in: in}, lim, "-p", "--model", script(t, `{"steps":[{"text":"heard {{user}}"}]}`), "hi")
	if got.code != 0 || got.out != "heard first last\nhi\n" || got.stderr != "" {
		t.Errorf("got %+v", got)
	}
}

// Without an argument the prompt must come from stdin: there is no giving up.
func TestStdinIsWaitedForWithoutArgument(t *testing.T) {
	world(t)
	lim := quick()
	lim.hint, lim.giveUp = time.Millisecond, time.Millisecond
	in, w := io.Pipe()
	go func() {
		time.Sleep(50 * time.Millisecond)
		_, _ = io.WriteString(w, "at last")
		w.Close()
	}()
	got := callWith(t, stdio{in: in}, lim, "-p", "--model", script(t, `{"steps":[{"text":"heard {{user}}"}]}`))
	if got.code != 0 || got.out != "heard at last\n" || got.stderr != "" {
		t.Errorf("got %+v", got)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("bad pipe") }

func TestStdinThatFails(t *testing.T) {
	world(t)
	got := callWith(t, stdio{in: brokenReader{}}, quick(), "-p", "--model", "scripted/demo", "hi")
	if got.code != 1 || got.out != "" || got.stderr != "Error: reading standard input: bad pipe\n" {
		t.Errorf("got %+v", got)
	}
}

// On a terminal standard input is the user's keyboard, not a prompt.
func TestTerminalStdinIsNotRead(t *testing.T) {
	world(t)
	model := script(t, `{"steps":[{"text":"heard {{user}}"}]}`)
	got := callWith(t, stdio{in: brokenReader{}, inTerm: true}, quick(), "-p", "--model", model, "hi")
	if got.code != 0 || got.out != "heard hi\n" {
		t.Errorf("got %+v", got)
	}
	got = callWith(t, stdio{in: brokenReader{}, inTerm: true}, quick(), "-p", "--model", model)
	if got.code != 1 || !strings.Contains(got.stderr, textNoPrompt) {
		t.Errorf("got %+v", got)
	}
}
