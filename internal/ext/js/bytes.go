package js

import "unicode/utf8"

// bin is bytes on their way to or from a script: a string of one character a byte,
// which crosses the border faster than base64.
type bin string

// toBinary returns the string for bytes.
func toBinary(b []byte) bin {
	n := 0
	for _, c := range b {
		if c >= utf8.RuneSelf {
			n++
		}
	}
	if n == 0 {
		return bin(b)
	}
	out := make([]byte, 0, len(b)+n)
	for _, c := range b {
		out = utf8.AppendRune(out, rune(c))
	}
	return bin(out)
}

// bytes returns the bytes that a script sent.
func (s bin) bytes() []byte {
	out := make([]byte, 0, len(s))
	for _, r := range string(s) {
		out = append(out, byte(r))
	}
	return out
}

// Bytes returns the bytes of a string that has one character a byte, as scripts send
// them.
func Bytes(s string) []byte { return bin(s).bytes() }
