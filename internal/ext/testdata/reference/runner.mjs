// Drives the reference's own extension runner through the battery and prints what came
// of it as JSON: node runner.mjs PACKAGE BATTERY FOLDER NAME=FILE...
// FOLDER gets NAME.json and a work folder for each example. The Go test does the same with this
// project's host and compares.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [pkg, batteryFile, folder, ...examples] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(path.join(pkg, "dist", file)).href);
const { loadExtensions } = await load("core/extensions/loader.js");
const { ExtensionRunner, emitProjectTrustEvent } = await load("core/extensions/runner.js");
const { createEventBus } = await load("core/event-bus.js");
const { SessionManager } = await load("core/session-manager.js");
const themes = await load("modes/interactive/theme/theme.js");
themes.initTheme("dark");
const battery = JSON.parse(fs.readFileSync(batteryFile, "utf8"));

const models = [battery.model, ...battery.others.map(([provider, id]) => ({ ...battery.model, provider, id }))];
const plain = (v) => JSON.parse(JSON.stringify(v === undefined ? null : v));
const data = (o) => JSON.parse(JSON.stringify(o ?? null, (k, v) => (typeof v === "function" ? undefined : v)));
const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
const within = (p, ms) => Promise.race([p, sleep(ms).then(() => { throw new Error("timeout"); })]);
/** The battery's value with its messages and the work folder in place. */
const fill = (v, cwd) => JSON.parse(JSON.stringify(v, (k, x) => (typeof x === "string" && battery.messages[x] ? battery.messages[x] : x)).replaceAll("$CWD", cwd));

async function example(file, cwd) {
  fs.mkdirSync(cwd, { recursive: true });
  for (const [name, text] of Object.entries(battery.files)) fs.writeFileSync(path.join(cwd, name), text);
  process.chdir(cwd);
  process.env.PI_CODING_AGENT_DIR = path.join(cwd, ".agent");
  const sessionFile = path.join(path.dirname(cwd), "session.jsonl");
  fs.writeFileSync(sessionFile, fill(battery.session, cwd).map((e) => JSON.stringify(e) + "\n").join(""));
  const loaded = await loadExtensions([file], cwd, createEventBus());
  if (loaded.errors.length) return { load: loaded.errors[0].error };

  let calls = [];
  const note = (op, args) => void calls.push([op, plain(args ?? {})]);
  const [x] = loaded.extensions;
  const sm = SessionManager.open(sessionFile);
  const providers = [];
  const registry = {
    find: (provider, id) => models.find((m) => m.provider === provider && m.id === id), getAll: () => models, getAvailable: () => models, hasConfiguredAuth: () => true,
    getApiKey: async () => "key", getApiKeyAndHeaders: async () => ({ ok: true, apiKey: "key", headers: {} }), complete: async () => battery.answer, completeSimple: async () => battery.answer,
    registerProvider: (name, config) => void providers.push({ name, config: data(config) }), registerVirtualModel: (m) => void providers.push({ virtual: data(m) }), findOfType: () => undefined,
  };
  const runner = new ExtensionRunner(loaded.extensions, loaded.runtime, cwd, sm, registry);
  runner.onError((e) => note("error", { event: e.event, message: e.error }));
  let active = ["read", "bash", "edit", "write"], thinking = "medium";
  const tool = (name, description, parameters) => ({ name, description, parameters, exposure: "direct", sourceInfo: { path: "builtin:" + name, source: "builtin", scope: "temporary", origin: "top-level" } });
  const own = () => [...x.tools.values()].map((t) => ({ ...tool(t.definition.name, t.definition.description, plain(t.definition.parameters)), sourceInfo: { path: file, source: "cli", scope: "temporary", origin: "top-level" } }));
  runner.bindCore({
    sendMessage: (m, o) => note("sendMessage", { customType: m.customType, content: m.content, display: m.display, details: m.details, options: { triggerTurn: !!o?.triggerTurn, deliverAs: o?.deliverAs ?? "" } }),
    sendUserMessage: (content, o) => note("sendUserMessage", { content, options: { triggerTurn: !!o?.triggerTurn, deliverAs: o?.deliverAs ?? "" } }),
    appendEntry: (customType, d) => { note("appendEntry", { customType, data: d }); sm.appendCustomEntry(customType, d); },
    setSessionName: (name) => { note("setSessionName", { name }); sm.appendSessionInfo(name); }, getSessionName: () => sm.getSessionName(),
    setLabel: (targetId, label) => { note("setLabel", { targetId, label }); sm.appendLabelChange(targetId, label); },
    getActiveTools: () => active, setActiveTools: (names) => { note("setActiveTools", { names }); active = names; }, getAllTools: () => [...["read", "bash", "edit", "write"].map((n) => tool(n, n, {})), ...own()],
    getSettings: () => ({}), getCommands: () => [...x.commands.keys()].map((name) => ({ name, description: x.commands.get(name).description, source: "extension", sourceInfo: { path: file, source: "cli", scope: "temporary", origin: "top-level" } })),
    refreshTools() {}, setModel: async (m) => { note("setModel", { provider: m.provider, id: m.id }); return true; }, getThinkingLevel: () => thinking, setThinkingLevel: (level) => { note("setThinkingLevel", { level }); thinking = level; },
  }, {
    getModel: () => battery.model, getScopedModels: () => [], isIdle: () => true, isProjectTrusted: () => true, getSignal: () => undefined, abort: () => note("abort"), hasPendingMessages: () => false, shutdown: () => note("shutdown"), getContextUsage: () => battery.contextUsage,
    compact: (o) => { note("compact", { customInstructions: o?.customInstructions ?? "" }); setTimeout(() => o?.onComplete?.({ summary: "s", firstKeptEntryId: "aaaaaaaa", tokensBefore: 10 }), 1); },
    getSystemPrompt: () => battery.systemPrompt, getSystemPromptOptions: () => ({ cwd }),
  });
  const replace = (name, pick) => async (a, o) => {
    note(name, pick(a, o));
    const how = name === "newSession" ? a : o;
    if (how?.setup) await how.setup({ appendMessage: (m) => note("appendMessage", { role: m.role, content: m.content }) });
    if (how?.withSession) {
      const c = runner.createCommandContext();
      c.sendMessage = async (m, w) => note("sendMessage", { customType: m.customType, content: m.content, display: m.display, options: { triggerTurn: !!w?.triggerTurn, deliverAs: w?.deliverAs ?? "" } });
      c.sendUserMessage = async (content, w) => note("sendUserMessage", { content, options: { triggerTurn: !!w?.triggerTurn, deliverAs: w?.deliverAs ?? "" } });
      await how.withSession(c);
    }
    return { cancelled: false };
  };
  runner.bindCommandContext({
    waitForIdle: async () => note("waitForIdle"), newSession: replace("newSession", (a) => ({ parentSession: a?.parentSession ?? "" })), fork: replace("fork", (a, o) => ({ entryId: a, position: o?.position ?? "" })), switchSession: replace("switchSession", (a) => ({ path: a })),
    navigateTree: async (targetId) => { note("navigateTree", { targetId }); return { cancelled: false }; }, reload: async () => note("reload"),
  });
  // The client answers dialogs as the protocol has them; what a terminal draws is dropped.
  const ask = (method, fields, answer) => { note("ui." + method, fields); return Promise.resolve(answer); };
  const tell = (method, fields) => note("ui." + method, fields);
  const drop = () => {};
  runner.setUIContext({
    select: (title, options, o) => ask("select", { title, options, timeout: o?.timeout }, options[0]), confirm: (title, message, o) => ask("confirm", { title, message, timeout: o?.timeout }, true),
    input: (title, placeholder, o) => ask("input", { title, placeholder, timeout: o?.timeout }, "text"), editor: (title, prefill) => ask("editor", { title, prefill }, "edited text"),
    notify: (message, notifyType) => tell("notify", { message, notifyType }), setStatus: (statusKey, statusText) => tell("setStatus", { statusKey, statusText }),
    setWidget: (widgetKey, content, o) => { if (content === undefined || Array.isArray(content)) tell("setWidget", { widgetKey, widgetLines: content, widgetPlacement: o?.placement }); },
    setTitle: (title) => tell("setTitle", { title }), setEditorText: (text) => tell("set_editor_text", { text }), pasteToEditor: (text) => tell("set_editor_text", { text }),
    getEditorText: () => "", custom: async () => undefined, onTerminalInput: () => drop, setWorkingMessage: drop, setWorkingVisible: drop, setWorkingIndicator: drop, setHiddenThinkingLabel: drop, setFooter: drop, setHeader: drop, addAutocompleteProvider: drop, setEditorComponent: drop, getEditorComponent: () => undefined,
    theme: themes.theme, getAllThemes: () => [], getTheme: () => undefined, setTheme: () => ({ success: false, error: "Theme switching not supported in RPC mode" }), getToolsExpanded: () => false, setToolsExpanded: drop,
  }, "rpc");

  const steps = [];
  const step = async (name, f) => {
    calls = [];
    const s = { step: name };
    try { s.result = plain(await within(f(), 20000)); } catch (e) { s.error = e?.message ?? String(e); }
    await sleep(30);
    s.calls = calls;
    calls = [];
    steps.push(s);
    return s;
  };
  const emit = {
    project_trust: async (ev) => (await emitProjectTrustEvent(loaded, ev, runner.createContext())).result,
    tool_call: async (ev) => { const result = await runner.emitToolCall(ev); return { input: ev.input, ...result }; },
    tool_result: (ev) => runner.emitToolResult(ev), input: (ev) => runner.emitInput(ev.text, ev.images, ev.source, ev.streamingBehavior),
    context: async (ev) => ({ messages: await runner.emitContext(ev.messages) }),
    before_provider_request: async (ev) => { const payload = await runner.emitBeforeProviderRequest(ev.payload); return payload === ev.payload ? undefined : { payload }; },
    before_provider_headers: async (ev) => ({ headers: await runner.emitBeforeProviderHeaders(ev.headers) }),
    before_agent_start: async ({ systemPromptOptions, type, systemPrompt, ...ev }) => { const r = await runner.emitBeforeAgentStart(ev, systemPromptOptions); return { messages: r.messages, systemPrompt: r.systemPromptOptions.forceSystemPrompt, sections: r.systemPromptOptions.sections }; },
    message_end: async (ev) => { const message = await runner.emitMessageEnd(ev); return message && { message }; },
    user_bash: async (ev) => {
      const r = await runner.emitUserBash(ev);
      if (!r?.operations) return r;
      let output = "";
      const { exitCode } = await r.operations.exec(ev.command, ev.cwd, { onData: (d) => { output += d; } });
      return { result: { output, exitCode: exitCode ?? undefined, cancelled: false, truncated: false } };
    },
    turn_end: async ({ entries, continue: c, context, ...ev }) => { const r = await runner.emitBoundary(ev, async () => context); return r.entries.length || r.continue ? { entries: r.entries, continue: r.continue } : undefined; },
    resources_discover: (ev) => runner.emitResourcesDiscover(ev.cwd, ev.reason), cache_warming_decision: async (ev) => ({ action: await runner.emitCacheWarmingDecision(ev) }),
  };
  emit.agent_before_settle = emit.turn_end;
  const handlers = Object.fromEntries([...x.handlers].map(([n, l]) => [n, l.length]));
  const commands = [...x.commands.values()].map((c) => ({ name: c.name, description: c.description, completes: typeof c.getArgumentCompletions === "function" }));
  const flags = [...x.flags.values()].map((f) => ({ name: f.name, description: f.description, type: f.type, default: f.default }));
  const shortcuts = [...x.shortcuts.values()].map((s) => ({ key: s.shortcut, description: s.description }));
  const tools = [...x.tools.values()].map(({ definition: t }) => plain({ name: t.name, label: t.label, description: t.description, parameters: t.parameters, promptSnippet: t.promptSnippet, promptGuidelines: t.promptGuidelines, executionMode: t.executionMode, exposure: t.exposure }));
  for (const raw of battery.events) {
    const ev = fill(raw, cwd);
    if (!x.handlers.has(ev.type)) continue;
    if (ev.type.startsWith("session_before_")) ev.signal = new AbortController().signal;
    await step("event " + ev.type, async () => (emit[ev.type] ?? ((e) => runner.emit(e)))(ev));
  }
  for (const name of x.commands.keys()) await step("command /" + name, async () => { await x.commands.get(name).handler("", runner.createCommandContext()); });
  for (const c of x.commands.values()) if (c.getArgumentCompletions) await step("complete " + c.name, async () => c.getArgumentCompletions(""));
  const lines = (made) => (made ? made.render(80) : null);
  const options = { expanded: false, isPartial: false, outputPad: 1, keyText: (k) => k, keyHint: (k, d) => `${k} ${d}` };
  const drawn = (args) => ({ args, toolCallId: "c9", invalidate() {}, lastComponent: undefined, state: {}, cwd, executionStarted: true, argsComplete: true, isPartial: false, expanded: false, showImages: false, isError: false, durationMs: 0, ...options });
  for (const [name, { definition: t }] of [...x.tools]) {
    for (const raw of battery.tools[name] ?? [{}]) {
      const args = fill(raw, cwd);
      const s = await step("tool " + name, async () => t.execute("c9", t.prepareArguments ? t.prepareArguments(args) : args, new AbortController().signal, (u) => note("update", u), runner.createToolContext("c9", undefined)));
      if (t.renderCall) await step("renderCall " + name, async () => lines(t.renderCall(args, themes.theme, drawn(args))));
      if (t.renderResult && s.result) await step("renderResult " + name, async () => lines(t.renderResult(s.result, options, themes.theme, drawn(args))));
    }
  }
  for (const [type, f] of x.messageRenderers) await step("message " + type, async () => lines(f(battery.rendered[type], options, themes.theme)));
  for (const [type, f] of x.entryRenderers ?? []) await step("entry " + type, async () => lines(f(battery.rendered[type], options, themes.theme)));
  for (const [key, s] of x.shortcuts) await step("shortcut " + key, async () => { await s.handler(runner.createContext()); });
  if (x.handlers.has("session_shutdown")) await step("event session_shutdown", () => runner.emit({ type: "session_shutdown", reason: "quit" }));
  return { load: "ok", handlers, tools, commands, flags, shortcuts, providers, steps };
}

for (const named of examples) {
  const [name, file] = named.split("=");
  let r;
  const cwd = path.join(folder, name, "work");
  try { r = await example(file, cwd); } catch (e) { r = { load: "harness: " + e.stack }; }
  fs.writeFileSync(path.join(folder, name + ".json"), JSON.stringify(r).replaceAll(cwd, "$CWD"));
}
process.exit(0);
