package proc

// next waits for output of ch and delivers it; false at the end.
func (s *streams) next(ch Channel, buf []byte) bool {
	n, err := s.r[ch].Read(buf)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > 0 {
		s.emit(ch, buf[:n])
	}
	return err == nil && !s.closed
}

// sweep has nothing to do: the readers of this platform cannot be stopped, so
// whatever was written has been read.
func (s *streams) sweep() {}
