package output_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/output"
)

// gate is a stdout whose reader can be held.
type gate struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	open chan struct{}
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.buf.Write(b)
}

func TestRecordsKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		o := output.New(g)
		o.Post(event.AgentStart{})
		o.Stream(func(w io.Writer) error {
			_, err := io.WriteString(w, strings.Repeat("x", 200_000))
			return err
		})
		if err := o.Write(map[string]int{"n": 1}); err != nil {
			t.Fatal(err)
		}
		o.Post(event.AgentSettled{Aborted: true})
		close(g.open)
		if err := o.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := `{"type":"agent_start"}` + "\n" + strings.Repeat("x", 200_000) + "\n" + `{"n":1}` + "\n" + `{"type":"agent_settled","aborted":true}` + "\n"
		if g.buf.String() != want {
			t.Errorf("got %d bytes, want %d in this order", g.buf.Len(), len(want))
		}
	})
}

// Field report 17: a slow reader loses nothing and holds the run back, not the engine.
func TestSlowReaderHoldsEmitBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		o := output.New(g)
		const each, n = 1 << 20, 8
		emitted := make(chan int, n)
		go func() {
			for i := range n {
				o.Emit(event.BashExecutionUpdate{Channel: "stdout", Delta: strings.Repeat("y", each)})
				emitted <- i
			}
			close(emitted)
		}()
		synctest.Wait()
		if got := len(emitted); got >= n || got < 3 {
			t.Errorf("%d of %d records of 1 MiB went in while nobody read", got, n)
		}
		for range 100 { // the engine is never held back
			o.Post(event.AgentStart{})
		}
		close(g.open)
		for range emitted {
		}
		if err := o.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(g.buf.String(), "\n"); lines != n+100 {
			t.Errorf("%d lines, want %d", lines, n+100)
		}
	})
}

// At the end nothing may wait for a client that does not read: a run must be stored.
func TestLiftLetsEmitGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		o := output.New(g)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 8 {
				o.Emit(event.BashExecutionUpdate{Delta: strings.Repeat("z", 1<<20)})
			}
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Error("Emit did not block")
		default:
		}
		o.Lift()
		<-done
		close(g.open)
		if err := o.Close(t.Context()); err != nil || strings.Count(g.buf.String(), "\n") != 8 {
			t.Errorf("%d lines, %v", strings.Count(g.buf.String(), "\n"), err)
		}
	})
}

// broken is a stdout whose reader has gone away, after some busy moments.
type broken struct{ busy int }

func (b *broken) Write(p []byte) (int, error) {
	if b.busy > 0 {
		b.busy--
		return 0, syscall.ENOBUFS
	}
	return 0, syscall.EPIPE
}

func TestBrokenReaderReleasesEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := output.New(&broken{busy: 3})
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 10 {
				o.Emit(event.BashExecutionUpdate{Delta: strings.Repeat("z", 1<<20)})
			}
		}()
		<-done
		<-o.Broken()
		if err := o.Close(t.Context()); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("Close = %v, want EPIPE", err)
		}
	})
}

func TestBusyReaderIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var buf bytes.Buffer
		busy := 3
		o := output.New(writerFunc(func(p []byte) (int, error) {
			if busy > 0 {
				busy--
				n := min(1, len(p))
				buf.Write(p[:n])
				return n, syscall.EAGAIN
			}
			return buf.Write(p)
		}))
		o.Post(event.AgentStart{})
		if err := o.Close(t.Context()); err != nil || buf.String() != "{\"type\":\"agent_start\"}\n" {
			t.Errorf("got %q, %v", buf.String(), err)
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestCloseGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		o := output.New(g)
		o.Post(event.AgentStart{})
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := o.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close = %v, want a time-out", err)
		}
		close(g.open) // let the goroutine go
	})
}

// Room holds a reader of commands back while the client does not read.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		o := output.New(g)
		for range output.ReadBudget>>20 + 1 {
			if err := o.Write(strings.Repeat("r", 1<<20)); err != nil {
				t.Fatal(err)
			}
		}
		passed := false
		go func() { o.Room(t.Context()); passed = true }()
		synctest.Wait()
		if passed {
			t.Error("Room let a reader on with more than its budget waiting")
		}
		close(g.open)
		synctest.Wait()
		if !passed {
			t.Error("Room did not let go after the client had read")
		}
		if err := o.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkEmitDelta(b *testing.B) {
	o := output.New(io.Discard)
	ev := event.MessageUpdate{Usage: nil, Update: event.Delta{Type: event.TypeTextDelta, Delta: "twenty bytes of text"}}
	b.ReportAllocs()
	for b.Loop() {
		o.Emit(ev)
	}
	_ = o.Close(context.Background())
}
