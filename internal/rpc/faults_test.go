package rpc_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/llm"
)

// fault takes the session file away when a certain message is about to be stored, so
// that it cannot be: what a client sees of a full disk or a removed file.
type fault struct {
	bed  *testbed
	text string // of the message
	path string // that was taken away
}

func failAt(b *testbed, role, text string) *fault {
	f := &fault{bed: b, text: text}
	b.hooks.MessageEnd = func(_ context.Context, m llm.Message) llm.Message {
		if f.path == "" && m.Role() == role && strings.Contains(content(m).PlainText(""), text) {
			f.remove()
		}
		return m
	}
	return f
}

func content(m llm.Message) llm.Content {
	switch m := m.(type) {
	case *llm.UserMessage:
		return m.Content
	case *llm.AssistantMessage:
		return m.Content
	case *llm.ToolResultMessage:
		return m.Content
	}
	return nil
}

func (f *fault) remove() {
	f.path = f.bed.stores[len(f.bed.stores)-1].Path()
	if err := os.Rename(f.path, f.path+".away"); err != nil {
		f.bed.t.Error(err)
	}
}

// repair brings the file back.
func (f *fault) repair() {
	f.bed.t.Helper()
	if err := os.Rename(f.path+".away", f.path); err != nil {
		f.bed.t.Error(err)
	}
}

// hi has one prompt answered, so that the session has a file.
func (c *talk) hi() {
	c.send(`{"type":"prompt","message":"hi"}`)
	c.await("agent_settled", "")
}

// since returns the short records behind the last one that is line, with the text of
// the fault cut short.
func (c *talk) since(line string) []string {
	lines := c.lines()
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i] == line {
			lines = lines[i+1:]
			break
		}
	}
	for i, l := range lines {
		if head, _, ok := strings.Cut(l, "saving the session: "); ok {
			lines[i] = head + "…"
		}
	}
	return lines
}

func want(t *testing.T, lines []string, text string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(strings.TrimSpace(text), "\n"), lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A prompt that cannot be stored ends its run with an error that says why: nothing is
// sent to the model, and the next prompt works when the fault is gone.
func TestPromptThatCannotBeStored(t *testing.T) {
	var sent []int
	var f *fault
	inBubble(t, repeats, func(b *testbed) {
		b.requests = func(r *llm.Request) { sent = append(sent, len(r.Messages)) }
		f = failAt(b, "user", "lost")
	}, func(c *talk) {
		c.hi()
		c.send(`{"id":"p","type":"prompt","message":"lost"}`)
		c.await("agent_settled", "")
		want(t, c.since(`{"id":"p","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}`), `
{"type":"agent_start"}
{"type":"turn_start"}
message_start user
message_end user ["lost"]
message_start assistant
message_end assistant error (storing a message: …
turn_end results=0
agent_end messages=1 willRetry=false
{"type":"agent_settled","aborted":false}`)
		f.repair()
		c.hi()
		if file := c.bed.shortEntries(c.bed.read(f.path)); strings.Contains(file, "lost") || strings.Count(file, "\n") != 7 {
			t.Errorf("session:\n%s", file)
		}
	})
	if diff := cmp.Diff([]int{1, 3}, sent); diff != "" {
		t.Errorf("messages sent (-want +got):\n%s", diff)
	}
}

// A change that cannot be stored is refused and leaves the state as it was.
func TestChangesThatCannotBeStored(t *testing.T) {
	inBubble(t, repeats, nil, func(c *talk) {
		c.hi()
		f := &fault{bed: c.bed}
		f.remove()
		c.send(`{"id":"n","type":"set_session_name","name":"x"}`, `{"id":"m","type":"set_model","provider":"fake","modelId":"two"}`,
			`{"id":"l","type":"set_thinking_level","level":"low"}`, `{"id":"c","type":"cycle_model"}`, `{"id":"s","type":"get_state"}`)
		c.await("response", `"s"`)
		for id, want := range map[string]string{
			"n": `"error":"storing the session name: `, "m": `"error":"storing the model change: `,
			"l": `"error":"storing the thinking level: `, "c": `"error":"storing the model change: `,
		} {
			if got := c.response(id); !strings.Contains(got, want) {
				t.Errorf("%s: %s", id, got)
			}
		}
		got := c.response("s")
		for _, want := range []string{`"id":"one"`, `"thinkingLevel":"medium"`, `"messageCount":2`, `"isStreaming":false`} {
			if !strings.Contains(got, want) || strings.Contains(got, "sessionName") {
				t.Errorf("state: %s", got)
			}
		}
		f.repair()
		c.send(`{"id":"again","type":"set_session_name","name":"x"}`)
		c.await("response", "again")
		if got := c.response("again"); !strings.Contains(got, `"success":true`) {
			t.Errorf("after the fault: %s", got)
		}
	})
}

const toolScript = `
-- provider --
{"onEnd":"repeat","turns":[{"match":"tool","turn":0,"steps":[{"text":"calling"},{"toolCall":{"name":"bash","arguments":{"command":"echo ran"}}}]},{"steps":[{"text":"answer to {{user}}"}]}]}
`

// An answer that cannot be stored is told as a failure, and its tools are not run.
// What is queued stays queued.
func TestAnswerThatCannotBeStored(t *testing.T) {
	var f *fault
	inBubble(t, toolScript, func(b *testbed) { f = failAt(b, "assistant", "calling") }, func(c *talk) {
		c.hi()
		c.send(`{"id":"f","type":"follow_up","message":"kept"}`)
		c.await("response", `"f"`)
		c.send(`{"type":"prompt","message":"tool"}`)
		c.await("agent_settled", "")
		want(t, c.since(`message_end user ["tool"]`), `
message_start assistant
message_end assistant error (storing a message: …
turn_end results=0
agent_end messages=2 willRetry=false
{"type":"agent_settled","aborted":false}`)
		f.repair()
		c.send(`{"id":"s","type":"get_state"}`)
		c.await("response", `"s"`)
		if got := c.response("s"); !strings.Contains(got, `"pendingMessageCount":1`) {
			t.Errorf("state: %s", got)
		}
		c.hi()
		want(t, strings.Split(strings.TrimSpace(c.bed.shortEntries(c.bed.read(f.path))), "\n"), `
session
model_change fake/one
thinking_level_change medium
message user ["hi"]
message assistant stop ["answer to hi"]
message user ["tool"]
message user ["hi"]
message assistant stop ["answer to hi"]
message user ["kept"]
message assistant stop ["answer to kept"]`)
	})
}

// A tool's result that cannot be stored ends the run: the model is not asked again.
func TestResultThatCannotBeStored(t *testing.T) {
	requests := 0
	var f *fault
	inBubble(t, toolScript, func(b *testbed) {
		b.requests = func(*llm.Request) { requests++ }
		f = failAt(b, "toolResult", "ran")
	}, func(c *talk) {
		c.hi()
		c.send(`{"type":"prompt","message":"tool"}`)
		c.await("agent_settled", "")
		want(t, c.since(`tool_execution_end call_1 error=false ["ran\n"]`), `
message_start toolResult
message_end toolResult ["ran\n"]
turn_end results=1
{"type":"turn_start"}
message_start assistant
message_end assistant error (storing a message: …
turn_end results=0
agent_end messages=3 willRetry=false
{"type":"agent_settled","aborted":false}`)
		f.repair()
		c.hi()
	})
	if requests != 3 {
		t.Errorf("the model was asked %d times, want 3", requests)
	}
}

// A queued message that cannot be stored goes back to the head of its queue, which is
// told, and the run ends; the next prompt takes it along.
func TestQueuedMessageThatCannotBeStored(t *testing.T) {
	var f *fault
	inBubble(t, repeats, func(b *testbed) { f = failAt(b, "user", "first") }, func(c *talk) {
		c.hi()
		c.send(`{"type":"prompt","message":"long"}`)
		c.await("message_update", "some")
		c.send(`{"type":"steer","message":"first"}`, `{"type":"steer","message":"second"}`, `{"id":"x","type":"get_last_assistant_text"}`)
		c.await("queue_update", "second")
		c.send(`{"type":"abort"}`)
		c.await("agent_settled", "")
		want(t, c.since(`{"type":"response","command":"abort","success":true}`), `
{"type":"agent_start"}
{"type":"turn_start"}
{"type":"queue_update","steering":["second"],"followUp":[]}
message_start user
message_end user ["first"]
{"type":"queue_update","steering":["first","second"],"followUp":[]}
message_start assistant
message_end assistant error (storing a message: …
turn_end results=0
agent_end messages=1 willRetry=false
{"type":"agent_settled","aborted":false}`)
		f.repair()
		c.hi()
		want(t, c.since(`message_end user ["hi"]`), `
{"type":"queue_update","steering":["second"],"followUp":[]}
message_start user
message_end user ["first"]
message_start assistant
message_end assistant stop ["answer to first"]
turn_end results=0
{"type":"turn_start"}
{"type":"queue_update","steering":[],"followUp":[]}
message_start user
message_end user ["second"]
message_start assistant
message_end assistant stop ["answer to second"]
turn_end results=0
agent_end messages=5 willRetry=false
{"type":"agent_settled","aborted":false}`)
	})
}

// A session that cannot be made leaves the old one as it was.
func TestNewSessionThatCannotBeMade(t *testing.T) {
	inBubble(t, repeats, nil, func(c *talk) {
		c.hi()
		c.bed.noSessions = true
		c.send(`{"id":"n","type":"new_session"}`, `{"id":"m","type":"set_session_name","name":"still here"}`)
		c.await("response", `"m"`)
		if got := c.response("n"); !strings.Contains(got, `"success":false,"error":"no sessions today"`) {
			t.Errorf("new_session: %s", got)
		}
		c.hi()
		if file := c.bed.shortEntries(c.bed.read(c.bed.stores[0].Path())); !strings.Contains(file, "still here") || strings.Count(file, `"hi"`) != 2 {
			t.Errorf("session:\n%s", file)
		}
	})
}

// Field report 56: a write that fails does not leave anybody waiting: an abort whose
// answer cannot be stored is answered, the run settles, and the session goes on.
func TestAbortThatCannotBeStored(t *testing.T) {
	var f *fault
	inBubble(t, repeats, func(b *testbed) { f = failAt(b, "assistant", "some ") }, func(c *talk) {
		c.hi()
		c.send(`{"type":"prompt","message":"long"}`)
		c.await("message_update", "some ")
		c.send(`{"id":"a","type":"abort"}`)
		c.await("agent_settled", "")
		synctest.Wait()
		want(t, c.since(`message_end user ["long"]`), `
message_start assistant
message_end assistant error (storing a message: …
turn_end results=0
agent_end messages=2 willRetry=false
{"type":"agent_settled","aborted":true}
{"id":"a","type":"response","command":"abort","success":true}`)
		f.repair()
		c.hi()
		if got := c.lines(); got[len(got)-1] != `{"type":"agent_settled","aborted":false}` {
			t.Errorf("the next prompt: %v", got[len(got)-1])
		}
	})
}
