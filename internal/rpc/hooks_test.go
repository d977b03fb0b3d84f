package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/llm"
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
