package event_test

import (
	"bytes"
	"testing"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// A record is the event's fields behind its type, however it was encoded.
func TestAppend(t *testing.T) {
	yes := true
	usage := &llm.Usage{Input: 1, Output: 2}
	for _, e := range []event.Event{
		event.AgentStart{},
		event.AgentSettled{Aborted: true},
		event.QueueUpdate{},
		event.MessageUpdate{},
		event.MessageUpdate{Usage: usage, Update: event.Delta{Type: event.TypeTextDelta, ContentIndex: 3, Delta: "a\u2028\"b"}},
		event.MessageUpdate{Usage: usage, Update: event.Delta{Type: event.TypeToolCallDelta}, EndTurn: &yes},
		event.MessageUpdate{Update: event.BlockStart{Type: event.TypeToolCallStart, ID: "c", ToolName: "bash"}},
		event.MessageUpdate{Usage: usage, Update: event.TextEnd{Type: event.TypeTextEnd, Content: "x"}, EndTurn: &yes},
	} {
		fields, err := jsonx.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"type":"` + e.Kind() + `"`
		if len(fields) > 2 {
			want += ","
		}
		want += string(fields[1:])
		var buf bytes.Buffer
		buf.WriteString("before ")
		if err := event.Append(&buf, e); err != nil {
			t.Errorf("%s: %v", e.Kind(), err)
		}
		if got := buf.String(); got != "before "+want {
			t.Errorf("%s:\n got %s\nwant %s", e.Kind(), got, want)
		}
	}
}
