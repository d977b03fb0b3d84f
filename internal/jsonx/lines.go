package jsonx

import (
	"bufio"
	"bytes"
	"io"
)

// Lines reads the lines of a stream: split on LF only, one CR before it dropped, no
// limit on their length. It is not safe for concurrent use.
type Lines struct {
	r     *bufio.Reader
	first bool
}

// lineBuffer is how much is read at once.
const lineBuffer = 64 << 10

// NewLines returns a reader of r's lines.
func NewLines(r io.Reader) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, lineBuffer), first: true}
}

// Next returns the next line without its end; the slice is the caller's. A last line
// without LF is returned like any other, unless it is empty. A UTF-8 mark before the
// first line is skipped. At the end the error is io.EOF, else the stream's.
func (l *Lines) Next() ([]byte, error) {
	line, err := l.r.ReadBytes('\n')
	if l.first {
		l.first = false
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if err != nil {
		if len(line) == 0 || err != io.EOF {
			return nil, err
		}
		return line, nil
	}
	line = line[:len(line)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line, nil
}
