package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/picture"
)

// Texts about what comes in.
const (
	textStdinHint   = "Waiting for standard input to end; close it (</dev/null) if nothing is to come."
	textStdinSilent = "standard input stayed silent; going on without it"
	textNoPrompt    = "no prompt: give one as an argument or on standard input (see --help)"
)

// prompts builds what a JSON or print run sends, in order: the first prompt holds
// piped input, the @files in first, and the first argument; each further argument is
// one of its own.
func (a *app) prompts(ctx context.Context, first engine.Input) ([]engine.Input, error) {
	args := a.flags.args
	piped, err := a.readStdin(ctx, len(args) > 0)
	if err != nil {
		return nil, err
	}
	if len(args) > 0 {
		first.Text += args[0]
		args = args[1:]
	}
	if piped != "" {
		first.Text = strings.TrimSuffix(piped+"\n"+first.Text, "\n")
	}
	if strings.TrimSpace(first.Text) == "" && len(first.Images) == 0 {
		return nil, errors.New(textNoPrompt)
	}
	list := []engine.Input{first}
	for _, text := range args {
		list = append(list, engine.Input{Kind: engine.InputPrompt, Text: text})
	}
	return list, nil
}

// readStdin reads piped input to its end. With an argument at hand it does not wait
// for ever for a pipe that nobody writes to or closes.
func (a *app) readStdin(ctx context.Context, haveArgument bool) (string, error) {
	if a.std.in == nil || a.std.inTerm {
		return "", nil
	}
	stdin := a.std.in
	type outcome struct {
		text string
		err  error
	}
	first, done := make(chan struct{}), make(chan outcome, 1)
	go func() { // ends with stdin, or with the process
		var b strings.Builder
		buf := make([]byte, 64<<10)
		n, err := stdin.Read(buf)
		b.Write(buf[:n])
		close(first)
		for err == nil {
			n, err = stdin.Read(buf)
			b.Write(buf[:n])
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		done <- outcome{b.String(), err}
	}()
	var soon, late <-chan time.Time // late comes behind soon
	if haveArgument {
		soon = time.After(a.limits.hint)
	}
	for {
		select {
		case <-first:
			first, soon, late = nil, nil, nil
		case <-soon:
			soon, late = nil, time.After(a.limits.giveUp-a.limits.hint)
			a.note(textStdinHint)
		case <-late:
			a.warn(textStdinSilent)
			return "", nil
		case o := <-done:
			if o.err != nil {
				return "", fmt.Errorf("reading standard input: %w", o.err)
			}
			return strings.TrimSpace(o.text), nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// attachFiles turns @file arguments into text and pictures; empty files are skipped.
func (a *app) attachFiles() (engine.Input, error) {
	in := engine.Input{Kind: engine.InputPrompt}
	for _, path := range a.flags.files {
		if path == "~" || strings.HasPrefix(path, "~/") {
			path = a.home + path[1:]
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(a.started, path)
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			return in, fmt.Errorf("File not found: %s", path)
		}
		if err != nil {
			return in, fmt.Errorf("Could not read file %s: %w", path, err)
		}
		if len(data) == 0 {
			continue
		}
		if mime := picture.Sniff(data); mime != "" {
			in.Images = append(in.Images, llm.NewImage(base64.StdEncoding.EncodeToString(data), mime))
			in.Text += fmt.Sprintf("<file name=\"%s\"></file>\n", path)
			continue
		}
		in.Text += fmt.Sprintf("<file name=\"%s\">\n%s\n</file>\n", path, data)
	}
	return in, nil
}
