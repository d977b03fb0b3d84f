package event

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// pricedUsage is the encoding of the usage that a delta had last. The deltas of a
// stream share one usage but for a few, and its numbers cost more than the rest of the
// record.
type pricedUsage struct {
	usage   llm.Usage // the pointers in it are to values that never change
	encoded []byte    // empty: there is none
}

var lastUsages = sync.Pool{New: func() any { return new(pricedUsage) }}

// appendDelta appends the members of an update with a Delta, which is nearly all of what
// is ever written: by hand, at a fifth of the encoder's cost. It reports false, with
// nothing appended, for another update.
func (u MessageUpdate) appendDelta(buf *bytes.Buffer) bool {
	d, ok := u.Update.(Delta)
	if !ok {
		return false
	}
	last := lastUsages.Get().(*pricedUsage)
	defer lastUsages.Put(last)
	usage, err := last.encode(u.Usage)
	if err != nil {
		return false // the encoder says why
	}
	b := append(buf.AvailableBuffer(), `,"usage":`...)
	b = append(b, usage...)
	b = append(b, `,"assistantMessageEvent":{"type":"`...)
	b = append(b, d.Type...)
	b = append(b, `","contentIndex":`...)
	b = strconv.AppendInt(b, int64(d.ContentIndex), 10)
	b = append(b, `,"delta":`...)
	b = jsonx.AppendString(b, d.Delta)
	b = append(b, '}')
	if u.EndTurn != nil {
		b = strconv.AppendBool(append(b, `,"endTurn":`...), *u.EndTurn)
	}
	buf.Write(append(b, '}'))
	return true
}

// encode returns the encoding of usage, valid until the next call.
func (p *pricedUsage) encode(usage *llm.Usage) ([]byte, error) {
	if usage == nil {
		return []byte("null"), nil
	}
	if len(p.encoded) > 0 && p.usage == *usage {
		return p.encoded, nil
	}
	var err error
	p.usage = *usage
	if p.encoded, err = jsonx.Append(p.encoded[:0], usage); err != nil {
		p.encoded = p.encoded[:0]
	}
	return p.encoded, err
}
