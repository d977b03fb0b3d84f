//go:build unix

package proc

import (
	"syscall"
	"time"
)

const (
	// settle is how long output that has just begun to arrive is left to gather: a
	// program that writes line by line costs one event a burst, not one a line, and
	// a burst on both channels arrives in one order.
	settle = 100 * time.Microsecond
	// flood is the size of a read after which gathering would only cost time.
	flood = 8 << 10
)

// next waits for output of ch and delivers it; false at the end. Reading and
// delivering are one step under the lock, and a reader of stderr looks at stdout
// first: of two pipes that became ready in the same moment that is the likelier
// order, and always the same one.
func (s *streams) next(ch Channel, buf []byte) bool {
	conn, err := s.r[ch].SyscallConn()
	if err != nil {
		return false
	}
	more := false
	err = conn.Read(func(fd uintptr) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if ch == Stderr {
			s.take(Stdout, buf)
		}
		n, err := gather(int(fd), buf)
		if err == syscall.EAGAIN {
			return false
		}
		if n > 0 {
			s.emit(ch, buf[:n])
			more = true
		}
		return true
	})
	return err == nil && more
}

// take delivers what lies in a pipe without waiting; mu is held.
func (s *streams) take(ch Channel, buf []byte) {
	conn, err := s.r[ch].SyscallConn()
	if err != nil {
		return
	}
	// Control, not Read: the other reader holds the read lock while it waits.
	_ = conn.Control(func(fd uintptr) {
		if n, _ := gather(int(fd), buf); n > 0 {
			s.emit(ch, buf[:n])
		}
	})
}

// sweep delivers what a loaded machine left in the pipes when the readers stopped.
func (s *streams) sweep() {
	buf := buffers.Get().(*[readSize]byte)
	defer buffers.Put(buf)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.r {
		s.take(Channel(i), buf[:])
	}
}

// gather reads what is there; when that is little, also what follows in a moment.
func gather(fd int, buf []byte) (int, error) {
	n, err := readFD(fd, buf)
	if n <= 0 || n >= flood {
		return n, err
	}
	nap(settle)
	if m, _ := readFD(fd, buf[n:]); m > 0 {
		n += m
	}
	return n, nil
}

func readFD(fd int, buf []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, buf)
		if err != syscall.EINTR {
			return n, err
		}
	}
}
