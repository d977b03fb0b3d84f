package ext

import (
	"context"
	"testing"

	"github.com/isotope-agent/isotope/internal/event"
)

// modes runs a benchmark in the engine's process and in one of the extensions' own.
func modes(b *testing.B, source string, run func(b *testing.B, bed *bed)) {
	b.Run("in process", func(b *testing.B) { run(b, newBed(b, source)) })
	b.Run("isolated", func(b *testing.B) { run(b, newBed(b, source, isolated)) })
}

// One extension, from nothing to loaded and away again, with a warm cache.
func BenchmarkStartWarm(b *testing.B) {
	modes(b, wellBehaved, func(b *testing.B, bed *bed) {
		b.ReportAllocs()
		for b.Loop() {
			x := New(bed.x.cfg)
			if errs := x.Load(context.Background()); errs != nil {
				b.Fatal(errs)
			}
			_ = x.Close(context.Background())
		}
	})
}

// 100,000 events, each taken by one handler.
func BenchmarkHundredThousandEvents(b *testing.B) {
	modes(b, `let n = 0; export default (pi) => { pi.on("turn_start", (e) => { n++; }); };`, func(b *testing.B, bed *bed) {
		b.ReportAllocs()
		for b.Loop() {
			for range 100_000 {
				bed.x.Observe(context.Background(), event.TurnStart{})
			}
		}
	})
}

func BenchmarkEventNobodyTakes(b *testing.B) {
	bed := newBed(b, wellBehaved)
	ev := event.Event(event.ToolExecutionStart{})
	b.ReportAllocs()
	for b.Loop() {
		bed.x.Observe(context.Background(), ev)
	}
}

// An event that no handler takes costs nothing: no memory, whatever it carries.
func TestEventNobodyTakesCostsNothing(t *testing.T) {
	for name, x := range map[string]*Extensions{"other handlers": newBed(t, wellBehaved).x, "no extension": New(Config{})} {
		for _, ev := range []event.Event{event.ToolExecutionStart{}, event.MessageUpdate{Update: event.Delta{}}, event.TurnStart{}, event.AgentSettled{}} {
			if n := testing.AllocsPerRun(100, func() { x.Observe(context.Background(), ev) }); n > 0 {
				t.Errorf("%s: %s costs %v allocations", name, ev.Kind(), n)
			}
		}
	}
}
