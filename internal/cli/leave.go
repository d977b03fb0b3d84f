package cli

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/output"
)

// pulse is a stream that counts what its reader has taken.
type pulse struct {
	w     io.Writer
	taken atomic.Int64
}

// Write writes in pieces, so that a slow reader of one large record is seen to be
// alive.
func (p *pulse) Write(b []byte) (int, error) {
	const piece = 64 << 10
	total := 0
	for {
		n, err := p.w.Write(b[total:min(len(b), total+piece)])
		total += n
		p.taken.Add(int64(n))
		if err != nil || total == len(b) {
			return total, err
		}
	}
}

// leave ends engine, children and output in order and in time, and reports whether
// all of the output was taken. After a signal everything has limits.leave; else that
// much time without a sign of life of the reader. With patient it waits for the
// reader as any program does that was not told to end. out is nil in print mode.
func (a *app) leave(signals context.Context, eng *engine.Engine, out *output.Writer, reader *pulse, patient bool) bool {
	ctx, release := a.deadline(signals, reader, false)
	defer release()
	if out != nil {
		out.Lift() // what runs is aborted and stored, also when nobody reads
	}
	a.ext.end(ctx)
	defer a.ext.close(a.limits.leave) // responses that are still to be written may ask it
	if err := eng.Close(ctx); err != nil && ctx.Err() == nil {
		a.warn(err.Error())
	}
	if err := a.close(ctx); err != nil {
		a.warn(err.Error())
	}
	if out == nil {
		return true
	}
	switch {
	case patient && signals.Err() == nil:
		var stop func()
		ctx, stop = a.deadline(signals, reader, true)
		defer stop()
	case ctx.Err() != nil: // something hung; what it left to write need not be lost
		var stop func()
		ctx, stop = context.WithTimeout(context.Background(), a.limits.leave/5)
		defer stop()
	}
	err := out.Close(ctx)
	if err != nil && ctx.Err() != nil {
		a.warn("standard output is blocked: what was left to write is lost")
	}
	return err == nil
}

// deadline returns a context that ends when an orderly end must be over: see leave.
func (a *app) deadline(signals context.Context, reader *pulse, patient bool) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancel(context.Background())
	seen := reader.count()
	go func() {
		stuck := time.NewTimer(a.limits.leave)
		defer stuck.Stop()
		if patient {
			stuck.Stop()
		}
		told := signals.Done()
		for {
			select {
			case <-ctx.Done():
				return
			case <-told:
				told = nil
				stuck.Reset(a.limits.leave)
			case <-stuck.C:
				n := reader.count()
				if told == nil || n == seen {
					cancel()
					return
				}
				seen = n
				stuck.Reset(a.limits.leave)
			}
		}
	}()
	return ctx, cancel
}

// count returns the bytes that were taken so far.
func (p *pulse) count() int64 {
	if p == nil {
		return 0
	}
	return p.taken.Load()
}

// close ends what the app started: children first. What does not end before ctx is
// left behind: the guard of children outlives the process.
func (a *app) close(ctx context.Context) error {
	a.sweep.stop()
	done := make(chan error, 1)
	go func() { done <- errors.Join(a.runner.Close(), a.providers.close(), a.keys.Wait(ctx)) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return nil
	}
}

// bounded runs fn, and stops waiting for it some time after ctx has ended.
func (a *app) bounded(ctx context.Context, fn func()) {
	done := make(chan struct{})
	go func() { defer close(done); fn() }()
	select {
	case <-done:
		return
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(a.limits.leave):
	}
}
