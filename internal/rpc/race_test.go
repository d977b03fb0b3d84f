package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/proc"
)

const hangs = `
-- provider --
{"onEnd":"repeat","turns":[{"match":"hang","turn":0,"steps":[{"hang":true}]},{"steps":[{"text":"answer to {{user}}"}]}]}
`

// often plays a conversation whose outcome depends on who is quicker.
func often(t *testing.T, hold func(*talk)) {
	t.Helper()
	for range 20 {
		inBubble(t, hangs, nil, hold)
	}
}

// Field report 55 and pi-facts 2: of a prompt with an abort right behind it, either
// the prompt is refused and leaves no trace, or its run is told as aborted.
func TestAbortRightBehindAPrompt(t *testing.T) {
	often(t, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"hang"}`, `{"id":"a","type":"abort"}`)
		c.await("response", `"a"`)
		c.send(`{"id":"s","type":"get_state"}`)
		c.await("response", `"s"`)
		stored := c.bed.read(c.bed.stores[0].Path())
		if strings.Contains(c.response("p"), `"success":true`) {
			if !strings.Contains(c.out.String(), `{"type":"agent_settled","aborted":true}`) || !strings.Contains(stored, `"aborted"`) {
				c.t.Errorf("an accepted prompt was not told as aborted:\n%s", c.out.String())
			}
		} else if stored != "" || strings.Contains(c.out.String(), "agent_start") {
			c.t.Errorf("a refused prompt left a trace:\n%s\n%s", c.out.String(), stored)
		}
		if !strings.Contains(c.response("s"), `"isStreaming":false`) {
			c.t.Errorf("state: %s", c.response("s"))
		}
	})
}

// Field report 7: of a prompt with new_session right behind it, either the prompt is
// refused or its run is aborted visibly, in the old session.
func TestNewSessionRightBehindAPrompt(t *testing.T) {
	often(t, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"hang"}`, `{"id":"n","type":"new_session"}`)
		c.await("response", `"n"`)
		accepted := strings.Contains(c.response("p"), `"success":true`)
		if accepted != strings.Contains(c.out.String(), `{"type":"agent_settled","aborted":true}`) {
			c.t.Errorf("accepted: %v, and the output is\n%s", accepted, c.out.String())
		}
		if stored := c.bed.read(c.bed.stores[0].Path()); accepted != strings.Contains(stored, "hang") {
			c.t.Errorf("accepted: %v, and the session is\n%s", accepted, stored)
		}
	})
}

// A steer between a prompt and an abort is queued whatever becomes of the prompt, and
// delivered by the run, or with the next one.
func TestSteerBetweenPromptAndAbort(t *testing.T) {
	often(t, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"hang"}`, `{"id":"s","type":"steer","message":"steered"}`, `{"id":"a","type":"abort"}`)
		c.await("response", `"a"`)
		time.Sleep(time.Second)
		if got := c.response("s"); !strings.Contains(got, `"disposition":"queued"`) {
			c.t.Errorf("steer: %s", got)
		}
		c.send(`{"id":"q","type":"prompt","message":"next"}`)
		c.await("agent_settled", "")
		if stored := c.bed.read(c.bed.stores[0].Path()); strings.Count(stored, `"steered"`) != 1 {
			c.t.Errorf("the session is\n%s", stored)
		}
	})
}

// Field report 15: a prompt with the end of stdin right behind it is answered, and its
// run ends on the wire.
func TestEndOfInputRightBehindAPrompt(t *testing.T) {
	often(t, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"hang"}`)
		out := c.end()
		if !strings.HasSuffix(out, "{\"type\":\"agent_settled\",\"aborted\":true}\n") || !strings.Contains(c.response("p"), "started") {
			c.t.Errorf("output:\n%s", out)
		}
		if stored := c.bed.shortEntries(c.bed.read(c.bed.stores[0].Path())); !strings.Contains(stored, `message user ["hang"]`) || !strings.Contains(stored, "message assistant aborted") {
			c.t.Errorf("session:\n%s", stored)
		}
	})
}

// Every line before the end of stdin gets exactly one response, also those that wait
// for a session replacement.
func TestEndOfInputAnswersEveryLine(t *testing.T) {
	often(t, func(c *talk) {
		var lines []string
		for i, cmd := range []string{
			`"get_last_assistant_text"`, `"set_session_name","name":"n"`, `"new_session"`, `"set_thinking_level","level":"low"`, `"get_session_stats"`,
			`"nope"`, `"prompt","message":"hi"`, `"steer","message":"hi"`, `"new_session"`, `"bash","command":"sleep 100"`, `"abort"`, `"get_tree"`, `"set_model"`,
		} {
			lines = append(lines, fmt.Sprintf(`{"id":"%d","type":%s}`, i, cmd))
		}
		c.send(lines...)
		c.end()
		for i := range lines {
			c.response(fmt.Sprint(i))
		}
	})
}

// abort_bash without an id cancels all commands, on both sides of a replacement; ids
// that clients gave twice are no trouble (dialects.md row "abort_bash").
func TestAbortOfAllBashCommands(t *testing.T) {
	inBubble(t, repeats, nil, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"hi"}`)
		c.await("agent_settled", "")
		c.send(`{"id":"x","type":"bash","command":"echo old; sleep 100"}`)
		c.await("bash_execution_update", "old")
		time.Sleep(time.Second)
		c.send(`{"id":"n","type":"new_session"}`)
		c.await("response", `"n"`)
		c.send(`{"id":"q","type":"prompt","message":"hi"}`)
		c.await("agent_settled", "")
		c.send(`{"id":"x","type":"bash","command":"echo new; sleep 100"}`)
		c.await("bash_execution_update", "new")
		c.send(`{"id":"k","type":"abort_bash","requestId":null}`)
		time.Sleep(time.Second)
		if n := strings.Count(c.out.String(), `{"id":"x","type":"response","command":"bash","success":true,"data":{"output":"`); n != 2 {
			t.Errorf("%d responses to the commands:\n%s", n, c.out.String())
		}
		for i, word := range []string{"old", "new"} {
			if got := c.bed.shortEntries(c.bed.read(c.bed.stores[i].Path())); strings.Count(got, "bashExecution") != 1 || !strings.Contains(got, word) {
				t.Errorf("session %d:\n%s", i+1, got)
			}
		}
	})
}

// Field report 63: what the loop had taken from the queue when an abort came is not
// lost in the aborted part: it is delivered in the part that follows.
func TestAbortBetweenPollAndDelivery(t *testing.T) {
	turns := 0
	inBubble(t, strings.Replace(repeats, "echo ran", "sleep 1; echo ran", 1), func(b *testbed) {
		b.hooks.Event = func(_ context.Context, ev event.Event) {
			if _, ok := ev.(event.TurnStart); !ok {
				return
			}
			if turns++; turns == 2 {
				time.Sleep(10 * time.Second)
			}
		}
	}, func(c *talk) {
		c.send(`{"type":"prompt","message":"tool"}`)
		c.await("tool_execution_start", "")
		c.send(`{"type":"steer","message":"taken"}`)
		c.await("turn_end", "")
		c.send(`{"type":"abort"}`)
		c.await("agent_settled", "")
		want(t, c.since(`turn_end results=1`), `
{"type":"turn_start"}
message_start assistant
message_end assistant aborted (This operation was aborted) []
turn_end results=0
agent_end messages=4 willRetry=false
{"type":"response","command":"abort","success":true}
{"type":"agent_start"}
{"type":"turn_start"}
{"type":"queue_update","steering":[],"followUp":[]}
message_start user
message_end user ["taken"]
message_start assistant
message_end assistant stop ["answer to taken"]
turn_end results=0
agent_end messages=2 willRetry=false
{"type":"agent_settled","aborted":false}`)
	})
}

// A run that is over but for a steer that is still being prepared waits for it and
// goes on with it.
func TestRunWaitsForASteerThatIsBeingPrepared(t *testing.T) {
	inBubble(t, repeats, slowInput("slow"), func(c *talk) {
		c.send(`{"type":"prompt","message":"long"}`)
		c.await("message_update", "some")
		time.Sleep(9900 * time.Millisecond)
		c.send(`{"type":"steer","message":"slow steer"}`)
		c.await("agent_settled", "")
		if out := strings.Join(c.lines(), "\n"); strings.Count(out, "agent_settled") != 1 || !strings.Contains(out, `answer to slow steer`) {
			t.Errorf("output:\n%s", out)
		}
	})
}

// Field report A0: clients that take agent_end for the end send their next prompt
// then. It is not refused because the run is still settling.
func TestPromptRightAfterAgentEnd(t *testing.T) {
	inBubble(t, repeats, slowInput("next"), func(c *talk) {
		c.send(`{"type":"prompt","message":"long"}`)
		c.await("message_update", "some")
		time.Sleep(9900 * time.Millisecond)
		c.send(`{"id":"n","type":"prompt","message":"next"}`) // prepared when the run ends
		c.await("agent_settled", "")
		c.await("agent_settled", "")
		if got := c.response("n"); !strings.Contains(got, `"disposition":"started"`) {
			t.Errorf("prompt: %s", got)
		}
	})
}

// slowInput makes inputs with a word take a second to be prepared.
func slowInput(word string) func(*testbed) {
	return func(b *testbed) {
		b.hooks.Input = func(_ context.Context, in engine.Input) (engine.InputResult, error) {
			if strings.Contains(in.Text, word) {
				time.Sleep(time.Second)
			}
			return engine.InputResult{}, nil
		}
	}
}

// Field report 22: there is no limit on the size of a record, in or out.
func TestBigRecords(t *testing.T) {
	big := strings.Repeat("x", 3<<20)
	inBubble(t, "\n-- provider --\n"+`{"turns":[{"steps":[{"text":"{{user}}"}]}]}`+"\n", nil, func(c *talk) {
		c.send(`{"id":"p","type":"prompt","message":"` + big + `"}`)
		c.await("agent_settled", "")
		c.send(`{"id":"t","type":"get_last_assistant_text"}`)
		c.await("response", `"t"`)
		if got := c.response("t"); len(got) < len(big) {
			t.Errorf("the text has %d bytes of %d", len(got), len(big))
		}
	})
}

// Field report 21: what is written grows with the reply, not with its square.
func TestOutputIsLinear(t *testing.T) {
	size := func(deltas int) int {
		n := 0
		inBubble(t, fmt.Sprintf("\n-- provider --\n"+`{"turns":[{"steps":[{"repeat":{"count":%d,"bytes":20}}]}]}`+"\n", deltas), nil, func(c *talk) {
			c.send(`{"type":"prompt","message":"go"}`)
			c.await("agent_settled", "")
			n = len(c.out.String())
		})
		return n
	}
	small, large := size(400), size(4000)
	if large > 10*small {
		t.Errorf("400 deltas are %d bytes, 4,000 are %d", small, large)
	}
}

// The answers to commands come in the order of the commands, faults included: a client
// without ids goes by it.
func TestFaultsAreAnsweredInTurn(t *testing.T) {
	inBubble(t, repeats, nil, func(c *talk) {
		var want []string
		for i := range 50 {
			for _, cmd := range []string{"set_session_name", "nope", "set_model", "get_messages", "get_state"} {
				id := fmt.Sprintf("%s%d", cmd, i)
				want = append(want, id)
				c.send(fmt.Sprintf(`{"id":%q,"type":%q,"name":"n"}`, id, cmd))
			}
		}
		c.await("response", want[len(want)-1])
		var got []string
		for line := range strings.Lines(c.out.String()) {
			var r struct {
				ID string `json:"id"`
			}
			if jsonx.Unmarshal([]byte(line), &r) == nil && r.ID != "" {
				got = append(got, r.ID)
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("answers: %v", got)
		}
	})
}

// Every call of the engine gets one answer, before, while and after it closes.
func TestEngineAnswersUntilTheEndAndAfter(t *testing.T) {
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.Input = func(ctx context.Context, _ engine.Input) (engine.InputResult, error) {
			time.Sleep(time.Hour) // does not listen to ctx
			return engine.InputResult{}, nil
		}
	}, func(c *talk) {
		eng := c.server.eng
		answers := map[string][]error{}
		call := func(when string) {
			note := func(name string) func(error) {
				key := when + " " + name
				answers[key] = nil
				return func(err error) { answers[key] = append(answers[key], err) }
			}
			name, state, stats, bash := note("SetName"), note("State"), note("Stats"), note("Bash")
			submit, fresh, abort := note("Submit"), note("NewSession"), note("Abort")
			eng.SetName("n", func(_ struct{}, err error) { name(err) })
			eng.State(func(_ engine.State, err error) { state(err) })
			eng.Stats(func(_ engine.Stats, err error) { stats(err) })
			eng.Bash(engine.BashRequest{Command: "echo x"}, func(_ proc.BashResult, err error) { bash(err) })
			eng.Submit(engine.Input{Kind: engine.InputSteer, Text: "x"}, func(_ engine.Disposition, err error) { submit(err) })
			eng.NewSession("", func(_ engine.Switched, err error) { fresh(err) })
			eng.Abort(func(_ struct{}, err error) { abort(err) })
		}
		eng.Submit(engine.Input{Kind: engine.InputSteer, Text: "hangs"}, func(engine.Disposition, error) {})
		c.feed.Close()
		<-c.served
		c.ended = true
		closed := make(chan struct{})
		ctx := context.WithoutCancel(c.t.Context())
		go func() {
			defer close(closed)
			if err := eng.Close(ctx); err != nil {
				c.t.Error(err)
			}
		}()
		time.Sleep(500 * time.Millisecond)
		call("while")
		<-closed
		call("after")
		c.server.stop(c.t)
		synctest.Wait()
		for key, errs := range answers {
			getter := strings.HasSuffix(key, "State") && strings.HasPrefix(key, "while") || key == "while Abort"
			if len(errs) != 1 || errors.Is(errs[0], engine.ErrShutdown) == getter {
				t.Errorf("%s: %v", key, errs)
			}
		}
	})
}

// Field report 64: a follow-up that a handler of agent_end queues is delivered in the
// same run.
func TestFollowUpQueuedAtAgentEnd(t *testing.T) {
	var c *talk
	done := false
	inBubble(t, repeats, func(b *testbed) {
		b.hooks.Event = func(_ context.Context, ev event.Event) {
			if _, ok := ev.(event.AgentEnd); ok && !done {
				done = true
				c.server.eng.Submit(engine.Input{Kind: engine.InputFollowUp, Text: "one more"}, func(engine.Disposition, error) {})
			}
		}
	}, func(talk *talk) {
		c = talk
		c.send(`{"type":"prompt","message":"hi"}`)
		c.await("agent_settled", "")
		want(t, c.since(`agent_end messages=2 willRetry=false`), `
{"type":"agent_settled","aborted":false}`)
		if out := strings.Join(c.lines(), "\n"); strings.Count(out, "agent_settled") != 1 || !strings.Contains(out, "answer to one more") {
			t.Errorf("output:\n%s", out)
		}
	})
}
