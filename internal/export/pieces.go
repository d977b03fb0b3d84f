package export

import (
	"bytes"
	"fmt"

	"github.com/isotope-agent/isotope/internal/session"
)

// pieceBytes is about how much of the session one piece of the page holds: what the
// browser takes in hand at once.
const pieceBytes = 128 << 10

// span is a run of entries, from one number up to another.
type span struct{ from, to int }

// spans cuts the entries of a session into runs of about that many bytes.
func spans(v *session.View, size int) []span {
	var out []span
	from, held := 0, 0
	for i := range v.Len() {
		held += v.Size(i) + 1
		if held >= size || i+1 == v.Len() {
			out = append(out, span{from, i + 1})
			from, held = i+1, 0
		}
	}
	return out
}

// entries writes the entries in pieces; a piece says with which entry it begins.
func (p *pageWriter) entries() error {
	pieces := spans(p.v, pieceBytes)
	maker := func() func(int, *[]byte) error {
		var lines []byte
		return func(k int, into *[]byte) (err error) {
			if lines, err = p.v.AppendLines(lines[:0], pieces[k].from, pieces[k].to); err != nil {
				return err
			}
			b := fmt.Appendf((*into)[:0], `<script type="application/json" class="piece" data-from="%d">`, pieces[k].from)
			b = appendInert(b, bytes.TrimSuffix(lines, []byte("\n")))
			*into = append(b, "</script>\n"...)
			return nil
		}
	}
	return inOrder(len(pieces), maker, func(b *[]byte) error {
		_, err := p.out.Write(*b)
		return err
	})
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
