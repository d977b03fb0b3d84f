// Package grep owns the search for lines in files: the query, the quick look for
// literals that lets most text go unmatched, and the search of many files beside
// each other with results in order.
//
// It must not know where the list of files comes from or how results are shown.
// Matchers may be shared; a search runs workers of its own and waits for them.
package grep

import (
	"context"
	"runtime"
	"sync"
)

// Options of a search.
type Options struct {
	Context int // lines shown around each match, at most 5,000
	Limit   int // matching lines shown; at least 1
}

// File searches one file, whatever is in it, and calls show for each line that matches
// and those around it. More reports that the limit left matches out.
func File(ctx context.Context, m *Matcher, name string, opt Options, show func(Line)) (more bool, err error) {
	l := limiter{opt: opt, show: show}
	f, err := open(name)
	if err != nil {
		return false, err
	}
	defer f.close()
	err = m.run(ctx, f, true, opt.Context, l.line)
	return l.more, err
}

// Files searches the files that list names, in order, and calls show with the name of
// the file for each line that matches and those around it. Files that are no text or
// cannot be read are passed over. List runs on a goroutine of its own and ends when
// its yield returns false. More reports that the limit left matches out.
func Files(ctx context.Context, m *Matcher, list func(ctx context.Context, yield func(name string) bool) error, opt Options, show func(name string, line Line)) (more bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &search{ctx: ctx, m: m, work: make(chan *batch), ordered: make(chan *batch, batchesAhead)}
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { s.list(list) })
	for range workers() {
		running.Go(s.check)
	}
	l := limiter{opt: opt}
	for b := range s.ordered {
		select {
		case <-b.done:
		case <-ctx.Done():
			return l.more, context.Cause(ctx)
		}
		for _, name := range b.hits {
			l.nextFile()
			l.show = func(line Line) { show(name, line) }
			if s.scan(name, opt.Context, l.line); l.done {
				return l.more, nil
			}
		}
	}
	if ctx.Err() != nil {
		return l.more, context.Cause(ctx)
	}
	return l.more, s.err
}

// limiter shows lines up to the limit. The last match still gets its context, in which
// further matches count as context; the limit was reached only when there is one more.
type limiter struct {
	opt     Options
	show    func(Line)
	matches int
	end     int // behind the limit: the last line of the last match's context, 0 in other files
	more    bool
	done    bool
}

func (l *limiter) nextFile() { l.end = 0 }

func (l *limiter) line(line Line) bool {
	if l.matches < l.opt.Limit {
		if line.Match {
			if l.matches++; l.matches == l.opt.Limit {
				l.end = line.Number + min(l.opt.Context, maxContext)
			}
		}
		l.show(line)
		return true
	}
	near := line.Number <= l.end
	l.more = l.more || line.Match
	if near {
		line.Match = false
		l.show(line)
	}
	l.done = l.more && !(near && line.Number < l.end)
	return !l.done
}

// search is the state that the workers share.
type search struct {
	ctx     context.Context
	m       *Matcher
	work    chan *batch
	ordered chan *batch
	err     error // of list; read when ordered is closed
}

// batch is a run of files; hits are those with a match, known when done is closed.
type batch struct {
	names []string
	hits  []string
	done  chan struct{}
}

const (
	batchSize    = 64
	batchesAhead = 32
)

func workers() int { return min(max(runtime.GOMAXPROCS(0), 2), 16) }

// list cuts the list of files into batches, small ones first: the first results are
// often all that is wanted.
func (s *search) list(list func(context.Context, func(string) bool) error) {
	defer close(s.ordered)
	defer close(s.work)
	size := 2
	b := &batch{done: make(chan struct{})}
	send := func() bool {
		for _, to := range []chan *batch{s.ordered, s.work} {
			select {
			case to <- b:
			case <-s.ctx.Done():
				return false
			}
		}
		size = min(2*size, batchSize)
		b = &batch{names: make([]string, 0, size), done: make(chan struct{})}
		return true
	}
	s.err = list(s.ctx, func(name string) bool {
		b.names = append(b.names, name)
		return len(b.names) < size || send()
	})
	if len(b.names) > 0 {
		send()
	}
}

// check finds out which files of the batches have a match at all.
func (s *search) check() {
	for b := range s.work {
		for _, name := range b.names {
			found := false
			s.scan(name, 0, func(Line) bool { found = true; return false })
			if found {
				b.hits = append(b.hits, name)
			}
		}
		close(b.done)
	}
}

// scan searches one file of the list.
func (s *search) scan(name string, around int, emit func(Line) bool) {
	f, err := open(name)
	if err != nil {
		return
	}
	defer f.close()
	_ = s.m.run(s.ctx, f, false, around, emit) // a file that cannot be read is passed over
}
