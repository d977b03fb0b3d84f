package engine

import "github.com/isotope-agent/isotope/internal/event"

// snapshots is an output that gets message updates in their older form. The events of
// answers come from the one goroutine of the run, and only by Emit.
type snapshots struct {
	Output
	growing event.Growing
}

// Emit implements Output.
func (s *snapshots) Emit(ev event.Event) { s.Output.Emit(s.growing.Snapshot(ev)) }
