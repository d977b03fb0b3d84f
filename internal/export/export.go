package export

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

// Options say what a page shows beside the session. The zero value is valid.
type Options struct {
	// Title of the page; "" takes the name of the session, else its first words.
	Title string
	// SystemPrompt and Tools are shown when the caller knows them: they belong to a
	// running engine, not to a file.
	SystemPrompt string
	Tools        []llm.ToolSpec
	// Dialect names the program the page says it comes from; "" means isotope.
	Dialect string
	// Now is the time of the export; zero leaves it out.
	Now time.Time
}

// writeBuffer is what collects before a write.
const writeBuffer = 64 << 10

// HTML writes the page of a session. An error is the writer's or that of reading the
// session; what was written before it is no page.
func HTML(w io.Writer, v *session.View, opt Options) error {
	p := pageWriter{out: bufio.NewWriterSize(w, writeBuffer), v: v, opt: opt}
	if p.opt.Dialect == "" {
		p.opt.Dialect = "isotope"
	}
	if err := p.write(); err != nil {
		return err
	}
	return p.out.Flush()
}

// pageWriter writes one page.
type pageWriter struct {
	out    *bufio.Writer
	v      *session.View
	opt    Options
	models []string // all that took part, in order of appearance
}

func (p *pageWriter) write() error {
	title, err := p.title()
	if err != nil {
		return err
	}
	page := assets()
	for _, part := range []string{page.head, escapeHTML(title), page.body} {
		p.out.WriteString(part)
	}
	stats, err := p.indexed()
	if err != nil {
		return err
	}
	if err := p.meta(title, stats); err != nil {
		return err
	}
	p.out.WriteString(page.script)
	if err := p.entries(); err != nil {
		return err
	}
	_, err = p.out.WriteString(page.end)
	return err
}

// indexed writes the index, and counts what meta shows at the same time.
func (p *pageWriter) indexed() (stats session.Stats, err error) {
	var failed error
	var counting sync.WaitGroup
	counting.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				failed = fmt.Errorf("counting: %v", r)
			}
		}()
		stats, failed = p.v.Stats()
	})
	err = p.index()
	counting.Wait()
	if err == nil && failed != nil {
		err = fmt.Errorf("exporting a session: %w", failed)
	}
	return stats, err
}

// titleRunes bounds a title that comes from the session.
const titleRunes = 90

func (p *pageWriter) title() (string, error) {
	if t := strings.TrimSpace(p.opt.Title); t != "" {
		return t, nil
	}
	if name := p.v.Name(); name != "" {
		return name, nil
	}
	for i := range p.v.Len() {
		if p.v.Head(i).Role != llm.RoleUser {
			continue
		}
		raw, err := p.v.Outline(i)
		if err != nil {
			return "", fmt.Errorf("exporting a session: %w", err)
		}
		if text := string(contentPreview(nil, member(p.v.Message(i, raw), "content"), titleRunes)); text != "" {
			return text, nil
		}
	}
	return "Session " + p.v.Header().ID, nil
}

// meta is what the page shows about the session as a whole.
type meta struct {
	Format       int            `json:"format"` // of the page's data
	Title        string         `json:"title"`
	Dialect      string         `json:"dialect"`
	ExportedAt   string         `json:"exportedAt,omitzero"`
	File         string         `json:"file,omitzero"` // base name of the session file
	Header       jsonx.Raw      `json:"header"`
	Name         string         `json:"name,omitzero"`
	LeafID       string         `json:"leafId,omitzero"`
	Entries      int            `json:"entries"`
	Models       []string       `json:"models"`
	Stats        session.Stats  `json:"stats"`
	SystemPrompt string         `json:"systemPrompt,omitzero"`
	Tools        []llm.ToolSpec `json:"tools"`
}

func (p *pageWriter) meta(title string, stats session.Stats) error {
	m := meta{
		Format: 1, Title: title, Dialect: p.opt.Dialect, Header: p.v.Header().Raw, Name: p.v.Name(),
		LeafID: p.v.LeafID(), Entries: p.v.Len(), Models: p.models, Stats: stats,
		SystemPrompt: p.opt.SystemPrompt, Tools: p.opt.Tools,
	}
	if path := p.v.Path(); path != "" {
		m.File = filepath.Base(path)
	}
	if !p.opt.Now.IsZero() {
		m.ExportedAt = p.opt.Now.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	raw, err := jsonx.Marshal(m)
	if err != nil {
		return fmt.Errorf("exporting a session: %w", err)
	}
	p.out.WriteString(`<script type="application/json" id="meta">`)
	p.out.Write(appendInert(nil, bytes.ReplaceAll(raw, []byte("\n"), []byte(" "))))
	_, err = p.out.WriteString("</script>\n")
	return err
}
