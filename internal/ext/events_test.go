package ext

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

func toolCall(args string) *llm.ToolCall {
	return &llm.ToolCall{ID: "c1", Name: "bash", Arguments: jsonx.Raw(args)}
}

func TestToolCallBlocks(t *testing.T) {
	b := newBed(t, `export default (pi) => {
		pi.on("tool_call", (e) => { e.input.seen = 1; });
		pi.on("tool_call", async (e) => { if (e.input.command === "rm") return { block: true, reason: "no " + e.toolName }; });
		pi.on("tool_call", () => { throw new Error("not reached when blocked"); });
	};`)
	h := b.x.Hooks()
	d, err := h.BeforeTool(t.Context(), toolCall(`{"command":"rm"}`))
	if err != nil || !d.Block || d.Reason != "no bash" {
		t.Errorf("rm: %+v, %v", d, err)
	}
	// The third handler throws: the call fails closed.
	if _, err := h.BeforeTool(t.Context(), toolCall(`{"command":"ls"}`)); err == nil || err.Error() != "not reached when blocked" {
		t.Errorf("ls: %v", err)
	}
}

func TestToolCallChangesInput(t *testing.T) {
	b := newBed(t, `export default (pi) => {
		pi.on("tool_call", (e) => { e.input.command = "safe " + e.input.command; });
		pi.on("tool_call", (e) => { e.input.command += "!"; });
	};`)
	call := toolCall(`{"command":"ls"}`)
	if _, err := b.x.Hooks().BeforeTool(t.Context(), call); err != nil || string(call.Arguments) != `{"command":"safe ls!"}` {
		t.Errorf("%s, %v", call.Arguments, err)
	}
}

func TestToolResultChain(t *testing.T) {
	b := newBed(t, `export default (pi) => {
		pi.on("tool_result", (e) => ({ content: [{ type: "text", text: e.content[0].text + " one" }], details: { a: 1 } }));
		pi.on("tool_result", (e) => { throw new Error("ignored"); });
		pi.on("tool_result", (e) => ({ content: [{ type: "text", text: e.content[0].text + " two" }], isError: true }));
	};`)
	res := b.x.Hooks().AfterTool(t.Context(), toolCall(`{}`), tool.TextResult("out"))
	if got := res.Content.PlainText(""); got != "out one two" || !res.IsError || text(res.Details) != `{"a":1}` {
		t.Errorf("%q %v %s", got, res.IsError, text(res.Details))
	}
	if errs := b.errors(); len(errs) != 1 || errs[0].Event != "tool_result" || errs[0].Error != "ignored" {
		t.Errorf("errors: %+v", errs)
	}
}

func TestInput(t *testing.T) {
	b := newBed(t, `export default (pi) => {
		pi.on("input", (e) => (e.text === "stop" ? { action: "handled" } : { action: "transform", text: e.text + "/" + e.source + "/" + (e.streamingBehavior ?? "-") }));
		pi.on("input", (e) => ({ action: "transform", text: e.text.toUpperCase() }));
	};`)
	h := b.x.Hooks()
	for _, c := range []struct {
		in   engine.Input
		want engine.InputResult
	}{
		{engine.Input{Kind: engine.InputPrompt, Text: "stop"}, engine.InputResult{Handled: true}},
		{engine.Input{Kind: engine.InputPrompt, Text: "hi"}, engine.InputResult{Replace: true, Text: "HI/RPC/-"}},
		// Field report 27: steer and follow_up pass the same handlers.
		{engine.Input{Kind: engine.InputSteer, Text: "hi"}, engine.InputResult{Replace: true, Text: "HI/RPC/STEER"}},
		{engine.Input{Kind: engine.InputFollowUp, Text: "hi"}, engine.InputResult{Replace: true, Text: "HI/RPC/FOLLOWUP"}},
	} {
		got, err := h.Input(t.Context(), c.in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.in, diff)
		}
	}
}

func TestBeforeRun(t *testing.T) {
	b := newBed(t, `export default (pi) => {
		pi.on("before_agent_start", (e) => ({ systemPrompt: e.systemPrompt + " A", message: { customType: "note", content: "for " + e.prompt, display: true } }));
		pi.on("before_agent_start", (e, ctx) => ({ systemPrompt: ctx.getSystemPrompt() + " B" }));
	};`)
	res, err := b.x.Hooks().BeforeRun(t.Context(), &llm.UserMessage{Content: llm.Content{llm.NewText("go")}})
	if err != nil || res.SystemPrompt != "SYSTEM A B" || len(res.Messages) != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := text(res.Messages[0]); !strings.Contains(got, `"customType":"note"`) || !strings.Contains(got, "for go") {
		t.Errorf("message %s", got)
	}
}

func TestContext(t *testing.T) {
	b := newBed(t, `export default (pi) => { pi.on("context", (e) => ({ messages: e.messages.filter((m) => m.content[0].text !== "secret") })); };`)
	msgs := []llm.Message{&llm.UserMessage{Content: llm.Content{llm.NewText("secret")}}, &llm.UserMessage{Content: llm.Content{llm.NewText("plain")}}}
	got, err := b.x.Hooks().Context(t.Context(), msgs)
	if err != nil || len(got) != 1 || !strings.Contains(text(got[0]), "plain") {
		t.Errorf("%s, %v", text(got), err)
	}
}

func TestMessageEnd(t *testing.T) {
	b := newBed(t, `export default (pi) => {
		pi.on("message_end", (e) => ({ message: { ...e.message, content: [{ type: "text", text: "changed" }] } }));
		pi.on("message_end", (e) => ({ message: { ...e.message, role: "assistant" } }));
	};`)
	m := b.x.Hooks().MessageEnd(t.Context(), &llm.UserMessage{Content: llm.Content{llm.NewText("x")}})
	if m.Role() != "user" || !strings.Contains(text(m), "changed") {
		t.Errorf("got %s", text(m))
	}
	if errs := b.errors(); len(errs) != 1 || !strings.Contains(errs[0].Error, "same role") {
		t.Errorf("errors: %+v", errs)
	}
}

// Field report 26: direct bash commands pass the handlers of user_bash.
func TestUserBash(t *testing.T) {
	b := newBed(t, `export default (pi) => { pi.on("user_bash", (e) => {
		if (e.command === "boom") throw new Error("refused");
		if (e.command === "bad") return { result: {}, operations: {} };
		if (e.command === "ops") return { operations: { exec: async (c, cwd, o) => { o.onData(Buffer.from("ran " + c)); return { exitCode: 3 }; } } };
		if (e.command === "own") return { result: { output: "mine", exitCode: 0, cancelled: false, truncated: false } };
	}); };`)
	h := b.x.Hooks()
	for _, c := range []struct {
		command, output string
		handled         bool
		code            int
		err             string
	}{
		{"ls", "", false, 0, ""},
		{"own", "mine", true, 0, ""},
		{"ops", "ran ops", true, 3, ""},
		{"boom", "", false, 0, "refused"},
		{"bad", "", false, 0, "exactly one of"},
	} {
		handled, output, code, err := h.UserBash(t.Context(), c.command)
		if handled != c.handled || output != c.output || code != c.code || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v %q %d %v", c.command, handled, output, code, err)
		}
	}
}

func TestBeforeSwitch(t *testing.T) {
	b := newBed(t, `export default (pi) => {
		pi.on("session_before_switch", async (e) => ({ cancel: e.reason === "new" }));
		pi.on("session_before_fork", (e) => ({ cancel: e.signal.aborted === false }));
	};`)
	h := b.x.Hooks()
	for kind, want := range map[string]bool{"new": true, "resume": false, "fork": true} {
		if got, err := h.BeforeSwitch(t.Context(), kind); err != nil || got != want {
			t.Errorf("%s: %v, %v", kind, got, err)
		}
	}
}

// Observers see the events of a run in order, with their payloads.
func TestObserve(t *testing.T) {
	names := []string{"agent_start", "turn_start", "message_start", "message_update", "tool_execution_start", "tool_execution_update", "tool_execution_end", "turn_end", "agent_end", "agent_settled", "session_info_changed", "model_select", "thinking_level_select", "session_compact_failed"}
	b := newBed(t, `const names = `+text(names)+`;
		export default (pi) => { for (const n of names) pi.on(n, (e) => { const { type, ...rest } = e; pi.appendEntry(type, rest); }); };`)
	am := &llm.AssistantMessage{StopReason: llm.StopEnd, Content: llm.Content{llm.NewText("hi")}}
	for _, ev := range []event.Event{
		event.AgentStart{},
		event.TurnStart{},
		event.MessageStart{Message: &llm.AssistantMessage{StopReason: llm.StopPending}},
		event.MessageUpdate{Update: event.BlockStart{Type: event.TypeTextStart}},
		event.MessageUpdate{Update: event.Delta{Type: event.TypeTextDelta, Delta: "h"}},
		event.MessageUpdate{Update: event.Delta{Type: event.TypeTextDelta, Delta: "i"}},
		event.ToolExecutionStart{ToolCallID: "c", ToolName: "ls", Args: jsonx.Raw("{}")},
		event.ToolExecutionUpdate{ToolCallID: "c", ToolName: "ls", Args: jsonx.Raw("{}"), PartialResult: tool.TextResult("x")},
		event.ToolExecutionEnd{ToolCallID: "c", ToolName: "ls", Result: tool.TextResult("x")},
		event.TurnEnd{Message: am},
		event.TurnStart{},
		event.AgentEnd{Messages: []llm.Message{am}},
		event.AgentSettled{Aborted: true},
		event.SessionInfoChanged{Name: "n"},
		event.ModelChanged{Source: "set"},
		event.ThinkingLevelChanged{Level: "high"},
		event.CompactionEnd{Reason: "manual", Aborted: true},
	} {
		b.x.Observe(t.Context(), ev)
	}
	log := b.log()
	for _, n := range names {
		if !strings.Contains(log, `"customType":"`+n+`"`) {
			t.Errorf("%s was not seen", n)
		}
	}
	for _, want := range []string{`"text":"hi"`, `"turnIndex":0`, `"turnIndex":1`, `"aborted":true`, `"outcome":"completed"`} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in\n%s", want, log)
		}
	}
}

func TestEmitOthers(t *testing.T) {
	b := newBed(t, `export default (pi) => {
		pi.on("before_provider_request", (e) => ({ ...e.payload, extra: true }));
		pi.on("before_provider_headers", (e) => { e.headers["x-a"] = "1"; });
		pi.on("resources_discover", (e) => ({ skillPaths: ["/s/" + e.reason], promptPaths: ["/p"] }));
		pi.on("project_trust", async (e, ctx) => ({ trusted: ctx.hasUI ? "yes" : "no", remember: true }));
		pi.on("session_before_compact", (e) => ({ compaction: { summary: "own", firstKeptEntryId: "e", tokensBefore: 1 } }));
		pi.on("turn_end", (e) => ({ continue: true }));
		pi.on("cache_warming_decision", () => ({ action: "stop" }));
		pi.on("session_before_tree", () => ({ cancel: true }));
	};`)
	for event, c := range map[string]struct {
		payload any
		want    string
	}{
		"before_provider_request": {map[string]any{"payload": map[string]int{"a": 1}}, `{"payload":{"a":1,"extra":true}}`},
		"before_provider_headers": {map[string]any{"headers": map[string]string{}}, `{"headers":{"x-a":"1"}}`},
		"resources_discover":      {map[string]string{"cwd": "/", "reason": "startup"}, `{"skillPaths":[{"path":"/s/startup","extensionPath":"PATH"}],"promptPaths":[{"path":"/p","extensionPath":"PATH"}],"themePaths":[]}`},
		"project_trust":           {map[string]string{"cwd": "/"}, `{"trusted":"yes","remember":true}`},
		"session_before_compact":  {map[string]string{"reason": "manual"}, `{"compaction":{"summary":"own","firstKeptEntryId":"e","tokensBefore":1}}`},
		"turn_end":                {map[string]any{"entries": []any{}, "continue": false}, `{"entries":[],"continue":true}`},
		"cache_warming_decision":  {map[string]string{"action": "warm"}, `{"action":"stop"}`},
		"session_before_tree":     {nil, `{"cancel":true}`},
		"session_tree":            {nil, ``},
	} {
		got, err := b.x.Emit(t.Context(), event, c.payload)
		s := strings.ReplaceAll(string(got), string(jsonx.String(b.x.cfg.Paths[0].Path)), `"PATH"`)
		if err != nil || s != c.want {
			t.Errorf("%s: %s, %v\nwant %s", event, s, err, c.want)
		}
	}
}
