// Package record writes what a real provider sends as a script that package scripted
// plays again (docs/scripted.md, Recordings).
//
// It owns the translation of stream events into steps, and where a turn stands in the
// script. It must not know any wire format, nor what becomes of the events. A Recorder
// may be used concurrently; turns are written in the order in which they end.
package record

import (
	"context"
	"fmt"
	"io"
	"iter"
	"sync"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/scripted"
)

// Recorder is a provider that passes on what another one sends and writes it down.
type Recorder struct {
	inner llm.Provider
	out   *Script
}

// New returns a recorder of inner that writes to w. Close must be called at the end.
func New(inner llm.Provider, w io.Writer) *Recorder { return NewScript(w).Record(inner) }

// Close completes the script. The error is the first that writing met.
func (r *Recorder) Close() error { return r.out.Close() }

// Stream implements llm.Provider: the inner provider's stream, unchanged.
func (r *Recorder) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		place := r.out.locate(req)
		var f folder
		for e, err := range r.inner.Stream(ctx, req) {
			if err != nil && ctx.Err() == nil {
				f.fail(err)
			} else if err == nil {
				f.add(e)
			}
			if !yield(e, err) {
				break
			}
		}
		r.out.write(f.finish(), req, place)
	}
}

// Script is a script that is being recorded, by any number of recorders.
type Script struct {
	mu     sync.Mutex
	w      io.Writer
	seeker io.Seeker        // w when the tail can be overwritten by the next turn
	err    error            // the first one of w
	script *scripted.Script // what was written so far
	turns  int
	last   written
	closed bool
}

// written is the request that the last turn answered.
type written struct {
	place    scripted.Place
	messages int
	session  string
	failed   bool
}

// NewScript returns an empty script that is written to w, a turn with one call of
// Write. Where w can seek, the document is complete after each turn, so that it
// survives the death of the program; else Close completes it.
func NewScript(w io.Writer) *Script {
	s := &Script{w: w, script: &scripted.Script{}}
	if seeker, ok := w.(io.Seeker); ok { // a pipe is a file that can not
		if _, err := seeker.Seek(0, io.SeekCurrent); err == nil {
			s.seeker = seeker
		}
	}
	return s
}

// Record returns a recorder of one more provider.
func (s *Script) Record(inner llm.Provider) *Recorder { return &Recorder{inner: inner, out: s} }

// Close completes the document; more calls change nothing. The error is the first
// that writing met.
func (s *Script) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		if s.turns == 0 { // a script has at least one turn
			s.print([]byte(`{"turns":[` + "\n" + `{"match":"/^$/","steps":[]}`))
		}
		if s.turns == 0 || s.seeker == nil {
			s.print([]byte(tail))
		}
	}
	return s.err
}

func (s *Script) locate(req *llm.Request) scripted.Place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.script.Locate(req)
}

// tail completes a document.
const tail = "\n]}\n"

// matchLength is how much of a user text a condition quotes.
const matchLength = 200

// write adds the turn that answered req.
func (s *Script) write(t *scripted.Turn, req *llm.Request, place scripted.Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	this := written{place: place, messages: len(req.Messages), session: req.SessionID, failed: failed(t)}
	switch {
	case s.repeats(&this):
		t.Retry = true
	case !place.InOrder:
		// A summary, or a conversation that is not the one that began the recording.
		text := place.UserText
		for i := range text {
			if i >= matchLength {
				text = text[:i]
				break
			}
		}
		t.Match = scripted.NewPattern(text)
		t.Turn = &scripted.Span{Min: place.Number, Max: place.Number}
	}
	s.last = this
	// The conditions alone say where the next turn stands.
	if err := s.script.Add(&scripted.Turn{Match: t.Match, Turn: t.Turn, Retry: t.Retry}); err != nil {
		s.err = fmt.Errorf("recording: %w", err) // cannot be: retry comes behind a turn
		return
	}
	line, err := jsonx.Append([]byte(",\n"), t)
	if err != nil {
		s.err = fmt.Errorf("recording: %w", err)
		return
	}
	if s.turns++; s.turns == 1 {
		line = append([]byte(`{"turns":[`+"\n"), line[len(",\n"):]...)
	}
	if s.seeker != nil {
		line = append(line, tail...)
		if s.turns > 1 {
			s.back(len(tail))
		}
	}
	s.print(line)
}

// repeats reports whether a request asks again for what the last turn failed to give.
func (s *Script) repeats(this *written) bool {
	last := &s.last
	return s.turns > 0 && last.failed && last.session == this.session && last.messages == this.messages &&
		last.place.UserText == this.place.UserText && last.place.Number == this.place.Number
}

// failed reports whether a turn is one that may be asked for again.
func failed(t *scripted.Turn) bool {
	n := len(t.Steps)
	return t.StopReason == llm.StopLength || n > 0 && t.Steps[n-1].Error != nil
}

// back goes back n bytes in a document that can seek.
func (s *Script) back(n int) {
	if s.err != nil {
		return
	}
	if _, err := s.seeker.Seek(-int64(n), io.SeekCurrent); err != nil {
		s.err = fmt.Errorf("recording: %w", err)
	}
}

// print writes; after the first error nothing more is written.
func (s *Script) print(b []byte) {
	if s.err != nil {
		return
	}
	if _, err := s.w.Write(b); err != nil {
		s.err = fmt.Errorf("recording: %w", err)
	}
}
