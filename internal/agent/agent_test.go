package agent_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/agent"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

// host is a conversation with scripted answers, recording what it is told.
type host struct {
	answers  [][]llm.Event // one a request; an empty one hangs until cancelled
	failures map[int]error // by request
	tools    *tool.Set
	steering []string
	followUp []string
	commit   func(llm.Message) (llm.Message, error)

	mu       sync.Mutex
	log      []string
	requests int
	stored   []llm.Message
}

func (h *host) run(ctx context.Context, cfg agent.Config, prompts ...string) agent.Outcome {
	cfg.Next = func(context.Context) (*agent.Call, error) {
		return &agent.Call{
			Provider: h, Tools: h.tools,
			Request: &llm.Request{Model: &llm.Model{ID: "m", Provider: "p", API: "scripted"}, Messages: h.stored},
		}, nil
	}
	cfg.Commit = func(_ context.Context, m llm.Message) (llm.Message, error) {
		if h.commit != nil {
			var err error
			if m, err = h.commit(m); err != nil {
				return m, err
			}
		}
		h.stored = append(h.stored, m)
		return m, nil
	}
	cfg.Steering = func() []agent.Queued { return h.drain(&h.steering) }
	cfg.FollowUp = func() []agent.Queued { return h.drain(&h.followUp) }
	cfg.Emit = h.emit
	cfg.Now = time.Now
	cfg.Go = func(fn func()) { go fn() } // a bubble ends only when all its goroutines have
	if h.tools == nil {
		h.tools = tool.NewSet()
	}
	var list []agent.Queued
	for _, p := range prompts {
		list = append(list, agent.Queued{Message: user(p)})
	}
	return agent.Run(ctx, cfg, list)
}

// drain delivers one queued text at a time.
func (h *host) drain(queue *[]string) []agent.Queued {
	if len(*queue) == 0 {
		return nil
	}
	text := (*queue)[0]
	*queue = (*queue)[1:]
	return []agent.Queued{{Message: user(text), Deliver: func() { h.note("deliver " + text) }, Return: func() { h.note("return " + text) }}}
}

func user(text string) llm.Message { return &llm.UserMessage{Content: llm.Content{llm.NewText(text)}} }

func (h *host) note(s string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, s)
}

func (h *host) emit(ev event.Event) {
	switch ev := ev.(type) {
	case event.MessageStart:
		h.note("start " + show(ev.Message))
	case event.MessageEnd:
		h.note("end " + show(ev.Message))
	case event.MessageUpdate:
	case event.TurnEnd:
		h.note(fmt.Sprintf("turn_end %d", len(ev.ToolResults)))
	case event.ToolExecutionStart:
		h.note("tool " + ev.ToolCallID)
	case event.ToolExecutionUpdate:
		h.note("update " + ev.ToolCallID)
	case event.ToolExecutionEnd:
		ran := ""
		if ev.DurationMs != nil {
			ran = fmt.Sprintf(" %dms", *ev.DurationMs)
		}
		h.note(fmt.Sprintf("tool_end %s error=%v%s: %s", ev.ToolCallID, ev.IsError, ran, ev.Result.(tool.Result).Content.PlainText("")))
	default:
		h.note(ev.Kind())
	}
}

func show(m llm.Message) string {
	switch m := m.(type) {
	case *llm.UserMessage:
		return "user " + m.Content.PlainText("")
	case *llm.AssistantMessage:
		s := "assistant " + string(m.StopReason)
		if m.ErrorMessage != "" {
			s += " (" + m.ErrorMessage + ")"
		}
		return s
	case *llm.ToolResultMessage:
		return "result " + m.ToolCallID
	}
	return m.Role()
}

func (h *host) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
	n := h.requests
	h.requests++
	return func(yield func(llm.Event, error) bool) {
		if err := h.failures[n]; err != nil {
			yield(llm.Event{}, err)
			return
		}
		if n >= len(h.answers) {
			panic("no answer left")
		}
		if len(h.answers[n]) == 0 {
			<-ctx.Done()
			yield(llm.Event{}, ctx.Err())
			return
		}
		for _, ev := range h.answers[n] {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func say(text string) []llm.Event {
	return []llm.Event{
		{Kind: llm.EventTextStart},
		{Kind: llm.EventTextDelta, Delta: text},
		{Kind: llm.EventTextEnd},
		{Kind: llm.EventDone, StopReason: llm.StopEnd},
	}
}

// call is an answer of tool calls: name and arguments by turns.
func call(stop llm.StopReason, nameArgs ...string) []llm.Event {
	var evs []llm.Event
	for i := 0; i < len(nameArgs); i += 2 {
		at := i / 2
		evs = append(evs,
			llm.Event{Kind: llm.EventToolCallStart, Index: at, ID: fmt.Sprint("c", at+1), Name: nameArgs[i]},
			llm.Event{Kind: llm.EventToolCallDelta, Index: at, Delta: nameArgs[i+1]},
			llm.Event{Kind: llm.EventToolCallEnd, Index: at})
	}
	return append(evs, llm.Event{Kind: llm.EventDone, StopReason: stop})
}

// fake is a tool that sleeps and answers.
type fake struct {
	name       string
	sleep      time.Duration
	sequential bool
	crash      bool
	terminate  bool
	opening    bool
	deaf       bool // does not heed an abort
}

func (f fake) Spec() llm.ToolSpec {
	return llm.ToolSpec{Name: f.name, Parameters: jsonx.Raw(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)}
}
func (f fake) Sequential() bool             { return f.sequential }
func (f fake) Opening() (tool.Result, bool) { return tool.Result{}, f.opening }
func (f fake) Run(ctx context.Context, call tool.Call, update func(tool.Result)) (tool.Result, error) {
	if f.crash {
		panic("boom")
	}
	if f.deaf {
		ctx = context.Background()
	}
	for range 2 {
		select {
		case <-time.After(f.sleep / 2):
			update(tool.TextResult("so far"))
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	}
	res := tool.TextResult(f.name + " " + string(call.Args))
	res.Terminate = f.terminate
	return res, nil
}

func TestRunOrder(t *testing.T) {
	slow, quick := fake{name: "slow", sleep: 3 * time.Second, opening: true}, fake{name: "quick", sleep: time.Second}
	tests := []struct {
		name    string
		host    *host
		prompts []string
		want    string
	}{
		{"text", &host{answers: [][]llm.Event{say("hi")}}, []string{"q"}, `
turn_start|start user q|end user q|start assistant pending|end assistant stop|turn_end 0`},
		{
			"parallel tools end in completion order, results in call order",
			&host{tools: tool.NewSet(slow, quick), answers: [][]llm.Event{call(llm.StopToolUse, "slow", `{"n":1}`, "quick", `{"n":"2"}`), say("done")}},
			[]string{"q"},
			`
turn_start|start user q|end user q|start assistant pending|end assistant toolUse
tool c1|tool c2|update c1|update c2|update c2|tool_end c2 error=false 1000ms: quick {"n":2}|update c1|update c1|tool_end c1 error=false 3000ms: slow {"n":1}
start result c1|end result c1|start result c2|end result c2|turn_end 2
turn_start|start assistant pending|end assistant stop|turn_end 0`,
		},
		{
			"a sequential tool makes its batch sequential",
			&host{tools: tool.NewSet(fake{name: "slow", sleep: time.Second, sequential: true}, quick), answers: [][]llm.Event{call(llm.StopToolUse, "slow", `{"n":1}`, "quick", `{"n":2}`), say("done")}},
			[]string{"q"},
			`
turn_start|start user q|end user q|start assistant pending|end assistant toolUse
tool c1|update c1|update c1|tool_end c1 error=false 1000ms: slow {"n":1}|start result c1|end result c1
tool c2|update c2|update c2|tool_end c2 error=false 1000ms: quick {"n":2}|start result c2|end result c2|turn_end 2
turn_start|start assistant pending|end assistant stop|turn_end 0`,
		},
		{
			"unknown tools, bad arguments and crashes are results",
			&host{tools: tool.NewSet(fake{name: "boom", crash: true}), answers: [][]llm.Event{call(llm.StopToolUse, "nope", `{}`, "boom", `{}`, "boom", `{"n":`, "boom", `{"n":1}`), say("done")}},
			[]string{"q"},
			`
turn_start|start user q|end user q|start assistant pending|end assistant toolUse
tool c1|tool_end c1 error=true: Tool nope not found
tool c2|tool_end c2 error=true: Validation failed for tool "boom":\n  - n: missing\n\nReceived arguments:\n{}
tool c3|tool_end c3 error=true: Invalid arguments for tool "boom": …
tool c4|tool_end c4 error=true 0ms: tool boom crashed: boom
start result c1|end result c1|start result c2|end result c2|start result c3|end result c3|start result c4|end result c4|turn_end 4
turn_start|start assistant pending|end assistant stop|turn_end 0`,
		},
		{
			"steering comes after the tools, follow-ups when the run would stop",
			&host{tools: tool.NewSet(quick), steering: nil, followUp: []string{"later"}, answers: [][]llm.Event{call(llm.StopToolUse, "quick", `{"n":1}`), say("done"), say("more")}},
			[]string{"q"},
			`
turn_start|start user q|end user q|start assistant pending|end assistant toolUse|tool c1|update c1|update c1|tool_end c1 error=false 1000ms: quick {"n":1}|start result c1|end result c1|turn_end 1
turn_start|start assistant pending|end assistant stop|turn_end 0
turn_start|deliver later|start user later|end user later|start assistant pending|end assistant stop|turn_end 0`,
		},
		{"queued steering joins the first turn", &host{steering: []string{"also"}, answers: [][]llm.Event{say("hi")}}, []string{"q"}, `
turn_start|start user q|end user q|deliver also|start user also|end user also|start assistant pending|end assistant stop|turn_end 0`},
		{
			"a cut answer's calls are refused and the run goes on",
			&host{tools: tool.NewSet(quick), answers: [][]llm.Event{call(llm.StopLength, "quick", `{"n":1}`), say("done")}},
			[]string{"q"},
			`
turn_start|start user q|end user q|start assistant pending|end assistant length
tool c1|tool_end c1 error=true: Tool call "quick" was not executed: the response hit the output token limit, so its arguments may be truncated. Re-issue the tool call with complete arguments.|start result c1|end result c1|turn_end 1
turn_start|start assistant pending|end assistant stop|turn_end 0`,
		},
		{
			"a failed request ends the run and takes nothing from the queues",
			&host{failures: map[int]error{0: &llm.Error{Message: "400: no"}}, followUp: []string{"kept"}},
			[]string{"q"},
			`
turn_start|start user q|end user q|start assistant error (400: no)|end assistant error (400: no)|turn_end 0`,
		},
		{"a stream without an end is an error", &host{answers: [][]llm.Event{{{Kind: llm.EventTextStart}}}}, []string{"q"}, `
turn_start|start user q|end user q|start assistant pending|end assistant error (stream ended without a final event)|turn_end 0`},
		{"a crashing provider is an error", &host{}, []string{"q"}, `
turn_start|start user q|end user q|start assistant error (provider p crashed: no answer left)|end assistant error (provider p crashed: no answer left)|turn_end 0`},
		{"terminating results end the run", &host{tools: tool.NewSet(fake{name: "stop", terminate: true}), answers: [][]llm.Event{call(llm.StopToolUse, "stop", `{"n":1}`)}}, []string{"q"}, `
turn_start|start user q|end user q|start assistant pending|end assistant toolUse|tool c1|update c1|update c1|tool_end c1 error=false 0ms: stop {"n":1}|start result c1|end result c1|turn_end 1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.host.run(t.Context(), agent.Config{}, tt.prompts...)
				check(t, tt.host.log, tt.want)
			})
		})
	}
}

// check compares a log with lines of entries; "…" at the end of an entry matches any rest.
func check(t *testing.T, log []string, want string) {
	t.Helper()
	var entries []string
	for _, line := range strings.Split(strings.TrimSpace(want), "\n") {
		entries = append(entries, strings.Split(line, "|")...)
	}
	got := make([]string, len(log))
	for i, l := range log {
		got[i] = strings.ReplaceAll(l, "\n", `\n`)
		if i < len(entries) {
			if head, ok := strings.CutSuffix(entries[i], "…"); ok && strings.HasPrefix(got[i], head) {
				got[i] = entries[i]
			}
		}
	}
	if diff := cmp.Diff(entries, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// Field report 48: every call of an aborted batch gets a result.
func TestAbortAnswersEveryToolCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{
			tools:    tool.NewSet(fake{name: "slow", sleep: time.Hour}, fake{name: "quick", sleep: time.Second}),
			answers:  [][]llm.Event{call(llm.StopToolUse, "slow", `{"n":1}`, "quick", `{"n":2}`, "slow", `{"n":3}`)},
			steering: nil, followUp: []string{"kept"},
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Second, func() { cancel(errors.New("client")) })
		out := h.run(ctx, agent.Config{}, "q")
		var results []string
		for _, m := range h.stored {
			if r, ok := m.(*llm.ToolResultMessage); ok {
				results = append(results, fmt.Sprintf("%s %v %s", r.ToolCallID, r.IsError, r.Content.PlainText("")))
			}
		}
		want := []string{"c1 true Operation aborted", `c2 false quick {"n":2}`, "c3 true Operation aborted"}
		if diff := cmp.Diff(want, results); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		// A further turn tells the abort; nothing is sent and no queue is touched.
		if out.Last.StopReason != llm.StopAborted || out.Last.ErrorMessage != "This operation was aborted" || h.requests != 1 || len(h.followUp) != 1 {
			t.Errorf("last = %s, requests = %d, follow-ups left = %d", show(out.Last), h.requests, len(h.followUp))
		}
	})
}

// Field report 44: a tool that does not heed an abort holds nothing up. Its call is
// answered after a moment; what it says later is dropped.
func TestAbortOfADeafTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{
			tools:   tool.NewSet(fake{name: "deaf", sleep: time.Hour, deaf: true}, fake{name: "slow", sleep: time.Hour}),
			answers: [][]llm.Event{call(llm.StopToolUse, "deaf", `{"n":1}`, "slow", `{"n":2}`)},
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Second, func() { cancel(errors.New("client")) })
		start := time.Now()
		out := h.run(ctx, agent.Config{}, "q")
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("the run took %v", took)
		}
		ends, events := 0, len(h.log)
		for _, m := range h.stored {
			if r, ok := m.(*llm.ToolResultMessage); ok && r.IsError && r.Content.PlainText("") == "Operation aborted" {
				ends++
			}
		}
		if ends != 2 || out.Last.StopReason != llm.StopAborted {
			t.Errorf("%d calls are answered, the last message is %s", ends, show(out.Last))
		}
		time.Sleep(2 * time.Hour) // the tool ends by itself
		if len(h.log) != events {
			t.Errorf("told after the end: %v", h.log[events:])
		}
	})
}

func TestAbortMidStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{answers: [][]llm.Event{{}}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		out := h.run(ctx, agent.Config{}, "q")
		if out.Last.StopReason != llm.StopAborted || *out.Last.DurationMs != 1000 {
			t.Errorf("last = %s after %d ms", show(out.Last), *out.Last.DurationMs)
		}
	})
}

func TestHooksAroundTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{
			tools:   tool.NewSet(fake{name: "quick"}),
			answers: [][]llm.Event{call(llm.StopToolUse, "quick", `{"n":1}`, "quick", `{"n":2}`, "quick", `{"n":3}`, "quick", `{"n":4}`), say("done")},
		}
		h.run(t.Context(), agent.Config{
			BeforeTool: func(_ context.Context, c *llm.ToolCall) (agent.Decision, error) {
				switch c.ID {
				case "c1":
					return agent.Decision{Block: true, Reason: "not now"}, nil
				case "c2":
					return agent.Decision{}, errors.New("handler failed")
				case "c3":
					c.Arguments = jsonx.Raw(`{"n":33}`)
				}
				return agent.Decision{}, nil
			},
			AfterTool: func(_ context.Context, c *llm.ToolCall, res tool.Result) tool.Result {
				if c.ID == "c4" {
					return tool.TextResult("replaced")
				}
				return res
			},
		}, "q")
		var got []string
		for _, m := range h.stored {
			if r, ok := m.(*llm.ToolResultMessage); ok {
				got = append(got, fmt.Sprintf("%v %v %s", r.IsError, r.DurationMs != nil, r.Content.PlainText("")))
			}
		}
		want := []string{"true false not now", "true false handler failed", `false true quick {"n":33}`, "false true replaced"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
	})
}

func TestCommitFailureEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{answers: [][]llm.Event{say("hi")}}
		h.commit = func(m llm.Message) (llm.Message, error) {
			if m.Role() == llm.RoleUser {
				return m, errors.New("disk full")
			}
			return m, nil
		}
		h.run(t.Context(), agent.Config{}, "q")
		check(t, h.log, `
turn_start|start user q|end user q|start assistant error (disk full)|end assistant error (disk full)|turn_end 0`)
		if h.requests != 0 {
			t.Errorf("%d requests were sent for a prompt that was not stored", h.requests)
		}
	})
}

func TestDuplicateToolCallIDsBothRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		twice := call(llm.StopToolUse, "quick", `{"n":1}`, "quick", `{"n":2}`)
		twice[3].ID = "c1"
		h := &host{tools: tool.NewSet(fake{name: "quick"}), answers: [][]llm.Event{twice, say("done")}}
		h.run(t.Context(), agent.Config{}, "q")
		ids := map[string]bool{}
		for _, m := range h.stored {
			if r, ok := m.(*llm.ToolResultMessage); ok {
				ids[r.ToolCallID] = true
			}
		}
		if len(ids) != 2 {
			t.Errorf("result ids = %v, want two different ones", ids)
		}
	})
}

// Calls that an abort ends together are told in call order.
func TestAbortTellsEndsInCallOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{
			tools:   tool.NewSet(fake{name: "slow", sleep: time.Hour}),
			answers: [][]llm.Event{call(llm.StopToolUse, "slow", `{"n":1}`, "slow", `{"n":2}`, "slow", `{"n":3}`, "slow", `{"n":4}`)},
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		h.run(ctx, agent.Config{}, "q")
		var ends []string
		for _, l := range h.log {
			if id, ok := strings.CutPrefix(l, "tool_end "); ok {
				ends = append(ends, id[:2])
			}
		}
		if diff := cmp.Diff([]string{"c1", "c2", "c3", "c4"}, ends); diff != "" {
			t.Errorf("ends (-want +got):\n%s", diff)
		}
	})
}

// A message of the queue that cannot be committed is given back, and nothing more is
// taken; an answer that cannot be committed is a failure whose calls are not run; a
// result that cannot be committed ends the run after its turn.
func TestCommitFaults(t *testing.T) {
	for _, tt := range []struct {
		name, role, want string
		host             *host
	}{
		{
			"queued message", llm.RoleUser, `
turn_start|start user q|end user q|deliver a|start user a|end user a|return a|start assistant error (disk full)|end assistant error (disk full)|turn_end 0`,
			&host{steering: []string{"a", "b"}},
		},
		{
			"answer", llm.RoleAssistant, `
turn_start|start user q|end user q|start assistant pending|end assistant error (disk full)|turn_end 0`,
			&host{followUp: []string{"kept"}, answers: [][]llm.Event{call(llm.StopToolUse, "quick", `{"n":1}`)}},
		},
		{
			"result", llm.RoleToolResult, `
turn_start|start user q|end user q|start assistant pending|end assistant toolUse
tool c1|update c1|update c1|tool_end c1 error=false 0ms: quick {"n":1}|start result c1|end result c1|turn_end 1
turn_start|start assistant error (disk full)|end assistant error (disk full)|turn_end 0`,
			&host{followUp: []string{"kept"}, answers: [][]llm.Event{call(llm.StopToolUse, "quick", `{"n":1}`)}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := tt.host
				h.tools = tool.NewSet(fake{name: "quick"})
				h.commit = func(m llm.Message) (llm.Message, error) {
					if m.Role() == tt.role && (tt.role != llm.RoleUser || show(m) == "user a") {
						return m, errors.New("disk full")
					}
					return m, nil
				}
				waiting := len(h.followUp)
				out := h.run(t.Context(), agent.Config{}, "q")
				check(t, h.log, tt.want)
				if out.Fault == nil || out.Fault.Error() != "disk full" || len(h.followUp) != waiting || out.Last.StopReason != llm.StopError {
					t.Errorf("fault %v, last %s, follow-ups %v", out.Fault, show(out.Last), h.followUp)
				}
			})
		})
	}
}

// Calls that were checked while another one was still thought about are not started
// once an abort came.
func TestAbortWhileCallsAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &host{tools: tool.NewSet(fake{name: "quick"}), answers: [][]llm.Event{call(llm.StopToolUse, "quick", `{"n":1}`, "quick", `{"n":2}`)}}
		ctx, cancel := context.WithCancel(t.Context())
		h.run(ctx, agent.Config{
			BeforeTool: func(_ context.Context, c *llm.ToolCall) (agent.Decision, error) {
				if c.ID == "c2" {
					cancel()
				}
				return agent.Decision{}, nil
			},
		}, "q")
		check(t, h.log, `
turn_start|start user q|end user q|start assistant pending|end assistant toolUse
tool c1|tool c2|tool_end c2 error=true: Operation aborted|tool_end c1 error=true: Operation aborted
start result c1|end result c1|start result c2|end result c2|turn_end 2
turn_start|start assistant aborted (This operation was aborted)|end assistant aborted (This operation was aborted)|turn_end 0`)
	})
}
