package export

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/isotope-agent/isotope/internal/session"
)

// blockEntries is the number of entries of one block of the index.
const blockEntries = 2048

// index writes the index: blocks of columns, so that a browser reads 200,000 rows in a
// moment. The columns of a block are
//
//	k  the kinds, a character each (see kinds.go)
//	f  the outcomes, a character each: "-" as usual, e failed, a aborted, c cut off
//	id the ids
//	p  [row, parent id] where the parent is not the row before; 0 stands for a root
//	t  the times in milliseconds, each less the one before it
//	n  the sizes of the entries in bytes
//	s  the first words
//	to [row, target id] of labels
//
// Blocks are made by several goroutines and written in their order.
func (p *pageWriter) index() error {
	blocks := (p.v.Len() + blockEntries - 1) / blockEntries
	maker := func() func(int, *block) error {
		d := describer{seen: map[string]bool{}}
		return func(k int, b *block) error { return p.describe(k, b, &d) }
	}
	seen := map[string]bool{}
	return inOrder(blocks, maker, func(b *block) error {
		for _, name := range b.models {
			if !seen[name] && len(p.models) < maxModels {
				seen[name] = true
				p.models = append(p.models, name)
			}
		}
		return p.flush(b)
	})
}

// describe fills a block: the k-th of the index.
func (p *pageWriter) describe(k int, b *block, d *describer) error {
	b.reset()
	d.models = nil
	from := k * blockEntries
	to := min(from+blockEntries, p.v.Len())
	before := ""
	if from > 0 {
		before = p.v.Head(from - 1).ID
	}
	for i := from; i < to; {
		n, err := d.read(p.v, i, to)
		if err != nil {
			return err
		}
		for rest := d.lines; n > 0; n-- {
			end := bytes.IndexByte(rest, '\n')
			e, raw, message := p.v.Head(i), rest[:end], []byte(nil)
			if e.Type == session.TypeMessage {
				message = p.v.Message(i, raw)
			}
			b.add(e, before, p.v.Size(i), d.describe(e, message, raw))
			before, rest = e.ID, rest[end+1:]
			i++
		}
	}
	b.models = d.models
	return nil
}

// read reads the lines of entries from number i on, some of those before to, and
// returns how many. A long entry comes alone, as its outline.
func (d *describer) read(v *session.View, i, to int) (n int, err error) {
	if v.Size(i) >= longEntry {
		raw, err := v.Outline(i)
		d.lines = append(append(d.lines[:0], raw...), '\n')
		return 1, err
	}
	for size := 0; i+n < to && size < readBytes && v.Size(i+n) < longEntry; n++ {
		size += v.Size(i + n)
	}
	d.lines, err = v.AppendLines(d.lines[:0], i, i+n)
	return n, err
}

// readBytes is about how much of the session is read at once to describe it.
const readBytes = 128 << 10

func (p *pageWriter) flush(b *block) error {
	p.out.WriteString(`<script type="application/json" class="index">{"k":"`)
	p.out.Write(b.kinds)
	p.out.WriteString(`","f":"`)
	p.out.Write(b.outcomes)
	p.out.WriteByte('"')
	for _, c := range []struct {
		name  string
		cells []byte
	}{{"id", b.ids}, {"p", b.parents}, {"t", b.times}, {"n", b.sizes}, {"s", b.texts}, {"to", b.targets}} {
		p.out.WriteString(`,"` + c.name + `":[`)
		p.out.Write(bytes.TrimPrefix(c.cells, []byte(",")))
		p.out.WriteByte(']')
	}
	_, err := p.out.WriteString("}</script>\n")
	return err
}

// block collects rows of the index, a column each. Cells begin with a comma.
type block struct {
	rows                                       int
	last                                       int64    // time of the row before
	models                                     []string // those that appeared first in this block
	kinds, outcomes                            []byte
	ids, parents, times, sizes, texts, targets []byte
}

func (b *block) reset() {
	*b = block{
		kinds: b.kinds[:0], outcomes: b.outcomes[:0], ids: b.ids[:0], parents: b.parents[:0],
		times: b.times[:0], sizes: b.sizes[:0], texts: b.texts[:0], targets: b.targets[:0],
	}
}

// add adds a row; before is the id of the entry before it.
func (b *block) add(e session.Entry, before string, size int, d description) {
	b.kinds = append(b.kinds, d.kind)
	b.outcomes = append(b.outcomes, d.outcome)
	b.ids = appendString(append(b.ids, ','), []byte(e.ID))
	switch {
	case !e.HasParent && (b.rows > 0 || before != ""), e.HasParent && e.ParentID != before:
		b.parents = append(strconv.AppendInt(append(b.parents, ",["...), int64(b.rows), 10), ',')
		if e.HasParent {
			b.parents = appendString(b.parents, []byte(e.ParentID))
		} else {
			b.parents = append(b.parents, '0')
		}
		b.parents = append(b.parents, ']')
	}
	b.times = strconv.AppendInt(append(b.times, ','), e.Time-b.last, 10)
	b.last = e.Time
	b.sizes = strconv.AppendInt(append(b.sizes, ','), int64(size), 10)
	b.texts = appendString(append(b.texts, ','), d.text)
	if d.target != nil {
		b.targets = append(strconv.AppendInt(append(b.targets, ",["...), int64(b.rows), 10), ',')
		b.targets = append(appendString(b.targets, d.target), ']')
	}
	b.rows++
}

// appendString appends text as a JSON string that can stand in a script element.
func appendString(dst, text []byte) []byte {
	dst = append(dst, '"')
	for len(text) > 0 {
		run := 0
		for run < len(text) && standsForItself(text[run]) {
			run++
		}
		if dst, text = append(dst, text[:run]...), text[run:]; len(text) == 0 {
			break
		}
		c := text[0]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ' || c == '<':
			const digits = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			r, n := utf8.DecodeRune(text)
			dst = utf8.AppendRune(dst, r)
			text = text[n:]
			continue
		}
		text = text[1:]
	}
	return append(dst, '"')
}

func standsForItself(c byte) bool {
	return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' && c != '<'
}
