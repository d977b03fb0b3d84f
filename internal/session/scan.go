package session

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"time"
	"unicode/utf8"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// head is what the index needs of a line. The byte slices point into the line.
type head struct {
	typ, id, parent, ts []byte // text of the members; nil when absent or no string
	role                []byte // of the message of a message entry
	message             int    // offset of the message when it is the last member; 0 when not
	dirty               bool   // invalid UTF-8 or a carriage return: re-encode on the way out
}

// maxDepth is the nesting that the JSON library decodes; deeper lines are not
// taken for JSON.
const maxDepth = 9_900

// scanLine validates a line strictly and returns its head. It reports false for
// what is not one JSON object. The line has no line end; surrounding white space
// is allowed. A fuzz test holds it against the JSON library.
func scanLine(line []byte) (head, bool) {
	s := scanner{b: line}
	h, ok := s.top()
	if !ok {
		return head{}, false
	}
	if h.message+s.last != len(line)-1 {
		h.message = 0
	}
	if s.high&0x80 != 0 && !utf8.Valid(line) || s.cr {
		h.dirty = true
	}
	return h, true
}

// scanner is a strict JSON validator over one line. Every method takes the offset
// of the next byte and returns the offset behind what it read, or -1.
type scanner struct {
	b    []byte
	high byte // OR of all bytes seen in strings: bit 7 says not ASCII
	cr   bool // a carriage return stands between tokens
	last int  // length of the message, when it is the last member so far
}

func (s *scanner) top() (head, bool) {
	var h head
	i := s.space(0)
	if i >= len(s.b) || s.b[i] != '{' {
		return h, false
	}
	i = s.object(i, 1, &h)
	return h, i >= 0 && s.space(i) == len(s.b)
}

func (s *scanner) space(i int) int {
	for i < len(s.b) {
		switch s.b[i] {
		case ' ', '\t', '\n':
		case '\r':
			s.cr = true
		default:
			return i
		}
		i++
	}
	return i
}

// object reads the object at i. With h, it also takes down the head members; as
// in JavaScript, the last of several members of one name counts.
func (s *scanner) object(i, depth int, h *head) int {
	i = s.space(i + 1)
	if i < len(s.b) && s.b[i] == '}' {
		return i + 1
	}
	for depth < maxDepth && i < len(s.b) && s.b[i] == '"' {
		name := i
		if i = s.str(i); i < 0 {
			return -1
		}
		key := s.b[name:i]
		if i = s.space(i); i >= len(s.b) || s.b[i] != ':' {
			return -1
		}
		start := s.space(i + 1)
		if i = s.value(start, depth); i < 0 {
			return -1
		}
		if h != nil {
			h.take(key, s.b[start:i])
			if string(key) == `"message"` {
				h.message, s.last = start, i-start
			}
		}
		if i = s.space(i); i >= len(s.b) {
			return -1
		}
		switch s.b[i] {
		case '}':
			return i + 1
		case ',':
			i = s.space(i + 1)
		default:
			return -1
		}
	}
	return -1
}

func (s *scanner) array(i, depth int) int {
	i = s.space(i + 1)
	if i < len(s.b) && s.b[i] == ']' {
		return i + 1
	}
	for depth < maxDepth && i < len(s.b) {
		if i = s.value(i, depth); i < 0 {
			return -1
		}
		if i = s.space(i); i >= len(s.b) {
			return -1
		}
		switch s.b[i] {
		case ']':
			return i + 1
		case ',':
			i = s.space(i + 1)
		default:
			return -1
		}
	}
	return -1
}

func (s *scanner) value(i, depth int) int {
	if i >= len(s.b) {
		return -1
	}
	switch c := s.b[i]; c {
	case '"':
		return s.str(i)
	case '{':
		return s.object(i, depth+1, nil)
	case '[':
		return s.array(i, depth+1)
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	case 'n':
		return s.word(i, "null")
	default:
		return s.number(i)
	}
}

func (s *scanner) word(i int, w string) int {
	if end := i + len(w); end <= len(s.b) && string(s.b[i:end]) == w {
		return end
	}
	return -1
}

func (s *scanner) number(i int) int {
	b := s.b
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case i < len(b) && b[i] >= '1' && b[i] <= '9':
		i = s.digits(i)
	default:
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = s.digits(i + 1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return s.digits(i)
	}
	return i
}

// digits reads one or more.
func (s *scanner) digits(i int) int {
	start := i
	for i < len(s.b) && s.b[i] >= '0' && s.b[i] <= '9' {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// str reads the string at i. Eight bytes at a time: nearly all of a session is
// text in strings.
func (s *scanner) str(i int) int {
	b := s.b
	i++
	var high uint64
	for {
		for i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			m := special(w)
			high |= w
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) / 8
			break
		}
		if i >= len(b) {
			return -1
		}
		c := b[i]
		switch {
		case c == '"':
			s.note(high)
			return i + 1
		case c == '\\':
			if i = s.escape(i); i < 0 {
				return -1
			}
		case c < 0x20:
			return -1
		default: // the last bytes of a line
			high |= uint64(c)
			i++
		}
	}
}

func (s *scanner) note(high uint64) {
	if high&highs != 0 {
		s.high = 0x80
	}
}

func (s *scanner) escape(i int) int {
	if i+1 >= len(s.b) {
		return -1
	}
	switch s.b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if i+6 > len(s.b) {
			return -1
		}
		for _, c := range s.b[i+2 : i+6] {
			if !isHex(c) {
				return -1
			}
		}
		return i + 6
	}
	return -1
}

// take stores one member of the top-level object.
func (h *head) take(key, value []byte) {
	switch string(key) {
	case `"type"`:
		h.typ = text(value)
	case `"id"`:
		h.id = text(value)
	case `"parentId"`:
		h.parent = text(value)
	case `"timestamp"`:
		h.ts = text(value)
	case `"message"`:
		h.role = messageRole(value)
	default:
		if bytes.IndexByte(key, '\\') >= 0 {
			if k := jsonx.String(string(text(key))); !bytes.Equal(k, key) {
				h.take(k, value)
			}
		}
	}
}

// messageRole and blockType return the member that stands first in nearly all
// messages and blocks.
func messageRole(message []byte) []byte { return leading(message, `{"role":"`, "role") }
func blockType(block []byte) []byte     { return leading(block, `{"type":"`, "type") }

func leading(obj []byte, start, name string) []byte {
	if bytes.HasPrefix(obj, []byte(start)) {
		rest := obj[len(start):]
		if end := bytes.IndexByte(rest, '"'); end >= 0 && bytes.IndexByte(rest[:end], '\\') < 0 {
			return rest[:end]
		}
	}
	return text(member(obj, name))
}

// parseTime reads an ISO time as milliseconds since 1970. canonical reports that
// formatTime gives back the same text.
func parseTime(b []byte) (ms int64, canonical bool) {
	if len(b) == len(timeLayout) && b[4] == '-' && b[7] == '-' && b[10] == 'T' && b[13] == ':' && b[16] == ':' && b[19] == '.' && b[23] == 'Z' {
		var f [7]int
		at := [7][2]int{{0, 4}, {5, 7}, {8, 10}, {11, 13}, {14, 16}, {17, 19}, {20, 23}}
		good := true
		for i, r := range at {
			for _, c := range b[r[0]:r[1]] {
				if c < '0' || c > '9' {
					good = false
				}
				f[i] = f[i]*10 + int(c-'0')
			}
		}
		if good && f[1] >= 1 && f[1] <= 12 && f[2] >= 1 && f[2] <= 28 && f[3] < 24 && f[4] < 60 && f[5] < 60 {
			return ((civilDays(f[0], f[1], f[2])*24+int64(f[3]))*60+int64(f[4]))*60_000 + int64(f[5])*1000 + int64(f[6]), true
		}
	}
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return 0, false
	}
	ms = t.UnixMilli()
	return ms, formatTime(ms) == string(b)
}

// civilDays counts the days from 1970-01-01 in the Gregorian calendar.
func civilDays(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	return int64(365*y+y/4-y/100+y/400+(153*(m-3)+2)/5+d-1) - 719468
}

const timeLayout = "2006-01-02T15:04:05.000Z"

// formatTime writes milliseconds since 1970 as Date.prototype.toISOString does.
// A walk through a session does so for every entry, so the fast way of package time is taken.
func formatTime(ms int64) string {
	t := time.UnixMilli(ms).UTC()
	const seconds = len("2006-01-02T15:04:05")
	var buf [len(timeLayout)]byte
	b := t.AppendFormat(buf[:0], time.RFC3339)
	if len(b) != seconds+1 {
		return t.Format(timeLayout)
	}
	n := t.Nanosecond() / int(time.Millisecond)
	return string(append(b[:seconds], '.', byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10), 'Z'))
}
