package export

import (
	"bytes"
	"fmt"
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
func (p *pageWriter) index() error {
	seq, err := p.v.Entries("")
	if err != nil {
		return fmt.Errorf("exporting a session: %w", err)
	}
	b := block{}
	d := describer{seen: map[string]bool{}}
	i, before := 0, ""
	for raw, err := range seq {
		if err != nil {
			return fmt.Errorf("exporting a session: %w", err)
		}
		e := p.v.Entry(i)
		b.add(e, before, len(raw), d.describe(e, raw))
		before = e.ID
		if i++; b.rows == blockEntries {
			if err := p.flush(&b); err != nil {
				return err
			}
		}
	}
	p.models = d.models
	return p.flush(&b)
}

func (p *pageWriter) flush(b *block) error {
	if b.rows == 0 {
		return nil
	}
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
	b.reset()
	return err
}

// block collects rows of the index, a column each. Cells begin with a comma.
type block struct {
	rows                                       int
	last                                       int64 // time of the row before
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
		c := text[0]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ' || c == '<':
			const digits = "0123456789abcdef"
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
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
