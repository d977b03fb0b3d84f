package llm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

func seer() *llm.Model {
	return &llm.Model{ID: "m1", Provider: "p", API: llm.APIOpenAICompletions, Input: []string{"text", "image"}}
}

func blind() *llm.Model {
	return &llm.Model{ID: "m1", Provider: "p", API: llm.APIOpenAICompletions, Input: []string{"text"}}
}

func user(blocks ...llm.Block) *llm.UserMessage { return &llm.UserMessage{Content: blocks} }

func said(blocks ...llm.Block) *llm.AssistantMessage {
	return &llm.AssistantMessage{
		Content: blocks, Provider: "p", API: llm.APIOpenAICompletions, Model: "m1", StopReason: llm.StopEnd, Timestamp: 7,
	}
}

func by(m *llm.AssistantMessage, model string) *llm.AssistantMessage { m.Model = model; return m }

func stopped(m *llm.AssistantMessage, r llm.StopReason) *llm.AssistantMessage {
	m.StopReason = r
	return m
}

func call(id string) *llm.ToolCall {
	return &llm.ToolCall{ID: id, Name: "bash", Arguments: jsonx.Raw(`{}`)}
}

func result(id, text string) *llm.ToolResultMessage {
	return &llm.ToolResultMessage{ToolCallID: id, ToolName: "bash", Content: llm.Content{llm.NewText(text)}}
}

// lines shows a history as one short line for each message.
func lines(msgs []llm.Message) []string {
	var out []string
	for _, msg := range msgs {
		switch m := msg.(type) {
		case *llm.UserMessage:
			out = append(out, "user "+blocks(m.Content))
		case *llm.AssistantMessage:
			out = append(out, "assistant "+blocks(m.Content))
		case *llm.ToolResultMessage:
			e := ""
			if m.IsError {
				e = "!"
			}
			out = append(out, fmt.Sprintf("result%s %s %s", e, m.ToolCallID, blocks(m.Content)))
		}
	}
	return out
}

func blocks(c llm.Content) string {
	var parts []string
	for _, b := range c {
		switch b := b.(type) {
		case *llm.Text:
			parts = append(parts, strings.TrimSuffix(fmt.Sprintf("%q/%s", b.Text, b.TextSignature), "/"))
		case *llm.Thinking:
			parts = append(parts, fmt.Sprintf("think(%s/%s)", b.Thinking, b.ThinkingSignature))
		case *llm.ToolCall:
			parts = append(parts, strings.TrimSuffix(fmt.Sprintf("call(%s/%s%s)", b.ID, b.ThoughtSignature, b.Namespace), "/"))
		case *llm.Image:
			parts = append(parts, "image")
		default:
			parts = append(parts, "?")
		}
	}
	return strings.Join(parts, " ")
}

func TestReplay(t *testing.T) {
	text := llm.NewText
	tests := []struct {
		name  string
		model *llm.Model
		in    []llm.Message
		want  []string
	}{
		{"failed answers go, their results with them, users stay", seer(), []llm.Message{
			user(text("one")), stopped(said(text("par"), call("a")), llm.StopError), result("a", "x"), user(text("two")),
			stopped(said(), llm.StopAborted), user(text("three")),
		}, []string{`user "one"`, `user "two"`, `user "three"`}},
		{"a result without a call is dropped (field report 114)", seer(), []llm.Message{
			user(text("one")), stopped(said(text("cut")), llm.StopLength), result("gone", "x"), user(text("two")),
		}, []string{`user "one"`, `assistant "cut"`, `user "two"`}},
		{"a result before any answer is dropped", seer(), []llm.Message{result("a", "x"), user(text("one"))}, []string{`user "one"`}},
		{"every call is answered (field report 48)", seer(), []llm.Message{
			said(call("a"), call("b"), call("c")), result("b", "x"), user(text("next")), said(call("d")),
		}, []string{
			`assistant call(a/) call(b/) call(c/)`, `result b "x"`, `result! a "No result provided"`,
			`result! c "No result provided"`, `user "next"`, `assistant call(d/)`, `result! d "No result provided"`,
		}},
		{"a result that a user message delayed keeps its call", seer(), []llm.Message{
			said(call("a")), user(text("wait")), result("a", "x"), said(text("ok")),
		}, []string{`assistant call(a/)`, `result a "x"`, `user "wait"`, `assistant "ok"`}},
		{"a result of an earlier turn is dropped", seer(), []llm.Message{
			said(call("a")), said(text("ok")), result("a", "x"),
		}, []string{`assistant call(a/)`, `result! a "No result provided"`, `assistant "ok"`}},
		{"second answers are dropped", seer(), []llm.Message{
			said(call("a")), result("a", "x"), result("a", "y"),
		}, []string{`assistant call(a/)`, `result a "x"`}},
		{"ids are unique in the whole history", seer(), []llm.Message{
			said(call("a"), call("a")), result("a", "x"), result("a", "y"), said(call("a"), call("a_2"), call("")), result("a_2", "z"),
		}, []string{
			`assistant call(a/) call(a_2/)`, `result a "x"`, `result a_2 "y"`,
			`assistant call(a_3/) call(a_2_2/) call(call/)`, `result a_2_2 "z"`, `result! a_3 "No result provided"`, `result! call "No result provided"`,
		}},
		{"a failed answer does not take the results of an earlier one", seer(), []llm.Message{
			said(call("a")), stopped(said(call("a")), llm.StopAborted), result("a", "late"),
		}, []string{`assistant call(a/)`, `result! a "No result provided"`}},
		{"reasoning and signatures stay with their model", seer(), []llm.Message{
			said(&llm.Thinking{Thinking: "t", ThinkingSignature: "s"}, &llm.Text{Text: "x", TextSignature: "s"},
				&llm.ToolCall{ID: "a", Name: "bash", ThoughtSignature: "ts", Namespace: "n"}), result("a", "r"),
		}, []string{`assistant think(t/s) "x"/s call(a/tsn)`, `result a "r"`}},
		{"and go for another one", seer(), []llm.Message{
			by(said(&llm.Thinking{Thinking: "t", ThinkingSignature: "s"}, &llm.Text{Text: "x", TextSignature: "s"},
				&llm.ToolCall{ID: "a", Name: "bash", ThoughtSignature: "ts", Namespace: "n"}), "m2"), result("a", "r"),
		}, []string{`assistant "x" call(a/)`, `result a "r"`}},
		{"empty answers are dropped", seer(), []llm.Message{
			said(), said(text("  \n")), said(&llm.Thinking{Thinking: " "}), by(said(&llm.Thinking{Thinking: "t"}), "m2"),
			said(&llm.Thinking{ThinkingSignature: "only"}), user(), user(&llm.UnknownBlock{Kind: "x", Raw: jsonx.Raw(`{}`)}),
		}, []string{`assistant think(/only)`}},
		{"pictures for one who sees", seer(), []llm.Message{
			user(text("a"), llm.NewImage("AA", "image/png")),
		}, []string{`user "a" image`}},
		{"and for one who does not", blind(), []llm.Message{
			user(text("a"), llm.NewImage("AA", "image/png"), llm.NewImage("AA", "image/png"), text("b"), llm.NewImage("AA", "image/png")),
			said(call("c")),
			&llm.ToolResultMessage{ToolCallID: "c", Content: llm.Content{llm.NewImage("AA", "image/png")}},
		}, []string{
			`user "a" "(image omitted: model does not support images)" "b" "(image omitted: model does not support images)"`,
			`assistant call(c/)`, `result c "(tool image omitted: model does not support images)"`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, lines(llm.Replay(tt.in, tt.model))); diff != "" {
				t.Errorf("replayed history (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReplaySharesUnchangedMessages(t *testing.T) {
	in := []llm.Message{
		user(llm.NewText("a"), llm.NewImage("AA", "image/png")), said(llm.NewText("x"), call("c")), result("c", "r"),
	}
	out := llm.Replay(in, seer())
	if len(out) != len(in) {
		t.Fatalf("got %d messages, want %d", len(out), len(in))
	}
	for i := range in {
		if in[i] != out[i] {
			t.Errorf("message %d was copied although nothing changed", i)
		}
	}
}

func TestCallIDs(t *testing.T) {
	ids := llm.CallIDs{Max: 8}
	for i, tt := range []struct{ id, wanted, want string }{
		{"one", "call", "call"},
		{"two", "call", "call_2"},
		{"three", "callcallcall", "callcall"},
		{"four", "callcallcall", "callca_2"},
		{"five", "callcallxxxx", "callca_3"},
	} {
		if got := ids.Add(tt.id, tt.wanted); got != tt.want || ids.Of(tt.id) != tt.want {
			t.Errorf("%d: Add(%s, %s) = %s, Of = %s, want %s", i, tt.id, tt.wanted, got, ids.Of(tt.id), tt.want)
		}
	}
	if got := ids.Of("unknown"); got != "unknown" {
		t.Errorf("Of(unknown) = %s", got)
	}
}

// history draws any history: well formed or not.
func history(t *rapid.T) []llm.Message {
	id := rapid.SampledFrom([]string{"", "a", "a", "b", "a_2", "c|fc_1"})
	block := rapid.Custom(func(t *rapid.T) llm.Block {
		switch rapid.IntRange(0, 5).Draw(t, "block") {
		case 0:
			return &llm.Text{Text: rapid.SampledFrom([]string{"", " ", "hi"}).Draw(t, "text"), TextSignature: rapid.SampledFrom([]string{"", "s"}).Draw(t, "sig")}
		case 1:
			return &llm.Thinking{Thinking: rapid.SampledFrom([]string{"", "hm"}).Draw(t, "thinking"), ThinkingSignature: rapid.SampledFrom([]string{"", "s"}).Draw(t, "sig")}
		case 2:
			return llm.NewImage("AA", "image/png")
		case 3:
			return &llm.UnknownBlock{Kind: "odd", Raw: jsonx.Raw(`{"type":"odd"}`)}
		}
		c := call(id.Draw(t, "id"))
		c.ThoughtSignature = rapid.SampledFrom([]string{"", "ts"}).Draw(t, "sig")
		return c
	})
	content := rapid.Custom(func(t *rapid.T) llm.Content { return rapid.SliceOfN(block, 0, 4).Draw(t, "content") })
	message := rapid.Custom(func(t *rapid.T) llm.Message {
		switch rapid.IntRange(0, 3).Draw(t, "role") {
		case 0:
			return &llm.UserMessage{Content: content.Draw(t, "user")}
		case 1:
			return &llm.ToolResultMessage{ToolCallID: id.Draw(t, "id"), Content: content.Draw(t, "result")}
		}
		m := said(content.Draw(t, "assistant")...)
		if m.Model = rapid.SampledFrom([]string{"m1", "m1", "m2"}).Draw(t, "model"); m.Model == "m2" {
			for _, b := range m.Content {
				if text, ok := b.(*llm.Text); ok && text.TextSignature != "" {
					text.TextSignature = "foreign"
				}
			}
		}
		m.StopReason = rapid.SampledFrom([]llm.StopReason{llm.StopEnd, llm.StopToolUse, llm.StopLength, llm.StopError, llm.StopAborted}).Draw(t, "stop")
		return m
	})
	return rapid.SliceOfN(message, 0, 12).Draw(t, "history")
}

// checkValid fails when a history is not one that m can be sent.
func checkValid(t *rapid.T, msgs []llm.Message, m *llm.Model) {
	seen := map[string]bool{}
	var open []string
	for i, msg := range msgs {
		if res, ok := msg.(*llm.ToolResultMessage); ok {
			at := -1
			for j, id := range open {
				if id == res.ToolCallID {
					at = j
				}
			}
			if at < 0 {
				t.Fatalf("message %d: result %q answers no open call of its turn", i, res.ToolCallID)
			}
			open = append(open[:at:at], open[at+1:]...)
			checkContent(t, res.Content, m, false)
			continue
		}
		if len(open) > 0 {
			t.Fatalf("message %d: calls %q have no result", i, open)
		}
		switch msg := msg.(type) {
		case *llm.UserMessage:
			if len(msg.Content) == 0 {
				t.Fatalf("message %d: empty user message", i)
			}
			checkContent(t, msg.Content, m, false)
		case *llm.AssistantMessage:
			if msg.Failed() || len(msg.Content) == 0 {
				t.Fatalf("message %d: failed or empty answer", i)
			}
			checkContent(t, msg.Content, m, m.Made(msg))
			for _, c := range msg.Content.ToolCalls() {
				if c.ID == "" || seen[c.ID] {
					t.Fatalf("message %d: id %q is empty or used twice", i, c.ID)
				}
				seen[c.ID] = true
				open = append(open, c.ID)
			}
		}
	}
	if len(open) > 0 {
		t.Fatalf("calls %q at the end have no result", open)
	}
}

func checkContent(t *rapid.T, c llm.Content, m *llm.Model, same bool) {
	for _, b := range c {
		switch b := b.(type) {
		case *llm.UnknownBlock:
			t.Fatalf("block of unknown type %s", b.Kind)
		case *llm.Image:
			if !m.AcceptsImages() {
				t.Fatalf("picture for a model that takes none")
			}
		case *llm.Thinking:
			if !same {
				t.Fatalf("reasoning of another model")
			}
		case *llm.Text:
			if b.TextSignature == "foreign" {
				t.Fatalf("signature of another model")
			}
		case *llm.ToolCall:
			if b.ThoughtSignature != "" && !same {
				t.Fatalf("signature of another model")
			}
		}
	}
}

func TestReplayIsAlwaysValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		msgs := history(t)
		m := rapid.SampledFrom([]*llm.Model{seer(), blind()}).Draw(t, "to")
		before, err := jsonx.Marshal(msgs)
		if err != nil {
			t.Fatal(err)
		}
		once := llm.Replay(msgs, m)
		if after, err := jsonx.Marshal(msgs); err != nil || string(before) != string(after) {
			t.Fatalf("the history was changed (%v)\nbefore %s\nafter  %s", err, before, after)
		}
		checkValid(t, once, m)
		if diff := cmp.Diff(lines(once), lines(llm.Replay(once, m))); diff != "" {
			t.Fatalf("a second replay changes something (-once +twice):\n%s", diff)
		}
	})
}

func TestReplayOfManyEqualIDsIsLinear(t *testing.T) {
	const n = 20000
	msgs := make([]llm.Message, 0, 2*n)
	for range n {
		msgs = append(msgs, said(call("0")), result("0", "x"))
	}
	// A quadratic search for free suffixes would not end here.
	out := llm.Replay(msgs, seer())
	if last := out[len(out)-1].(*llm.ToolResultMessage); len(out) != 2*n || last.ToolCallID != fmt.Sprintf("0_%d", n) {
		t.Errorf("got %d messages, last id %s", len(out), last.ToolCallID)
	}
}
