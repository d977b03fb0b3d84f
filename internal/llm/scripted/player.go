package scripted

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/isotope-agent/isotope/internal/llm"
)

// player plays one turn as the events of a stream. It is used by the goroutine that
// ranges over the stream.
type player struct {
	ctx    context.Context
	yield  func(llm.Event, error) bool
	script *Script
	turn   *Turn
	call   *call
	failed int               // how often the turn failed before
	over   func(failed bool) // called once when the turn has been played

	begun  bool         // an EventMeta was sent
	called bool         // a tool was called
	blocks []*openBlock // by content index
	sent   int64        // bytes of deltas
	steps  map[int]int  // content index of the nth block of the script
	count  int          // blocks of the script so far, skipped ones included
}

// openBlock is a content block that was begun.
type openBlock struct {
	kinds blockKinds
	ended bool
}

// blockKinds are the events of one type of block.
type blockKinds struct{ start, delta, end llm.EventKind }

func textKinds() blockKinds {
	return blockKinds{llm.EventTextStart, llm.EventTextDelta, llm.EventTextEnd}
}

func thinkingKinds() blockKinds {
	return blockKinds{llm.EventThinkingStart, llm.EventThinkingDelta, llm.EventThinkingEnd}
}

func callKinds() blockKinds {
	return blockKinds{llm.EventToolCallStart, llm.EventToolCallDelta, llm.EventToolCallEnd}
}

// play sends all events of the turn.
func (p *player) play() {
	for _, st := range p.turn.Steps {
		if !p.step(st) {
			return
		}
	}
	for i, b := range p.blocks {
		if !b.ended && !p.end(i, &Step{}) {
			return
		}
	}
	if !p.begin() {
		return
	}
	p.over(false)
	t := p.turn
	p.emit(llm.Event{
		Kind: llm.EventDone, StopReason: t.stop(p.called), RawStopReason: t.RawStopReason, EndTurn: t.EndTurn,
		ResponseID: t.ResponseID, ResponseModel: t.ResponseModel, ProviderLevel: t.ProviderLevel,
		Usage: p.usage(t.Usage),
	})
}

// step plays one step; false ends the stream.
func (p *player) step(st *Step) bool {
	switch {
	case st.Text != nil:
		return p.content(st, textKinds(), llm.Event{})
	case st.Thinking != nil:
		return p.content(st, thinkingKinds(), llm.Event{})
	case st.ToolCall != nil:
		return p.toolCall(st)
	case st.Repeat != nil:
		return p.repeat(st)
	case st.End != nil:
		at, ok := p.steps[*st.End]
		return !ok || p.end(at, st)
	case st.Meta != nil:
		m := st.Meta
		p.begun = true
		e := llm.Event{
			Kind: llm.EventMeta, ResponseID: m.ResponseID, ResponseModel: m.ResponseModel,
			ProviderLevel: m.ProviderLevel, EndTurn: m.EndTurn,
		}
		if m.Usage != nil {
			e.Usage = p.usage(m.Usage)
		}
		return p.emit(e)
	case st.Error != nil:
		return p.fail(st.Error)
	case st.Hang:
		<-p.ctx.Done()
		return p.cancelled()
	}
	return p.wait(st.DelayMs)
}

// toolCall plays a step that calls a tool.
func (p *player) toolCall(st *Step) bool {
	tc := st.ToolCall
	if tc.Optional && !p.call.offers(tc.Name) {
		p.count++
		return true
	}
	head := llm.Event{ID: tc.ID, Name: tc.Name}
	if st.Block == nil {
		p.called = true
		if head.ID == "" && !p.turn.Verbatim {
			head.ID = idPrefix + strconv.Itoa(p.call.nextID)
			p.call.nextID++
		}
	}
	return p.content(st, callKinds(), head)
}

// content plays a step that begins or continues a block; head is the event that
// begins it.
func (p *player) content(st *Step, kinds blockKinds, head llm.Event) bool {
	if st.Block != nil {
		if _, sent := p.steps[*st.Block]; !sent { // it was an optional call
			return true
		}
	}
	at, ok := p.block(st, kinds, head)
	if !ok {
		return false
	}
	first := true
	for i := range st.pieces {
		if !p.piece(st, at, st.pieces[i].render(p.call), &first) {
			return false
		}
	}
	return st.Open || p.end(at, st)
}

// block returns the content index that a step writes to and begins the block when it
// is a new one.
func (p *player) block(st *Step, kinds blockKinds, head llm.Event) (at int, ok bool) {
	if st.Block != nil {
		return p.steps[*st.Block], p.wait(p.delay(st))
	}
	at = len(p.blocks)
	if p.steps == nil {
		p.steps = map[int]int{}
	}
	p.steps[p.count] = at
	p.count++
	p.blocks = append(p.blocks, &openBlock{kinds: kinds})
	head.Kind, head.Index = kinds.start, at
	head.Signature, head.Redacted = st.StartSignature, st.Redacted
	return at, p.wait(p.delay(st)) && p.begin() && p.emit(head)
}

// piece sends a text as deltas of the step's chunk size. The delay of the step's first
// delta has passed.
func (p *player) piece(st *Step, at int, text string, first *bool) bool {
	size := st.ChunkSize
	if size == 0 && !p.turn.Verbatim {
		size = p.script.ChunkSize
	}
	for ; text != ""; *first = false {
		n := len(text)
		if size > 0 {
			n = prefix(text, size)
		}
		if !*first && !p.wait(p.delay(st)) || !p.delta(at, text[:n]) {
			return false
		}
		text = text[n:]
	}
	return true
}

// prefix returns the length in bytes of the first n characters of s.
func prefix(s string, n int) int {
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return i
}

func (p *player) delta(at int, text string) bool {
	p.sent += int64(len(text))
	return p.emit(llm.Event{Kind: p.blocks[at].kinds.delta, Index: at, Delta: text})
}

// repeat plays a block of many equal deltas.
func (p *player) repeat(st *Step) bool {
	r, kinds := st.Repeat, textKinds()
	if r.Thinking {
		kinds = thinkingKinds()
	}
	text := r.Text
	if text == "" {
		const letters = "abcdefghijklmnopqrstuvwxy "
		text = strings.Repeat(letters, r.Bytes/len(letters)+1)[:r.Bytes]
	}
	at, ok := p.block(st, kinds, llm.Event{})
	if !ok {
		return false
	}
	for i := range r.Count {
		if i > 0 && !p.wait(p.delay(st)) || !p.delta(at, text) {
			return false
		}
	}
	return st.Open || p.end(at, st)
}

// end ends a block with what the step says of it.
func (p *player) end(at int, st *Step) bool {
	b := p.blocks[at]
	if b.ended {
		return true
	}
	b.ended = true
	e := llm.Event{
		Kind: b.kinds.end, Index: at, Signature: st.Signature, Redacted: st.Redacted, Replace: st.Final,
	}
	if st.ToolCall != nil {
		e.Name = st.ToolCall.EndName
	}
	return p.emit(e)
}

// fail ends the stream with an error, unless the turn failed often enough.
func (p *player) fail(e *Error) bool {
	if e.Times > 0 && p.failed >= e.Times {
		return true
	}
	p.over(true)
	kind := e.Kind
	switch {
	case kind != "":
	case e.Status == 0 && e.Code == "" && e.Message == "" && e.Body == "":
		kind = llm.ErrTransport
	default:
		kind = llm.Classify(e.Status, e.Code, e.Message+e.Body)
	}
	p.yield(llm.Event{}, &llm.Error{
		Kind: kind, Status: e.Status, Code: e.Code, Message: e.message(), Body: e.Body,
		RetryAfter: time.Duration(e.RetryAfterMs) * time.Millisecond,
	})
	return false
}

// begin sends the event that marks the start of the answer, once.
func (p *player) begin() bool {
	if p.begun {
		return true
	}
	p.begun = true
	return p.emit(llm.Event{Kind: llm.EventMeta})
}

func (p *player) emit(e llm.Event) bool {
	if p.ctx.Err() != nil {
		return p.cancelled()
	}
	return p.yield(e, nil)
}

func (p *player) cancelled() bool {
	p.yield(llm.Event{}, p.ctx.Err())
	return false
}

// delay returns the milliseconds before each delta of a step.
func (p *player) delay(st *Step) int {
	if st.DelayMs == 0 && !p.turn.Verbatim {
		return p.script.DelayMs
	}
	return st.DelayMs
}

func (p *player) wait(ms int) bool {
	if ms <= 0 {
		return true
	}
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ctx.Done():
		return p.cancelled()
	}
}

// usage returns the tokens that a turn or a step reports; nil when a verbatim turn
// says nothing of them.
func (p *player) usage(u *Usage) *llm.Usage {
	if u == nil && !p.turn.Verbatim {
		u = p.script.Usage
	}
	switch {
	case u == nil && p.turn.Verbatim:
		return nil
	case u == nil:
		return &llm.Usage{}
	case u.Estimate:
		in, out := llm.EstimateInput(p.call.req), (p.sent+3)/4
		return &llm.Usage{Input: in, Output: out, TotalTokens: in + out}
	}
	return u.usage()
}
