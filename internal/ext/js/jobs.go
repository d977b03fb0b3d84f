package js

import (
	"iter"
	"sync"
)

// jobs is the queue of the engine's goroutine. It has no bound: whoever produces much
// waits for its job to have run.
type jobs struct {
	mu     sync.Mutex
	list   []func()
	wake   chan struct{} // capacity 1
	closed bool
}

func newJobs() *jobs { return &jobs{wake: make(chan struct{}, 1)} }

// put adds a job; false after close.
func (q *jobs) put(job func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.list = append(q.list, job)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// close ends all; jobs that wait are dropped.
func (q *jobs) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.closed = true
		close(q.wake)
	}
}

// all yields the jobs in order until close.
func (q *jobs) all() iter.Seq[func()] {
	return func(yield func(func()) bool) {
		for range q.wake {
			for _, job := range q.take() {
				if !yield(job) {
					return
				}
				if q.done() {
					return
				}
			}
		}
	}
}

func (q *jobs) take() []func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	q.list = nil
	return list
}

func (q *jobs) done() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}
