package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/isotope-agent/isotope/internal/agent"
	"github.com/isotope-agent/isotope/internal/auth"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/model"
	"github.com/isotope-agent/isotope/internal/tool"
)

// errNoModel refuses a prompt when no model can be used.
var errNoModel = errors.New(model.NoModelSelected)

// activeRun is an accepted prompt until it settles: one or more parts (agent runs),
// with retries and continued queues between them. Unless noted, its fields belong to
// the engine goroutine.
type activeRun struct {
	ctx    context.Context // of the current part
	cancel context.CancelCauseFunc
	// next gets what the following part begins with; closed when there is none.
	next chan []agent.Queued
	// parked: the part is over and waits for inputs that are being prepared.
	parked bool
	// skipPoll leaves out the first poll of a part that began with queued messages.
	skipPoll bool
	// stuck: a message could not be stored. Queued messages stay where they are.
	stuck bool
	// aborts wait until the part that they cancelled is persisted.
	aborts []func()
	// settled is called once the run is over.
	settled []func()

	// The run goroutine's own.
	attempt  int                 // failed attempts in a row
	gaveUp   *event.AutoRetryEnd // to be told after agent_end
	recovery recoveryState
	fallback *fallback // to another model; nil while the session's own answers
}

// abort cancels the current part, whatever it is doing.
func (r *activeRun) abort(cause error) { r.cancel(cause) }

// answerAborts tells the clients that asked for an abort.
func (r *activeRun) answerAborts() {
	waiting := r.aborts
	r.aborts = nil
	for _, done := range waiting {
		done()
	}
}

func (e *Engine) newPart(r *activeRun) {
	r.ctx, r.cancel = context.WithCancelCause(e.ctx)
}

// startRun begins a run with an accepted prompt. It is called in the step that
// accepted it.
func (e *Engine) startRun(msg llm.Message) {
	r := &activeRun{next: make(chan []agent.Queued, 1)}
	e.newPart(r)
	e.run = r
	e.goDo(func() { e.drive(r, []agent.Queued{{Message: msg}}) })
}

// drive is the run goroutine: parts until the run settles.
func (e *Engine) drive(r *activeRun, prompts []agent.Queued) {
	defer e.post(func() { e.settle(r) })
	e.compactBeforePrompt(r)
	prompts = e.beforeRun(r, prompts)
	for {
		e.emit(r, event.AgentStart{})
		out := agent.Run(r.ctx, e.agentConfig(r), prompts)
		next := e.planNext(r, out)
		e.emit(r, event.AgentEnd{Messages: nonNil(out.Messages), WillRetry: next.again})
		if r.gaveUp != nil {
			e.emit(r, *r.gaveUp)
			r.gaveUp = nil
		}
		if next.do != nil && next.do() {
			prompts = nil
			continue
		}
		e.post(func() {
			r.stuck = out.Fault != nil
			e.partDone(r)
		})
		batch, ok := <-r.next
		if !ok {
			return
		}
		prompts = batch
	}
}

// nextStep is what follows a part of a run. again tells clients that another part
// comes; do, when not nil, is called after agent_end and reports whether it does.
type nextStep struct {
	again bool
	do    func() bool
}

// planNext decides how a run goes on after a part: a retry, a recovery of its context,
// another model, or not by itself. It is called on the run goroutine, before agent_end.
func (e *Engine) planNext(r *activeRun, out agent.Outcome) nextStep {
	if out.Fault != nil {
		return nextStep{}
	}
	if plan := e.planRetry(r, out); plan.retry {
		return nextStep{again: true, do: func() bool { return e.awaitRetry(r, plan) }}
	}
	next := e.planRecovery(r, out.Last)
	if next.again {
		return next
	}
	if c, ok := e.planFallback(r, out.Last); ok {
		if r.gaveUp != nil { // it goes on after all
			r.gaveUp.Success, r.gaveUp.FinalError = true, ""
		}
		first := next.do
		return nextStep{again: true, do: func() bool {
			if first != nil {
				first()
			}
			return e.fallBack(r, out.Last, c)
		}}
	}
	return next
}

// nonNil makes an empty list of messages an empty JSON array.
func nonNil(msgs []llm.Message) []llm.Message {
	if msgs == nil {
		return []llm.Message{}
	}
	return msgs
}

// partDone decides, in one step, whether the run goes on with queued messages or is
// over. Inputs that are being prepared are waited for, so that none of them misses
// the run that it was meant for.
func (e *Engine) partDone(r *activeRun) {
	e.queues.untake()
	if e.admit.busy() && !e.closing && !e.compacting() {
		r.parked = true
		r.answerAborts()
		return
	}
	r.parked = false
	if batch := e.continuation(r); len(batch) > 0 {
		r.answerAborts()
		e.newPart(r)
		r.skipPoll = true
		r.next <- batch
		return
	}
	e.settling(r)
	close(r.next)
}

// settleParked ends a run that only waits for inputs and has nothing to go on with:
// to a client that saw agent_end it is over, so its next prompt is not refused.
func (e *Engine) settleParked() {
	if r := e.run; r != nil && r.parked && (r.stuck || e.queues.paused || e.queues.len() == 0) {
		r.parked = false
		e.settling(r)
		close(r.next)
	}
}

// admissionDrained continues a run that waited for inputs to be prepared.
func (e *Engine) admissionDrained() {
	if e.run != nil && e.run.parked {
		e.partDone(e.run)
	}
}

// continuation takes the queued messages with which a run goes on.
func (e *Engine) continuation(r *activeRun) []agent.Queued {
	if e.closing || r.stuck || e.compacting() {
		return nil
	}
	if batch := e.due(&e.queues.steering, e.queues.steeringMode); len(batch) > 0 {
		return batch
	}
	return e.due(&e.queues.followUp, e.queues.followUpMode)
}

// settling ends a run: what was held back for it is recorded, it is told, and
// whoever waited for it goes on.
func (e *Engine) settling(r *activeRun) {
	aborted := r.ctx.Err() != nil
	e.restoreModel(r)
	e.run = nil
	e.conv.systemOverride = ""
	e.recordDeferredBash()
	e.tell(event.AgentSettled{Aborted: aborted})
	r.cancel(nil)
	r.answerAborts()
	for _, done := range r.settled {
		done()
	}
	e.syncStore()
}

// settle runs when the run goroutine has left. Only a crash of that goroutine leaves
// a run that was not told as settled.
func (e *Engine) settle(r *activeRun) {
	if e.run == r {
		e.queues.untake()
		e.settling(r)
	}
	e.checkClosed()
}

// Abort cancels the run, a retry wait and a compaction, and prompts that are not
// accepted yet. It replies when the cancelled part is persisted; queued messages are
// then continued in the same run.
func (e *Engine) Abort(reply func(struct{}, error)) {
	ok := e.post(func() {
		e.abortPrompts()
		e.comp.abortBranch()
		done := func() { reply(struct{}{}, nil) }
		switch {
		case e.comp.manual != nil:
			e.comp.manual.after = append(e.comp.manual.after, done)
			e.comp.abort(errAborted)
		case e.run == nil:
			done()
		default:
			e.run.aborts = append(e.run.aborts, done)
			e.run.abort(errAborted)
		}
		e.admitNext()
	})
	if !ok {
		reply(struct{}{}, ErrShutdown)
	}
}

// emit tells an event of a run: extensions first, then the client. It blocks while
// the client is slow. It is called on the run goroutine and by tools.
func (e *Engine) emit(r *activeRun, ev event.Event) {
	if hook := e.hooks().Event; hook != nil {
		hook(r.ctx, ev)
	}
	e.cfg.Output.Emit(ev)
	if end, ok := ev.(event.MessageEnd); ok {
		if m, ok := end.Message.(*llm.AssistantMessage); ok {
			e.retrySucceeded(r, m)
		}
		r.recovery.saw(end.Message)
	}
}

func (e *Engine) agentConfig(r *activeRun) agent.Config {
	return agent.Config{
		Next: func(ctx context.Context) (*agent.Call, error) {
			return try(e, func() (*agent.Call, error) { return e.nextCall(ctx, r) })
		},
		BeforeTurn: func(ctx context.Context) { e.compactMidTurn(ctx, r) },
		Commit:     e.commit,
		Steering:   func() []agent.Queued { return e.steering(r) },
		FollowUp:   e.pollFollowUp,
		BeforeTool: e.hooks().BeforeTool,
		AfterTool:  e.hooks().AfterTool,
		Emit:       func(ev event.Event) { e.emit(r, ev) },
		Now:        e.cfg.Now,
		Go:         e.wg.Go,
	}
}

// steering polls the steering queue, except right after a part began with it.
func (e *Engine) steering(r *activeRun) (out []agent.Queued) {
	e.sync(func() {
		if r.skipPoll {
			r.skipPoll = false
			return
		}
		out = e.due(&e.queues.steering, e.queues.steeringMode)
	})
	return out
}

// beforeRun lets extensions add messages to a prompt: those that waited for one, and
// those that the hook returns.
func (e *Engine) beforeRun(r *activeRun, prompts []agent.Queued) []agent.Queued {
	e.sync(func() {
		for _, m := range e.nextTurn {
			prompts = append(prompts, agent.Queued{Message: m})
		}
		e.nextTurn = nil
	})
	hook := e.hooks().BeforeRun
	if hook == nil {
		return prompts
	}
	res, err := hook(r.ctx, prompts[0].Message)
	if err != nil {
		e.cfg.Report("before_agent_start: " + err.Error())
		return prompts
	}
	for _, m := range res.Messages {
		prompts = append(prompts, agent.Queued{Message: m})
	}
	if res.SystemPrompt != "" {
		e.sync(func() { e.conv.systemOverride = res.SystemPrompt })
	}
	return prompts
}

// commit makes a finished message part of the conversation: extensions first, then
// the session file. It is called on the run goroutine.
func (e *Engine) commit(ctx context.Context, m llm.Message) (llm.Message, error) {
	if hook := e.hooks().MessageEnd; hook != nil {
		if other := hook(ctx, m); other != nil && other.Role() == m.Role() {
			m = other
		}
	}
	err := error(ErrShutdown)
	e.sync(func() { err = e.appendMessage(m) })
	return m, err
}

// nextCall builds the next request. It is called on the run goroutine. The call that
// comes with an error names the model that was meant.
func (e *Engine) nextCall(ctx context.Context, r *activeRun) (*agent.Call, error) {
	var (
		m        *llm.Model
		thinking llm.ThinkingLevel
		tools    *tool.Set
		id       string
	)
	e.sync(func() { m, thinking, tools, id = e.model, e.thinking, e.tools, e.store.ID() })
	if m == nil {
		return nil, errNoModel
	}
	call := &agent.Call{Tools: tools, Request: &llm.Request{Model: m, Thinking: thinking, SessionID: id}}
	if ctx.Err() != nil {
		return call, errors.New(agent.TextAbortedBeforeRequest)
	}
	if err := r.recovery.blocked; err != nil {
		return call, err
	}
	msgs, err := e.messages(ctx)
	if err != nil {
		return call, err
	}
	cred, err := e.cfg.Keys.Model(ctx, m)
	if err != nil {
		return call, err
	}
	if call.Provider, err = e.provider(m.API); err != nil {
		return call, err
	}
	call.Request.System = e.systemPrompt(tools)
	call.Request.Messages = llm.ForModel(msgs)
	call.Request.Tools = tools.Specs()
	Authorize(call.Request, cred)
	return call, nil
}

// Authorize gives a request its credential. A login may have an address of its own.
func Authorize(req *llm.Request, cred auth.Credential) {
	req.APIKey, req.Headers, req.Env = cred.APIKey, cred.Headers, cred.Env
	if cred.BaseURL != "" {
		m := *req.Model
		m.BaseURL = cred.BaseURL
		req.Model = &m
	}
}

// messages returns the conversation for a request, after the context hook.
func (e *Engine) messages(ctx context.Context) ([]llm.Message, error) {
	msgs, err := e.conversationMessages()
	hook := e.hooks().Context
	if err != nil || hook == nil {
		return msgs, err
	}
	return hook(ctx, slices.Clone(msgs))
}
