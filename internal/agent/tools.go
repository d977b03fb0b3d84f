package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

// execution is one tool call on its way from start to result.
type execution struct {
	call   *llm.ToolCall
	tool   tool.Tool
	args   jsonx.Raw
	result tool.Result
	failed bool   // the call itself failed (error, refusal), whatever the result says
	ran    *int64 // milliseconds it ran; nil when it never did

	start   time.Time
	updates *updates // nil until it runs
}

// runTools runs the calls of one answer. Ends are told in the order of completion,
// the result messages in the order of the calls. Every call gets a result, whatever
// happens. terminate reports whether all results ask for the end of the run.
func (r *run) runTools(ctx context.Context, tools *tool.Set, msg *llm.AssistantMessage, calls []*llm.ToolCall) (results []*llm.ToolResultMessage, terminate bool) {
	execs := make([]*execution, len(calls))
	for i, call := range calls {
		execs[i] = &execution{call: call}
	}
	if msg.StopReason == llm.StopLength {
		return r.refuseTruncated(ctx, execs), false
	}
	if sequential(tools, calls) {
		for _, x := range execs {
			if r.begin(ctx, tools, x) {
				r.parallel(ctx, []*execution{x})
			}
			results = append(results, r.tellResult(ctx, x))
		}
	} else {
		var ready []*execution
		for _, x := range execs {
			if r.begin(ctx, tools, x) {
				ready = append(ready, x)
			}
		}
		r.parallel(ctx, ready)
		for _, x := range execs {
			results = append(results, r.tellResult(ctx, x))
		}
	}
	terminate = true
	for _, x := range execs {
		terminate = terminate && x.result.Terminate
	}
	return results, terminate
}

// refuseTruncated answers the calls of an answer that hit the token limit: their
// arguments cannot be trusted.
func (r *run) refuseTruncated(ctx context.Context, execs []*execution) []*llm.ToolResultMessage {
	var results []*llm.ToolResultMessage
	for _, x := range execs {
		r.tellStart(x)
		r.refuse(ctx, x, fmt.Sprintf(textLengthStop, x.call.Name))
		results = append(results, r.tellResult(ctx, x))
	}
	return results
}

// begin tells the start of a call and checks it. It reports whether the call is to
// be run; one that is not has been told as failed.
func (r *run) begin(ctx context.Context, tools *tool.Set, x *execution) bool {
	r.tellStart(x)
	if ctx.Err() != nil {
		r.refuse(ctx, x, TextToolAborted)
		return false
	}
	t, ok := tools.Lookup(x.call.Name)
	if !ok {
		r.refuse(ctx, x, fmt.Sprintf(textToolNotFound, x.call.Name))
		return false
	}
	args, err := tool.Prepare(t.Spec(), x.call)
	if err != nil {
		r.refuse(ctx, x, err.Error())
		return false
	}
	if r.cfg.BeforeTool != nil {
		call := *x.call
		call.Arguments = args
		d, err := r.cfg.BeforeTool(ctx, &call)
		switch {
		case err != nil:
			r.refuse(ctx, x, err.Error())
			return false
		case d.Block && d.Reason == "":
			r.refuse(ctx, x, TextToolBlocked)
			return false
		case d.Block:
			r.refuse(ctx, x, d.Reason)
			return false
		}
		args = call.Arguments
	}
	if ctx.Err() != nil { // the hook may have taken its time
		r.refuse(ctx, x, TextToolAborted)
		return false
	}
	x.tool, x.args = t, args
	return true
}

// abortGrace is how long an abort waits for tools to end by themselves: a command that
// is killed still has output to hand over. Afterwards their calls are answered, and the
// run goes on without them.
const abortGrace = 2 * time.Second

// parallel runs calls beside each other and tells their ends as they come. Tools
// that keep an order of their own (per file) reserve it here, in call order.
func (r *run) parallel(ctx context.Context, execs []*execution) {
	done := make(chan *execution, len(execs))
	for _, x := range execs {
		if ctx.Err() != nil { // an abort came while the calls were checked
			x.fail(TextToolAborted)
			done <- x
			continue
		}
		run := tool.Start(ctx, x.tool, tool.Call{ID: x.call.ID, Args: x.args})
		x.updates, x.start = &updates{run: r, call: x.call}, r.cfg.Now()
		if o, ok := x.tool.(tool.Opener); ok {
			if res, ok := o.Opening(); ok {
				x.updates.tell(res)
			}
		}
		r.cfg.Go(func() {
			res, err := call(x, run)
			if x.updates.close() { // else it was given up
				r.conclude(ctx, x, res, err)
				done <- x
			}
		})
	}
	for left := slices.Clone(execs); len(left) > 0; {
		over := []*execution{}
		select {
		case x := <-done:
			over = append(over, x)
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // ends all that still run: they are told in call order
			over = append(over, r.gather(ctx, done, left, len(over))...)
		}
		left = slices.DeleteFunc(left, func(x *execution) bool { return slices.Contains(over, x) })
		slices.SortFunc(over, func(a, b *execution) int { return slices.Index(execs, a) - slices.Index(execs, b) })
		for _, x := range over {
			if r.cfg.AfterTool != nil {
				x.result = r.cfg.AfterTool(ctx, x.call, x.result)
			}
			r.tellEnd(x)
		}
	}
}

// gather returns the executions of left that are not among the have already taken from
// done, once they have ended, or when they had their time after an abort.
func (r *run) gather(ctx context.Context, done <-chan *execution, left []*execution, have int) (over []*execution) {
	patience := time.NewTimer(abortGrace)
	defer patience.Stop()
	for have+len(over) < len(left) {
		select {
		case x := <-done:
			over = append(over, x)
			continue
		case <-patience.C:
		}
		for _, x := range left {
			if x.updates != nil && x.updates.close() { // it cannot end any more
				r.conclude(ctx, x, tool.Result{}, context.Cause(ctx))
				over = append(over, x)
			}
		}
		for have+len(over) < len(left) { // these ended in the same moment
			over = append(over, <-done)
		}
	}
	return over
}

// call runs one call. A panic of a tool is its failure.
func call(x *execution, run tool.RunFunc) (res tool.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf(textToolCrashed, x.call.Name, p)
		}
	}()
	return run(x.updates.tell)
}

// conclude records what became of a call that ran.
func (r *run) conclude(ctx context.Context, x *execution, res tool.Result, err error) {
	ms := r.cfg.Now().Sub(x.start).Milliseconds()
	x.ran = &ms
	switch {
	case err == nil:
		x.result, x.failed = res, res.IsError
	case ctx.Err() != nil && (err == ctx.Err() || err == context.Cause(ctx)): // the tool has nothing of its own to say
		x.fail(TextToolAborted)
	default:
		x.fail(err.Error())
	}
	if x.result.Content == nil {
		x.result.Content = llm.Content{}
	}
}

func (x *execution) fail(text string) { x.result, x.failed = tool.ErrorResult(text), true }

// updates forwards partial results until the call is over; late ones are dropped.
type updates struct {
	run    *run
	call   *llm.ToolCall
	mu     sync.Mutex
	closed bool
}

func (u *updates) tell(res tool.Result) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return
	}
	if res.Content == nil {
		res.Content = llm.Content{}
	}
	u.run.cfg.Emit(event.ToolExecutionUpdate{ToolCallID: u.call.ID, ToolName: u.call.Name, Args: u.call.Arguments, PartialResult: res})
}

// close ends the updates, and with them the call. It reports whether this call of close
// did: whoever is first decides what the result is.
func (u *updates) close() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	first := !u.closed
	u.closed = true
	return first
}

// refuse answers a call that does not run, and tells its end.
func (r *run) refuse(_ context.Context, x *execution, text string) {
	x.fail(text)
	r.tellEnd(x)
}

func (r *run) tellStart(x *execution) {
	r.cfg.Emit(event.ToolExecutionStart{ToolCallID: x.call.ID, ToolName: x.call.Name, Args: x.call.Arguments})
}

func (r *run) tellEnd(x *execution) {
	r.cfg.Emit(event.ToolExecutionEnd{ToolCallID: x.call.ID, ToolName: x.call.Name, Result: x.result, IsError: x.failed, DurationMs: x.ran})
}

// tellResult commits and tells the result message of a call. A result that cannot
// be committed still stands on the wire; the run ends after its turn.
func (r *run) tellResult(ctx context.Context, x *execution) *llm.ToolResultMessage {
	m := &llm.ToolResultMessage{
		ToolCallID: x.call.ID, ToolName: x.call.Name, Content: x.result.Content, Usage: x.result.Usage,
		IsError: x.failed, DurationMs: x.ran, Timestamp: r.cfg.Now().UnixMilli(),
	}
	if x.result.Details != nil {
		details, err := jsonx.Marshal(x.result.Details)
		if err == nil {
			m.Details = details
		}
	}
	r.cfg.Emit(event.MessageStart{Message: m})
	kept, err := r.commit(ctx, m)
	if err != nil {
		r.cfg.Emit(event.MessageEnd{Message: m})
		return m
	}
	if kept, ok := kept.(*llm.ToolResultMessage); ok {
		return kept
	}
	return m
}

// sequential reports whether one of the called tools must not run beside others.
func sequential(tools *tool.Set, calls []*llm.ToolCall) bool {
	for _, c := range calls {
		if t, ok := tools.Lookup(c.Name); ok {
			if s, ok := t.(tool.Sequential); ok && s.Sequential() {
				return true
			}
		}
	}
	return false
}
