package scripted

import (
	"strconv"
	"strings"

	"github.com/isotope-agent/isotope/internal/llm"
)

// call is what a script knows of one model call: all of it comes from the request,
// so that a retry, a resumed session and another process see the same.
type call struct {
	req     *llm.Request
	user    *llm.UserMessage         // the last one, nil when there is none
	results []*llm.ToolResultMessage // that came since the last answer
	run     int                      // index of the message that the run begins behind
	number  int                      // answers since the run began
	answers int                      // answers in all
	nextID  int                      // the number of the next tool call
}

// newCall reads a request. Before each answer that the history holds, visit sees the
// call as it was then; it may be nil.
func newCall(req *llm.Request, visit func(*call)) *call {
	c := &call{req: req, nextID: 1}
	msgs := req.Messages
	for i, m := range msgs {
		switch m := m.(type) {
		case *llm.UserMessage:
			// A run begins with a user message; one that comes right behind tool results
			// steers the run, and so do those that follow it.
			if i == 0 || !steers(msgs[:i]) {
				c.run, c.number = i, 0
			}
			c.user = m
		case *llm.ToolResultMessage:
			c.results = append(c.results, m)
		case *llm.AssistantMessage:
			c.ids(m)
			if askedAgain(msgs, i) || neverAsked(m) {
				continue
			}
			if visit != nil {
				visit(c)
			}
			c.number++
			c.answers++
			c.results = nil
		}
	}
	return c
}

// askedAgain reports whether the answer at i failed and the same call was made again:
// then it is no answer.
func askedAgain(msgs []llm.Message, i int) bool {
	m := msgs[i].(*llm.AssistantMessage)
	return m.StopReason == llm.StopError && (i+1 == len(msgs) || msgs[i+1].Role() == llm.RoleAssistant)
}

// textNeverAsked is the error of an answer that stands for a call which an abort
// prevented (pi-facts.md section 2, Abort).
const textNeverAsked = "This operation was aborted"

// neverAsked reports whether m stands for a call that no provider saw.
func neverAsked(m *llm.AssistantMessage) bool {
	return m.StopReason == llm.StopAborted && len(m.Content) == 0 && m.ErrorMessage == textNeverAsked
}

// steers reports whether a user message behind msgs belongs to the run that is on.
func steers(msgs []llm.Message) bool {
	for i := len(msgs) - 1; i >= 0; i-- {
		switch msgs[i].Role() {
		case llm.RoleToolResult:
			return true
		case llm.RoleAssistant:
			return false
		}
	}
	return false
}

const idPrefix = "call_"

// ids makes sure that nextID is above the numbers that m's calls have.
func (c *call) ids(m *llm.AssistantMessage) {
	for _, b := range m.Content {
		t, ok := b.(*llm.ToolCall)
		if !ok || !strings.HasPrefix(t.ID, idPrefix) {
			continue
		}
		if n, err := strconv.Atoi(t.ID[len(idPrefix):]); err == nil && n >= c.nextID {
			c.nextID = n + 1
		}
	}
}

// userText returns the text of the last user message.
func (c *call) userText() string {
	if c.user == nil {
		return ""
	}
	return c.user.Content.PlainText("\n")
}

// offers reports whether the request offers a tool.
func (c *call) offers(tool string) bool {
	for i := range c.req.Tools {
		if c.req.Tools[i].Name == tool {
			return true
		}
	}
	return false
}

// text returns what a source of a template stands for; "" when there is nothing.
func (c *call) text(s *source) string {
	switch s.name {
	case "":
		return s.arg
	case "user":
		return c.userText()
	case "model":
		return c.req.Model.ID
	case "turn":
		return strconv.Itoa(c.number)
	case "cwd":
		return workingDirectory(c.req.System)
	}
	if r := c.result(s); r != nil {
		return r.Content.PlainText("\n")
	}
	return ""
}

// result returns the tool result that a source names: of those since the last answer
// the nth, else the latest of the run that fits; nil when there is none.
func (c *call) result(s *source) *llm.ToolResultMessage {
	if s.hasNth {
		if s.nth < len(c.results) && s.wants(c.results[s.nth]) {
			return c.results[s.nth]
		}
		return nil
	}
	msgs := c.req.Messages
	for i := len(msgs) - 1; i >= c.run; i-- {
		r, ok := msgs[i].(*llm.ToolResultMessage)
		switch {
		case !ok || !s.wants(r) || s.tool != "" && r.ToolName != s.tool:
		case s.hasArg && !strings.Contains(arguments(msgs[:i], r.ToolCallID), s.arg):
		default:
			return r
		}
	}
	return nil
}

// wants reports whether a result ended as the source asks for.
func (s *source) wants(r *llm.ToolResultMessage) bool {
	return r.IsError && !s.okOnly || !r.IsError && !s.errorOnly
}

// arguments returns the JSON text of the latest call in msgs with that id.
func arguments(msgs []llm.Message, id string) string {
	for i := len(msgs) - 1; i >= 0; i-- {
		am, ok := msgs[i].(*llm.AssistantMessage)
		if !ok {
			continue
		}
		for _, t := range am.Content.ToolCalls() {
			if t.ID == id {
				return string(t.Arguments)
			}
		}
	}
	return ""
}

// workingDirectory finds the folder that a system prompt names: in a section of its own
// as this program writes it, or in a sentence as others do.
func workingDirectory(system string) string {
	for _, mark := range []string{"<cwd>\n", "orking directory: "} {
		if at := strings.LastIndex(system, mark); at >= 0 {
			return strings.TrimSpace(head(system[at+len(mark):], 1))
		}
	}
	return ""
}
