package rpc_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// inBubble holds a conversation in a synctest bubble. The archive has the sections of
// a conversation file that describe the surroundings.
func inBubble(t *testing.T, archive string, arrange func(*testbed), hold func(*talk)) {
	t.Helper()
	work := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		bed := newTestbed(t, txtar.Parse([]byte(archive)), work)
		bed.brief = true
		if arrange != nil {
			arrange(bed)
		}
		c := bed.talk()
		hold(c)
		if !c.ended {
			c.end()
		}
		checkStream(t, c.out.String())
	})
}

// lines returns the records so far in their short form.
func (c *talk) lines() []string {
	c.t.Helper()
	return strings.Split(strings.TrimSuffix(c.bed.arrange(c.out.String()), "\n"), "\n")
}

// response returns the one response with that id.
func (c *talk) response(id string) string {
	c.t.Helper()
	var found []string
	for line := range strings.Lines(c.out.String()) {
		var r struct {
			ID   string `json:"id"`
			Type string `json:"type"`
		}
		if jsonx.Unmarshal([]byte(line), &r) == nil && r.Type == "response" && r.ID == id {
			found = append(found, strings.TrimSuffix(line, "\n"))
		}
	}
	if len(found) != 1 {
		c.t.Errorf("%d responses with id %q: %q", len(found), id, found)
		return ""
	}
	return found[0]
}

// checkStream checks the order of all records of a conversation: what is open when,
// and that every accepted prompt settles exactly once.
func checkStream(t *testing.T, out string) {
	t.Helper()
	var s stream
	for line := range strings.Lines(out) {
		if err := s.take(line); err != nil {
			t.Errorf("%v: %.300s", err, line)
		}
	}
	if err := s.over(); err != nil {
		t.Error(err)
	}
}

// stream is what is open in a stream of records.
type stream struct {
	agent, turn bool
	message     string          // role of the open message, "" for none
	running     map[string]bool // tool calls that began and did not end
	calls       []string        // of the turn's answer that have no result message yet
	started     int             // prompts that were answered as started
	settled     int
	open        bool // an agent_start or retry since the last agent_settled
	willRetry   bool
}

type anyRecord struct {
	Type    string `json:"type"`
	Message struct {
		Role       string `json:"role"`
		StopReason string `json:"stopReason"`
		ToolCallID string `json:"toolCallId"`
		Content    []struct {
			Type string `json:"type"`
			ID   string `json:"id"`
		} `json:"content"`
	} `json:"message"`
	ToolCallID string `json:"toolCallId"`
	WillRetry  bool   `json:"willRetry"`
}

// take follows one record. The error says what is out of order.
func (s *stream) take(line string) error {
	if !strings.HasSuffix(line, "\n") {
		return fmt.Errorf("the record has no end")
	}
	if len(line) > 1<<20 && strings.Contains(line[:100], `"type":"response","command":"get_`) {
		return nil // decoding it takes long under the race detector
	}
	var r anyRecord
	if err := jsonx.Unmarshal([]byte(line), &r); err != nil {
		return err
	}
	switch r.Type {
	case "response":
		if strings.Contains(line, `"disposition":"started"`) {
			s.started++
		}
	case "agent_start", "agent_end", "agent_settled", "auto_retry_start":
		return s.run(r)
	case "turn_start", "turn_end":
		return s.takeTurn(r)
	case "message_start", "message_update", "message_end":
		return s.takeMessage(r)
	case "tool_execution_start", "tool_execution_update", "tool_execution_end":
		return s.takeTool(r)
	}
	return nil
}

func (s *stream) run(r anyRecord) error {
	switch r.Type {
	case "agent_start":
		if s.agent || s.started == s.settled {
			return fmt.Errorf("agent_start in a run, or without an accepted prompt")
		}
		s.agent, s.open, s.willRetry = true, true, false
	case "agent_end":
		if !s.agent || s.turn {
			return fmt.Errorf("agent_end without agent_start, or in a turn")
		}
		s.agent, s.willRetry = false, r.WillRetry
	case "auto_retry_start":
		if s.agent || !s.willRetry {
			return fmt.Errorf("auto_retry_start in a run, or after agent_end without willRetry")
		}
	case "agent_settled":
		s.settled++
		if s.agent || s.settled > s.started {
			return fmt.Errorf("agent_settled in a run, or once too often")
		}
		s.open = false
	}
	return nil
}

func (s *stream) takeTurn(r anyRecord) error {
	if r.Type == "turn_start" {
		if !s.agent || s.turn {
			return fmt.Errorf("turn_start outside a run, or in a turn")
		}
		s.turn, s.running, s.calls = true, map[string]bool{}, nil
		return nil
	}
	if !s.turn || s.message != "" || len(s.running) > 0 || len(s.calls) > 0 {
		return fmt.Errorf("turn_end with an open message (%s), running tools (%v) or calls without a result (%v)", s.message, s.running, s.calls)
	}
	s.turn = false
	return nil
}

func (s *stream) takeMessage(r anyRecord) error {
	switch r.Type {
	case "message_start":
		if !s.turn || s.message != "" {
			return fmt.Errorf("message_start outside a turn, or in a message")
		}
		s.message = r.Message.Role
	case "message_update":
		if s.message != "assistant" {
			return fmt.Errorf("message_update outside an answer")
		}
	case "message_end":
		if s.message != r.Message.Role || s.message == "" {
			return fmt.Errorf("message_end of another message than %q", s.message)
		}
		s.message = ""
		switch r.Message.Role {
		case "assistant":
			if stop := r.Message.StopReason; stop == "error" || stop == "aborted" {
				return nil
			}
			for _, b := range r.Message.Content {
				if b.Type == "toolCall" {
					s.calls = append(s.calls, b.ID)
				}
			}
		case "toolResult":
			if len(s.calls) == 0 || s.calls[0] != r.Message.ToolCallID || s.running[r.Message.ToolCallID] {
				return fmt.Errorf("the result is not the next one of %v, or its call still runs", s.calls)
			}
			s.calls = s.calls[1:]
		}
	}
	return nil
}

func (s *stream) takeTool(r anyRecord) error {
	switch r.Type {
	case "tool_execution_start":
		if !s.turn || s.message != "" || s.running[r.ToolCallID] || !slices.Contains(s.calls, r.ToolCallID) {
			return fmt.Errorf("the call begins twice, or nobody made it")
		}
		s.running[r.ToolCallID] = true
	default:
		if !s.running[r.ToolCallID] {
			return fmt.Errorf("the call does not run")
		}
		if r.Type == "tool_execution_end" {
			delete(s.running, r.ToolCallID)
		}
	}
	return nil
}

// over checks that nothing is open at the end.
func (s *stream) over() error {
	if s.agent || s.turn || s.message != "" || s.open || s.started != s.settled {
		return fmt.Errorf("at the end: %d prompts were started and %d settled, in a run %v, in a turn %v, in a message %q", s.started, s.settled, s.agent, s.turn, s.message)
	}
	return nil
}
