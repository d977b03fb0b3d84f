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
// stderr. On a terminal text streams as it comes, line by line where Markdown is dressed;
// into a pipe goes only the last answer, whole, so that scripts get what they asked for
// and nothing else.
type printer struct {
	out    io.Writer
	status *status       // nil when stderr is no terminal
	live   bool          // stdout is a terminal
	looks  *markdown     // how lines are dressed; nil leaves them as they are
	gone   chan struct{} // closed when stdout cannot be written any more

	mu    sync.Mutex
	open  bool   // a streamed line is unfinished
	line  string // the beginning of a line that is to be dressed
	final string
	spent llm.Usage
	err   error
}

// newPrinter makes a printer; live says that out is a terminal, colored that it may have
// colors.
func newPrinter(out io.Writer, live, colored bool, status *status) *printer {
	p := &printer{out: out, live: live, status: status, gone: make(chan struct{})}
	if live && colored {
		p.looks = &markdown{}
	}
	return p
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
			p.stream(harmless(d.Delta))
		}
	case event.MessageEnd:
		if m, ok := ev.Message.(*llm.AssistantMessage); ok {
			p.spent.Input += m.Usage.Input + m.Usage.CacheRead + m.Usage.CacheWrite
			p.spent.Output += m.Usage.Output
			p.spent.Cost.Total += m.Usage.Cost.Total
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

// stream writes a piece of an answer; of one that is dressed, the lines that are whole.
func (p *printer) stream(text string) {
	if p.looks == nil {
		p.status.hide() // the line is the answer's now
		p.write(text)
		return
	}
	for {
		line, rest, whole := strings.Cut(text, "\n")
		p.line += line
		if !whole {
			return
		}
		p.endLine()
		text = rest
	}
}

func (p *printer) endLine() {
	p.status.hide()
	p.write(p.looks.line(p.line) + "\n")
	p.line = ""
}

// answer ends a streamed answer, or keeps the text of one for the end. What was said
// before a tool call is not the answer, nor is what an error cut off.
func (p *printer) answer(m *llm.AssistantMessage) {
	switch {
	case p.live && p.looks != nil:
		if p.line != "" {
			p.endLine()
		}
		*p.looks = markdown{}
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
	took, ran := p.status.elapsed()
	p.status.stop()
	if whole && p.final != "" {
		p.write(p.final)
		if p.open {
			p.write("\n")
		}
	}
	if whole && ran {
		p.status.line(bill(took, p.spent))
	}
}

// bill says what an answer took: "3.2s, 1240 tokens in, 310 out, $0.0123".
func bill(took time.Duration, spent llm.Usage) string {
	text := took.Round(100 * time.Millisecond).String()
	if spent.Input+spent.Output > 0 {
		text += fmt.Sprintf(", %d tokens in, %d out", spent.Input, spent.Output)
	}
	if spent.Cost.Total > 0 {
		text += fmt.Sprintf(", $%.4f", spent.Cost.Total)
	}
	return text
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
