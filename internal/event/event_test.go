package event_test

import (
	"bytes"
	"testing"

	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"pgregory.net/rapid"
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

// The record of a delta is made by hand: it is what the encoder makes of the same struct.
func TestDeltaIsEncodedAsEverythingElse(t *testing.T) {
	usage := rapid.Custom(func(t *rapid.T) llm.Usage {
		yes := rapid.Bool().Draw(t, "fromProvider")
		n := rapid.Int64Range(0, 1<<40).Draw(t, "tokens")
		u := llm.Usage{Input: n, Output: n / 3, TotalTokens: n + n/3}
		u.Cost.Input, u.Cost.Total = float64(n)/1e6, float64(n)/7e6
		if yes {
			u.Reasoning, u.Cost.TotalFromProvider = &n, &yes
		}
		return u
	})
	rapid.Check(t, func(t *rapid.T) {
		usages := rapid.SliceOfN(rapid.Ptr(usage, true), 1, 3).Draw(t, "usages")
		for range 6 {
			u := event.MessageUpdate{
				Usage: rapid.SampledFrom(usages).Draw(t, "usage"),
				Update: event.Delta{
					Type:         rapid.SampledFrom([]event.UpdateType{event.TypeTextDelta, event.TypeThinkingDelta, event.TypeToolCallDelta}).Draw(t, "type"),
					ContentIndex: rapid.IntRange(0, 1000).Draw(t, "index"),
					Delta:        string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text"),
				},
				EndTurn: rapid.Ptr(rapid.Bool(), true).Draw(t, "endTurn"),
			}
			members, err := jsonx.Marshal(u)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"type":"message_update",` + string(members[1:])
			var got bytes.Buffer
			if err := event.Append(&got, u); err != nil {
				t.Fatal(err)
			}
			if got.String() != want {
				t.Fatalf("got  %s\nwant %s", got.String(), want)
			}
		}
	})
}

func BenchmarkAppendDelta(b *testing.B) {
	b.ReportAllocs()
	var buf bytes.Buffer
	u := event.MessageUpdate{Usage: &llm.Usage{Input: 1373, Output: 15, Cost: llm.Cost{Input: 0.001373, Output: 0.00003}}, Update: event.Delta{event.TypeTextDelta, 0, "twenty bytes of text"}}
	var e event.Event = u
	for b.Loop() {
		buf.Reset()
		event.Append(&buf, e)
	}
}
