package ext

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/tool"
)

func TestActions(t *testing.T) {
	b := newBed(t, `export default (pi) => { pi.registerCommand("go", { description: "d", handler: async (args, ctx) => {
		pi.sendMessage({ customType: "c", content: "text", display: false, details: { a: 1 } }, { triggerTurn: true, deliverAs: "followUp" });
		pi.sendUserMessage([{ type: "text", text: "typed" }], { deliverAs: "steer" });
		pi.appendEntry("state", { n: args });
		pi.setSessionName(" my  name ");
		pi.setLabel("e1", "mark");
		if (!(await pi.setModel({ provider: "p", id: "m" }))) throw new Error("setModel");
		if (await pi.setModel({ provider: "p", id: "nokey" })) throw new Error("setModel without key");
		pi.setThinkingLevel("high");
		pi.setActiveTools(["read"]);
		const seen = [pi.getThinkingLevel(), pi.getActiveTools().join(), ctx.model.id, ctx.cwd.length > 1, ctx.mode, ctx.hasUI, ctx.isIdle(), ctx.isProjectTrusted(), ctx.hasPendingMessages(), ctx.getSystemPrompt(), ctx.thinkingLevel, ctx.modelRegistry.find("p1", "m1").id, ctx.signal === undefined];
		pi.appendEntry("seen", seen);
		await new Promise((onComplete, onError) => ctx.compact({ customInstructions: "short", onComplete, onError }));
		await ctx.waitForIdle();
		await ctx.newSession({ parentSession: "/p", withSession: async (c) => { await c.sendUserMessage("in the new one"); } });
		await ctx.fork("e1", { position: "at" });
		pi.appendEntry("switched", await ctx.switchSession("/s.jsonl"));
		await ctx.navigateTree("e2", { summarize: true });
		await ctx.reload();
		ctx.abort();
		ctx.shutdown();
	} }); };`)
	b.run("/go now and then")
	want := []string{
		`message {"role":"custom","customType":"c","content":[{"type":"text","text":"text"}],"display":false,"details":{"a":1},"timestamp":1000} {"triggerTurn":true,"deliverAs":"followUp","expandPromptTemplates":false}`,
		`user typed {"triggerTurn":false,"deliverAs":"steer","expandPromptTemplates":false}`,
		`entry custom {"customType":"state","data":{"n":"now and then"}}`,
		`entry session_info {"name":"my  name"}`,
		`entry label {"targetId":"e1","label":"mark"}`,
		"model p/m", "model p/nokey", "thinking high", "tools read",
		`entry custom {"customType":"seen","data":["medium","read,bash","m1",true,"rpc",true,true,true,false,"SYSTEM","medium","m1",true]}`,
		"compact short", "wait", "new /p", `user in the new one {"triggerTurn":false,"deliverAs":"","expandPromptTemplates":false}`, "fork e1 at", "switch /s.jsonl",
		`entry custom {"customType":"switched","data":{"cancelled":true}}`, "navigate e2", "reload", "abort", "shutdown",
	}
	if diff := cmp.Diff(want, strings.Split(b.log(), "\n")); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// Actions that a run's hook may not wait for fail with the host's words.
func TestActionErrors(t *testing.T) {
	refuse := errors.New("newSession cannot be called from a handler of a running agent")
	b := newBed(t, `export default (pi) => { pi.registerCommand("go", { handler: async (a, ctx) => { await ctx.newSession(); } }); pi.registerCommand("none", { handler: async (a, ctx) => { await ctx.reload(); } }); };`,
		withHost(func(h *Host) {
			h.NewSession = func(context.Context, string) (bool, error) { return false, refuse }
			h.Reload = nil
		}))
	b.run("/go")
	b.run("/none")
	errs := b.errors()
	want := []event.ExtensionError{{ExtensionPath: "command:go", Event: "command", Error: refuse.Error()}, {ExtensionPath: "command:none", Event: "command", Error: "not available in this mode"}}
	if diff := cmp.Diff(want, errs); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

func TestRegistration(t *testing.T) {
	b := newBedFiles(t, map[string]string{
		"a.ts": `export default (pi) => {
			pi.registerCommand("dup", { description: "first", handler() {}, getArgumentCompletions: (p) => [{ value: p + "x", label: "X" }] });
			pi.registerShortcut("ctrl+k", { description: "key", handler: (ctx) => { ctx.ui.notify("pressed"); } });
			pi.registerFlag("plan", { description: "a flag", type: "boolean", default: false });
			pi.registerMessageRenderer("x", () => undefined); pi.registerEntryRenderer("x", () => undefined);
			pi.registerProvider("prov", { baseUrl: "http://x", models: [{ id: "m" }], streamSimple: () => {} });
			pi.registerCommand("flag", { handler() { pi.appendEntry("flag", [pi.getFlag("plan"), pi.getFlag("other") ?? null]); } });
		};`,
		"b.ts": `export default (pi) => { pi.registerCommand("dup", { description: "second", handler() { pi.appendEntry("second", null); } }); };`,
	})
	var names []string
	for _, c := range b.x.Commands() {
		names = append(names, c.Name+" "+c.Description)
	}
	if diff := cmp.Diff([]string{"dup:1 first", "flag ", "dup:2 second"}, names); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	if got, err := b.x.Complete(t.Context(), "dup:1", "pre"); err != nil || len(got) != 1 || got[0].Value != "prex" {
		t.Errorf("completions %+v, %v", got, err)
	}
	if got, err := b.x.Complete(t.Context(), "dup:2", "pre"); err != nil || got != nil {
		t.Errorf("completions of a command without: %+v, %v", got, err)
	}
	if ok, err := b.x.InvokeShortcut(t.Context(), "ctrl+k"); !ok || err != nil {
		t.Errorf("shortcut: %v, %v", ok, err)
	}
	if ok, _ := b.x.InvokeShortcut(t.Context(), "ctrl+z"); ok {
		t.Error("a key that nobody listens to")
	}
	if f := b.x.Flags(); len(f) != 1 || f[0].Name != "plan" || f[0].Type != "boolean" {
		t.Errorf("flags %+v", f)
	}
	b.run("/flag")
	b.x.SetFlag("plan", true)
	b.run("/flag")
	b.run("/dup:2")
	for _, want := range []string{`"data":[false,null]`, `"data":[true,null]`, `"customType":"second"`, `ui notify {"message":"pressed"}`, `provider prov {"baseUrl":"http://x","models":[{"id":"m"}]}`} {
		if !strings.Contains(b.log(), want) {
			t.Errorf("no %s in\n%s", want, b.log())
		}
	}
	if _, _, ok := b.x.Command("/none"); ok {
		t.Error("/none is a command")
	}
}

func TestTool(t *testing.T) {
	b := newBed(t, `import { Type } from "typebox";
		import { StringEnum } from "@mariozechner/pi-ai";
		export default (pi) => { pi.registerTool({
			name: "greet", label: "Greet", description: "greets", promptSnippet: "say hi", promptGuidelines: ["be kind"], executionMode: "sequential",
			constrainedSampling: { type: "json_schema", strict: "prefer" },
			parameters: Type.Object({ name: Type.String({ description: "who" }), mood: Type.Optional(StringEnum(["glad", "sad"])) }),
			async execute(id, params, signal, onUpdate, ctx) {
				onUpdate({ content: [{ type: "text", text: "working" }], details: undefined });
				if (params.name === "fail") throw new Error("cannot greet");
				if (params.name === "wait") await new Promise((r, reject) => signal.addEventListener("abort", () => reject(new Error("told to stop"))));
				const r = params.name === "nested" ? await ctx.executeTool("greet", { name: "inner" }) : null;
				return { content: [{ type: "text", text: "hi " + params.name + (r ? " " + r.content[0].text : "") }], details: { id }, terminate: true, isError: params.name === "bad" };
			} }); };`)
	tools := b.x.Tools()
	if len(tools) != 1 {
		t.Fatalf("%d tools", len(tools))
	}
	g := tools[0]
	spec := g.Spec()
	if got := string(spec.Parameters); got != `{"type":"object","properties":{"name":{"type":"string","description":"who"},"mood":{"type":"string","enum":["glad","sad"]}},"required":["name"]}` {
		t.Errorf("schema %s", got)
	}
	if spec.Sampling != llm.SamplingPrefer {
		t.Errorf("sampling %q", spec.Sampling)
	}
	if p := g.(tool.Prompted); p.Snippet() != "say hi" || len(p.Guidelines()) != 1 || !g.(tool.Sequential).Sequential() {
		t.Error("what the tool says of itself is lost")
	}
	var updates []string
	run := func(ctx context.Context, name string) (tool.Result, error) {
		return g.Run(ctx, tool.Call{ID: "c9", Args: jsonx.Raw(`{"name":"` + name + `"}`)}, func(r tool.Result) { updates = append(updates, r.Content.PlainText("")) })
	}
	res, err := run(t.Context(), "you")
	if err != nil || res.Content.PlainText("") != "hi you" || text(res.Details) != `{"id":"c9"}` || !res.Terminate || res.IsError {
		t.Errorf("%+v, %v", res, err)
	}
	if diff := cmp.Diff([]string{"working"}, updates); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
	if res, err := run(t.Context(), "bad"); err != nil || !res.IsError {
		t.Errorf("bad: %+v, %v", res, err)
	}
	if _, err := run(t.Context(), "fail"); err == nil || err.Error() != "cannot greet" {
		t.Errorf("fail: %v", err)
	}
	if res, err := run(t.Context(), "nested"); err != nil || res.Content.PlainText("") != "hi nested hi inner" {
		t.Errorf("nested: %+v, %v", res, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := run(ctx, "wait"); err == nil || err.Error() != "told to stop" {
		t.Errorf("wait: %v", err)
	}
}

// The tool factories run the program's own tools.
func TestToolFactories(t *testing.T) {
	b := newBed(t, `import { createReadTool, createBashTool, createLocalBashOperations } from "@earendil-works/pi-coding-agent";
		export default (pi) => {
			const read = createReadTool(process.cwd());
			pi.registerTool({ ...read, name: "read", description: read.description, parameters: read.parameters, execute: (...a) => read.execute(...a) });
			const bash = createBashTool(process.cwd(), { spawnHook: (c) => ({ ...c, command: "X=hooked; " + c.command }) });
			pi.registerTool({ name: "bash", label: "bash", description: bash.description, parameters: bash.parameters, execute: (...a) => bash.execute(...a) });
		};`)
	if err := os.WriteFile(filepath.Join(b.dir, "f.txt"), []byte("content\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct{ args, want string }{{`{"path":"f.txt"}`, "content"}, {`{"command":"echo $X"}`, "hooked"}} {
		tl := b.x.Tools()[i]
		if len(tl.Spec().Parameters) < 30 || len(tl.Spec().Description) < 30 {
			t.Errorf("%s describes itself as %+v", tl.Spec().Name, tl.Spec())
		}
		res, err := tl.Run(t.Context(), tool.Call{ID: "c", Args: jsonx.Raw(c.args)}, func(tool.Result) {})
		if err != nil || !strings.Contains(res.Content.PlainText(""), c.want) {
			t.Errorf("%s: %+v, %v", tl.Spec().Name, res, err)
		}
	}
}

func TestEventBusAndModules(t *testing.T) {
	b := newBedFiles(t, map[string]string{
		"a.ts":                              `import { helper } from "./lib/helper.ts"; export default (pi) => { pi.events.on("ch", (d) => { pi.appendEntry("got", helper(d)); }); };`,
		"b.js":                              `module.exports = function (pi) { pi.registerCommand("send", { handler() { pi.events.emit("ch", { n: 1 }); } }); };`,
		"lib/helper.ts":                     `export const helper = (d: { n: number }) => d.n + 1;`,
		"pkg/index.ts":                      `import dep from "dep"; export default (pi) => { pi.registerCommand("dep", { handler: async () => { const r = await pi.exec("sh", ["-c", "echo out; exit 3"]); pi.appendEntry("dep", [dep, r.stdout, r.code]); } }); };`,
		"pkg/package.json":                  `{"pi":{"extensions":["./index.ts"]}}`,
		"pkg/node_modules/dep/package.json": `{"name":"dep","main":"i.js"}`,
		"pkg/node_modules/dep/i.js":         `module.exports = "dependency";`,
	})
	b.run("/send")
	b.run("/dep")
	for _, want := range []string{`{"customType":"got","data":2}`, `{"customType":"dep","data":["dependency","out\n",3]}`} {
		if !strings.Contains(b.log(), want) {
			t.Errorf("no %s in\n%s", want, b.log())
		}
	}
}

func TestReplace(t *testing.T) {
	b := newBed(t, `let n = 0; export default (pi) => {
		pi.registerCommand("count", { handler: () => pi.appendEntry("n", ++n) });
		pi.on("session_shutdown", (e) => pi.appendEntry("bye", e.reason));
		pi.on("session_start", (e) => pi.appendEntry("hello", e.reason));
		pi.registerCommand("late", { handler: async (a, ctx) => { console.log("late began"); await new Promise((r) => setTimeout(r, 150)); try { ctx.cwd; } catch (e) { console.log("stale: " + e.message); } } });
	};`)
	b.run("/count")
	b.run("/count")
	late, _, _ := b.x.Command("/late")
	done := make(chan struct{})
	go func() { late(context.Background()); close(done) }()
	for began := false; !began; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		began = strings.Contains(strings.Join(b.reports, ""), "late began")
		b.mu.Unlock()
	}
	h := b.x.Hooks()
	h.SessionShutdown(t.Context(), "new")
	h.SessionStart(t.Context(), "new")
	b.run("/count")
	<-done
	want := []string{`"data":1}`, `"data":2}`, `"bye","data":"new"}`, "tools changed", `"hello","data":"new"}`, `"data":1}`}
	got := strings.Split(b.log(), "\n")
	if len(got) != len(want) {
		t.Fatalf("calls: %s", b.log())
	}
	for i := range want {
		if !strings.HasSuffix(got[i], want[i]) {
			t.Errorf("call %d is %s, want …%s", i, got[i], want[i])
		}
	}
	b.mu.Lock()
	reports := strings.Join(b.reports, "\n")
	b.mu.Unlock()
	if !strings.Contains(reports, "stale: "+staleText) {
		t.Errorf("the old generation said %q", reports)
	}
}

func TestLoadErrors(t *testing.T) {
	b, errs := tryBed(t, map[string]string{
		"bad1.ts": "export default 7;", "bad2.ts": "export default (pi) => { pi.registerCommand('x', { handler() {} }); throw new Error('at load'); }", "bad3.ts": "import x from 'nowhere'; export default () => x;",
		"bad4.ts": "export default (pi) => { pi.sendUserMessage('too early'); }", "good.ts": "export default (pi) => { pi.registerCommand('ok', { handler() {} }); }",
	})
	var got []string
	for _, e := range errs {
		got = append(got, filepath.Base(e.Source.Path)+": "+e.Err.Error())
	}
	for i, want := range []string{"valid factory function", "at load (", "Cannot find module 'nowhere'", "cannot be called during extension loading"} {
		if i >= len(got) || !strings.Contains(got[i], want) {
			t.Errorf("error %d of %q has no %q", i, got, want)
		}
	}
	if c := b.x.Commands(); len(c) != 1 || c[0].Name != "ok" {
		t.Errorf("commands %+v", c)
	}
}

func TestNothingLoaded(t *testing.T) {
	x := New(Config{})
	if errs := x.Load(t.Context()); errs != nil {
		t.Error(errs)
	}
	if x.Hooks().Live() {
		t.Error("hooks without extensions")
	}
	x.Observe(t.Context(), event.AgentStart{})
	if err := x.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
