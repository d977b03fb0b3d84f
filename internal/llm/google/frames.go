package google

import (
	"bytes"
	"errors"
	"io"
	"iter"

	"github.com/isotope-agent/isotope/internal/llm/sse"
)

// frame is the JSON of one chunk, valid until the next step of the iteration. Cut says
// that the body ended inside it.
type frame struct {
	data []byte
	cut  bool
}

// frames returns the chunks of an answer: the data of an event stream, or the objects
// of a JSON array, or one object. The sequence ends with a single error when reading
// fails.
func frames(r io.Reader) iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		first := make([]byte, 0, 4<<10)
		for {
			n, err := r.Read(first[len(first):cap(first)])
			first = first[:len(first)+n]
			text := bytes.TrimLeft(first, " \t\r\n")
			if len(text) > 0 || err != nil {
				whole := io.MultiReader(bytes.NewReader(first), after(r, err))
				if len(text) > 0 && (text[0] == '[' || text[0] == '{') {
					objects(whole, yield)
				} else {
					events(whole, yield)
				}
				return
			}
			if len(first) == cap(first) {
				first = first[:0] // nothing but white space
			}
		}
	}
}

// after returns the reader that follows what was read: r, or the error it gave.
func after(r io.Reader, err error) io.Reader {
	if err != nil {
		return failing{err}
	}
	return r
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func events(r io.Reader, yield func(frame, error) bool) {
	for ev, err := range sse.Events(r) {
		if err != nil {
			yield(frame{}, err)
			return
		}
		data := bytes.TrimSpace(ev.Data)
		switch {
		case bytes.HasPrefix(data, []byte("[DONE]")): // of proxies
			return
		case len(data) > 0 && !yield(frame{data, ev.Cut}, nil):
			return
		}
	}
}

// objects finds the objects at the top of a JSON text, or in the array that it is.
func objects(r io.Reader, yield func(frame, error) bool) {
	var s splitter
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		for _, b := range buf[:n] {
			if s.add(b) {
				if !yield(frame{data: s.object}, nil) {
					return
				}
				s.object = s.object[:0]
			}
			if s.ended {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				yield(frame{}, err)
			}
			return
		}
	}
}

// splitter collects one object at a time.
type splitter struct {
	object  []byte
	depth   int
	text    bool // inside a string
	escaped bool // behind a backslash
	array   bool // the objects are those of an array
	ended   bool // there are no more
}

// add takes the next byte and reports whether it completes an object.
func (s *splitter) add(b byte) bool {
	if s.depth == 0 && b != '{' { // white space, commas, the array itself
		s.array = s.array || b == '['
		s.ended = b == ']'
		return false
	}
	s.object = append(s.object, b)
	switch {
	case s.escaped:
		s.escaped = false
	case s.text && b == '\\':
		s.escaped = true
	case b == '"':
		s.text = !s.text
	case s.text:
	case b == '{':
		s.depth++
	case b == '}':
		s.depth--
		s.ended = s.depth == 0 && !s.array
		return s.depth == 0
	}
	return false
}
