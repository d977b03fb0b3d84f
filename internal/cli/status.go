package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// status is the spinner line on stderr. A nil *status shows nothing.
type status struct {
	w     io.Writer
	color bool

	mu    sync.Mutex
	text  string
	since time.Time
	tick  *time.Ticker
	quit  chan struct{}
	gone  chan struct{}
	shown bool
}

const spinnerPause = 120 * time.Millisecond

func newStatus(w io.Writer, color bool) *status { return &status{w: w, color: color} }

// start shows text with a spinner and the time that passes.
func (s *status) start(text string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
	if s.tick != nil {
		return
	}
	s.since = time.Now()
	s.tick, s.quit, s.gone = time.NewTicker(spinnerPause), make(chan struct{}), make(chan struct{})
	go s.spin(s.tick, s.quit, s.gone)
}

func (s *status) spin(tick *time.Ticker, quit, gone chan struct{}) {
	defer close(gone)
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	for i := 0; ; i++ {
		select {
		case <-quit:
			return
		case <-tick.C:
			s.mu.Lock()
			fmt.Fprintf(s.w, "\r\x1b[K%c %s %s", frames[i%len(frames)], s.text, time.Since(s.since).Round(time.Second))
			s.shown = true
			s.mu.Unlock()
		}
	}
}

// clear takes the spinner off the screen until it shows itself again.
func (s *status) clear() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
}

func (s *status) wipe() {
	if s.shown {
		io.WriteString(s.w, "\r\x1b[K")
		s.shown = false
	}
}

// line writes a line that stays.
func (s *status) line(text string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	if s.color {
		text = "\x1b[2m" + text + "\x1b[0m"
	}
	fmt.Fprintln(s.w, text)
}

// stop takes the spinner away for good and waits for its goroutine.
func (s *status) stop() {
	if s == nil {
		return
	}
	s.mu.Lock()
	tick, quit, gone := s.tick, s.quit, s.gone
	s.tick = nil
	s.wipe()
	s.mu.Unlock()
	if tick != nil {
		tick.Stop()
		close(quit)
		<-gone
		s.clear()
	}
}
