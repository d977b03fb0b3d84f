package session

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
	"unicode/utf8"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// A line from longLine bytes on (a picture, most often) is not taken into memory by
// those who only want to know what it is. They get its outline: the same JSON with the
// strings cut behind outlineString bytes.
const (
	longLine      = loadWindow
	outlineString = 4 << 10
)

// outliner makes the outline of a line from its chunks, and checks what it leaves out
// as strictly as scanLine does. A chunk ends with a whole character.
type outliner struct {
	out    []byte
	size   int  // bytes of the line so far
	bad    bool // what was left out is not JSON
	dirty  bool // invalid UTF-8
	inside bool // of a string
	kept   int  // bytes of the open string that are in out
	escape int  // bytes of an open escape that are to come
	hex    bool // they are digits
}

func (o *outliner) feed(chunk []byte) {
	o.size += len(chunk)
	o.dirty = o.dirty || !utf8.Valid(chunk)
	for len(chunk) > 0 {
		if o.inside {
			chunk = chunk[o.within(chunk):]
			continue
		}
		n := bytes.IndexByte(chunk, '"') + 1
		if o.inside = n > 0; !o.inside {
			n = len(chunk)
		}
		o.out = append(o.out, chunk[:n]...)
		o.kept, chunk = 0, chunk[n:]
	}
}

// within takes bytes of the open string and returns how many.
func (o *outliner) within(b []byte) int {
	switch {
	case o.escape > 0:
		return o.escaped(b[0])
	case b[0] == '"':
		o.inside = false
		o.out = append(o.out, '"')
		return 1
	case b[0] == '\\':
		o.escape, o.hex = 1, false
		o.keep(b[:1])
		return 1
	case b[0] < ' ':
		o.bad = true
		return 1
	}
	n := plainRun(b)
	o.keep(b[:n])
	return n
}

// escaped takes one byte behind a backslash.
func (o *outliner) escaped(c byte) int {
	o.escape--
	switch {
	case o.hex:
		o.bad = o.bad || !isHex(c)
	case c == 'u':
		o.escape, o.hex = 4, true
	default:
		o.bad = o.bad || bytes.IndexByte([]byte(`"\/bfnrt`), c) < 0
	}
	if o.kept < outlineString {
		o.out = append(o.out, c)
	}
	if o.escape == 0 && o.kept < outlineString {
		o.kept++ // never cut within an escape
	}
	return 1
}

// keep puts what still belongs to the outline into it: whole characters and escapes.
func (o *outliner) keep(b []byte) {
	if o.kept >= outlineString {
		return
	}
	if rest := outlineString - o.kept; len(b) > rest {
		for rest < len(b) && !utf8.RuneStart(b[rest]) {
			rest++
		}
		b = b[:rest]
	}
	o.out = append(o.out, b...)
	if b[0] != '\\' {
		o.kept += len(b)
	}
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// plainRun returns how many bytes at the start of b stand for themselves in a string;
// the first one does.
func plainRun(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		if m := special(binary.LittleEndian.Uint64(b[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
		i++
	}
	return i
}

// special marks the quotes, backslashes and control characters among eight bytes of a
// string. Borrows can add false marks above a true one only, and bytes above 0x7f are
// masked out, so the lowest mark is always true.
func special(w uint64) uint64 {
	q := w ^ ones*'"'
	e := w ^ ones*'\\'
	return (((q - ones) &^ q) | ((e - ones) &^ e) | ((w - ones*0x20) &^ w)) & highs
}

// wholeRunes returns the length of b without a character at its end that goes on.
func wholeRunes(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return len(b) - n
			}
			break
		}
	}
	return len(b)
}

// Outline returns the JSON of entry i, in an entry of several hundred kilobytes with its
// long strings cut: enough to say what it is, whatever its size. The caller owns it.
func (v *View) Outline(i int) (jsonx.Raw, error) {
	r := v.reader()
	defer r.close()
	raw, err := r.outline(&v.recs[i])
	return raw.Clone(), err
}

// outline returns the JSON of a record, or the outline of a long one, valid until the
// next call.
func (r *reader) outline(rec *record) (jsonx.Raw, error) {
	if rec.flags&flagMem != 0 || rec.len < longLine {
		return r.line(rec)
	}
	var o outliner
	for chunk, err := range r.chunks(rec) {
		if err != nil {
			return nil, err
		}
		o.feed(chunk)
	}
	if rec.flags&flagDirty != 0 {
		return clean(o.out), nil
	}
	return o.out, nil
}

// chunks yields the line of a record of the file in pieces that end with whole
// characters, valid until the next one.
func (r *reader) chunks(rec *record) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		buf := make([]byte, min(loadWindow, int64(rec.len)))
		held := 0 // bytes of buf that the last piece left over
		for off, end := rec.off, rec.off+int64(rec.len); off < end; {
			n := int(min(int64(len(buf)-held), end-off))
			if err := r.read(buf[held:held+n], off); err != nil {
				yield(nil, err)
				return
			}
			off += int64(n)
			piece := buf[:held+n]
			if off < end {
				piece = piece[:wholeRunes(piece)]
			}
			if !yield(piece, nil) {
				return
			}
			held = copy(buf, buf[len(piece):held+n])
		}
	}
}

// Chunks yields the JSON of entry i in pieces, so that an entry of any size can be
// copied. A piece is valid until the next one.
func (v *View) Chunks(i int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		rec, r := &v.recs[i], v.reader()
		defer r.close()
		if rec.flags&flagMem != 0 || rec.len < longLine {
			yield(r.line(rec))
			return
		}
		for piece, err := range r.chunks(rec) {
			if err == nil && rec.flags&flagDirty != 0 { // a carriage return is white space
				piece = bytes.ReplaceAll([]byte(string([]rune(string(piece)))), []byte("\r"), []byte(" "))
			}
			if !yield(piece, err) || err != nil {
				return
			}
		}
	}
}
