// Package sse reads event streams (text/event-stream) as providers send them.
//
// It owns the framing only: it knows no provider and no JSON. Lines may end in LF,
// CRLF or a bare CR, neither a line nor an event has a size limit, and the work is
// linear in the bytes read. A stream is read by one goroutine.
package sse

import (
	"bytes"
	"errors"
	"io"
	"iter"
)

// Event is one event of a stream. Data is the joined text of its data lines and is
// valid only until the next step of the iteration.
type Event struct {
	// Name is the event's name, "" when it has none. Text in the field "error",
	// which some local servers use in place of "data", comes as an event of the
	// name "error".
	Name string
	Data []byte
	// Cut says that the stream ended before the blank line that ends the event:
	// Data may be a part of what was meant.
	Cut bool
}

// firstSize is the size of the buffer that a stream starts with; it grows to twice
// the longest line.
const firstSize = 16 << 10

// Events returns the events of r in order. The sequence ends at the end of r, or
// with a single non-nil error when reading fails; what was left unfinished by an
// error is dropped. Comments, ids and retry times are skipped, and so are events
// without data.
func Events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		l := &lines{r: r, buf: make([]byte, 0, firstSize)}
		var p parser
		for {
			line, err := l.next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(Event{}, err)
				} else if p.has {
					yield(Event{Name: p.name, Data: p.data, Cut: true}, nil)
				}
				return
			}
			if len(line) > 0 {
				p.field(line)
				continue
			}
			if p.has && !yield(Event{Name: p.name, Data: p.data}, nil) {
				return
			}
			p.reset()
		}
	}
}

// parser collects the fields of one event.
type parser struct {
	name  string
	data  []byte
	has   bool
	names map[string]string // one string for each name, however often it comes
}

func (p *parser) reset() { p.name, p.data, p.has = "", p.data[:0], false }

func (p *parser) field(line []byte) {
	name, value := line, []byte(nil)
	if i := bytes.IndexByte(line, ':'); i >= 0 {
		name, value = line[:i], line[i+1:]
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
	}
	switch string(name) {
	case "data":
		p.add(value)
	case "event":
		p.name = p.intern(value)
	case "error":
		p.name = "error"
		p.add(value)
	}
}

func (p *parser) add(value []byte) {
	if p.has {
		p.data = append(p.data, '\n')
	}
	p.data = append(p.data, value...)
	p.has = true
}

// maxNames bounds the names that are kept: a stream has a dozen kinds of event.
const maxNames = 64

func (p *parser) intern(b []byte) string {
	if s, ok := p.names[string(b)]; ok {
		return s
	}
	s := string(b)
	if p.names == nil {
		p.names = map[string]string{}
	}
	if len(p.names) < maxNames {
		p.names[s] = s
	}
	return s
}

// lines splits a reader into lines without their ends.
type lines struct {
	r       io.Reader
	buf     []byte // buf[at:] is unread
	at      int
	scanned int // buf[at:scanned] holds no line end
	lf      int // position of the next LF, -1 when there is none in buf, 0 when unknown
	skipLF  bool
	started bool
	err     error
}

// next returns the next line, valid until the following call. At the end of the
// input the text after the last line end counts as a line. A CR ends its line at
// once: whether an LF follows is seen when the next byte comes.
func (l *lines) next() ([]byte, error) {
	for {
		if l.skipLF && l.at < len(l.buf) {
			l.skipLF = false
			if l.buf[l.at] == '\n' {
				l.at++
				l.scanned = max(l.scanned, l.at)
			}
		}
		if !l.started && !l.mark() {
			continue
		}
		if end := l.end(); end >= 0 {
			line := l.buf[l.at:end]
			l.skipLF = l.buf[end] == '\r'
			l.at = end + 1
			l.scanned = l.at
			return line, nil
		}
		if l.err != nil {
			if rest := l.buf[l.at:]; len(rest) > 0 && errors.Is(l.err, io.EOF) {
				l.at = len(l.buf)
				return rest, nil
			}
			return nil, l.err
		}
		l.fill()
	}
}

// byteOrderMark may stand before the first line.
const byteOrderMark = "\xef\xbb\xbf"

// mark skips a byte order mark at the start; false means that it read more to tell.
func (l *lines) mark() bool {
	head := l.buf[l.at:]
	if len(head) < len(byteOrderMark) && bytes.HasPrefix([]byte(byteOrderMark), head) && l.err == nil {
		l.fill()
		return false
	}
	l.started = true
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		l.at += len(byteOrderMark)
		l.scanned = l.at
	}
	return true
}

// end returns the position of the next line end in the buffer, -1 for none. The
// position of the next LF is kept, so that streams without LF are not searched
// again for every line.
func (l *lines) end() int {
	if l.lf >= 0 && l.lf < l.scanned || l.lf == 0 {
		l.lf = index(l.buf, l.scanned, '\n')
	}
	limit := len(l.buf)
	if l.lf >= 0 {
		limit = l.lf
	}
	if cr := index(l.buf[:limit], l.scanned, '\r'); cr >= 0 {
		return cr
	}
	if l.lf >= 0 {
		return l.lf
	}
	l.scanned = len(l.buf)
	return -1
}

func index(b []byte, from int, c byte) int {
	if from > len(b) {
		return -1
	}
	if i := bytes.IndexByte(b[from:], c); i >= 0 {
		return from + i
	}
	return -1
}

// fill reads once more, moving the unread bytes to the front when space is short.
func (l *lines) fill() {
	if l.at > 0 && cap(l.buf)-len(l.buf) < cap(l.buf)/2 {
		n := copy(l.buf, l.buf[l.at:])
		l.buf = l.buf[:n]
		l.scanned -= l.at
		l.at = 0
	}
	if len(l.buf) == cap(l.buf) {
		l.buf = append(make([]byte, 0, 2*cap(l.buf)), l.buf...)
	}
	l.lf = 0
	for range maxEmptyReads {
		n, err := l.r.Read(l.buf[len(l.buf):cap(l.buf)])
		l.buf = l.buf[:len(l.buf)+n]
		l.err = err
		if n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}

// maxEmptyReads is how often in a row a reader may return neither data nor an error.
const maxEmptyReads = 100
