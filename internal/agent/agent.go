// Package agent is the loop: one run is turns of a streamed answer, its tool calls
// and their results, with steering taken in after a turn's tools and follow-ups
// when the run would stop. It owns the order of events within a run.
//
// It must not know disks, settings, queues, retry, compaction or the client
// protocol: all that comes in through Config. Run is called on one goroutine (the
// run goroutine), which does all the waiting; only tools run beside it.
package agent

import (
	"context"
	"time"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

// Texts that clients see (pi-facts.md section 2, atomic-facts.md 4.4).
const (
	// TextAbortedBeforeRequest is the error of an answer whose request was never sent.
	TextAbortedBeforeRequest = "This operation was aborted"
	// TextAborted is the error of an answer that was cancelled without a text of its provider.
	TextAborted = "Request was aborted"
	// TextToolAborted is the result of a tool call that an abort overtook.
	TextToolAborted = "Operation aborted"
	// TextToolBlocked is the result of a blocked call when the hook gave no reason.
	TextToolBlocked  = "Tool execution was blocked"
	textStreamCut    = "stream ended without a final event"
	textToolNotFound = "Tool %s not found"
	textLengthStop   = `Tool call "%s" was not executed: the response hit the output token limit, so its arguments may be truncated. Re-issue the tool call with complete arguments.`
	textToolCrashed  = "tool %s crashed: %v"
)

// Call is one model call, ready to be sent.
type Call struct {
	Provider llm.Provider
	Request  *llm.Request
	Tools    *tool.Set
}

// Queued is a message on its way into the conversation. Deliver, when not nil, is
// called on the run goroutine right before the message becomes part of it; Return,
// when not nil, after that failed: the message is not in the conversation.
type Queued struct {
	Message llm.Message
	Deliver func()
	Return  func()
}

// Decision is what a BeforeTool hook wants.
type Decision struct {
	Block  bool
	Reason string // why it is blocked; "" for a standard text
}

// Config connects a run with its host. All functions are called on the run
// goroutine and may block, except Emit, which tools call too.
type Config struct {
	// Next prepares the next model call from the conversation so far. An error ends
	// the run with an assistant message that carries the error.
	Next func(ctx context.Context) (*Call, error)
	// BeforeTurn is called before each turn but the first, and before what is queued is
	// delivered; nil for nothing. It may change the conversation.
	BeforeTurn func(ctx context.Context)
	// Commit makes a finished message part of the conversation and returns the
	// message that counts (a hook may have replaced it). It is called before the
	// message's message_end. An error ends the run.
	Commit func(ctx context.Context, m llm.Message) (llm.Message, error)
	// Steering and FollowUp take what is due out of the queues; nil means none.
	Steering func() []Queued
	FollowUp func() []Queued
	// BeforeTool is asked before each call; nil lets everything run. An error makes
	// the call fail with its text (fail closed).
	BeforeTool func(ctx context.Context, call *llm.ToolCall) (Decision, error)
	// AfterTool may replace a result before its end is told; nil keeps it.
	AfterTool func(ctx context.Context, call *llm.ToolCall, res tool.Result) tool.Result
	// Emit takes events in order. It may be called from several goroutines at once.
	Emit event.Sink
	// Now is the clock.
	Now func() time.Time
	// Go starts a goroutine for a tool and owns it: one that does not heed an abort may
	// outlive the run.
	Go func(fn func())
}

// Outcome is what a run left behind. Last is the last assistant message, nil when
// there was none. Messages is everything the run added, in order. Fault is the error
// of a commit, which ended the run; nil when all was committed.
type Outcome struct {
	Messages []llm.Message
	Last     *llm.AssistantMessage
	Fault    error
}

// Run adds prompts to the conversation and runs turns until the model stops, fails,
// or ctx is cancelled. It emits everything between agent_start and agent_end, which
// are its caller's. With no prompts it continues the conversation as it is.
func Run(ctx context.Context, cfg Config, prompts []Queued) Outcome {
	r := &run{cfg: cfg}
	r.loop(ctx, prompts)
	return r.out
}

type run struct {
	cfg Config
	out Outcome
}

func (r *run) loop(ctx context.Context, prompts []Queued) {
	r.cfg.Emit(event.TurnStart{})
	if !r.deliver(ctx, prompts) {
		return
	}
	pending := poll(ctx, r.cfg.Steering)
	for first := true; ; first = false {
		if !first {
			if r.cfg.BeforeTurn != nil && ctx.Err() == nil {
				r.cfg.BeforeTurn(ctx)
			}
			r.cfg.Emit(event.TurnStart{})
		}
		if ctx.Err() != nil {
			pending = nil // see pending: it was not delivered yet
		}
		if !r.deliver(ctx, pending) {
			return
		}
		more := r.turn(ctx)
		if r.out.Fault != nil {
			r.tellFault(ctx)
			return
		}
		pending = r.pending(ctx, more)
		if !more && len(pending) == 0 {
			return
		}
	}
}

// pending takes what is due out of the queues after a turn. A run that failed or was
// aborted takes nothing, and what an abort overtook stays where it is: it is
// continued in a run of its own.
func (r *run) pending(ctx context.Context, more bool) []Queued {
	if r.ended() {
		return nil
	}
	list := poll(ctx, r.cfg.Steering)
	if !more && len(list) == 0 {
		list = poll(ctx, r.cfg.FollowUp)
	}
	if ctx.Err() != nil {
		return nil
	}
	return list
}

// turn runs one model call and its tools. It reports whether the model must be
// called again.
func (r *run) turn(ctx context.Context) (more bool) {
	msg, call := r.stream(ctx)
	r.out.Last = msg
	var results []*llm.ToolResultMessage
	if !msg.Failed() {
		if calls := msg.Content.ToolCalls(); len(calls) > 0 {
			var terminate bool
			results, terminate = r.runTools(ctx, call.Tools, msg, calls)
			more = !terminate
		}
	}
	if results == nil {
		results = []*llm.ToolResultMessage{}
	}
	r.cfg.Emit(event.TurnEnd{Message: msg, ToolResults: results})
	return more
}

// ended reports whether the last answer failed, which ends the run.
func (r *run) ended() bool { return r.out.Last != nil && r.out.Last.Failed() }

// deliver tells and commits messages that are already complete. It reports whether
// the run can go on.
func (r *run) deliver(ctx context.Context, list []Queued) bool {
	for _, q := range list {
		if q.Deliver != nil {
			q.Deliver()
		}
		r.cfg.Emit(event.MessageStart{Message: q.Message})
		_, err := r.commit(ctx, q.Message)
		if err == nil {
			continue
		}
		r.cfg.Emit(event.MessageEnd{Message: q.Message}) // no client may wait for it
		if q.Return != nil {
			q.Return()
		}
		r.fail(ctx, err)
		return false
	}
	return true
}

// commit makes m part of the conversation and tells its end. After an error, which
// ends the run, the caller tells the end.
func (r *run) commit(ctx context.Context, m llm.Message) (llm.Message, error) {
	kept, err := r.cfg.Commit(ctx, m)
	if err != nil {
		r.out.Fault = err
		return m, err
	}
	r.out.Messages = append(r.out.Messages, kept)
	r.cfg.Emit(event.MessageEnd{Message: kept})
	return kept, nil
}

// tellFault ends the run after a turn whose messages could not all be committed. An
// answer that says so itself needs no other.
func (r *run) tellFault(ctx context.Context) {
	if !r.ended() {
		r.cfg.Emit(event.TurnStart{})
		r.fail(ctx, r.out.Fault)
	}
}

// fail ends the current turn with an assistant message that nobody stored.
func (r *run) fail(ctx context.Context, err error) {
	m := &llm.AssistantMessage{
		Content: llm.Content{}, StopReason: llm.StopError, ErrorMessage: err.Error(),
		Timestamp: r.cfg.Now().UnixMilli(), Err: llm.AsError(err),
	}
	if ctx.Err() != nil {
		m.StopReason = llm.StopAborted
	}
	r.out.Last = m
	r.out.Messages = append(r.out.Messages, m)
	r.cfg.Emit(event.MessageStart{Message: m})
	r.cfg.Emit(event.MessageEnd{Message: m})
	r.cfg.Emit(event.TurnEnd{Message: m, ToolResults: []*llm.ToolResultMessage{}})
}

func poll(ctx context.Context, source func() []Queued) []Queued {
	if source == nil || ctx.Err() != nil {
		return nil
	}
	return source()
}
