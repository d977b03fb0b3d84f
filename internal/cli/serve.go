package cli

import (
	"context"
	"errors"
	"sync"

	"github.com/isotope-agent/isotope/internal/output"
	"github.com/isotope-agent/isotope/internal/rpc"
)

// serve is RPC mode: commands until stdin ends, a signal comes or the client is gone.
func (a *app) serve(ctx context.Context) int {
	if len(a.flags.args) > 0 {
		a.warn("arguments mean nothing in RPC mode: send prompts as commands on standard input")
	}
	store, err := a.openSession(ctx)
	if err != nil {
		return failed(a.std.err, err)
	}
	reader := &pulse{w: a.std.out}
	out := output.New(reader)
	asked := make(chan struct{})
	a.quit = sync.OnceFunc(func() { close(asked) })
	eng, err := a.newEngine(store, out)
	if err != nil {
		return failed(a.std.err, errors.Join(err, store.Close()))
	}
	served := make(chan error, 1)
	go func() { // reading stdin cannot be interrupted; it ends with the process
		served <- rpc.Serve(ctx, a.std.in, rpc.Config{
			Engine: eng, Output: out, Dialect: a.dialect,
			Commands: a.ext.commands, Snapshots: a.snapshots(), Version: Version(), Export: a.exportSession, DialogAnswer: a.ext.DialogAnswer,
		})
	}()
	bad := false
	select {
	case err := <-served:
		if err != nil && ctx.Err() == nil {
			a.warn(err.Error())
			bad = true
		}
	case <-ctx.Done():
	case <-asked:
	case <-out.Broken():
	}
	whole := a.leave(ctx, eng, out, reader, false)
	return code(ctx, !whole, bad)
}
