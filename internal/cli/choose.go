package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/session"
)

// Texts of --resume.
const (
	textResume     = "--resume needs a terminal to choose in: use --continue for the newest session, or --session with an id or a path"
	textNoneToOpen = "There are no sessions of this folder yet. Start one with a prompt, or open another with --session and its path or id"
	textNotChosen  = "No session was chosen"
	textWhich      = "Which one (1-%d, nothing for none)? "
	textWrong      = "That is no number from 1 to %d.\n"
)

// listLength is how many sessions --resume offers, the newest: what a screen holds.
const listLength = 20

// chooseSession lets a person choose among the sessions of this folder.
func (a *app) chooseSession(ctx context.Context) (path string, err error) {
	if !a.std.inTerm || !a.std.errTerm {
		return "", errors.New(textResume)
	}
	list := session.List(a.folders()...)
	list = list[:min(len(list), listLength)]
	if len(list) == 0 {
		return "", errors.New(textNoneToOpen)
	}
	now := time.Now()
	for i, info := range list {
		fmt.Fprintf(a.std.err, "%3d  %-8s  %s\n", i+1, age(now.Sub(info.Modified)), title(info))
	}
	type outcome struct {
		n   int
		err error
	}
	done := make(chan outcome, 1)
	go func() { // ends with a line, or with the process: a terminal cannot be interrupted
		n, err := ask(a.std.in, a.std.err, len(list))
		done <- outcome{n, err}
	}()
	select {
	case o := <-done:
		if o.err != nil {
			return "", o.err
		}
		return list[o.n-1].Path, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// ask returns a number from 1 to limit that is typed in.
func ask(in io.Reader, out io.Writer, limit int) (int, error) {
	lines := bufio.NewScanner(in)
	for {
		fmt.Fprintf(out, textWhich, limit)
		if !lines.Scan() || strings.TrimSpace(lines.Text()) == "" {
			return 0, errors.New(textNotChosen)
		}
		if n, err := strconv.Atoi(strings.TrimSpace(lines.Text())); err == nil && n >= 1 && n <= limit {
			return n, nil
		}
		fmt.Fprintf(out, textWrong, limit)
	}
}

// title is a session in one line: its name, or what it began with.
func title(info session.Info) string {
	const width = 80
	text := info.Name
	if text == "" {
		text = info.FirstMessage
	}
	runes := []rune(strings.Join(strings.Fields(harmless(text)), " "))
	if len(runes) > width {
		runes = append(runes[:width-1], '…')
	}
	return string(runes)
}

// age is a time that has passed, in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}
