package cli

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/auth"
)

// A login in a terminal shows its notices and takes its answers by line: a number for a
// choice, asked for again when it is wrong.
func TestTerminalLogin(t *testing.T) {
	var out buffer
	ui := newTerminal(stdio{in: strings.NewReader("9\n 2 \ncode\n"), err: &out})
	ui.Notify(auth.Notice{Method: auth.MethodAuth, Auth: &auth.AuthURL{URL: "https://example.com/\x1b[2J", Instructions: "Then come back."}})
	ui.Notify(auth.Notice{Method: auth.MethodDevice, Device: &auth.DeviceCode{UserCode: "AB-12", VerificationURI: "https://example.com/device"}})
	ui.Notify(auth.Notice{Method: auth.MethodInfo, Message: "Read this", Links: []auth.Link{{Label: "Help", URL: "https://example.com/help"}}})
	got, err := ui.Ask(t.Context(), auth.Question{Method: auth.MethodSelect, Prompt: auth.Prompt{Message: "How", Options: []auth.Option{{ID: "a", Label: "Browser"}, {ID: "b", Label: "Device"}}}})
	if got != "b" || err != nil {
		t.Errorf("chose %q, %v", got, err)
	}
	if got, err := ui.Ask(t.Context(), auth.Question{Method: auth.MethodCode}); got != "code" || err != nil {
		t.Errorf("code %q, %v", got, err)
	}
	if _, err := ui.Ask(t.Context(), auth.Question{Method: auth.MethodPrompt, Prompt: auth.Prompt{Message: "More"}}); err != auth.ErrCancelled {
		t.Errorf("at the end of input: %v", err)
	}
	want := "Open this page to go on:\n\n  https://example.com/[2J\n\nThen come back.\n" +
		"Open https://example.com/device and enter the code AB-12\nRead this\nHelp https://example.com/help\n" +
		"  1  Browser\n  2  Device\nHow: That is no number from 1 to 2.\nHow: " +
		"Paste the code or the address that the page ends on, or wait for the browser: More: "
	if out.String() != want {
		t.Errorf("shown:\n%q\nwant:\n%q", out.String(), want)
	}
}

// A question that is withdrawn, because the browser gave the answer, returns at once, and
// the line that was being typed answers the next one.
func TestTerminalQuestionIsWithdrawn(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close()
	var out buffer
	ui := newTerminal(stdio{in: in, err: &out})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ui.Ask(ctx, auth.Question{Method: auth.MethodCode}); err != auth.ErrCancelled {
		t.Fatal(err)
	}
	go io.WriteString(typed, "late\n")
	if got, err := ui.Ask(t.Context(), auth.Question{Method: auth.MethodPrompt}); got != "late" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
}
