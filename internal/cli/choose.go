package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/auth"
	"github.com/isotope-agent/isotope/internal/session"
)

// Texts of --resume.
const (
	textResume     = "--resume needs a terminal to choose in: use --continue for the newest session, or --session with an id or a path"
	textNoneToOpen = "There are no sessions of this folder yet. Start one with a prompt, or open another with --session and its path or id"
	textNotChosen  = "No session was chosen"
	textWhich      = "The number of a session, nothing for none"
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
	q := auth.Question{Method: auth.MethodSelect, Prompt: auth.Prompt{Message: textWhich}}
	now := time.Now()
	for _, info := range list {
		q.Prompt.Options = append(q.Prompt.Options, auth.Option{ID: info.Path, Label: fmt.Sprintf("%-8s  %s", age(now.Sub(info.Modified)), title(info))})
	}
	path, err = newTerminal(a.std).Ask(ctx, q)
	if errors.Is(err, auth.ErrCancelled) {
		err = errors.New(textNotChosen)
	}
	return path, err
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
