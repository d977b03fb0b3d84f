package tool

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isotope-agent/isotope/internal/llm"
)

func TestQueueServesInOrderOfReservation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		var mu sync.Mutex
		var got []int
		places := make([]*Place, 20)
		for i := range places {
			places[i] = q.Reserve("file")
		}
		var wg sync.WaitGroup
		for i, p := range places {
			wg.Go(func() {
				defer p.Release()
				time.Sleep(time.Duration(len(places)-i) * time.Millisecond) // the last comes first
				if err := p.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				got = append(got, i)
				mu.Unlock()
			})
		}
		wg.Wait()
		for i, v := range got {
			if v != i {
				t.Fatalf("order = %v", got)
			}
		}
		if len(q.lines) != 0 {
			t.Errorf("lines left: %v", q.lines)
		}
	})
}

func TestQueueKeysAreIndependent(t *testing.T) {
	var q Queue
	a, b := q.Reserve("a"), q.Reserve("b")
	for _, p := range []*Place{a, b} {
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	a.Release()
	b.Release()
}

func TestQueueReleaseBeforeTurnDoesNotOvertake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queue
		first, second, third := q.Reserve("f"), q.Reserve("f"), q.Reserve("f")
		second.Release()
		served := make(chan struct{})
		go func() {
			if third.Wait(t.Context()) == nil {
				close(served)
			}
		}()
		synctest.Wait()
		select {
		case <-served:
			t.Fatal("third overtook first")
		default:
		}
		first.Release()
		first.Release()
		<-served
		third.Release()
	})
}

func TestQueueWaitEndsWithTheCauseOfTheContext(t *testing.T) {
	var q Queue
	first, second := q.Reserve("f"), q.Reserve("f")
	cause := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := second.Wait(ctx); !errors.Is(err, cause) {
		t.Errorf("Wait = %v, want the cause", err)
	}
	if err := first.Wait(ctx); !errors.Is(err, cause) {
		t.Errorf("Wait at the head with a dead context = %v, want the cause", err)
	}
	second.Release()
	first.Release()
}

type plain struct{}

func (plain) Spec() llm.ToolSpec { return llm.ToolSpec{Name: "plain"} }
func (plain) Run(_ context.Context, call Call, _ func(Result)) (Result, error) {
	return TextResult("ran " + call.ID), nil
}

type ordered struct {
	plain
	started *[]string
}

func (o ordered) Start(ctx context.Context, call Call) RunFunc {
	*o.started = append(*o.started, call.ID)
	return func(update func(Result)) (Result, error) { return o.Run(ctx, call, update) }
}

func TestStart(t *testing.T) {
	var started []string
	for _, tl := range []Tool{plain{}, ordered{started: &started}} {
		run := Start(t.Context(), tl, Call{ID: "c1"})
		res, err := run(nil)
		if err != nil || res.Content.PlainText("") != "ran c1" {
			t.Errorf("%T: %v %v", tl, res, err)
		}
	}
	if len(started) != 1 || started[0] != "c1" {
		t.Errorf("started = %v", started)
	}
}
