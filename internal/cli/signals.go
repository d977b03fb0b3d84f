package cli

import (
	"context"
	"os"
	"os/signal"
)

// signalled is the cause of a context that a signal ended.
type signalled struct{ code int }

// Error says what happened.
func (s signalled) Error() string { return "ended by a signal" }

// withSignals ends the context at the first signal; a second one ends the process.
func withSignals(parent context.Context) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(parent)
	watchPipe()
	got, quit := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(got, endSignals()...)
	go func() {
		for n := 0; ; n++ {
			select {
			case s := <-got:
				if n > 0 {
					os.Exit(signalCode(s))
				}
				cancel(signalled{signalCode(s)})
			case <-quit:
				return
			}
		}
	}()
	return ctx, func() { signal.Stop(got); close(quit); cancel(nil) }
}
