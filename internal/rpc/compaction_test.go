package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/compact"
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

// talkative is a session with something to compact, and a summary for it.
const talkative = `
-- settings.json --
{"defaultProvider":"fake","defaultModel":"one","retry":{"baseDelayMs":1000},"compaction":{"keepRecentTokens":300}}
-- provider --
{"onEnd":"repeat","turns":[{"match":"/<conversation>|# Conversation/","steps":[{"delayMs":20},{"text":"the summary"}]},
 {"match":"over","steps":[{"delayMs":5},{"error":{"kind":"overflow","message":"prompt is too long","times":1}},{"text":"it fits"}]},
 {"match":"wedged","turn":0,"steps":[{"toolCall":{"name":"wedge"}}]},
 {"steps":[{"delayMs":10},{"text":"ok"}]}]}
`

// chat holds three prompts of 300 tokens each.
func (c *talk) chat() {
	c.t.Helper()
	for i := range 3 {
		c.send(fmt.Sprintf(`{"type":"prompt","message":"%d %s"}`, i, strings.Repeat("x", 1200)))
		c.await("agent_settled", "")
	}
}

func (c *talk) mustContain(parts ...string) {
	c.t.Helper()
	out := c.out.String()
	for _, p := range parts {
		i := strings.Index(out, p)
		if i < 0 {
			c.t.Errorf("%s is not in the output, or not in this order:\n%s", p, strings.Join(c.lines(), "\n"))
			return
		}
		out = out[i+len(p):]
	}
}

// An extension may cancel a compaction, with the same words as a client.
func TestCompactionHookCancels(t *testing.T) {
	var seen engine.CompactRequest
	inBubble(t, talkative, func(b *testbed) {
		b.hooks.BeforeCompact = func(_ context.Context, r engine.CompactRequest) (engine.CompactDecision, error) {
			seen = r
			return engine.CompactDecision{Cancel: true}, nil
		}
	}, func(c *talk) {
		c.chat()
		c.send(`{"id":"c","type":"compact","customInstructions":"tests"}`)
		c.await("response", `"c"`)
		c.mustContain(`{"type":"compaction_end","reason":"manual","aborted":true,"willRetry":false}`, `"error":"Compaction cancelled"`)
	})
	if seen.Instructions != "tests" || seen.Reason != "manual" || seen.Plan == nil || len(seen.Plan.ToSummarize) != 4 {
		t.Errorf("the hook saw %+v", seen)
	}
}

// An extension may make the compaction itself; nobody asks the model.
func TestCompactionHookReplaces(t *testing.T) {
	var done []engine.CompactDone
	inBubble(t, talkative, func(b *testbed) {
		b.hooks.BeforeCompact = func(context.Context, engine.CompactRequest) (engine.CompactDecision, error) {
			return engine.CompactDecision{Replace: &compact.Replacement{Text: "mine"}}, nil
		}
		b.hooks.Compacted = func(_ context.Context, d engine.CompactDone) { done = append(done, d) }
		b.requests = func(r *llm.Request) {
			if strings.Contains(r.System, "summar") {
				t.Error("the model was asked for a summary")
			}
		}
	}, func(c *talk) {
		c.chat()
		c.send(`{"id":"c","type":"compact"}`)
		c.await("response", `"c"`)
		c.mustContain(`"data":{"summary":"mine"`)
	})
	if len(done) != 1 || !done[0].FromHook || done[0].Reason != "manual" || done[0].EntryID == "" {
		t.Errorf("Compacted saw %+v", done)
	}
}

// An error or a panic of the hook is reported and the compaction goes on.
func TestCompactionHookFails(t *testing.T) {
	for name, hook := range map[string]func(context.Context, engine.CompactRequest) (engine.CompactDecision, error){
		"error": func(context.Context, engine.CompactRequest) (engine.CompactDecision, error) {
			return engine.CompactDecision{}, errors.New("no")
		},
		"panic": func(context.Context, engine.CompactRequest) (engine.CompactDecision, error) { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, talkative, func(b *testbed) { b.hooks.BeforeCompact = hook }, func(c *talk) {
				c.chat()
				c.send(`{"id":"c","type":"compact"}`)
				c.await("response", `"c"`)
				c.mustContain(`"data":{"summary":"the summary"`)
			})
		})
	}
}

// Field reports 89, 102 and 114: what a model is sent after a compaction and after a
// retry: the summary, what is kept, no failed attempt, no result without its call.
func TestRequestsAfterARecovery(t *testing.T) {
	var requests []*llm.Request
	inBubble(t, talkative, func(b *testbed) {
		b.requests = func(r *llm.Request) { requests = append(requests, r) }
	}, func(c *talk) {
		c.chat()
		c.send(`{"type":"prompt","message":"over"}`)
		c.await("agent_settled", "")
	})
	last := requests[len(requests)-1]
	var roles []string
	for _, m := range last.Messages {
		roles = append(roles, m.Role())
		if a, ok := m.(*llm.AssistantMessage); ok && a.Failed() {
			t.Errorf("a failed attempt is sent: %+v", a)
		}
	}
	if got := strings.Join(roles, " "); got != "user user assistant user" {
		t.Errorf("the request has the roles %s", got)
	}
	if text := last.Messages[0].(*llm.UserMessage).Content.PlainText(""); !strings.Contains(text, "the summary") {
		t.Errorf("the request begins with %q", text)
	}
	if err := paired(last.Messages); err != nil {
		t.Error(err)
	}
	summary := requests[len(requests)-2]
	if !summary.NoCache || len(summary.Tools) > 0 || summary.SessionID == last.SessionID || summary.APIKey == "" {
		t.Errorf("the request for the summary is %+v", summary)
	}
}

// paired reports a tool call without a result, or the other way round.
func paired(msgs []llm.Message) error {
	open := map[string]bool{}
	for i, m := range msgs {
		switch m := m.(type) {
		case *llm.ToolResultMessage:
			if !open[m.ToolCallID] {
				return fmt.Errorf("message %d is a result of %s, which was not called", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		default:
			if len(open) > 0 {
				return fmt.Errorf("message %d comes before results of %v", i, open)
			}
			if a, ok := m.(*llm.AssistantMessage); ok && !a.Failed() {
				for _, call := range a.Content.ToolCalls() {
					open[call.ID] = true
				}
			}
		}
	}
	return nil
}

// wedge is a tool that does not end by itself.
type wedge struct{}

func (wedge) Spec() llm.ToolSpec {
	return llm.ToolSpec{Name: "wedge", Parameters: []byte(`{"type":"object"}`)}
}

func (wedge) Run(ctx context.Context, _ tool.Call, _ func(tool.Result)) (tool.Result, error) {
	<-ctx.Done()
	return tool.Result{}, context.Cause(ctx)
}

// A wedged tool ends with an abort; a compaction that a client asks for is one too.
func TestAbortOfAWedgedTool(t *testing.T) {
	for _, line := range []string{`{"id":"a","type":"abort"}`, `{"id":"a","type":"compact"}`} {
		inBubble(t, talkative, func(b *testbed) { b.tools = []tool.Tool{wedge{}} }, func(c *talk) {
			c.chat()
			c.send(`{"type":"prompt","message":"wedged"}`)
			c.await("tool_execution_start", "")
			time.Sleep(time.Hour)
			c.send(line)
			c.await("response", `"a"`)
			c.mustContain(`"Operation aborted"`, `{"type":"agent_settled","aborted":true}`)
			if strings.Contains(line, "compact") {
				c.mustContain(`{"type":"agent_settled","aborted":true}`, `"compaction_start"`, `"the summary"`)
			}
		})
	}
}

// A compaction and an abort of it in one write: whichever comes first, both are
// answered and the next prompt is welcome.
func TestCompactAndAbortTogether(t *testing.T) {
	for _, abort := range []string{"abort", "abort_compaction", "new_session"} {
		inBubble(t, talkative, nil, func(c *talk) {
			c.chat()
			c.send(`{"id":"c","type":"compact"}`, fmt.Sprintf(`{"id":"a","type":%q}`, abort))
			c.await("response", `"a"`)
			if got := c.response("c"); !strings.Contains(got, "Compaction cancelled") {
				t.Errorf("%s: compact says %s", abort, got)
			}
			c.send(`{"id":"p","type":"prompt","message":"next"}`)
			c.await("agent_settled", "")
		})
	}
}

// The backup of a verbatim compaction lies beside the session; three are kept.
func TestBackups(t *testing.T) {
	inBubble(t, strings.Replace(talkative, `"keepRecentTokens"`, `"strategy":"verbatim-lines","keepRecentTokens"`, 1)+`
-- args --
dialect atomic
`, nil, func(c *talk) {
		for i := range 5 {
			c.send(fmt.Sprintf(`{"type":"prompt","message":"%d %s"}`, i, strings.Repeat("line\\n", 40)), `{"type":"follow_up","message":"more"}`)
			c.await("agent_settled", "")
			time.Sleep(time.Second)
			c.send(fmt.Sprintf(`{"id":"c%d","type":"compact"}`, i))
			c.await("response", fmt.Sprintf(`"c%d"`, i))
		}
		names, _ := filepath.Glob(filepath.Join(c.bed.work, "sessions", "*.bak"))
		if len(names) > 3 {
			t.Errorf("there are %d backups: %q", len(names), names)
		}
		if slices.ContainsFunc(names, func(n string) bool { return !strings.Contains(n, ".compact.bak") }) {
			t.Errorf("the backups are %q", names)
		}
	})
}
