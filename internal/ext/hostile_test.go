package ext

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/ext/js"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

// short are limits that let the tests end soon.
var short = js.Limits{Slice: 300 * time.Millisecond, Settle: 3 * time.Second, Memory: 48 << 20}

const wellBehaved = `export default (pi) => { pi.on("input", (e) => ({ action: "transform", text: e.text + " ok" })); pi.registerCommand("fine", { handler: () => pi.appendEntry("fine", 1) }); };`

// Whatever one extension does, the next one has its turn, the engine hears of it, and
// tool calls are blocked.
func TestHostile(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"endless loop":      {`for (;;) {}`, "without a pause"},
		"loop in finally":   {`try { for (;;) {} } finally { for (;;) {} }`, "without a pause"},
		"loop in microtask": {`return Promise.resolve().then(() => { for (;;) {} });`, "without a pause"},
		"endless promise":   {`return new Promise(() => {});`, "did not finish within"},
		"runaway regex":     {`/^(a+)+$/.test("a".repeat(40) + "b");`, "without a pause"},
		"memory bomb":       {`const l = []; for (;;) l.push(new Array(1e5).fill(l.length));`, ""},
		"recursion":         {`const f = () => f() + 1; f();`, "overflow"},
		"throws undefined":  {`throw undefined;`, ""},
		"throws an object":  {`throw { toString() { throw 1; }, get message() { throw 2; } };`, ""},
		"rejects":           {`return Promise.reject(new Error("later"));`, "later"},
		"process.exit":      {`process.exit(1);`, "process.exit"},
		"self reference":    {`const o = {}; o.o = o; return { action: "transform", text: o };`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBedFiles(t, map[string]string{
				"a.ts": "const bad = () => { " + c.body + " }; export default (pi) => { pi.on('input', bad); pi.on('tool_call', bad); pi.registerCommand('bad', { handler: bad }); };",
				"b.ts": wellBehaved,
			}, withLimits(short))
			h := b.x.Hooks()
			res, err := h.Input(t.Context(), engine.Input{Kind: engine.InputPrompt, Text: "x"})
			if name != "self reference" && (err != nil || res.Text != "x ok") {
				t.Errorf("input: %+v, %v, %+v", res, err, b.errors())
			}
			errs := b.errors()
			if name != "self reference" && (len(errs) == 0 || !strings.HasSuffix(errs[0].ExtensionPath, "a.ts") || !strings.Contains(errs[0].Error, c.want)) {
				t.Errorf("errors %+v, want one of a.ts with %q", errs, c.want)
			}
			if d, err := h.BeforeTool(t.Context(), toolCall("{}")); err == nil && name != "self reference" {
				t.Errorf("the tool call went through: %+v", d)
			}
			b.run("/bad")
			b.run("/fine")
			if !strings.Contains(b.log(), `"fine"`) {
				t.Error("the other extension does not run any more")
			}
		})
	}
}

// An extension that does not stop is switched off after some times.
func TestSwitchedOff(t *testing.T) {
	b := newBedFiles(t, map[string]string{"a.ts": `export default (pi) => { pi.on("input", () => { for (;;) {} }); };`, "b.ts": wellBehaved}, withLimits(short))
	var took time.Duration
	for range maxStrikes + 1 {
		start := time.Now()
		if res, err := b.x.Hooks().Input(t.Context(), engine.Input{Text: "x"}); err != nil || res.Text != "x ok" {
			t.Fatalf("%+v, %v", res, err)
		}
		took = time.Since(start)
	}
	if errs := b.errors(); len(errs) != maxStrikes+1 || !strings.Contains(errs[maxStrikes].Error, "switched off") {
		t.Errorf("errors %+v", errs)
	}
	if took >= short.Slice {
		t.Errorf("an extension that was switched off still took %v", took)
	}
}

// Promises that feed themselves cannot be taken out of the engine: it is given up,
// everything fails closed, and the session goes on. There are many of them, because the
// limit that strikes in one of their steps ends that one.
func TestEndlessMicrotasks(t *testing.T) {
	b := newBed(t, `const again = () => Promise.resolve().then(again); export default (pi) => { pi.on("input", () => { for (let i = 0; i < 500; i++) again(); }); pi.on("tool_call", () => {}); };`, withLimits(short))
	h := b.x.Hooks()
	for range 5 {
		if _, err := h.Input(t.Context(), engine.Input{Text: "x"}); err != nil {
			break
		}
	}
	deadline := time.Now().Add(5 * time.Second)
	for b.x.Loaded() && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if b.x.Loaded() {
		t.Fatal("the engine was not given up")
	}
	if errs := b.errors(); len(errs) == 0 || !strings.Contains(errs[len(errs)-1].Error, "crashed") {
		t.Errorf("errors %+v", errs)
	}
	if res, err := h.Input(t.Context(), engine.Input{Text: "x"}); err != nil || res.Handled {
		t.Errorf("after the crash a prompt is %+v, %v", res, err)
	}
	if d, err := h.BeforeTool(t.Context(), toolCall("{}")); !errors.Is(err, js.ErrDead) {
		t.Errorf("after the crash a tool call is let through: %+v, %v", d, err)
	}
	if errs := b.x.Replace(t.Context()); len(errs) > 0 || !b.x.Loaded() {
		t.Fatalf("reloading: %v", errs)
	}
	if d, err := h.BeforeTool(t.Context(), toolCall("{}")); err != nil {
		t.Errorf("after a reload a tool call is refused: %+v, %v", d, err)
	}
}

// Throwing in every place is reported with the place and harms nothing.
func TestThrowEverywhere(t *testing.T) {
	b := newBed(t, `const boom = (at) => { throw new Error("at " + at); };
		export default (pi) => {
			for (const n of ["session_start", "session_shutdown", "agent_start", "turn_end", "message_update", "before_agent_start", "context", "message_end", "tool_result", "session_before_switch"]) pi.on(n, () => boom(n));
			pi.registerCommand("c", { handler: () => boom("command"), getArgumentCompletions: () => boom("completions") });
			pi.registerShortcut("k", { handler: () => boom("shortcut") });
			pi.registerTool({ name: "t", description: "", parameters: {}, execute: () => boom("tool") });
			pi.registerCommand("timer", { handler: () => { setTimeout(() => boom("timer"), 1); } });
			pi.registerCommand("bus", { handler: () => { pi.events.on("x", () => boom("bus")); pi.events.emit("x"); } });
		};`)
	h := b.x.Hooks()
	h.SessionStart(t.Context(), "startup")
	b.x.Observe(t.Context(), event.AgentStart{})
	b.x.Observe(t.Context(), event.TurnEnd{Message: &llm.AssistantMessage{}})
	b.x.Observe(t.Context(), event.MessageUpdate{Update: event.Delta{}})
	user := &llm.UserMessage{Content: llm.Content{llm.NewText("u")}}
	if _, err := h.BeforeRun(t.Context(), user); err != nil {
		t.Error(err)
	}
	if msgs, err := h.Context(t.Context(), []llm.Message{user}); err != nil || len(msgs) != 1 {
		t.Error(err)
	}
	if m := h.MessageEnd(t.Context(), user); text(m) != text(user) {
		t.Errorf("message changed: %s", text(m))
	}
	h.AfterTool(t.Context(), toolCall("{}"), tool.TextResult("x"))
	if cancelled, err := h.BeforeSwitch(t.Context(), "new"); cancelled || err != nil {
		t.Error(cancelled, err)
	}
	b.run("/c")
	b.run("/timer")
	b.run("/bus")
	if _, err := b.x.Complete(t.Context(), "c", ""); err == nil {
		t.Error("completions")
	}
	if _, err := b.x.InvokeShortcut(t.Context(), "k"); err == nil {
		t.Error("shortcut")
	}
	if _, err := b.x.Tools()[0].Run(t.Context(), tool.Call{Args: jsonx.Raw("{}")}, nil); err == nil || err.Error() != "at tool" {
		t.Errorf("tool: %v", err)
	}
	time.Sleep(50 * time.Millisecond)
	h.SessionShutdown(t.Context(), "quit")
	log := b.log()
	for _, at := range []string{"session_start", "session_shutdown", "agent_start", "turn_end", "message_update", "before_agent_start", "context", "message_end", "tool_result", "session_before_switch", "command", "timer", "bus"} {
		if !strings.Contains(log, `"error":"at `+at+`"`) {
			t.Errorf("nothing was told of %s", at)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := strings.Join(b.reports, "\n"); !strings.Contains(r, "ext.ts:1:") {
		t.Errorf("no position in the reports:\n%s", r)
	}
}

// What an extension does to the prototypes of objects does not speak for others.
func TestPrototypePollution(t *testing.T) {
	b := newBedFiles(t, map[string]string{
		"a.ts": `export default (pi) => { pi.on("session_start", () => { Object.prototype.block = true; Object.prototype.cancel = true; Object.prototype.action = "handled"; Object.prototype.content = "evil"; Object.prototype.messages = [];
			JSON.stringify = () => "{}"; JSON.parse = () => ({ evil: 1 }); Map.prototype.evil = 1; }); };`,
		"b.ts": `export default (pi) => { for (const n of ["tool_call", "input", "tool_result", "context", "session_before_switch"]) pi.on(n, () => ({})); pi.registerCommand("fine", { handler: (a) => pi.appendEntry("fine", { a }) }); };`,
	})
	h := b.x.Hooks()
	h.SessionStart(t.Context(), "startup")
	if d, err := h.BeforeTool(t.Context(), toolCall("{}")); err != nil || d.Block {
		t.Errorf("tool_call: %+v, %v", d, err)
	}
	if r, err := h.Input(t.Context(), engine.Input{Text: "x"}); err != nil || r.Handled {
		t.Errorf("input: %+v, %v", r, err)
	}
	if r := h.AfterTool(t.Context(), toolCall("{}"), tool.TextResult("x")); r.Content.PlainText("") != "x" {
		t.Errorf("tool_result: %+v", r)
	}
	if cancelled, err := h.BeforeSwitch(t.Context(), "new"); err != nil || cancelled {
		t.Errorf("session_before_switch: %v, %v", cancelled, err)
	}
	b.run("/fine arg")
	if !strings.Contains(b.log(), `{"customType":"fine","data":{"a":"arg"}}`) {
		t.Error(b.log())
	}
}

func TestManyTimers(t *testing.T) {
	b := newBed(t, `export default (pi) => { pi.registerCommand("timers", { handler: () => new Promise((done) => {
		let n = 0; for (let i = 0; i < 10000; i++) setTimeout(() => { if (++n === 10000) { pi.appendEntry("fired", n); done(); } }, i % 50);
		for (let i = 0; i < 1000; i++) clearInterval(setInterval(() => pi.appendEntry("never"), 1));
	}) }); };`)
	b.run("/timers")
	if !strings.Contains(b.log(), `"fired","data":10000`) || strings.Contains(b.log(), "never") {
		t.Error(b.log())
	}
}

// Field report 18: nothing that an extension or its children print gets to stdout; it
// is reported to people.
func TestNoStdout(t *testing.T) {
	b := newBed(t, `import { execSync, spawnSync } from "node:child_process"; import { writeSync } from "fs";
		export default (pi) => { console.log("by console"); process.stdout.write("by stdout\n"); writeSync(1, "by descriptor\n"); execSync("echo by child", { stdio: "inherit" }); spawnSync("sh", ["-c", "echo by another"], { stdio: ["ignore", "inherit", "inherit"] }); };`)
	b.mu.Lock()
	got := strings.Join(b.reports, "\n")
	b.mu.Unlock()
	for _, want := range []string{"by console", "by stdout", "by descriptor", "by child", "by another"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q was not reported: %q", want, got)
		}
	}
}

// Children end with the extensions.
func TestChildrenEnd(t *testing.T) {
	b := newBed(t, `import { spawn } from "child_process"; export default (pi) => { pi.registerCommand("sleep", { handler: () => new Promise((r) => { const c = spawn("sleep", ["60"], { stdio: ["pipe", "pipe", "pipe"] }); c.on("spawn", () => { pi.appendEntry("pid", c.pid); r(); }); }) }); };`)
	b.run("/sleep")
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := b.x.Close(ctx); err != nil || time.Since(start) > 4*time.Second {
		t.Errorf("close took %v: %v", time.Since(start), err)
	}
}
