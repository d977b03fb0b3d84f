package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const spinnerPause = 120 * time.Millisecond

// status is the spinner line on a terminal: what goes on, and for how long. A nil
// *status shows nothing. Its goroutine runs from the first show to stop.
type status struct {
	w     io.Writer
	color bool
	now   func() time.Time
	pause time.Duration // between two frames

	mu    sync.Mutex
	text  string // "" while it is hidden
	since time.Time
	frame int
	drawn bool // the spinner is on the screen
	quit  chan struct{}
	gone  chan struct{}
}

func newStatus(w io.Writer, color bool) *status {
	return &status{w: w, color: color, now: time.Now, pause: spinnerPause}
}

// show shows text with a spinner and the time since the first show.
func (s *status) show(text string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = text
	if s.quit == nil {
		s.since = s.now()
		s.quit, s.gone = make(chan struct{}), make(chan struct{})
		go s.spin(s.quit, s.gone)
	}
}

func (s *status) spin(quit, gone chan struct{}) {
	defer close(gone)
	tick := time.NewTicker(s.pause)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
			s.draw()
		}
	}
}

func (s *status) draw() {
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text == "" {
		return
	}
	fmt.Fprintf(s.w, "\r\x1b[K%c %s %s", frames[s.frame%len(frames)], s.text, s.now().Sub(s.since).Round(time.Second))
	s.frame++
	s.drawn = true
}

// elapsed returns the time since the first show; ok is false before it and after stop.
func (s *status) elapsed() (took time.Duration, ok bool) {
	if s == nil {
		return 0, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Sub(s.since), s.quit != nil
}

// hide takes the spinner off the screen until the next show.
func (s *status) hide() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = ""
	s.wipe()
}

func (s *status) wipe() {
	if s.drawn {
		_, _ = io.WriteString(s.w, "\r\x1b[K")
		s.drawn = false
	}
}

// line writes a line that stays.
func (s *status) line(text string) {
	if s == nil {
		return
	}
	if s.color {
		text = "\x1b[2m" + text + "\x1b[0m"
	}
	_, _ = s.Write([]byte(text + "\n"))
}

// Write writes to the terminal in place of the spinner, which comes back by itself.
func (s *status) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	return s.w.Write(b)
}

// stop takes the spinner away for good and waits for its goroutine.
func (s *status) stop() {
	if s == nil {
		return
	}
	s.hide()
	s.mu.Lock()
	quit, gone := s.quit, s.gone
	s.quit = nil
	s.mu.Unlock()
	if quit != nil {
		close(quit)
		<-gone
		s.hide()
	}
}
