package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// printer is the output of print mode: the answer's text on stdout, what happens on
// stderr. On a terminal text streams as it comes; into a pipe goes only the last
// answer, whole, so that scripts get what they asked for and nothing else.
type printer struct {
	out    io.Writer
	status *status       // nil when stderr is no terminal
	live   bool          // stdout is a terminal
	gone   chan struct{} // closed when stdout cannot be written any more

	mu    sync.Mutex
	open  bool // a streamed line is unfinished
	final string
	err   error
}

func newPrinter(out io.Writer, live bool, status *status) *printer {
	return &printer{out: out, live: live, status: status, gone: make(chan struct{})}
}

// Emit implements engine.Output.
func (p *printer) Emit(ev event.Event) { p.Post(ev) }

// Post implements engine.Output.
func (p *printer) Post(ev event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev := ev.(type) {
	case event.MessageUpdate:
		if d, ok := ev.Update.(event.Delta); ok && d.Type == event.TypeTextDelta && p.live {
			p.status.hide() // the line is the answer's now
			p.write(harmless(d.Delta))
		}
	case event.MessageEnd:
		if m, ok := ev.Message.(*llm.AssistantMessage); ok {
			p.answer(m)
		}
	case event.AgentStart:
		p.status.show("thinking")
	case event.ToolExecutionStart:
		p.status.line(toolLine(ev.ToolName, ev.Args))
		p.status.show(ev.ToolName)
	case event.ToolExecutionEnd:
		p.status.show("thinking")
	case event.CompactionStart:
		p.status.show("compacting")
	case event.CompactionEnd:
		p.status.show("thinking")
	case event.AutoRetryStart:
		p.status.line(fmt.Sprintf("retrying in %s: %s", time.Duration(ev.DelayMs)*time.Millisecond, harmless(string(ev.ErrorMessage))))
	case event.AgentSettled:
		p.status.hide()
	}
}

// answer ends a streamed answer, or keeps the text of one for the end. What was said
// before a tool call is not the answer, nor is what an error cut off.
func (p *printer) answer(m *llm.AssistantMessage) {
	switch {
	case p.live:
		if p.open {
			p.write("\n")
		}
	case m.Failed():
		p.final = ""
	default:
		p.final = m.Content.PlainText("\n")
	}
}

// finish ends the status line and, with whole, writes the answer that was kept.
func (p *printer) finish(whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.stop()
	if whole && p.final != "" {
		p.write(p.final)
		if p.open {
			p.write("\n")
		}
	}
}

// isGone reports whether stdout could not be written.
func (p *printer) isGone() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

func (p *printer) write(s string) {
	if p.err != nil || s == "" {
		return
	}
	if _, err := io.WriteString(p.out, s); err != nil {
		p.err = err
		close(p.gone)
	}
	p.open = s[len(s)-1] != '\n'
}

// toolLine shows a tool call in one line: its name and its first argument.
func toolLine(name string, args jsonx.Raw) string {
	const limit = 100
	text := string(bytes.TrimSpace(args))
	var members map[string]jsonx.Raw
	if jsonx.Unmarshal(args, &members) == nil {
		for _, key := range []string{"command", "path", "pattern"} {
			var s string
			if raw, ok := members[key]; ok && jsonx.Unmarshal(raw, &s) == nil {
				text = s
				break
			}
		}
	}
	runes := []rune(strings.NewReplacer("\n", " ", "\t", " ").Replace(harmless(text)))
	if len(runes) > limit {
		runes = append(runes[:limit], '…')
	}
	return harmless(name) + " " + string(runes)
}

// harmless takes out of a text what a terminal would obey: control characters but for
// line feeds and tabs.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}
