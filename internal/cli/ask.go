package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/isotope-agent/isotope/internal/auth"
)

// terminal talks to a person, or to a pipe: questions on stderr, answers from stdin, a
// line each. It implements auth.UI; a question that is withdrawn leaves its line to the
// next one.
type terminal struct {
	in     io.Reader
	out    io.Writer
	hidden func() (string, error) // reads a line without showing it; nil: as any other
	forget func()                 // shows again what is typed
	given  string                 // answers the secret question

	lines   *bufio.Reader
	pending chan answered // a line that is still being read
}

// textWrong answers what is no choice.
const textWrong = "That is no number from 1 to %d.\n"

type answered struct {
	text string
	err  error
}

func newTerminal(std stdio) *terminal {
	t := &terminal{in: std.in, out: std.err, forget: func() {}}
	if t.in == nil {
		t.in = strings.NewReader("")
	}
	t.lines = bufio.NewReader(t.in)
	if f, ok := std.in.(*os.File); ok && std.inTerm {
		fd := int(f.Fd())
		if shown, err := term.GetState(fd); err == nil {
			t.hidden = func() (string, error) { b, err := term.ReadPassword(fd); return string(b), err }
			t.forget = func() { _ = term.Restore(fd, shown) }
		}
	}
	return t
}

// Notify implements auth.UI.
func (t *terminal) Notify(n auth.Notice) {
	switch {
	case n.Auth != nil:
		t.say("Open this page to go on:\n\n  " + n.Auth.URL + "\n")
		t.say(n.Auth.Instructions)
	case n.Device != nil:
		t.say(fmt.Sprintf("Open %s and enter the code %s", n.Device.VerificationURI, n.Device.UserCode))
	default:
		t.say(n.Message)
	}
	for _, l := range n.Links {
		t.say(strings.TrimSpace(l.Label + " " + l.URL))
	}
}

func (t *terminal) say(text string) {
	if text != "" {
		fmt.Fprintln(t.out, harmless(text))
	}
}

// Ask implements auth.UI.
func (t *terminal) Ask(ctx context.Context, q auth.Question) (string, error) {
	if q.Secret && t.given != "" {
		return t.given, nil
	}
	for i, o := range q.Prompt.Options {
		t.say(fmt.Sprintf("%3d  %s", i+1, o.Label))
	}
	for {
		fmt.Fprint(t.out, harmless(question(q)))
		text, err := t.line(ctx, q.Secret)
		if err != nil {
			return "", err
		}
		if q.Method != auth.MethodSelect {
			return text, nil
		}
		if text == "" {
			return q.Cancelled()
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(q.Prompt.Options) {
			return q.Prompt.Options[n-1].ID, nil
		}
		fmt.Fprintf(t.out, textWrong, len(q.Prompt.Options))
	}
}

// question is the text in front of the cursor.
func question(q auth.Question) string {
	text := q.Prompt.Message
	if q.Method == auth.MethodCode && text == "" {
		text = "Paste the code or the address that the page ends on, or wait for the browser"
	}
	if q.Prompt.Placeholder != "" {
		text += " (" + q.Prompt.Placeholder + ")"
	}
	return text + ": "
}

// line returns a line without white space around it; the end of input gives the login up.
func (t *terminal) line(ctx context.Context, secret bool) (string, error) {
	if t.pending == nil {
		t.pending = make(chan answered, 1)
		go func(done chan answered) { // ends with a line, or with the process: reading cannot be interrupted
			var a answered
			if secret && t.hidden != nil {
				a.text, a.err = t.hidden()
				fmt.Fprintln(t.out)
			} else {
				a.text, a.err = t.lines.ReadString('\n')
			}
			done <- a
		}(t.pending)
	}
	select {
	case a := <-t.pending:
		t.pending = nil
		text := strings.TrimSpace(a.text)
		if a.err != nil && !(errors.Is(a.err, io.EOF) && text != "") {
			return "", auth.ErrCancelled
		}
		return text, nil
	case <-ctx.Done():
		t.forget()
		fmt.Fprintln(t.out)
		return "", auth.ErrCancelled
	}
}
