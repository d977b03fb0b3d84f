package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// observer shows what it is told, and makes compactions itself.
const observer = `
export default function (pi: any) {
  const show = (ctx: any, ...words: any[]) => ctx.ui.notify(words.join(" "));
  pi.on("agent_settled", (e: any, ctx: any) => show(ctx, e.type, e.aborted));
  pi.on("thinking_level_select", (e: any, ctx: any) => show(ctx, e.type, e.previousLevel, e.level));
  pi.on("model_select", (e: any, ctx: any) => show(ctx, e.type, e.source, e.previousModel.id, e.model.id));
  pi.on("session_info_changed", (e: any, ctx: any) => show(ctx, e.type, e.name));
  pi.on("session_before_tree", (e: any, ctx: any) => {
    show(ctx, e.type, e.preparation.targetId.length, e.preparation.entriesToSummarize.length, e.signal.aborted);
    return { cancel: e.preparation.oldLeafId === null };
  });
  pi.on("session_tree", (e: any, ctx: any) => show(ctx, e.type, e.oldLeafId.length, e.newLeafId.length));
  pi.on("session_before_compact", (e: any) => ({ compaction: {
    summary: "mine: " + e.preparation.messagesToSummarize.length + " of " + e.branchEntries.length + ", " + e.reason,
    firstKeptEntryId: e.preparation.firstKeptEntryId, tokensBefore: e.preparation.tokensBefore,
  } }));
  pi.on("session_compact", (e: any, ctx: any) => show(ctx, e.type, e.compactionEntry.summary, e.fromExtension));
  pi.registerShortcut("ctrl+k", { description: "shows a word", handler: (ctx: any) => show(ctx, "pressed") });
  pi.registerShortcut("ctrl+b", { handler: () => { throw new Error("broken key"); } });
  pi.registerCommand("mark", { handler: async (id: string, ctx: any) => {
    await ctx.navigateTree(id, { label: "marked" });
    ctx.ui.notify("label " + ctx.sessionManager.getLabel(id));
  } });
  pi.registerCommand("go", { handler() {}, getArgumentCompletions: (p: string) => [{ value: p + "x", label: "X" }] });
}
`

// What a session does beside its runs reaches extensions: choices, names, moves in the
// tree, compactions, which they can make themselves; and clients reach their keys and
// completions.
func TestExtensionTakesPart(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	agent := filepath.Join(home, ".pi", "agent")
	if err := errors.Join(
		os.MkdirAll(agent, 0o700),
		os.WriteFile(filepath.Join(agent, "settings.json"), []byte(`{"compaction":{"keepRecentTokens":5}}`), 0o600),
		os.WriteFile(filepath.Join(dir, "ext.ts"), []byte(observer), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	model := script(t, `{"steps":[{"text":"an answer of some words"}]}`)
	other := script(t, `{"steps":[{"text":"another"}]}`)
	p := launch(t, home, dir, "isotope", "--mode", "rpc", "--dialect", "pi", "--model", model, "-e", "ext.ts")
	p.follow()
	shown := func(text string) { t.Helper(); p.until(`"method":"notify"`, `"message":"`+text+`"`) }
	for range 2 {
		p.send(`{"type":"prompt","message":"a question of some words"}`)
		shown("agent_settled false")
	}
	p.send(`{"type":"set_thinking_level","level":"high"}`)
	shown("thinking_level_select medium high")
	p.send(`{"type":"set_session_name","name":"the name"}`)
	shown("session_info_changed the name")
	if got := p.answer(`{"type":"compact"}`); !strings.Contains(got, `"summary":"mine: `) {
		t.Errorf("compact: %s", got)
	}
	provider, id, _ := strings.Cut(other, "/")
	p.send(`{"type":"set_model","provider":"` + provider + `","modelId":"` + id + `"}`)
	shown("model_select set " + strings.TrimPrefix(model, "scripted/") + " " + id)
	entries := p.answer(`{"type":"get_fork_messages"}`)
	_, rest, _ := strings.Cut(entries, `"entryId":"`)
	first, _, _ := strings.Cut(rest, `"`)
	p.send(`{"type":"navigate_tree","targetId":"` + first + `"}`)
	p.until(`"message":"session_before_tree 8 `)
	p.until(`"message":"session_tree 8 8"`)
	p.send(`{"type":"prompt","message":"/mark ` + first + `"}`)
	shown("label marked")
	if got := p.answer(`{"type":"get_shortcuts"}`); !strings.Contains(got, `{"key":"ctrl+k","description":"shows a word"}`) {
		t.Errorf("shortcuts: %s", got)
	}
	p.send(`{"type":"invoke_shortcut","key":"ctrl+k"}`)
	shown("pressed")
	p.send(`{"type":"invoke_shortcut","key":"ctrl+b"}`)
	p.until(`"type":"extension_error"`, "broken key")
	if got := p.answer(`{"type":"get_command_completions","commandName":"go","argumentPrefix":"a"}`); !strings.Contains(got, `"completions":[{"value":"ax","label":"X"}]`) {
		t.Errorf("completions: %s", got)
	}
	p.closeInput()
	p.rest()
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A provider comes when an extension registers it, and goes when it takes it away.
func TestExtensionProviderComesAndGoes(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	const source = `
export default function (pi: any) {
  const model = { id: "m", name: "M", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 9000, maxTokens: 900 };
  pi.registerCommand("come", { handler: async () => pi.registerProvider("own", { baseUrl: "https://own.test", apiKey: "k", api: "openai-completions", models: [model] }) });
  pi.registerCommand("go", { handler: async () => pi.unregisterProvider("own") });
  pi.registerCommand("bad", { handler: async () => pi.registerProvider("own", { models: [model] }) });
}
`
	if err := os.WriteFile(filepath.Join(dir, "ext.ts"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t, home, dir, "isotope", "--mode", "rpc", "--model", "scripted/demo", "--no-session", "-e", "ext.ts")
	p.follow()
	for _, step := range []struct {
		command string
		there   bool
	}{{"/come", true}, {"/go", false}, {"/bad", false}} {
		p.send(`{"type":"prompt","message":"` + step.command + `"}`)
		told := p.until(`"type":"response"`, `"command":"prompt"`)
		if failed := strings.Contains(strings.Join(told, ""), `no \"api\" specified`); failed != (step.command == "/bad") {
			t.Errorf("behind %s: %s", step.command, told)
		}
		if got := p.answer(`{"type":"get_available_models"}`); strings.Contains(got, `"provider":"own"`) != step.there {
			t.Errorf("behind %s: %s", step.command, got)
		}
	}
	p.closeInput()
	p.rest()
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
