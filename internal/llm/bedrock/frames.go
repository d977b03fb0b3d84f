package bedrock

import (
	"bufio"
	"errors"
	"io"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// frame is one message of the stream. Payload is valid until the next step of the
// iteration.
type frame struct {
	kind    string // :message-type: event, exception or error
	name    string // of the event, exception or error
	message string // of an error
	payload []byte
}

// frames returns the messages of a body whose checksums are right. The sequence ends at
// the end of the body, or with a single *llm.Error: what reading said, a body that ends
// inside a message, or one that is corrupt, which is retried like any broken stream.
func frames(r io.Reader) iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		in := bufio.NewReaderSize(r, 16<<10)
		decoder := eventstream.NewDecoder()
		var buf []byte
		for {
			if _, err := in.Peek(1); errors.Is(err, io.EOF) {
				return
			}
			m, err := decoder.Decode(in, buf)
			if err != nil {
				yield(frame{}, broken(err))
				return
			}
			if m.Payload != nil {
				buf = m.Payload
			}
			f := frame{kind: header(m, ":message-type"), payload: m.Payload}
			switch f.kind {
			case "exception":
				f.name = header(m, ":exception-type")
			case "error":
				f.name, f.message = header(m, ":error-code"), header(m, ":error-message")
			default:
				f.name = header(m, ":event-type")
			}
			if !yield(f, nil) {
				return
			}
		}
	}
}

func broken(err error) error {
	var e *llm.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return wire.Cut(textNoReason)
	}
	return &llm.Error{Kind: llm.ErrTransport, Message: textCorrupt + err.Error(), Err: err}
}

// header returns a header's text, "" for none.
func header(m eventstream.Message, name string) string {
	if v, ok := m.Headers.Get(name).(eventstream.StringValue); ok {
		return string(v)
	}
	return ""
}
