package export

import (
	"bytes"
	"fmt"
	"iter"
	"runtime"
	"strconv"
	"sync"
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
// Blocks are made by several goroutines, each every so many-th, and written in their
// order; index waits for them all.
func (p *pageWriter) index() error {
	blocks := (p.v.Len() + blockEntries - 1) / blockEntries
	workers := min(runtime.GOMAXPROCS(0), maxWorkers, blocks)
	made := make([]chan madeBlock, workers)
	stop := make(chan struct{})
	var running sync.WaitGroup
	defer running.Wait()
	defer close(stop)
	for w := range made {
		made[w] = make(chan madeBlock)
		running.Go(func() { p.makeBlocks(w, workers, made[w], stop) })
	}
	seen := map[string]bool{}
	for k := range blocks {
		m := <-made[k%workers]
		if m.err != nil {
			return fmt.Errorf("exporting a session: %w", m.err)
		}
		for _, name := range m.models {
			if !seen[name] && len(p.models) < maxModels {
				seen[name] = true
				p.models = append(p.models, name)
			}
		}
		if err := p.flush(m.block); err != nil {
			return err
		}
	}
	return nil
}

// maxWorkers is how many goroutines make blocks: more would wait for the one that writes.
const maxWorkers = 4

// madeBlock is a block, valid until its maker has handed over the next one but one.
type madeBlock struct {
	block  *block
	models []string
	err    error
}

// makeBlocks makes and hands over the blocks first, first+step, … until there are no
// more, one fails, or nobody takes them.
func (p *pageWriter) makeBlocks(first, step int, out chan<- madeBlock, stop <-chan struct{}) {
	hand := func(m madeBlock) bool {
		select {
		case out <- m:
			return true
		case <-stop:
			return false
		}
	}
	defer func() {
		if r := recover(); r != nil {
			hand(madeBlock{err: fmt.Errorf("describing entries: %v", r)})
		}
	}()
	var pair [2]block // one is written while the other is made
	turn, d := 0, describer{seen: map[string]bool{}}
	i, before := first*blockEntries, ""
	for raw, err := range p.v.Raws(share(first, step, p.v.Len())) {
		if err != nil {
			hand(madeBlock{err: err})
			return
		}
		if i > 0 && i%blockEntries == 0 {
			before = p.v.Entry(i - 1).ID
		}
		e, b := p.v.Entry(i), &pair[turn]
		b.add(e, before, len(raw), d.describe(e, raw))
		before = e.ID
		if i++; i%blockEntries == 0 || i == p.v.Len() {
			if !hand(madeBlock{block: b, models: d.models}) {
				return
			}
			turn, d.models = 1-turn, nil
			pair[turn].reset()
			i += (step - 1) * blockEntries
		}
	}
}

// share yields the numbers of the entries of every step-th block from first on.
func share(first, step, entries int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for from := first * blockEntries; from < entries; from += step * blockEntries {
			for i := from; i < min(from+blockEntries, entries); i++ {
				if !yield(i) {
					return
				}
			}
		}
	}
}

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
