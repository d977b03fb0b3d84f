package export

import (
	"fmt"
	"runtime"
	"sync"
)

// maxWorkers is how many goroutines make parts: more would wait for the one that writes.
const maxWorkers = 4

// part is what a goroutine made, until it is told to make the next part but one.
type part[T any] struct {
	value *T
	err   error
}

// inOrder makes the parts 0 to n-1 on several goroutines and uses them in their order.
// A goroutine makes every so many-th part, into two values in turn: one is used while
// the other is made, so memory does not grow with n. The functions that maker returns
// are called by one goroutine each, use by the caller's. inOrder waits for them all.
func inOrder[T any](n int, maker func() func(k int, into *T) error, use func(*T) error) error {
	workers := min(runtime.GOMAXPROCS(0), maxWorkers, n)
	made := make([]chan part[T], workers)
	stop := make(chan struct{})
	var running sync.WaitGroup
	defer running.Wait()
	defer close(stop)
	for w := range made {
		made[w] = make(chan part[T])
		running.Go(func() {
			turn, pair, fill := 0, [2]T{}, maker()
			for k := w; k < n; k += workers {
				p := part[T]{value: &pair[turn]}
				p.err = guarded(fill, k, p.value)
				select {
				case made[w] <- p:
				case <-stop:
					return
				}
				if turn = 1 - turn; p.err != nil {
					return
				}
			}
		})
	}
	for k := range n {
		p := <-made[k%workers]
		if p.err != nil {
			return fmt.Errorf("exporting a session: %w", p.err)
		}
		if err := use(p.value); err != nil {
			return err
		}
	}
	return nil
}

// guarded keeps a fault of one part from ending the process: it is the error of the export.
func guarded[T any](fill func(int, *T) error, k int, into *T) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("part %d: %v", k, r)
		}
	}()
	return fill(k, into)
}
