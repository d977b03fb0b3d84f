package proc

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// readSize is the size of a read: a whole pipe at once.
const readSize = 64 << 10

// streams are the two pipes of one command. Each has a reader; calls of out are one
// at a time, in order of arrival.
type streams struct {
	r, w [2]*os.File
	out  func(Chunk)
	text [2]*nativeText
	eof  chan struct{} // closed when both readers are done

	left      atomic.Int32 // readers that are not done
	last      atomic.Int64 // when the last chunk was dealt with, in ns since base
	base      time.Time
	mu        sync.Mutex // held during out
	closed    bool
	abandoned bool // the readers cannot be stopped on this platform
}

func newStreams() (*streams, error) {
	s := &streams{eof: make(chan struct{}), base: time.Now()}
	for i := range s.r {
		s.text[i] = newNativeText()
		var err error
		if s.r[i], s.w[i], err = os.Pipe(); err != nil {
			s.closeAll()
			return nil, err
		}
	}
	return s, nil
}

func (s *streams) closeWriters() {
	for _, w := range s.w {
		if w != nil {
			w.Close()
		}
	}
}

func (s *streams) closeAll() {
	s.closeWriters()
	for _, r := range s.r {
		if r != nil {
			r.Close()
		}
	}
}

// pump starts the readers; stop waits for them.
func (s *streams) pump(out func(Chunk)) {
	s.out = out
	s.left.Store(int32(len(s.r)))
	for i := range s.r {
		go s.read(Channel(i))
	}
}

func (s *streams) read(ch Channel) {
	buf := buffers.Get().(*[readSize]byte)
	defer func() {
		buffers.Put(buf)
		if s.left.Add(-1) == 0 {
			close(s.eof)
		}
	}()
	for s.next(ch, buf[:]) {
	}
}

// emit delivers p; mu is held.
func (s *streams) emit(ch Channel, p []byte) {
	if !s.closed {
		s.deliver(ch, s.text[ch].decode(p, false))
	}
	s.last.Store(int64(time.Since(s.base)))
}

func (s *streams) deliver(ch Channel, text []byte) {
	if len(text) > 0 {
		s.out(Chunk{Channel: ch, Data: text})
	}
}

// silence returns for how long nothing has come. A chunk that is still being dealt
// with counts as activity: a slow client must not cost output.
func (s *streams) silence() time.Duration {
	if !s.mu.TryLock() {
		return 0
	}
	defer s.mu.Unlock()
	return time.Since(s.base) - time.Duration(s.last.Load())
}

// stop ends the readers, delivers what lies in the pipes at this moment, and closes
// them. No call of out happens after it.
func (s *streams) stop() {
	select {
	case <-s.eof:
	default:
		for _, r := range s.r {
			if err := r.SetReadDeadline(time.Unix(1, 0)); errors.Is(err, os.ErrNoDeadline) {
				s.abandoned = true
			}
		}
		if !s.abandoned {
			<-s.eof
			s.sweep()
		}
	}
	s.mu.Lock()
	for i, t := range s.text {
		s.deliver(Channel(i), t.decode(nil, true))
	}
	s.closed = true
	s.mu.Unlock()
	for _, r := range s.r {
		r.Close()
	}
}

// buffers keeps read buffers between commands: 200 calls in a row share two.
var buffers = sync.Pool{New: func() any { return new([readSize]byte) }}
