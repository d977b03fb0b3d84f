package google

import (
	"bytes"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// stream turns the chunks of one answer into events. Parts of one kind that follow
// each other are one block; a call is whole when its part has come, unless its
// arguments are streamed.
type stream struct {
	resp     *wire.Response
	model    *llm.Model
	noReason string
	wire.Emitter
	chunk chunk

	calls      int
	open       *block
	call       *openCall
	id         string // of the response
	finish     string
	blocked    string
	unfinished bool // a chunk had content and no finish reason
	last       bool // nothing comes behind this chunk
}

// block is the text or the thinking that still grows.
type block struct {
	content   int
	thinking  bool
	signature string
}

// openCall is a call whose arguments are still coming.
type openCall struct {
	content   int
	signature string
	args      node
	any       bool // a piece has come
}

// run reads the answer up to its last chunk.
func (s *stream) run() {
	s.Emit(llm.Event{Kind: llm.EventMeta})
	for f, err := range frames(s.resp) {
		if s.Stopped {
			return
		}
		if err != nil {
			s.Fail(llm.AsError(err))
			return
		}
		if s.frame(f); s.Stopped {
			return
		}
		if s.last {
			break
		}
	}
	s.complete()
}

// frame handles one chunk.
func (s *stream) frame(f frame) {
	c := &s.chunk
	*c = chunk{Candidates: c.Candidates[:0]}
	if err := jsonx.Unmarshal(f.data, c); err != nil {
		switch {
		case jsonx.Valid(f.data), f.cut: // nothing of ours; or its end is missing, as will be the finish reason
		default:
			s.Fail(wire.Malformed(textMalformed, err))
		}
		return
	}
	s.meta(c)
	if k := c.Error.Kind(); len(c.Error) > 0 && k != 'n' {
		s.Fail(reported(s.resp, bytes.Clone(c.Error)))
		return
	}
	if c.Feedback.set {
		s.blocked = finishReason(c.Feedback.v.Reason)
		s.last = s.blocked != "" && len(c.Candidates) == 0
	}
	for i := range c.Candidates {
		if c.Candidates[i].Index.value == 0 {
			s.candidate(&c.Candidates[i])
			// Old servers say STOP in every chunk, from the first one on. Where one
			// came without, the first that says it is the last.
			s.last = s.finish != "" && (s.unfinished || s.finish != "STOP") && c.Usage.v.tokens() != nil
			s.unfinished = s.unfinished || s.finish == ""
		}
	}
}

// meta reads what a chunk says of the whole answer.
func (s *stream) meta(c *chunk) {
	e := llm.Event{Kind: llm.EventMeta}
	if s.id == "" && c.ID != "" {
		s.id = string(c.ID)
		e.ResponseID, e.ResponseModel = s.id, string(c.Model)
	}
	if c.Usage.set {
		e.Usage = c.Usage.v.tokens()
	}
	if e.ResponseID != "" || e.Usage != nil {
		s.Emit(e)
	}
}

func (s *stream) candidate(c *candidate) {
	for i := range c.Content.v.Parts {
		p := &c.Content.v.Parts[i]
		switch {
		case p.Call.set:
			s.function(&p.Call.v, string(p.Signature))
		case p.Text.set:
			s.say(p)
		default:
			s.endBlock() // a tool that the server ran itself
		}
	}
	if reason := finishReason(c.Finish); reason != "" {
		s.finish = reason
	}
}

// say adds a text part. One without text begins a block only for its signature.
func (s *stream) say(p *wirePart) {
	thinking := bool(p.Thought)
	if s.open == nil || s.open.thinking != thinking {
		if p.Text.value == "" && p.Signature == "" {
			return
		}
		s.endBlock()
		s.open = &block{content: s.NewBlock(), thinking: thinking}
		e := llm.Event{Kind: llm.EventTextStart, Index: s.open.content}
		if thinking {
			e.Kind = llm.EventThinkingStart
		}
		s.Emit(e)
	}
	if p.Signature != "" {
		s.open.signature = string(p.Signature)
	}
	if p.Text.value != "" {
		e := llm.Event{Kind: llm.EventTextDelta, Index: s.open.content, Delta: p.Text.value}
		if thinking {
			e.Kind = llm.EventThinkingDelta
		}
		s.Emit(e)
	}
}

// endBlock ends the text or thinking that is open.
func (s *stream) endBlock() {
	b := s.open
	if b == nil {
		return
	}
	s.open = nil
	e := llm.Event{Kind: llm.EventTextEnd, Index: b.content, Signature: b.signature}
	if b.thinking {
		e.Kind = llm.EventThinkingEnd
	}
	s.Emit(e)
}

// function handles a call, or a further piece of the one that is open: pieces have no
// name, and an empty one closes the call.
func (s *stream) function(c *wireCall, signature string) {
	if s.call != nil && c.Name == "" {
		s.pieces(c, signature)
		return
	}
	s.endCall()
	s.endBlock()
	at := s.NewBlock()
	s.calls++
	s.Emit(llm.Event{Kind: llm.EventToolCallStart, Index: at, ID: string(c.ID), Name: string(c.Name)})
	if !bool(c.Continues) && len(c.Partial) == 0 {
		if args, err := jsonx.Compact(c.Args); err == nil && len(args) > 0 && args.Kind() != 'n' {
			s.Emit(llm.Event{Kind: llm.EventToolCallDelta, Index: at, Delta: string(args)})
		}
		s.Emit(llm.Event{Kind: llm.EventToolCallEnd, Index: at, Signature: signature})
		return
	}
	s.call = &openCall{content: at}
	s.pieces(c, signature)
}

func (s *stream) pieces(c *wireCall, signature string) {
	if signature != "" {
		s.call.signature = signature
	}
	for i := range c.Partial {
		s.call.args.set(&c.Partial[i])
		s.call.any = true
	}
	if !bool(c.Continues) {
		s.endCall()
	}
}

// endCall ends the call whose arguments were streamed.
func (s *stream) endCall() {
	c := s.call
	if c == nil {
		return
	}
	s.call = nil
	if c.any && c.args.named != nil {
		s.Emit(llm.Event{Kind: llm.EventToolCallDelta, Index: c.content, Delta: string(c.args.append(nil))})
	}
	s.Emit(llm.Event{Kind: llm.EventToolCallEnd, Index: c.content, Signature: c.signature})
}

// complete ends an answer behind its last chunk.
func (s *stream) complete() {
	s.resp.Finish()
	reason, err := s.stop()
	if err != nil {
		if s.finish != "" {
			s.endCall()
			s.endBlock()
			s.Emit(llm.Event{Kind: llm.EventMeta, RawStopReason: s.finish})
		}
		s.Fail(err)
		return
	}
	s.endCall()
	s.endBlock()
	s.Emit(llm.Event{Kind: llm.EventDone, StopReason: reason, RawStopReason: s.finish})
	s.Stopped = true
}

// stop returns why the answer stopped. Answers with calls say STOP as others do.
func (s *stream) stop() (llm.StopReason, error) {
	switch s.finish {
	case "":
		if s.blocked == "" {
			return "", wire.Cut(s.noReason)
		}
		err := s.resp.StreamError(textBlocked+s.blocked, s.blocked, textBlocked+s.blocked)
		err.Kind = llm.ErrRefusal
		return "", err
	case "STOP":
		if s.calls > 0 {
			return llm.StopToolUse, nil
		}
		return llm.StopEnd, nil
	case "MAX_TOKENS", "CONTINUATION":
		return llm.StopLength, nil
	}
	message := textStopped + s.finish
	err := s.resp.StreamError(message, s.finish, message)
	if refuses(s.finish) {
		err.Kind = llm.ErrRefusal
	}
	return "", err
}
