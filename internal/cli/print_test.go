package cli

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// On a terminal the text streams as it comes, tool calls are told, and the spinner is
// never drawn into a line of the answer.
func TestPrintOnATerminal(t *testing.T) {
	world(t)
	var screen buffer // both streams go to the same terminal
	model := script(t, `{"turn":0,"steps":[{"delayMs":1500},{"text":"Let me look."},{"toolCall":{"name":"ls","arguments":{"path":"sub\u001bfolder"}}}]},
		{"steps":[{"text":["It is ","\u001b]0;title\u0007empty","."],"delayMs":200}]}`)
	got := callWith(t, stdio{out: &screen, err: &screen, inTerm: true, outTerm: true, errTerm: true}, quick(),
		"-p", "--model", model, "--tools", "+ls", "go")
	text := screen.String()
	if got.code != 0 || !strings.Contains(text, "Let me look.\n") || !strings.Contains(text, "It is ]0;titleempty.\n") {
		t.Errorf("code %d, screen:\n%q", got.code, text)
	}
	if !strings.Contains(text, "\x1b[2mls subfolder\x1b[0m\n") {
		t.Errorf("no line about the tool: %q", text)
	}
	if !regexp.MustCompile(`\r\x1b\[K[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] thinking \d+s`).MatchString(text) {
		t.Errorf("no spinner: %q", text)
	}
	if !regexp.MustCompile(`It is \]0;titleempty\.\n\x1b\[2m[0-9hms.]+(, \d+ tokens in, \d+ out)?\x1b\[0m\n$`).MatchString(text) {
		t.Errorf("the answer and what it took do not end the screen: %q", text)
	}
}

// Lines of an answer are dressed when they are whole; without colors they are what the
// model wrote.
func TestPrinterDressesMarkdown(t *testing.T) {
	for _, tt := range []struct {
		colored bool
		want    string
	}{
		{true, "\x1b[1mDone\x1b[0m\n• \x1b[36mgo test\x1b[0m\n"},
		{false, "# Done\n- `go test`\n"},
	} {
		var out buffer
		p := newPrinter(&out, true, tt.colored, nil)
		for _, piece := range []string{"# Do", "ne\n- `go", " test`"} {
			p.Emit(event.MessageUpdate{Update: event.Delta{Type: event.TypeTextDelta, Delta: piece}})
		}
		p.Emit(say(llm.StopEnd, "# Done\n- `go test`"))
		p.finish(true)
		if got := out.String(); got != tt.want {
			t.Errorf("colored %t: %q, want %q", tt.colored, got, tt.want)
		}
	}
	usage := llm.Usage{Input: 1240, Output: 310, Cost: llm.Cost{Total: 0.01234}}
	if got := bill(3210*time.Millisecond, usage); got != "3.2s, 1240 tokens in, 310 out, $0.0123" {
		t.Errorf("%q", got)
	}
}

// NO_COLOR, --no-color and a dumb terminal take the colors away.
func TestNoColor(t *testing.T) {
	world(t)
	model := script(t, `{"turn":0,"steps":[{"toolCall":{"name":"read","arguments":{"path":"x"}}}]},{"steps":[{"text":"ok"}]}`)
	term := func() (stdio, *buffer) {
		b := &buffer{}
		return stdio{err: b, inTerm: true, errTerm: true}, b
	}
	std, errs := term()
	if callWith(t, std, quick(), "-p", "--model", model, "go"); !strings.Contains(errs.String(), "\x1b[2mread x") {
		t.Errorf("no color: %q", errs)
	}
	std, errs = term()
	if callWith(t, std, quick(), "-p", "--no-color", "--model", model, "go"); !strings.Contains(errs.String(), "read x\n") || strings.Contains(errs.String(), "\x1b[2m") {
		t.Errorf("--no-color: %q", errs)
	}
	for name, value := range map[string]string{"NO_COLOR": "1", "TERM": "dumb"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			std, errs := term()
			if callWith(t, std, quick(), "-p", "--model", model, "go"); strings.Contains(errs.String(), "\x1b[2m") {
				t.Errorf("%s: %q", name, errs)
			}
		})
	}
}

// What is said on a terminal while the spinner turns takes the spinner's line.
func TestWarningTakesTheSpinnersLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var screen buffer
		st := newStatus(&screen, false)
		st.show("thinking")
		time.Sleep(spinnerPause + time.Millisecond)
		if _, err := io.WriteString(st, "Warning: careful\n"); err != nil {
			t.Fatal(err)
		}
		st.hide()
		time.Sleep(time.Second)
		st.show("bash")
		time.Sleep(spinnerPause)
		st.stop()
		want := "\r\x1b[K⠋ thinking 0s" + "\r\x1b[KWarning: careful\n" + "\r\x1b[K⠙ bash 1s" + "\r\x1b[K"
		if got := screen.String(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		var none *status // stderr is no terminal
		none.show("x")
		none.line("x")
		none.hide()
		none.stop()
	})
}

// say is an assistant message as it ends.
func say(reason llm.StopReason, text string) event.MessageEnd {
	m := &llm.AssistantMessage{StopReason: reason}
	if text != "" {
		m.Content = llm.Content{&llm.Text{Text: text}}
	}
	return event.MessageEnd{Message: m}
}

func TestPrinterInAPipe(t *testing.T) {
	for _, tt := range []struct {
		name   string
		events []event.Event
		want   string
	}{
		{"the last answer", []event.Event{say(llm.StopToolUse, "Let me look."), say(llm.StopEnd, "Found.")}, "Found.\n"},
		{"an empty answer is no earlier one", []event.Event{say(llm.StopToolUse, "Let me look."), say(llm.StopEnd, "")}, ""},
		{"a cut answer", []event.Event{say(llm.StopLength, "half")}, "half\n"},
		{"a failed answer", []event.Event{say(llm.StopError, "half")}, ""},
		{"an answer with its own line feed", []event.Event{say(llm.StopEnd, "line\n")}, "line\n"},
		{"no streaming", []event.Event{event.MessageUpdate{Update: event.Delta{Type: event.TypeTextDelta, Delta: "x"}}}, ""},
	} {
		var out buffer
		p := newPrinter(&out, false, false, nil)
		for _, ev := range tt.events {
			p.Emit(ev)
		}
		p.finish(true)
		if out.String() != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, out.String(), tt.want)
		}
	}
	var out buffer
	p := newPrinter(&out, false, false, nil)
	p.Emit(say(llm.StopEnd, "Found."))
	if p.finish(false); out.String() != "" {
		t.Errorf("an interrupted run printed %q", out.String())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestPrinterWithoutReader(t *testing.T) {
	p := newPrinter(brokenWriter{}, true, false, nil)
	p.Emit(event.MessageUpdate{Update: event.Delta{Type: event.TypeTextDelta, Delta: "x"}})
	p.Emit(event.MessageUpdate{Update: event.Delta{Type: event.TypeTextDelta, Delta: "y"}})
	if !p.isGone() {
		t.Error("the printer did not notice")
	}
}

func TestToolLine(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{`{"command":"ls -l\nrm x"}`, "t ls -l rm x"},
		{`{"path":"a.txt","limit":3}`, "t a.txt"},
		{`{"pattern":"x","path":"d"}`, "t d"},
		{` {"other":1} `, `t {"other":1}`},
		{`{"command":` + `"` + strings.Repeat("é", 200) + `"}`, "t " + strings.Repeat("é", 100) + "…"},
		{`broken`, "t broken"},
	} {
		if got := toolLine("t", jsonx.Raw(tt.args)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.args, got, tt.want)
		}
	}
}
