package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/agent"
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

// A context hook replaces what one request is sent; one that fails ends the run.
func TestContextHook(t *testing.T) {
	var sent []int
	fail := false
	inBubble(t, repeats, func(b *testbed) {
		b.requests = func(r *llm.Request) { sent = append(sent, len(r.Messages)) }
		b.hooks.Context = func(_ context.Context, msgs []llm.Message) ([]llm.Message, error) {
			if fail {
				return nil, errors.New("no context")
			}
			return msgs[len(msgs)-1:], nil
		}
	}, func(c *talk) {
		c.send(`{"type":"prompt","message":"one"}`)
		c.await("agent_settled", "")
		c.send(`{"type":"prompt","message":"two"}`)
		c.await("agent_settled", "")
		fail = true
		c.send(`{"type":"prompt","message":"three"}`)
		c.await("message_end", `"errorMessage":"no context"`)
		c.await("agent_settled", "")
	})
	if diff := cmp.Diff([]int{1, 1}, sent); diff != "" {
		t.Errorf("messages sent (-want +got):\n%s", diff)
	}
}

// A tool call is blocked by a decision, by an error and by a panic (fail closed); what
// a hook makes of a result is what client and model see.
func TestToolHooks(t *testing.T) {
	inBubble(t, `
-- provider --
{"turns":[{"steps":[
 {"toolCall":{"name":"bash","arguments":{"command":"echo 1"}}},{"toolCall":{"name":"bash","arguments":{"command":"echo 2"}}},
 {"toolCall":{"name":"bash","arguments":{"command":"echo 3"}}},{"toolCall":{"name":"bash","arguments":{"command":"echo 4"}}}]},
 {"steps":[{"text":"done"}]}]}
`, func(b *testbed) {
		b.hooks.BeforeTool = func(_ context.Context, call *llm.ToolCall) (agent.Decision, error) {
			switch call.ID {
			case "call_1":
				return agent.Decision{Block: true, Reason: "not allowed"}, nil
			case "call_2":
				return agent.Decision{}, errors.New("handler failed")
			case "call_3":
				panic("boom")
			}
			return agent.Decision{}, nil
		}
		b.hooks.AfterTool = func(_ context.Context, _ *llm.ToolCall, res tool.Result) tool.Result {
			return tool.TextResult("seen: " + res.Content.PlainText(""))
		}
	}, func(c *talk) {
		c.send(`{"type":"prompt","message":"go"}`)
		c.await("agent_settled", "")
		var ends []string
		for _, line := range c.lines() {
			if strings.HasPrefix(line, "tool_execution_end") {
				ends = append(ends, line)
			}
		}
		want := []string{
			`tool_execution_end call_1 error=true ["not allowed"]`, `tool_execution_end call_2 error=true ["handler failed"]`,
			`tool_execution_end call_3 error=true ["tool call hook: boom"]`, `tool_execution_end call_4 error=false ["seen: 4\n"]`,
		}
		if diff := cmp.Diff(want, ends); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// An abort while a hook thinks about a call leaves the call undone.
func TestAbortInAToolHook(t *testing.T) {
	inBubble(t, `
-- provider --
{"turns":[{"steps":[{"toolCall":{"name":"write","arguments":{"path":"never","content":"x"}}},{"toolCall":{"name":"write","arguments":{"path":"never2","content":"x"}}}]}]}
`, func(b *testbed) {
		b.hooks.BeforeTool = func(_ context.Context, call *llm.ToolCall) (agent.Decision, error) {
			if call.ID == "call_2" {
				time.Sleep(10 * time.Second)
			}
			return agent.Decision{}, nil
		}
	}, func(c *talk) {
		c.send(`{"type":"prompt","message":"go"}`)
		c.await("tool_execution_start", "call_2")
		c.send(`{"type":"abort"}`)
		c.await("response", "abort")
		if c.bed.read(c.bed.work+"/proj/never")+c.bed.read(c.bed.work+"/proj/never2") != "" {
			t.Error("a call ran after the abort")
		}
		if n := strings.Count(strings.Join(c.lines(), "\n"), `["Operation aborted"]`); n != 4 {
			t.Errorf("%d ends and results say that the call was aborted, want 4", n)
		}
	})
}

// What a hook makes of a finished message is stored and told; nothing, another role
// and a panic leave the message as it is.
func TestMessageEndHook(t *testing.T) {
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.MessageEnd = func(_ context.Context, m llm.Message) llm.Message {
			a, ok := m.(*llm.AssistantMessage)
			if !ok {
				return nil
			}
			switch a.Content.PlainText("") {
			case "answer to one":
				other := *a
				other.Content = llm.Content{llm.NewText("replaced")}
				return &other
			case "answer to two":
				return &llm.UserMessage{}
			}
			panic("boom")
		}
	}, func(c *talk) {
		for _, text := range []string{"one", "two", "three"} {
			c.send(fmt.Sprintf(`{"type":"prompt","message":%q}`, text))
			c.await("agent_settled", "")
		}
		want := `session
model_change fake/one
thinking_level_change medium
message user ["one"]
message assistant stop ["replaced"]
message user ["two"]
message assistant stop ["answer to two"]
message user ["three"]
message assistant stop ["answer to three"]
`
		if diff := cmp.Diff(want, c.bed.shortEntries(c.bed.read(c.bed.stores[0].Path()))); diff != "" {
			t.Errorf("session (-want +got):\n%s", diff)
		}
		if out := strings.Join(c.lines(), "\n"); strings.Count(out, `message_end assistant stop ["replaced"]`) != 1 || strings.Contains(out, "answer to one") {
			t.Errorf("output:\n%s", out)
		}
	})
}

// Extensions see the events of a run in order, before the client; a panic costs nothing.
func TestEventHook(t *testing.T) {
	var kinds []string
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.Event = func(_ context.Context, ev event.Event) {
			kinds = append(kinds, ev.Kind())
			if ev.Kind() == "turn_start" {
				panic("boom")
			}
		}
	}, func(c *talk) {
		c.send(`{"type":"prompt","message":"hi"}`)
		c.await("agent_settled", "")
	})
	want := "agent_start turn_start message_start message_end message_start message_update message_update message_update message_end turn_end agent_end agent_settled"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("events: %s", got)
	}
}

// A bash hook answers a command itself, or refuses it by an error or a panic.
func TestUserBashHook(t *testing.T) {
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.UserBash = func(_ context.Context, command string) (bool, string, int, error) {
			switch command {
			case "echo mine":
				return true, "from the hook", 3, nil
			case "echo no":
				return false, "", 0, errors.New("refused")
			case "echo boom":
				panic("boom")
			}
			return false, "", 0, nil
		}
	}, func(c *talk) {
		for _, word := range []string{"mine", "no", "boom", "yours"} {
			c.send(fmt.Sprintf(`{"id":"%s","type":"bash","command":"echo %s"}`, word, word))
			c.await("response", word)
		}
		for id, want := range map[string]string{
			"mine": `"data":{"output":"from the hook","exitCode":3,`, "no": `"error":"refused"`,
			"boom": `"error":"bash hook: boom"`, "yours": `"data":{"output":"yours\n","exitCode":0,`,
		} {
			if got := c.response(id); !strings.Contains(got, want) {
				t.Errorf("%s: %s", id, got)
			}
		}
	})
}

// A session replacement can be cancelled or fail before anything happened; while a hook
// thinks about it getters and interrupts are answered and ordinary commands wait.
func TestBeforeSwitchHook(t *testing.T) {
	var answer func() (bool, error)
	var lives []string
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.BeforeSwitch = func(_ context.Context, kind string) (bool, error) {
			lives = append(lives, "before "+kind)
			return answer()
		}
		b.hooks.SessionShutdown = func(_ context.Context, reason string) { lives = append(lives, "shutdown "+reason) }
		b.hooks.SessionStart = func(_ context.Context, reason string) { lives = append(lives, "start "+reason) }
	}, func(c *talk) {
		answer = func() (bool, error) { return true, nil }
		c.send(`{"id":"cancelled","type":"new_session"}`)
		c.await("response", "cancelled")
		answer = func() (bool, error) { return false, errors.New("not now") }
		c.send(`{"id":"failed","type":"new_session"}`)
		c.await("response", "failed")
		answer = func() (bool, error) { panic("boom") }
		c.send(`{"id":"panicked","type":"new_session"}`)
		c.await("response", "panicked")
		answer = func() (bool, error) { time.Sleep(time.Minute); return false, nil }
		c.send(`{"id":"slow","type":"new_session"}`, `{"id":"name","type":"set_session_name","name":"new"}`,
			`{"id":"prompt","type":"prompt","message":"hi"}`, `{"id":"get","type":"get_state"}`, `{"id":"abort","type":"abort"}`,
			`{"id":"steer","type":"steer","message":"gone"}`, `{"id":"clear","type":"clear_queue"}`)
		c.await("response", "clear")
		c.await("response", `"name"`)
		wantLines(c, `
{"id":"cancelled","type":"response","command":"new_session","success":true,"data":{"cancelled":true}}
{"id":"failed","type":"response","command":"new_session","success":false,"error":"not now"}
{"id":"panicked","type":"response","command":"new_session","success":false,"error":"session switch hook: boom"}
`+c.response("get")+`
{"id":"prompt","type":"response","command":"prompt","success":false,"error":"prompt was aborted before it was accepted"}
{"id":"abort","type":"response","command":"abort","success":true}
{"type":"queue_update","steering":["gone"],"followUp":[]}
{"id":"steer","type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
{"type":"queue_update","steering":[],"followUp":[]}
{"id":"clear","type":"response","command":"clear_queue","success":true,"data":{"steering":["gone"],"followUp":[]}}
{"id":"slow","type":"response","command":"new_session","success":true,"data":{"cancelled":false}}
{"type":"session_info_changed","name":"new"}
{"id":"name","type":"response","command":"set_session_name","success":true}`)
	})
	want := []string{"before new", "before new", "before new", "before new", "shutdown new", "start new"}
	if diff := cmp.Diff(want, lives); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}

// A hook that hangs does not keep the end of stdin from aborting and persisting what
// runs, and every line still gets its answer.
func TestEndOfInputWhileAHookHangs(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.Input = func(ctx context.Context, in engine.Input) (engine.InputResult, error) {
			mu.Lock()
			asked = append(asked, in.Text)
			mu.Unlock()
			if in.Text == "hangs" {
				<-ctx.Done()
			}
			return engine.InputResult{}, nil
		}
	}, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"long"}`)
		c.await("message_update", "some")
		c.send(`{"id":"h","type":"steer","message":"hangs"}`, `{"id":"w","type":"steer","message":"waits"}`)
		before := time.Now()
		c.end()
		if d := time.Since(before); d > 2*time.Second {
			t.Errorf("the end took %v", d)
		}
		for _, id := range []string{"h", "w"} {
			if got := c.response(id); !strings.Contains(got, `"success":false,"error":"shutting down"`) {
				t.Errorf("%s: %s", id, got)
			}
		}
		if !slices.Contains(c.lines(), `message_end assistant aborted (Request was aborted) ["some "]`) {
			t.Error("the run was not aborted")
		}
	})
}
