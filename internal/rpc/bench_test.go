package rpc_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/isotope-agent/isotope/internal/rpc"
)

const (
	deltas     = 20000
	deltaBytes = 20
)

// counting is a client that only looks for the ends of runs and for responses.
type counting struct {
	records  atomic.Int64
	settled  chan struct{}
	answered chan struct{}
}

func newCounting() *counting {
	return &counting{settled: make(chan struct{}, 1), answered: make(chan struct{}, 1)}
}

func (c *counting) Write(b []byte) (int, error) {
	c.records.Add(int64(bytes.Count(b, []byte{'\n'})))
	if bytes.Contains(b, []byte(`"agent_settled"`)) {
		c.settled <- struct{}{}
	}
	if bytes.Contains(b, []byte(`"command":"get_state"`)) {
		c.answered <- struct{}{}
	}
	return len(b), nil
}

// serve starts a server without a bubble.
func serve(t testing.TB, archive string) (feed io.Writer, client *counting, stop func()) {
	t.Helper()
	bed := newTestbed(t, txtar.Parse([]byte(archive)), t.TempDir())
	client = newCounting()
	srv := bed.start(client)
	in, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- rpc.Serve(context.Background(), in, srv.config()) }()
	return out, client, func() {
		out.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		srv.stop(t)
	}
}

func flood() string {
	return fmt.Sprintf("-- settings.json --\n"+`{"defaultProvider":"fake","defaultModel":"one","compaction":{"enabled":false}}`+"\n-- provider --\n"+`{"onEnd":"repeat","turns":[{"steps":[{"repeat":{"count":%d,"bytes":%d}}]}]}`+"\n", deltas, deltaBytes)
}

// cost plays one prompt of many deltas and returns what each event cost: the number of
// allocations, and the bytes beyond its text, which is held twice (as a delta and in
// the answer).
func cost(feed io.Writer, client *counting) (allocs, size float64) {
	var before, after runtime.MemStats
	start := client.records.Load()
	runtime.ReadMemStats(&before)
	io.WriteString(feed, `{"type":"prompt","message":"go"}`+"\n")
	<-client.settled
	runtime.ReadMemStats(&after)
	events := float64(client.records.Load() - start)
	return float64(after.Mallocs-before.Mallocs) / events, float64(after.TotalAlloc-before.TotalAlloc)/events - 2*deltaBytes
}

// BenchmarkDeltas is one answer of 20,000 deltas of 20 bytes through the provider, the
// loop, the engine and the writer (design.md, Speed is a feature).
func BenchmarkDeltas(b *testing.B) {
	feed, client, stop := serve(b, "-- args --\nno-session\n"+flood())
	defer stop()
	var allocs, size float64
	for b.Loop() {
		allocs, size = cost(feed, client)
	}
	b.ReportMetric(allocs, "allocs/event")
	b.ReportMetric(size, "B/event")
	b.ReportMetric(float64(b.N)*deltas/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkGetState is the round trip of a getter.
func BenchmarkGetState(b *testing.B) {
	feed, client, stop := serve(b, "")
	defer stop()
	b.ReportAllocs()
	for b.Loop() {
		io.WriteString(feed, `{"id":"1","type":"get_state"}`+"\n")
		<-client.answered
	}
}

// BenchmarkPromptInALongSession is one short prompt behind 1,000 others: what a prompt
// costs does not grow with the session beyond its request.
func BenchmarkPromptInALongSession(b *testing.B) {
	feed, client, stop := serve(b, "-- provider --\n"+`{"onEnd":"repeat","turns":[{"steps":[{"text":"ok"}]}]}`+"\n")
	defer stop()
	prompt := func() {
		io.WriteString(feed, `{"type":"prompt","message":"go"}`+"\n")
		<-client.settled
	}
	for range 1000 {
		prompt()
	}
	b.ReportAllocs()
	for b.Loop() {
		prompt()
	}
}

// The budget of an event, which does not depend on the machine: at most 3 allocations
// and 400 bytes beyond the text.
func TestCostOfADelta(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	feed, client, stop := serve(t, "-- args --\nno-session\n"+flood())
	defer stop()
	// The pools must keep what they have: how many buffers are in use at once depends on
	// how far the writer lags behind.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	cost(feed, client) // warms pools and tables up
	// How far the writer lags behind, and with it the number of its buffers, is chance:
	// the cheapest of some runs counts.
	allocs, size := cost(feed, client)
	for range 4 {
		a, s := cost(feed, client)
		allocs, size = min(allocs, a), min(size, s)
	}
	t.Logf("%.2f allocations and %.0f bytes an event", allocs, size)
	if allocs > 3 || size > 400 {
		t.Errorf("an event costs %.2f allocations and %.0f bytes, more than 3 and 400", allocs, size)
	}
	if n := client.records.Load(); n < 2*deltas {
		t.Errorf("only %d records came", n)
	}
}
