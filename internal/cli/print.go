package cli

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// printer is the output of print mode: the answer's text on stdout, what happens on
// stderr. On a terminal text streams as it comes; into a pipe goes only the last
// answer, whole, so that scripts get what they asked for and nothing else.
type printer struct {
	mu     sync.Mutex
	out    io.Writer
	status *status // nil when stderr is no terminal
	live   bool    // stdout is a terminal
	open   bool    // a streamed line is unfinished
	final  string
	err    error
}

func newPrinter(out io.Writer, live bool, status *status) *printer {
	return &printer{out: out, live: live, status: status}
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
			p.status.clear()
			p.write(d.Delta)
		}
	case event.MessageEnd:
		if m, ok := ev.Message.(*llm.AssistantMessage); ok {
			p.answer(m)
		}
	case event.AgentStart:
		p.status.start("thinking")
	case event.ToolExecutionStart:
		p.status.line(toolLine(ev.ToolName, ev.Args))
		p.status.start(ev.ToolName)
	case event.ToolExecutionEnd:
		p.status.start("thinking")
	case event.AutoRetryStart:
		p.status.line(fmt.Sprintf("retrying in %s: %s", time.Duration(ev.DelayMs)*time.Millisecond, ev.ErrorMessage))
	case event.AgentSettled:
		p.status.stop()
	}
}

// answer ends a streamed answer, or keeps the text of one for the end.
func (p *printer) answer(m *llm.AssistantMessage) {
	text := m.Content.PlainText("\n")
	if p.live {
		if p.open {
			p.write("\n")
			p.open = false
		}
		return
	}
	if text != "" {
		p.final = text
	}
}

// finish writes the answer that was kept. The error is that of stdout.
func (p *printer) finish() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.stop()
	if p.final != "" {
		p.write(p.final + "\n")
		p.final = ""
	}
	return p.err
}

func (p *printer) write(s string) {
	if _, err := io.WriteString(p.out, s); err != nil && p.err == nil {
		p.err = err
	}
	p.open = len(s) > 0 && s[len(s)-1] != '\n'
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
	runes := []rune(text)
	for i, r := range runes {
		if r < ' ' || r == 0x7f {
			runes[i] = ' '
		}
	}
	if len(runes) > limit {
		runes = append(runes[:limit], '…')
	}
	return name + " " + string(runes)
}
