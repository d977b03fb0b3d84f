package jsonx

import "unicode/utf8"

// Closed makes an object of the beginning of one: what the cut left open is closed, and
// a member or a literal that is not whole is left out. Text that begins no object is {}.
func Closed(text []byte) Raw {
	s := cutScanner{text: text}
	s.run()
	out := append([]byte(nil), text[:s.whole]...)
	out = append(out, s.tail...)
	for i := len(s.open) - 1; i >= 0; i-- {
		out = append(out, s.open[i]+2) // '}' and ']' come two behind '{' and '['
	}
	if raw := Raw(out); raw.Kind() == '{' && Valid(out) {
		return raw
	}
	return Raw("{}")
}

// cutScanner finds out how far a text can be used.
type cutScanner struct {
	text  []byte
	open  []byte // the brackets that are open
	whole int    // everything before it can be used as it is
	tail  string // closes a string that was cut
	value bool   // the next string in an object is a value, else a name
}

func (s *cutScanner) run() {
	for i := 0; i < len(s.text); {
		switch c := s.text[i]; c {
		case '{', '[':
			s.open, s.value = append(s.open, c), c == '['
			i++
			s.whole = i
		case '}', ']':
			if len(s.open) == 0 {
				return
			}
			s.open = s.open[:len(s.open)-1]
			i++
			s.whole = i
		case ',', ':':
			s.value = c == ':' || len(s.open) > 0 && s.open[len(s.open)-1] == '['
			i++
		case ' ', '\t', '\r', '\n':
			i++
		case '"':
			end, ok := s.str(i + 1)
			if s.value {
				s.whole = end
			}
			if !ok {
				if s.value {
					s.tail = `"`
				}
				return
			}
			i = end
		default:
			for i < len(s.text) && !isDelimiter(s.text[i]) {
				i++
			}
			if i == len(s.text) {
				return
			}
			s.whole = i
		}
	}
}

func isDelimiter(c byte) bool {
	switch c {
	case ',', '}', ']', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

// str returns where the string that begins at i ends, or, when it was cut, where its
// last whole character does.
func (s *cutScanner) str(i int) (end int, ok bool) {
	for i < len(s.text) {
		n := 1
		switch c := s.text[i]; {
		case c == '"':
			return i + 1, true
		case c == '\\':
			if n = 2; i+1 < len(s.text) && s.text[i+1] == 'u' {
				n = 6
			}
		case c >= utf8.RuneSelf:
			if !utf8.FullRune(s.text[i:]) {
				return i, false
			}
			_, n = utf8.DecodeRune(s.text[i:])
		}
		if i+n > len(s.text) {
			return i, false
		}
		i += n
	}
	return i, false
}
