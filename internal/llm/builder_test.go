package llm

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func builderModel() *Model {
	return &Model{ID: "m", API: "a", Provider: "p", Cost: ModelCost{Input: 1e6, Output: 2e6, CacheRead: 5e5, CacheWrite: 3e6}}
}

func build(events ...Event) *Builder {
	b := NewBuilder(builderModel(), ThinkingLow, 1000)
	for _, e := range events {
		b.Add(e)
	}
	return b
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := jsonx.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestBuilder(t *testing.T) {
	text, yes := "stated", true
	b := build(
		Event{Kind: EventMeta, ResponseID: "r1", ResponseModel: "m", Usage: &Usage{Input: 10}},
		Event{Kind: EventThinkingStart, Index: 0},
		Event{Kind: EventThinkingDelta, Index: 0, Delta: "hm"},
		Event{Kind: EventTextStart, Index: 1},
		Event{Kind: EventTextDelta, Index: 1, Delta: "he"},
		Event{Kind: EventThinkingEnd, Index: 0, Signature: "sig"},
		Event{Kind: EventTextDelta, Index: 1, Delta: "llo"},
		Event{Kind: EventTextEnd, Index: 1},
		Event{Kind: EventTextStart, Index: 2},
		Event{Kind: EventTextDelta, Index: 2, Delta: "joined"},
		Event{Kind: EventTextEnd, Index: 2, Replace: &text},
		Event{Kind: EventToolCallStart, Index: 3, ID: "c", Name: "read"},
		Event{Kind: EventToolCallDelta, Index: 3, Delta: `{ "a" `},
		Event{Kind: EventToolCallDelta, Index: 3, Delta: `: 1 }`},
		Event{Kind: EventToolCallEnd, Index: 3},
		Event{Kind: EventDone, StopReason: StopToolUse, RawStopReason: "tool_use", EndTurn: &yes, Usage: &Usage{Input: 10, Output: 5, CacheRead: 2, CacheWrite: 1}},
	)
	if !b.Done() {
		t.Error("not done")
	}
	got := encode(t, b.Finish(nil, 7))
	want := `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"sig"},{"type":"text","text":"hello"},{"type":"text","text":"stated"},` +
		`{"type":"toolCall","id":"c","name":"read","arguments":{"a":1}}],"api":"a","provider":"p","model":"m",` +
		`"usage":{"input":10,"output":5,"cacheRead":2,"cacheWrite":1,"totalTokens":18,"cost":{"input":10,"output":10,"cacheRead":1,"cacheWrite":3,"total":24,"totalFromProvider":false}},` +
		`"stopReason":"toolUse","timestamp":1000,"responseId":"r1","rawStopReason":"tool_use","endTurn":true,"durationMs":7,"thinkingLevel":"low"}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Arguments are an object whatever came; text that is none is kept beside them (field
// reports 105 and 106).
func TestBuilderArguments(t *testing.T) {
	for in, want := range map[string][2]string{
		"":               {"{}", ""},
		`{"a":[1, 2]}`:   {`{"a":[1,2]}`, ""},
		`{"a":"unfin`:    {"{}", `{"a":"unfin`},
		"null":           {"{}", "null"},
		`[1]`:            {"{}", "[1]"},
		`"x"`:            {"{}", `"x"`},
		`{"a":1} `:       {`{"a":1}`, ""},
		`{"a":1}{"b":2}`: {"{}", `{"a":1}{"b":2}`},
		`{"a":1,}`:       {"{}", `{"a":1,}`},
	} {
		m := build(
			Event{Kind: EventToolCallStart, ID: "c", Name: "x"},
			Event{Kind: EventToolCallDelta, Delta: in},
			Event{Kind: EventToolCallEnd},
		).Finish(nil, 0)
		c := m.Content[0].(*ToolCall)
		if string(c.Arguments) != want[0] || (c.ArgumentsError != "") != (want[1] != "") || want[1] != "" && c.SentArguments() != want[1] {
			t.Errorf("%q: %s, %q; want %q", in, c.Arguments, c.ArgumentsError, want)
		}
	}
}

// Field report 107: two calls with one id in one answer stay two calls.
func TestBuilderUniqueIDs(t *testing.T) {
	var events []Event
	for i, id := range []string{"a", "a", "a", "a_2", "", ""} {
		events = append(events, Event{Kind: EventToolCallStart, Index: i, ID: id, Name: "x"}, Event{Kind: EventToolCallEnd, Index: i})
	}
	seen := map[string]bool{}
	for _, c := range build(events...).Finish(nil, 0).Content.ToolCalls() {
		if c.ID == "" || seen[c.ID] {
			t.Errorf("id %q is empty or was there before", c.ID)
		}
		seen[c.ID] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d ids of 6 calls", len(seen))
	}
}

// Field report 115: of a call, nothing is kept but the call; no scratch text of its
// arguments gets into a session. Of arguments that were cut the error tells.
func TestBuilderKeepsNoScratch(t *testing.T) {
	for delta, want := range map[string]string{
		`{"path":"a"}`:       "type id name arguments",
		`{"path":"a","conte`: "type id name arguments argumentsError",
	} {
		m := build(
			Event{Kind: EventToolCallStart, ID: "c", Name: "x"},
			Event{Kind: EventToolCallDelta, Delta: delta},
		).Finish(&Error{Kind: ErrTransport, Message: "cut"}, 3)
		members, err := jsonx.Members(jsonx.Raw(encode(t, m.Content.ToolCalls()[0])))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, member := range members {
			names = append(names, member.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: a cut call has %s, want %s", delta, got, want)
		}
	}
}

func TestBuilderFailed(t *testing.T) {
	cause := errors.New("cause")
	for kind, want := range map[ErrorKind]StopReason{ErrTransport: StopError, ErrAborted: StopAborted} {
		fault := &Error{Kind: kind, Message: "what clients see", Err: cause}
		m := build(
			Event{Kind: EventMeta, RawStopReason: "refusal", Usage: &Usage{Input: 4}},
			Event{Kind: EventTextStart},
			Event{Kind: EventTextDelta, Delta: "half"},
		).Finish(fault, 3)
		if m.StopReason != want || m.ErrorMessage != "what clients see" || m.Err != fault || m.Content.PlainText("") != "half" ||
			m.Usage.Input != 4 || m.RawStopReason != "refusal" || *m.DurationMs != 3 {
			t.Errorf("%s: %s", kind, encode(t, m))
		}
		if s := encode(t, m); strings.Contains(s, "cause") {
			t.Errorf("the cause is encoded: %s", s)
		}
	}
}

// Events that fit no block change nothing, and a block's content can be asked for
// while it grows.
func TestBuilderOddEvents(t *testing.T) {
	b := build(
		Event{Kind: EventTextDelta, Index: 3, Delta: "no block"},
		Event{Kind: EventTextEnd, Index: -1},
		Event{Kind: EventTextStart, Index: 1},
		Event{Kind: EventTextDelta, Index: 1, Delta: "a"},
		Event{Kind: EventKind(77)},
	)
	if b.Block(0) != nil || b.Block(9) != nil || b.Block(-1) != nil {
		t.Error("a block that never started")
	}
	if got := b.Block(1).(*Text).Text; got != "a" {
		t.Errorf("%q", got)
	}
	b.Add(Event{Kind: EventTextDelta, Index: 1, Delta: "b"})
	if m := b.Finish(nil, 0); len(m.Content) != 1 || m.Content.PlainText("") != "ab" {
		t.Errorf("%s", encode(t, m))
	}
}

// message_start carries no content, no usage and no id, and is not changed later.
func TestBuilderPending(t *testing.T) {
	b := build(Event{Kind: EventMeta, ResponseID: "r", ResponseModel: "other", ProviderLevel: "x", Usage: &Usage{Input: 4}})
	p := b.Pending()
	usage := b.Usage()
	b.Add(Event{Kind: EventMeta, Usage: &Usage{Input: 9}})
	if usage.Input != 4 || b.Usage().Input != 9 {
		t.Errorf("a usage that was handed out changed: %d, %d", usage.Input, b.Usage().Input)
	}
	want := `{"role":"assistant","content":[],"api":"a","provider":"p","model":"m","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,` +
		`"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"pending","timestamp":1000}`
	if diff := cmp.Diff(want, encode(t, p)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if m := b.Finish(nil, 0); m.ResponseModel != "other" || m.ProviderThinkingLevel != "x" {
		t.Errorf("%s", encode(t, m))
	}
}

// Field report 116: adding n deltas costs O(n).
func TestBuilderIsLinear(t *testing.T) {
	per := func(n int) float64 {
		return testing.AllocsPerRun(2, func() {
			b := build(Event{Kind: EventTextStart})
			for range n {
				b.Add(Event{Kind: EventTextDelta, Delta: "x"})
			}
			b.Finish(nil, 0)
		})
	}
	if few, many := per(1000), per(200000); many > few+60 {
		t.Errorf("%v allocations for 1,000 deltas, %v for 200,000", few, many)
	}
}

func TestAsError(t *testing.T) {
	own := &Error{Kind: ErrQuota, Message: "q"}
	if AsError(nil) != nil {
		t.Error("nil is no error")
	}
	if got := AsError(fmt.Errorf("calling the model: %w", own)); got != own {
		t.Errorf("%v", got)
	}
	plain := errors.New("x")
	if got := AsError(plain); got.Kind != ErrUnknown || got.Error() != "x" || !errors.Is(got, plain) {
		t.Errorf("%+v", got)
	}
}
