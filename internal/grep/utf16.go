package grep

import (
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Reader decodes UTF-16 into UTF-8; broken pairs become U+FFFD.
type utf16Reader struct {
	in   io.Reader
	big  bool
	raw  [4096]byte
	n    int    // bytes in raw that are not decoded yet
	out  []byte // decoded bytes
	err  error
	high rune // the first half of a pair, 0 for none
}

func newUTF16Reader(in io.Reader, big bool) *utf16Reader { return &utf16Reader{in: in, big: big} }

// Read implements io.Reader.
func (r *utf16Reader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		r.decode()
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

func (r *utf16Reader) decode() {
	n, err := r.in.Read(r.raw[r.n:])
	r.n += n
	r.out = r.out[:0]
	i := 0
	for ; i+1 < r.n; i += 2 {
		lo, hi := r.raw[i], r.raw[i+1]
		if r.big {
			lo, hi = hi, lo
		}
		r.unit(rune(hi)<<8 | rune(lo))
	}
	r.n = copy(r.raw[:], r.raw[i:r.n])
	if err != nil {
		r.err = err
		if r.high != 0 || r.n > 0 {
			r.out = utf8.AppendRune(r.out, utf8.RuneError)
			r.high, r.n = 0, 0
		}
	}
}

func (r *utf16Reader) unit(u rune) {
	if r.high != 0 {
		pair := utf16.DecodeRune(r.high, u)
		r.high = 0
		r.out = utf8.AppendRune(r.out, pair)
		if pair != utf8.RuneError {
			return
		}
	}
	if u >= 0xd800 && u < 0xdc00 {
		r.high = u
		return
	}
	r.out = utf8.AppendRune(r.out, u)
}
