package output

import (
	"bytes"
	"io"
	"sync"
)

// keepLimit is the capacity above which a buffer is left to the garbage collector:
// one large record must not stay in memory for ever.
const keepLimit = 1 << 20

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func getBuffer() *bytes.Buffer { return buffers.Get().(*bytes.Buffer) }

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= keepLimit {
		b.Reset()
		buffers.Put(b)
	}
}

// chunked gathers small writes of a producer into large ones. Its buffer is made when
// it is first needed and kept.
type chunked struct {
	w   io.Writer
	buf []byte
}

// Write never fails before flush: the stream's error is the sticky writer's.
func (c *chunked) Write(b []byte) (int, error) {
	if c.buf == nil {
		c.buf = make([]byte, 0, joinLimit)
	}
	if len(c.buf)+len(b) > cap(c.buf) {
		if err := c.flush(); err != nil {
			return 0, err
		}
	}
	if len(b) >= cap(c.buf) {
		return c.w.Write(b)
	}
	c.buf = append(c.buf, b...)
	return len(b), nil
}

func (c *chunked) flush() error {
	_, err := c.w.Write(c.buf)
	c.buf = c.buf[:0]
	return err
}
