package scripted_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/scripted"
)

const three = `{"turns":[{"steps":[{"text":"one"}]},{"steps":[{"text":"two"}]},{"steps":[{"text":"three"}]}]}`

func TestTurnsInOrder(t *testing.T) {
	c := newChat(t, three)
	for _, want := range []string{"one", "two", "three", "!The script has no turn for model call 4: 3 go in order, and no condition holds"} {
		if got := c.user("x").text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestOnEnd(t *testing.T) {
	for mode, want := range map[string]string{"repeat": "one two three three three", "loop": "one two three one two"} {
		c := newChat(t, strings.Replace(three, "{", `{"onEnd":"`+mode+`",`, 1))
		var got []string
		for range 5 {
			got = append(got, c.user("x").text())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", mode, got, want)
		}
	}
}

// The next turn follows from the conversation alone: the same request gets the same
// answer, from the same provider and from a new one.
func TestStateless(t *testing.T) {
	c := newChat(t, three).user("x")
	c.say()
	c.user("y")
	first, second := events(c.provider, t.Context(), c.req), events(c.provider, t.Context(), c.req)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("asked twice (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(first, events(newChat(t, three).provider, t.Context(), c.req)); diff != "" {
		t.Errorf("asked elsewhere (-here +there):\n%s", diff)
	}
	if got := c.text(); got != "two" {
		t.Errorf("got %q", got)
	}
}

func TestConditions(t *testing.T) {
	c := newChat(t, `{"turns":[
		{"match":"/(?i)^hel+o/","turn":0,"steps":[{"text":"greeting"}]},
		{"match":"work","turn":"0-1","hasTool":"bash","steps":[{"toolCall":{"name":"bash","arguments":{}}}]},
		{"match":"work","turn":0,"hasTool":"ls","steps":[{"toolCall":{"name":"ls"}}]},
		{"afterTool":"ls","toolFailed":true,"steps":[{"text":"ls failed: {{toolError}}"}]},
		{"afterTool":"ls","result":"gold","steps":[{"text":"found gold"}]},
		{"afterTool":"*","turn":"1-","steps":[{"text":"ls said {{tool 0}}"}]},
		{"steps":[{"text":"first in order"}]},
		{"steps":[{"text":"second in order"}]}
	]}`, "ls")
	check := func(want string) {
		t.Helper()
		if got := c.text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	c.user("HELLO there")
	check("greeting")
	c.user("something")
	check("first in order")
	c.user("work")
	check("")
	c.result("ls", "dust", false)
	check("ls said dust")
	c.user("work")
	check("")
	c.result("ls", "gold", false)
	check("found gold")
	c.user("work")
	check("")
	c.result("ls", "denied", true)
	check("ls failed: denied")
	c.user("something")
	check("second in order")
}

// A message that steers a run does not begin a new one; a follow-up does.
func TestSteering(t *testing.T) {
	c := newChat(t, `{"turns":[
		{"match":"go","turn":0,"steps":[{"toolCall":{"name":"ls"}}]},
		{"turn":1,"steps":[{"text":"{{user}} {{tool.ls}}"}]},
		{"turn":0,"steps":[{"text":"new run"}]}
	]}`, "ls").user("go")
	c.say()
	c.result("ls", "list", false).user("left").user("right")
	if got := c.text(); got != "right list" {
		t.Errorf("steered: %q", got)
	}
	if got := c.user("then").text(); got != "new run" {
		t.Errorf("follow-up: %q", got)
	}
}

// A turn that fails some times goes on once it has; the retry finds the same turn,
// whether or not the failed answers are still in the conversation.
func TestErrorTimes(t *testing.T) {
	script := `{"turns":[{"steps":[{"error":{"status":529,"message":"Overloaded","times":2}},{"text":"fine"}]},{"steps":[{"text":"next"}]}]}`
	for _, kept := range []bool{false, true} {
		c := newChat(t, script).user("x")
		var got []string
		for range 3 {
			got = append(got, c.text())
			last := len(c.req.Messages) - 1
			if c.req.Messages[last].(*llm.AssistantMessage).Failed() && !kept {
				c.req.Messages = c.req.Messages[:last]
			}
		}
		got = append(got, c.user("y").text())
		c.req.SessionID = "s2" // where nothing has failed yet
		c.req.Messages = c.req.Messages[:1]
		got = append(got, c.text())
		if diff := cmp.Diff([]string{"!Overloaded", "!Overloaded", "fine", "next", "!Overloaded"}, got); diff != "" {
			t.Errorf("kept %t (-want +got):\n%s", kept, diff)
		}
	}
}

func TestRetryTurns(t *testing.T) {
	c := newChat(t, `{"turns":[
		{"steps":[{"text":"ha"},{"error":{"message":"drop","times":2}}]},
		{"retry":true,"steps":[{"text":"hal"},{"error":{"message":"drop again"}}]},
		{"retry":true,"steps":[{"text":"half"}]},
		{"steps":[{"text":"cut short"}],"stopReason":"length"},
		{"retry":true,"steps":[{"text":"whole"}]},
		{"match":"rule","steps":[{"error":{"message":"ruled out"}}]},
		{"retry":true,"steps":[{"text":"ruled in"}]}
	]}`).user("x")
	var got []string
	ask := func() {
		r := c.call()
		got = append(got, r.Message.Content.PlainText("")+"|"+r.Message.ErrorMessage)
	}
	for range 5 { // the last is asked twice
		ask()
	}
	c.say()
	c.user("y")
	for range 3 {
		ask()
	}
	c.user("rule")
	for range 3 {
		ask()
	}
	want := []string{
		"ha|drop", "ha|drop", "hal|drop again", "half|", "half|", "cut short|", "whole|", "whole|",
		"|ruled out", "ruled in|", "ruled in|",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Answers that were aborted or failed for good count; one that no provider was asked
// for does not.
func TestPositionAfterFailures(t *testing.T) {
	failed := func(reason llm.StopReason, text string, content ...llm.Block) llm.Message {
		return &llm.AssistantMessage{StopReason: reason, ErrorMessage: text, Content: content}
	}
	for _, tt := range []struct {
		name string
		msg  []llm.Message
		want string
	}{
		{"aborted in mid-stream", []llm.Message{failed(llm.StopAborted, "Request was aborted", llm.NewText("o"))}, "two"},
		{"aborted before a byte", []llm.Message{failed(llm.StopAborted, "Request was aborted")}, "two"},
		{"never asked", []llm.Message{failed(llm.StopAborted, "This operation was aborted")}, "one"},
		{"failed for good", []llm.Message{failed(llm.StopError, "400")}, "two"},
		{"failed and retried", []llm.Message{failed(llm.StopError, "529"), failed(llm.StopError, "529"), failed(llm.StopEnd, "", llm.NewText("one"))}, "two"},
	} {
		c := newChat(t, three).user("x")
		c.req.Messages = append(c.req.Messages, tt.msg...)
		if got := c.user("y").text(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Tool call ids never repeat in a conversation, and a retry makes the same ones.
func TestToolCallIDs(t *testing.T) {
	c := newChat(t, `{"turns":[{"match":"x","steps":[{"toolCall":{"name":"ls"}},{"toolCall":{"name":"ls"}}]}]}`, "ls")
	var got []string
	for range 2 {
		c.user("x")
		c.call()
		for _, tc := range c.say().Content.ToolCalls() {
			got = append(got, tc.ID)
		}
		c.req.Messages = append(c.req.Messages, &llm.AssistantMessage{StopReason: llm.StopEnd})
	}
	if want := "call_1 call_2 call_3 call_4"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestLocate(t *testing.T) {
	s, err := scripted.Parse([]byte(`{"turns":[{"match":"rule","steps":[{"text":"r"}]},{"steps":[{"text":"one"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	c := chatWith(t, scripted.NewScript(s))
	for _, tt := range []struct {
		user string
		want scripted.Place
	}{
		{"rule", scripted.Place{UserText: "rule"}},
		{"a", scripted.Place{UserText: "a"}},
		{"b", scripted.Place{UserText: "b", Position: 1, InOrder: true}},
	} {
		c.user(tt.user)
		if diff := cmp.Diff(tt.want, s.Locate(c.req)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.user, diff)
		}
		c.say()
	}
}

// Choosing a turn of a long conversation costs no more than reading it.
func BenchmarkLocate(b *testing.B) {
	var rules strings.Builder
	for i := range 20 {
		fmt.Fprintf(&rules, `{"match":"never %d","steps":[]},`, i)
	}
	c := newChat(b, `{"onEnd":"loop","turns":[`+rules.String()+`{"steps":[{"text":"x"}]}]}`)
	for range 1000 {
		c.user("hello")
		c.req.Messages = append(c.req.Messages, &llm.AssistantMessage{StopReason: llm.StopEnd})
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range c.user("x").provider.Stream(b.Context(), c.req) {
			if err != nil {
				b.Fatal(err)
			}
		}
		c.req.Messages = c.req.Messages[:2000]
	}
}
