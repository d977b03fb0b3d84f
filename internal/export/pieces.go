package export

import (
	"bytes"
	"fmt"

	"github.com/isotope-agent/isotope/internal/session"
)

// pieceBytes is about how much of the session one piece of the page holds: what the
// browser takes in hand at once.
const pieceBytes = 128 << 10

// longEntry is the size from which an entry is a piece of its own, which is copied in
// small parts: no export has such an entry in memory.
const longEntry = 512 << 10

// span is a run of entries, from one number up to another.
type span struct {
	from, to int
	long     bool // it is one long entry
}

// spans cuts the entries of a session into runs of about that many bytes.
func spans(v *session.View, size int) []span {
	var out []span
	from, held := 0, 0
	end := func(to int, long bool) {
		if from < to {
			out = append(out, span{from, to, long})
		}
		from, held = to, 0
	}
	for i := range v.Len() {
		n := v.Size(i)
		if n >= longEntry {
			end(i, false)
			end(i+1, true)
			continue
		}
		if held += n + 1; held >= size {
			end(i+1, false)
		}
	}
	end(v.Len(), false)
	return out
}

// madePiece is the text of a piece, or what stands in front of a long entry.
type madePiece struct {
	text  []byte
	entry int // number of the long entry that follows, or -1
}

// entries writes the entries in pieces; a piece says with which entry it begins.
func (p *pageWriter) entries() error {
	pieces := spans(p.v, pieceBytes)
	maker := func() func(int, *madePiece) error {
		var lines []byte
		return func(k int, into *madePiece) (err error) {
			s := pieces[k]
			into.text = fmt.Appendf(into.text[:0], `<script type="application/json" class="piece" data-from="%d">`, s.from)
			if into.entry = s.from; s.long {
				return nil
			}
			into.entry = -1
			if lines, err = p.v.AppendLines(lines[:0], s.from, s.to); err != nil {
				return err
			}
			into.text = append(appendInert(into.text, lines[:len(lines)-1]), pieceEnd...)
			return nil
		}
	}
	return inOrder(len(pieces), maker, func(m *madePiece) error {
		if _, err := p.out.Write(m.text); err != nil || m.entry < 0 {
			return err
		}
		return p.long(m.entry)
	})
}

const pieceEnd = "</script>\n"

// long writes the rest of the piece that is one long entry.
func (p *pageWriter) long(i int) error {
	var inert []byte
	for raw, err := range p.v.Chunks(i) {
		if err != nil {
			return fmt.Errorf("exporting a session: %w", err)
		}
		inert = appendInert(inert[:0], raw)
		for k, c := range inert {
			if c == '\n' {
				inert[k] = ' '
			}
		}
		if _, err := p.out.Write(inert); err != nil {
			return err
		}
	}
	_, err := p.out.WriteString(pieceEnd)
	return err
}

// appendInert appends JSON so that it can stand in a script element: a "<" can only be
// part of a string.
func appendInert(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '<')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(append(dst, raw[:i]...), `\u003C`...)
		raw = raw[i+1:]
	}
}
