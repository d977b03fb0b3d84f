package proc

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// nativeText turns what a program of Windows writes on one channel into UTF-8. Such
// programs use the code page of the console, and some (wsl.exe, for one) UTF-16 (field
// report 129). A nil *nativeText is for systems without code pages: all passes as it is.
type nativeText struct {
	page transform.Transformer // reads what is no UTF-8; nil: that passes
	wide transform.Transformer // set once the channel turned out to be UTF-16

	begun bool
	hold  []byte // the beginning of a character
}

// decode returns the text of what was held back and p. last says that nothing follows.
// The result is valid until the next call, and may be p itself.
func (d *nativeText) decode(p []byte, last bool) []byte {
	if d == nil {
		return p
	}
	if len(d.hold) > 0 {
		p = append(d.hold, p...)
		d.hold = nil
	}
	if !d.begun && len(p) > 0 {
		d.begun = true
		if isWide(p) {
			d.wide = unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder().Transformer
		}
	}
	if d.wide != nil {
		return d.convert(d.wide, p, last)
	}
	n := len(p)
	if !last {
		n -= openRune(p)
	}
	if d.page != nil && !utf8.Valid(p[:n]) {
		return d.convert(d.page, p, last)
	}
	d.hold = bytes.Clone(p[n:])
	return p[:n]
}

// isWide reports whether a channel that begins with p is UTF-16: it has a byte order
// mark, or its first two characters are of the first 256, each with a zero byte.
func isWide(p []byte) bool {
	if bytes.HasPrefix(p, []byte{0xFF, 0xFE}) || bytes.HasPrefix(p, []byte{0xFE, 0xFF}) {
		return true
	}
	return len(p) >= 4 && p[0] != 0 && p[1] == 0 && p[2] != 0 && p[3] == 0
}

func (d *nativeText) convert(from transform.Transformer, p []byte, last bool) []byte {
	out := make([]byte, 3*len(p)+utf8.UTFMax) // no encoding needs more for a byte
	n, used, _ := from.Transform(out, p, last)
	d.hold = bytes.Clone(p[used:])
	return out[:n]
}
