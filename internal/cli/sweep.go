package cli

import (
	"time"

	"github.com/isotope-agent/isotope/internal/proc"
)

// sweeper removes what old sessions spilled, once, some time after the start. The
// removal itself is not waited for: it ends with the process at the latest.
type sweeper struct{ timer *time.Timer }

// after starts the clock. own is a session that is never swept.
func (s *sweeper) after(d time.Duration, own proc.Spill) {
	s.timer = time.AfterFunc(d, func() { own.Sweep(time.Now(), nil) })
}

func (s *sweeper) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}
