package rpc

import (
	"context"
	"sync"

	"github.com/isotope-agent/isotope/internal/output"
)

// backlogLimit is how many bytes of commands may be held back; beyond it the reader
// itself waits.
const backlogLimit = 64 << 20

// backlog hands commands on in their order. While the client does not read its
// answers it holds them back, and the reader still sees the interrupts and the end of
// input behind them. Its methods may be called concurrently.
type backlog struct {
	out    *output.Writer
	handle func(*request)
	more   chan struct{} // holds a value when there may be something to do
	done   chan struct{} // closed when run has returned

	mu      sync.Mutex // held while a command is handled: that keeps the order
	waiting []*request
	bytes   int
}

func newBacklog(out *output.Writer, handle func(*request)) *backlog {
	return &backlog{out: out, handle: handle, more: make(chan struct{}, 1), done: make(chan struct{})}
}

// add puts a command behind the others. It blocks when too much is held back.
func (b *backlog) add(ctx context.Context, req *request) {
	b.mu.Lock()
	b.waiting = append(b.waiting, req)
	b.bytes += len(req.line)
	full := b.bytes > backlogLimit
	b.mu.Unlock()
	select {
	case b.more <- struct{}{}:
	default:
	}
	if full {
		b.out.Room(ctx)
	}
}

// interrupt handles everything that is held back, and then req: an interrupt acts on
// every line before it and never waits.
func (b *backlog) interrupt(req *request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flush()
	b.handle(req)
}

// run hands commands on while the client reads, until ctx ends.
func (b *backlog) run(ctx context.Context) {
	defer close(b.done)
	for {
		select {
		case <-b.more:
		case <-ctx.Done():
			return
		}
		for b.out.Room(ctx); ctx.Err() == nil && b.one(); b.out.Room(ctx) {
		}
	}
}

// one handles the first command that waits and reports whether there was one.
func (b *backlog) one() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		return false
	}
	req := b.waiting[0]
	b.waiting = b.waiting[1:]
	b.bytes -= len(req.line)
	b.handle(req)
	return true
}

// finish handles what is left when run has returned: every line gets its answer.
func (b *backlog) finish() {
	<-b.done
	b.mu.Lock()
	defer b.mu.Unlock()
	b.flush()
}

// flush handles everything that is held back; b.mu is held.
func (b *backlog) flush() {
	for _, req := range b.waiting {
		b.handle(req)
	}
	b.waiting, b.bytes = nil, 0
}
