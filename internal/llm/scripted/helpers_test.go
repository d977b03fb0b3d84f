package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/llm/llmtest"
	"github.com/isotope-agent/isotope/internal/llm/scripted"
	"github.com/isotope-agent/isotope/internal/llm/wire"
)

// chat is a conversation with one provider, as the agent loop holds it.
type chat struct {
	t        testing.TB
	provider llm.Provider
	req      *llm.Request
}

func newChat(t testing.TB, script string, tools ...string) *chat {
	t.Helper()
	s, err := scripted.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return chatWith(t, scripted.NewScript(s), tools...)
}

func chatWith(t testing.TB, p llm.Provider, tools ...string) *chat {
	c := &chat{t: t, provider: p, req: &llm.Request{
		Model:     &llm.Model{ID: scripted.Demo, API: llm.APIScripted, Provider: scripted.Name, ContextWindow: 200_000, MaxTokens: 32_000},
		System:    "You help.\nCurrent working directory: /home/ada/lathe\n",
		SessionID: "s1",
	}}
	for _, name := range tools {
		c.req.Tools = append(c.req.Tools, llm.ToolSpec{Name: name, Parameters: jsonx.Raw(`{"type":"object"}`)})
	}
	return c
}

// user adds a user message.
func (c *chat) user(text string) *chat {
	c.req.Messages = append(c.req.Messages, &llm.UserMessage{Content: llm.Content{llm.NewText(text)}})
	return c
}

// result adds the result of the nth latest call of a tool.
func (c *chat) result(name, text string, isError bool) *chat {
	id := ""
	for _, m := range c.req.Messages {
		if am, ok := m.(*llm.AssistantMessage); ok {
			for _, tc := range am.Content.ToolCalls() {
				if tc.Name == name {
					id = tc.ID
				}
			}
		}
	}
	c.req.Messages = append(c.req.Messages, &llm.ToolResultMessage{
		ToolCallID: id, ToolName: name, Content: llm.Content{llm.NewText(text)}, IsError: isError,
	})
	return c
}

// call makes one model call, whose events must keep the contract of llm.Provider, and
// leaves the conversation as it is.
func (c *chat) call() llmtest.Result {
	c.t.Helper()
	p := llmtest.Protocol{Model: c.req.Model, New: func(*wire.Client) llm.Provider { return c.provider }}
	return p.Stream(c.t, &llmtest.Answer{}, c.req)
}

// say makes one model call and adds the answer.
func (c *chat) say() *llm.AssistantMessage {
	c.t.Helper()
	m := c.call().Message
	c.req.Messages = append(c.req.Messages, m)
	return m
}

// text makes one model call, adds the answer and returns its text or "!" and its error.
func (c *chat) text() string {
	c.t.Helper()
	m := c.say()
	if m.ErrorMessage != "" {
		return "!" + m.ErrorMessage
	}
	return m.Content.PlainText("|")
}

// events returns one line for each event of a stream.
func events(p llm.Provider, ctx context.Context, req *llm.Request) []string {
	var out []string
	for e, err := range p.Stream(ctx, req) {
		out = append(out, line(e, err))
	}
	return out
}

var kindNames = map[llm.EventKind]string{
	llm.EventMeta: "meta", llm.EventTextStart: "text<", llm.EventTextDelta: "text", llm.EventTextEnd: "text>",
	llm.EventThinkingStart: "think<", llm.EventThinkingDelta: "think", llm.EventThinkingEnd: "think>",
	llm.EventToolCallStart: "call<", llm.EventToolCallDelta: "call", llm.EventToolCallEnd: "call>", llm.EventDone: "done",
}

// line writes an event with all that it carries.
func line(e llm.Event, err error) string {
	var le *llm.Error
	if errors.As(err, &le) {
		return fmt.Sprintf("error %s %d %s %q %q %s", le.Kind, le.Status, le.Code, le.Message, le.Body, le.RetryAfter)
	}
	if err != nil {
		return "error " + err.Error()
	}
	var b strings.Builder
	b.WriteString(kindNames[e.Kind])
	if e.Kind != llm.EventMeta && e.Kind != llm.EventDone {
		fmt.Fprintf(&b, " %d", e.Index)
	}
	for _, f := range []struct{ name, value string }{
		{"", e.Delta},
		{"id=", e.ID},
		{"name=", e.Name},
		{"sig=", e.Signature},
		{"resp=", e.ResponseID},
		{"model=", e.ResponseModel},
		{"", string(e.StopReason)},
		{"raw=", e.RawStopReason},
		{"level=", e.ProviderLevel},
	} {
		if f.value != "" {
			fmt.Fprintf(&b, " %s%q", f.name, f.value)
		}
	}
	if e.Redacted {
		b.WriteString(" redacted")
	}
	if e.Replace != nil {
		fmt.Fprintf(&b, " final=%q", *e.Replace)
	}
	if e.EndTurn != nil {
		fmt.Fprintf(&b, " endTurn=%t", *e.EndTurn)
	}
	if u := e.Usage; u != nil {
		fmt.Fprintf(&b, " usage=%d/%d/%d/%d", u.Input, u.Output, u.CacheRead, u.CacheWrite)
	}
	return b.String()
}
