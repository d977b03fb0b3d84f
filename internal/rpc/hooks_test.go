package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/agent"
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

const repeats = `
-- provider --
{"onEnd":"repeat","turns":[
 {"match":"tool","turn":0,"steps":[{"toolCall":{"name":"bash","arguments":{"command":"echo ran"}}}]},
 {"match":"long","turn":0,"steps":[{"text":"some "},{"delayMs":10000},{"text":"text"}]},
 {"steps":[{"text":"answer to {{user}}"}]}]}
`

// wantLines compares the short form of what a client got with lines.
func wantLines(c *talk, want string) {
	c.t.Helper()
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), c.lines()); diff != "" {
		c.t.Errorf("output (-want +got):\n%s", diff)
	}
}

// An input hook may take an input: it is answered as handled, and nothing runs.
func TestInputHookHandles(t *testing.T) {
	var seen []engine.Input
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.Input = func(_ context.Context, in engine.Input) (engine.InputResult, error) {
			seen = append(seen, in)
			return engine.InputResult{Handled: true}, nil
		}
	}, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"mine"}`, `{"id":"s","type":"steer","message":"also mine"}`, `{"id":"f","type":"follow_up","message":"and mine"}`)
		c.await("response", `"f"`)
		c.send(`{"id":"m","type":"get_messages"}`)
		c.await("response", `"m"`)
		wantLines(c, `
{"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"handled"}}
{"id":"s","type":"response","command":"steer","success":true,"data":{"disposition":"handled"}}
{"id":"f","type":"response","command":"follow_up","success":true,"data":{"disposition":"handled"}}
{"id":"m","type":"response","command":"get_messages","success":true,"data":{"messages":[]}}`)
	})
	kinds := []engine.InputKind{engine.InputPrompt, engine.InputSteer, engine.InputFollowUp}
	for i, in := range seen {
		if i >= len(kinds) || in.Kind != kinds[i] {
			t.Errorf("input %d is %+v", i, in)
		}
	}
}

// Field report 27: a hook replaces the text and the pictures of steers and follow-ups
// as those of prompts.
func TestInputHookTransforms(t *testing.T) {
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.Input = func(_ context.Context, in engine.Input) (engine.InputResult, error) {
			return engine.InputResult{Replace: true, Text: strings.ToUpper(in.Text), Images: []*llm.Image{llm.NewImage("AAAA", "image/png")}}, nil
		}
	}, func(c *talk) {
		c.send(`{"id":"s","type":"steer","message":"steer"}`)
		c.await("response", "steer")
		c.send(`{"id":"p","type":"prompt","message":"prompt"}`)
		c.await("agent_settled", "")
		wantLines(c, `
{"type":"queue_update","steering":["STEER"],"followUp":[]}
{"id":"s","type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
{"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}
{"type":"agent_start"}
{"type":"turn_start"}
message_start user
message_end user ["PROMPT" image:image/png]
{"type":"queue_update","steering":[],"followUp":[]}
message_start user
message_end user ["STEER" image:image/png]
message_start assistant
message_end assistant stop ["answer to STEER"]
turn_end results=0
agent_end messages=3 willRetry=false
{"type":"agent_settled","aborted":false}`)
	})
}

// A hook that fails or panics refuses its input; the next one is not affected.
func TestInputHookFails(t *testing.T) {
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.Input = func(_ context.Context, in engine.Input) (engine.InputResult, error) {
			switch in.Text {
			case "error":
				return engine.InputResult{}, errors.New("not today")
			case "panic":
				panic("boom")
			}
			return engine.InputResult{}, nil
		}
	}, func(c *talk) {
		c.send(`{"id":"e","type":"prompt","message":"error"}`, `{"id":"p","type":"prompt","message":"panic"}`, `{"id":"g","type":"prompt","message":"good"}`)
		c.await("agent_settled", "")
		if got := c.response("e"); !strings.Contains(got, `"success":false,"error":"not today"`) {
			t.Errorf("refused: %s", got)
		}
		if got := c.response("p"); !strings.Contains(got, `"success":false,"error":"input hook: boom"`) {
			t.Errorf("panicked: %s", got)
		}
		if got := c.response("g"); !strings.Contains(got, `"disposition":"started"`) {
			t.Errorf("good: %s", got)
		}
		if len(c.bed.reports) != 1 || !strings.Contains(c.bed.reports[0], "hooks_test.go") {
			t.Errorf("reports = %q, want one with the place of the panic", c.bed.reports)
		}
	})
}

// While a hook takes its time getters are answered; an abort refuses the prompt at
// once, nothing is stored, and nobody waits for a hook that does not listen.
func TestAbortOfAPreparingPrompt(t *testing.T) {
	release := make(chan struct{})
	inBubble(t, repeats, func(b *testbed) {
		release = make(chan struct{}) // of the bubble
		b.hooks.Input = func(_ context.Context, in engine.Input) (engine.InputResult, error) {
			if in.Text == "slow" {
				<-release
			}
			return engine.InputResult{}, nil
		}
	}, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"slow"}`, `{"id":"s","type":"steer","message":"steer"}`)
		c.send(`{"id":"g","type":"get_last_assistant_text"}`)
		c.await("response", `"g"`)
		c.send(`{"id":"a","type":"abort"}`)
		c.await("response", `"s"`)
		wantLines(c, `
{"id":"g","type":"response","command":"get_last_assistant_text","success":true,"data":{"text":null}}
{"id":"p","type":"response","command":"prompt","success":false,"error":"prompt was aborted before it was accepted"}
{"id":"a","type":"response","command":"abort","success":true}
{"type":"queue_update","steering":["steer"],"followUp":[]}
{"id":"s","type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}`)
		c.send(`{"id":"n","type":"prompt","message":"next"}`)
		c.await("agent_settled", "")
		close(release)
		synctest.Wait()
		if file := c.bed.read(c.bed.stores[0].Path()); strings.Contains(file, "slow") || !strings.Contains(file, `"steer"`) {
			t.Errorf("the session is\n%s", file)
		}
	})
}

// clear_queue takes what is still on its way to a queue, without waiting for its hook.
func TestClearQueueTakesWhatIsBeingPrepared(t *testing.T) {
	inBubble(t, repeats, slowInput("slow"), func(c *talk) {
		c.send(`{"id":"s","type":"steer","message":"slow steer"}`, `{"id":"f","type":"follow_up","message":"slow follow-up"}`,
			`{"id":"p","type":"prompt","message":"slow prompt"}`, `{"id":"q","type":"prompt","message":"slow too","streamingBehavior":"followUp"}`, `{"id":"c","type":"clear_queue"}`)
		c.await("response", `"c"`)
		wantLines(c, `
{"type":"queue_update","steering":["slow steer"],"followUp":[]}
{"id":"s","type":"response","command":"steer","success":true,"data":{"disposition":"queued"}}
{"type":"queue_update","steering":["slow steer"],"followUp":["slow follow-up"]}
{"id":"f","type":"response","command":"follow_up","success":true,"data":{"disposition":"queued"}}
{"type":"queue_update","steering":["slow steer"],"followUp":["slow follow-up","slow too"]}
{"id":"q","type":"response","command":"prompt","success":true,"data":{"disposition":"queued"}}
{"type":"queue_update","steering":[],"followUp":[]}
{"id":"c","type":"response","command":"clear_queue","success":true,"data":{"steering":["slow steer"],"followUp":["slow follow-up","slow too"]}}`)
		c.await("agent_settled", "")
		if got := c.bed.shortEntries(c.bed.read(c.bed.stores[0].Path())); strings.Count(got, "message user") != 1 {
			t.Errorf("session:\n%s", got)
		}
	})
}

// Field report 7: a prompt that a new session overtakes is refused, and never lost in
// silence.
func TestNewSessionOvertakesAPreparingPrompt(t *testing.T) {
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.Input = func(ctx context.Context, in engine.Input) (engine.InputResult, error) {
			if in.Text == "slow" {
				<-ctx.Done()
			}
			return engine.InputResult{}, nil
		}
	}, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"slow"}`, `{"id":"n","type":"new_session"}`, `{"id":"q","type":"prompt","message":"new"}`)
		c.await("agent_settled", "")
		if got := c.response("p"); !strings.Contains(got, `"success":false,"error":"session was replaced"`) {
			t.Errorf("prompt: %s", got)
		}
		if got := c.response("q"); !strings.Contains(got, `"disposition":"started"`) {
			t.Errorf("prompt behind new_session: %s", got)
		}
	})
}

// A model that is switched while a prompt is prepared counts; the hook is not asked
// twice.
func TestModelSwitchedWhileAPromptIsPrepared(t *testing.T) {
	asked := 0
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.Input = func(context.Context, engine.Input) (engine.InputResult, error) {
			asked++
			time.Sleep(time.Second)
			return engine.InputResult{}, nil
		}
	}, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"hi"}`, `{"id":"m","type":"set_model","provider":"fake","modelId":"two"}`)
		c.await("agent_settled", "")
		if asked != 1 {
			t.Errorf("the hook was asked %d times", asked)
		}
		if out := c.out.String(); !strings.Contains(out, `"provider":"fake","model":"two"`) {
			t.Error("the answer is not of the new model")
		}
	})
}

// An extension command runs at once, also during a run, and can not be queued. One
// that panics is reported and still answered.
func TestExtensionCommands(t *testing.T) {
	var ran []string
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.Command = func(text string) (func(context.Context), string, bool) {
			name, _, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
			if name != "ext" && name != "boom" {
				return nil, "", false
			}
			return func(context.Context) {
				ran = append(ran, text)
				if name == "boom" {
					panic("in the command")
				}
			}, name, true
		}
	}, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"long"}`)
		c.await("message_update", "some")
		c.send(`{"id":"x","type":"prompt","message":"/ext now"}`)
		c.await("response", `"x"`)
		c.send(`{"id":"b","type":"prompt","message":"/boom"}`)
		c.await("response", `"b"`)
		c.send(`{"id":"s","type":"steer","message":"/ext later"}`, `{"id":"o","type":"steer","message":"/other"}`)
		c.await("response", `"o"`)
		c.send(`{"id":"a","type":"clear_queue"}`, `{"type":"abort"}`)
		c.await("agent_settled", "")
		for id, want := range map[string]string{
			"x": `"disposition":"handled"`, "b": `"disposition":"handled"`, "o": `"disposition":"queued"`,
			"s": `"error":"Extension command \"/ext\" cannot be queued. Use prompt() or execute the command when not streaming."`,
		} {
			if got := c.response(id); !strings.Contains(got, want) {
				t.Errorf("%s: %s", id, got)
			}
		}
		if diff := cmp.Diff([]string{"/ext now", "/boom"}, ran); diff != "" {
			t.Errorf("commands that ran (-want +got):\n%s", diff)
		}
	})
}

// A hook before the run adds messages and changes the system prompt for this run only.
func TestBeforeRun(t *testing.T) {
	var systems []string
	inBubble(t, repeats, func(b *testbed) {
		b.requests = func(r *llm.Request) { systems = append(systems, r.System) }
		b.hooks.BeforeRun = func(_ context.Context, m llm.Message) (engine.BeforeRunResult, error) {
			switch m.(*llm.UserMessage).Content.PlainText("") {
			case "first":
				return engine.BeforeRunResult{
					Messages:     []llm.Message{&llm.UserMessage{Content: llm.Content{llm.NewText("added")}}},
					SystemPrompt: "Be another.",
				}, nil
			case "third":
				return engine.BeforeRunResult{}, errors.New("failed")
			case "fourth":
				panic("boom")
			}
			return engine.BeforeRunResult{}, nil
		}
	}, func(c *talk) {
		for _, text := range []string{"first", "second", "third", "fourth"} {
			c.send(fmt.Sprintf(`{"type":"prompt","message":%q}`, text))
			c.await("agent_settled", "")
		}
		if !strings.Contains(c.bed.shortEntries(c.bed.read(c.bed.stores[0].Path())), "message user [\"first\"]\nmessage user [\"added\"]\nmessage assistant") {
			t.Error("the added message is not behind the prompt")
		}
	})
	const plain = "You are under test."
	if diff := cmp.Diff([]string{"Be another.", plain, plain, plain}, systems); diff != "" {
		t.Errorf("system prompts (-want +got):\n%s", diff)
	}
}

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
	want := "agent_start turn_start message_start message_end message_start message_update message_update message_update message_end turn_end agent_end"
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
