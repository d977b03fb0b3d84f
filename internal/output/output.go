// Package output owns the client's side of stdout: records in order, one line each,
// none dropped. Exactly one goroutine writes; everybody else appends to its queue.
//
// It must not know what a record means. All methods may be called concurrently; the
// order of the calls is the order of the lines.
package output

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

const (
	// EventBudget is how many bytes may wait before Emit blocks.
	EventBudget = 4 << 20
	// ReadBudget is how many bytes may wait before a reader of commands should hold
	// ordinary lines back (see Writer.Room).
	ReadBudget = 64 << 20

	joinLimit  = 64 << 10 // lines up to this size share a buffer and one write
	retryPause = 10 * time.Millisecond
)

// Writer writes records to one stream.
type Writer struct {
	w     io.Writer
	chunk chunked // of the writing goroutine

	mu      sync.Mutex
	changed sync.Cond // the queue, waiting, closed or err changed
	queue   []segment
	waiting int // bytes in the queue and in the write under way
	closed  bool
	lifted  bool // Emit does not block any more
	err     error

	broken chan struct{} // closed when the client is gone
	done   chan struct{} // closed when the goroutine has left
}

// segment is a run of finished lines, or one line that is produced while it is written.
type segment struct {
	lines  []byte
	stream func(io.Writer) error
}

// New starts a writer on w. The caller must call Close.
func New(w io.Writer) *Writer {
	o := &Writer{w: w, broken: make(chan struct{}), done: make(chan struct{})}
	o.changed.L = &o.mu
	go o.loop()
	return o
}

// Emit appends an event and blocks while more than EventBudget bytes wait. It
// returns at once when the client is gone.
func (o *Writer) Emit(ev event.Event) {
	o.Post(ev)
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.waiting > EventBudget && o.err == nil && !o.lifted {
		o.changed.Wait()
	}
}

// Lift ends all blocking of Emit: at the end of a program what runs must come to its
// end and be stored, whether or not the client still reads.
func (o *Writer) Lift() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lifted = true
	o.changed.Broadcast()
}

// Post appends an event and never blocks.
func (o *Writer) Post(ev event.Event) {
	buf := getScratch()
	defer putScratch(buf)
	if event.Append(buf, ev) == nil {
		o.line(buf)
	}
}

// Write appends v as one line and never blocks. The error is that of encoding v.
func (o *Writer) Write(v any) error {
	buf := getScratch()
	defer putScratch(buf)
	if err := jsonx.Write(buf, v); err != nil {
		return err
	}
	o.line(buf)
	return nil
}

// Stream appends a line that produce writes when its turn comes, without a line
// feed. It never blocks. A failure of produce ends the line where it is.
func (o *Writer) Stream(produce func(io.Writer) error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || o.closed {
		return
	}
	o.queue = append(o.queue, segment{stream: produce})
	o.waiting++
	o.changed.Broadcast()
}

// Room blocks while more than ReadBudget bytes wait, until ctx ends.
func (o *Writer) Room(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changed.Broadcast()
	})
	defer stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.waiting > ReadBudget && o.err == nil && ctx.Err() == nil {
		o.changed.Wait()
	}
}

// Broken is closed when the stream cannot be written any more: the client is gone.
func (o *Writer) Broken() <-chan struct{} { return o.broken }

// Close writes what waits and ends the goroutine. It returns when that is done or
// when ctx ends; the error is the stream's or ctx's.
func (o *Writer) Close(ctx context.Context) error {
	o.mu.Lock()
	o.closed = true
	o.changed.Broadcast()
	o.mu.Unlock()
	select {
	case <-o.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// line appends a copy of the record in buf.
func (o *Writer) line(buf *bytes.Buffer) {
	buf.WriteByte('\n')
	line := buf.Bytes()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil || o.closed {
		return
	}
	o.waiting += len(line)
	if n := len(o.queue); n > 0 && o.queue[n-1].stream == nil && len(o.queue[n-1].lines)+len(line) <= joinLimit {
		o.queue[n-1].lines = append(o.queue[n-1].lines, line...)
		return // the writer has not come to this segment yet and will
	}
	o.queue = append(o.queue, segment{lines: place(line)})
	o.changed.Broadcast()
}

// loop is the only writer of the stream.
func (o *Writer) loop() {
	defer close(o.done)
	for {
		o.mu.Lock()
		for len(o.queue) == 0 && !o.closed {
			o.changed.Wait()
		}
		if len(o.queue) == 0 {
			o.mu.Unlock()
			return
		}
		s := o.queue[0]
		o.queue[0] = segment{}
		if o.queue = o.queue[1:]; len(o.queue) == 0 {
			o.queue = nil
		}
		o.mu.Unlock()
		n, err := o.write(s)
		o.mu.Lock()
		o.waiting -= n
		o.changed.Broadcast()
		o.mu.Unlock()
		if err != nil {
			o.fail(err)
			return
		}
	}
}

// write writes one segment and returns what it counted for in waiting.
func (o *Writer) write(s segment) (counted int, err error) {
	if s.stream == nil {
		_, err = patient{o.w}.Write(s.lines)
		release(s.lines)
		return len(s.lines), err
	}
	dst := &sticky{w: patient{o.w}}
	o.chunk.w = dst
	_ = s.stream(&o.chunk) // a producer reports its own failure; the line must end all the same
	o.chunk.Write([]byte{'\n'})
	o.chunk.flush()
	return 1, dst.err
}

// fail marks the client as gone: what waits is dropped, whoever blocks goes on.
func (o *Writer) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
	o.queue, o.waiting = nil, 0
	close(o.broken)
	o.changed.Broadcast()
}

// patient writes everything and waits out a reader that is only slow.
type patient struct{ w io.Writer }

func (p patient) Write(b []byte) (int, error) {
	total := 0
	for {
		n, err := p.w.Write(b[total:])
		total += n
		if total == len(b) {
			return total, nil
		}
		if err != nil && !errors.Is(err, syscall.ENOBUFS) && !errors.Is(err, syscall.EAGAIN) {
			return total, err
		}
		time.Sleep(retryPause)
	}
}

// sticky remembers the stream's failure, so that producers need not check.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(b []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	var n int
	n, s.err = s.w.Write(b)
	return n, s.err
}
