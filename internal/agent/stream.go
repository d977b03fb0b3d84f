package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
)

// stream makes one model call, tells its events and commits the answer. The
// answer is never nil; call is nil when the request could not be made.
func (r *run) stream(ctx context.Context) (msg *llm.AssistantMessage, call *Call) {
	start := r.cfg.Now().UnixMilli()
	call, err := r.next(ctx)
	if err != nil {
		msg := &llm.AssistantMessage{
			Content: llm.Content{}, StopReason: llm.StopError,
			ErrorMessage: err.Error(), Err: llm.AsError(err), Timestamp: start, DurationMs: new(int64),
		}
		if call != nil {
			m := call.Request.Model
			msg.API, msg.Provider, msg.Model, msg.ThinkingLevel = m.API, m.Provider, m.ID, call.Request.Thinking
		}
		if ctx.Err() != nil {
			msg.StopReason = llm.StopAborted
		}
		return r.finish(ctx, msg, false), call
	}
	b := llm.NewBuilder(call.Request.Model, call.Request.Thinking, start)
	started, failure := r.receive(ctx, call, b)
	if failure == nil && !b.Done() {
		failure = &llm.Error{Kind: llm.ErrTransport, Message: textStreamCut}
	}
	if ctx.Err() != nil && failure != nil && failure.Kind != llm.ErrAborted {
		failure = &llm.Error{Kind: llm.ErrAborted, Message: TextAborted, Err: failure}
	}
	return r.finish(ctx, b.Finish(failure, r.cfg.Now().UnixMilli()-start), started), call
}

// next asks for the model call, unless the run is already cancelled: then nothing
// may be sent.
func (r *run) next(ctx context.Context) (*Call, error) {
	call, err := r.cfg.Next(ctx)
	if err == nil && ctx.Err() != nil {
		return call, errors.New(TextAbortedBeforeRequest)
	}
	return call, err
}

// receive ranges over the provider's stream. A panic of a provider is its failure.
func (r *run) receive(ctx context.Context, call *Call, b *llm.Builder) (started bool, failure *llm.Error) {
	defer func() {
		if p := recover(); p != nil {
			failure = &llm.Error{Kind: llm.ErrUnknown, Message: fmt.Sprintf("provider %s crashed: %v", call.Request.Model.Provider, p)}
		}
	}()
	for ev, err := range call.Provider.Stream(ctx, call.Request) {
		if err != nil {
			if errors.Is(err, context.Canceled) {
				return started, &llm.Error{Kind: llm.ErrAborted, Message: TextAborted, Err: err}
			}
			return started, llm.AsError(err)
		}
		if !started {
			started = true
			r.cfg.Emit(event.MessageStart{Message: b.Pending()})
		}
		b.Add(ev)
		if u := update(ev, b); u != nil {
			r.cfg.Emit(event.MessageUpdate{Usage: b.Usage(), Update: u, EndTurn: b.EndTurn()})
		}
	}
	return started, nil
}

// finish tells the start of an answer that had none, commits it and tells its end.
// An answer that cannot be committed is told as a failure: it is not part of the
// conversation, and its calls are not run.
func (r *run) finish(ctx context.Context, msg *llm.AssistantMessage, started bool) *llm.AssistantMessage {
	if !started {
		r.cfg.Emit(event.MessageStart{Message: msg})
	}
	kept, err := r.commit(ctx, msg)
	if err != nil {
		failed := *msg
		failed.StopReason, failed.ErrorMessage, failed.Err = llm.StopError, err.Error(), llm.AsError(err)
		r.out.Messages = append(r.out.Messages, &failed)
		r.cfg.Emit(event.MessageEnd{Message: &failed})
		return &failed
	}
	// A hook may have replaced the message; what it left is what counts.
	if kept, ok := kept.(*llm.AssistantMessage); ok {
		return kept
	}
	return msg
}

// update returns the client's form of a stream event, nil for one that clients
// learn from message_start and message_end.
func update(ev llm.Event, b *llm.Builder) event.Update {
	switch ev.Kind {
	case llm.EventTextStart:
		return event.BlockStart{Type: event.TypeTextStart, ContentIndex: ev.Index}
	case llm.EventTextDelta:
		return event.Delta{Type: event.TypeTextDelta, ContentIndex: ev.Index, Delta: ev.Delta}
	case llm.EventThinkingStart:
		return event.BlockStart{Type: event.TypeThinkingStart, ContentIndex: ev.Index}
	case llm.EventThinkingDelta:
		return event.Delta{Type: event.TypeThinkingDelta, ContentIndex: ev.Index, Delta: ev.Delta}
	case llm.EventToolCallDelta:
		return event.Delta{Type: event.TypeToolCallDelta, ContentIndex: ev.Index, Delta: ev.Delta}
	case llm.EventToolCallStart, llm.EventTextEnd, llm.EventThinkingEnd, llm.EventToolCallEnd:
		return blockUpdate(ev, b.Block(ev.Index))
	}
	return nil
}

// blockUpdate covers the events that show the block itself.
func blockUpdate(ev llm.Event, block llm.Block) event.Update {
	switch block := block.(type) {
	case *llm.ToolCall:
		if ev.Kind == llm.EventToolCallStart {
			return event.BlockStart{Type: event.TypeToolCallStart, ContentIndex: ev.Index, ID: block.ID, ToolName: block.Name}
		}
		return event.ToolCallEnd{Type: event.TypeToolCallEnd, ContentIndex: ev.Index, ToolCall: block}
	case *llm.Text:
		return event.TextEnd{Type: event.TypeTextEnd, ContentIndex: ev.Index, Content: block.Text}
	case *llm.Thinking:
		return event.TextEnd{Type: event.TypeThinkingEnd, ContentIndex: ev.Index, Content: block.Thinking}
	}
	return nil
}
