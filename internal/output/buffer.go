package output

import (
	"bytes"
	"io"
	"sync"
)

// keepLimit is the capacity above which a buffer is left to the garbage collector:
// one large record must not stay in memory for ever.
const keepLimit = 1 << 20

// Records are encoded in a scratch buffer, which grows to the size of the largest, and
// then copied to where they wait: into a chunk that many small ones share, or into memory
// of just their size.
var (
	scratches = sync.Pool{New: func() any { return new(bytes.Buffer) }}
	chunks    = sync.Pool{New: func() any { return new([joinLimit]byte) }}
)

func getScratch() *bytes.Buffer { return scratches.Get().(*bytes.Buffer) }

func putScratch(b *bytes.Buffer) {
	if b.Cap() <= keepLimit {
		b.Reset()
		scratches.Put(b)
	}
}

// place returns a copy of a line where others can join it, if it is a small one.
func place(line []byte) []byte {
	if len(line) > joinLimit {
		return bytes.Clone(line)
	}
	return append(chunks.Get().(*[joinLimit]byte)[:0], line...)
}

// release gives the memory of lines back that were written.
func release(lines []byte) {
	if cap(lines) == joinLimit {
		chunks.Put((*[joinLimit]byte)(lines[:joinLimit]))
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
