// The start of the extension host: the agent's packages as host modules, and what Go
// has extensions do.
import { provide, setAliases } from "../node/main.js";
import { answer, call, dispatchers } from "../node/bridge.js";
import { ai } from "./ai.js";
import { bus, Extension, extensions, makeApi } from "./api.js";
import { coding, core } from "./coding.js";
import { CommandContext, Context, ToolContext } from "./context.js";
import { signalFor, signals } from "./events.js";
import { life } from "./life.js";
import { theme } from "./theme.js";
import { tui } from "./tui.js";
import { typebox, typeboxCompile, typeboxValue } from "./typebox.js";

provide({ "agent:coding": coding, "agent:ai": ai, "agent:tui": tui, "agent:core": core, "agent:typebox": typebox, "agent:typebox/compile": typeboxCompile, "agent:typebox/value": typeboxValue });
setAliases((spec) => call("ext.hostModule", { name: spec }));

/** Runs the factory of a loaded script. */
dispatchers.factory = (id, m) => answer(id, async () => {
  const ns = globalThis.__ext.mods[m.script];
  delete globalThis.__ext.mods[m.script];
  let f = ns?.default;
  if (f && typeof f !== "function" && typeof f.default === "function") f = f.default; // a bundle of CommonJS
  if (typeof f !== "function") throw new Error("Extension does not export a valid factory function");
  const x = new Extension(m.id, m.path);
  extensions.set(m.id, x);
  try { await f(makeApi(x)); } catch (e) { extensions.delete(m.id); throw e; }
});
dispatchers.bind = () => { life.bound = true; };
dispatchers.stale = (id, m) => { life.stale = m.reason; bus.clear(); };

const of = (m, kind, name) => {
  const v = extensions.get(m.ext)?.[kind].get(name);
  if (!v) throw new Error(`the extension has no ${name}`);
  return v;
};
dispatchers.command = (id, m) => answer(id, async () => { await of(m, "commands", m.name).handler(m.args, new CommandContext()); });
dispatchers.complete = (id, m) => answer(id, () => of(m, "commands", m.name).getArgumentCompletions(m.prefix));
dispatchers.shortcut = (id, m) => answer(id, async () => { await of(m, "shortcuts", m.name).handler(new Context()); });

dispatchers.tool = (id, m) => answer(id, async () => {
  const t = of(m, "tools", m.name);
  const signal = signalFor(m.key);
  try {
    const args = t.prepareArguments ? t.prepareArguments(m.args) : m.args;
    const update = (u) => { if (signals.has(m.key)) call("ext.update", { key: m.key, update: u }); };
    return await t.execute(m.callId, args, signal, update, new ToolContext(m.callId, signal));
  } finally { signals.delete(m.key); }
});

/** Lines of a renderer, for exports and tests; null where it draws nothing. */
dispatchers.render = (id, m) => answer(id, () => {
  const options = { expanded: !!m.expanded, isPartial: false, outputPad: 1, keyText: (k) => k, keyHint: (k, d) => `${k} ${d}` };
  const rctx = { args: m.args ?? {}, toolCallId: m.callId ?? "", invalidate() {}, lastComponent: undefined, state: {}, cwd: call("ctx", { key: "cwd" }), executionStarted: true, argsComplete: true, isPartial: false, expanded: !!m.expanded, showImages: false, isError: false, durationMs: 0, ...options };
  const made = m.kind === "call" ? of(m, "tools", m.name).renderCall?.(m.args, theme, rctx) : m.kind === "result" ? of(m, "tools", m.name).renderResult?.(m.value, options, theme, rctx) : m.kind === "message" ? of(m, "messageRenderers", m.name)(m.value, options, theme) : of(m, "entryRenderers", m.name)(m.value, options, theme);
  return made ? made.render(m.width ?? 80) : null;
});

/** Streams a provider that an extension implements. */
dispatchers.provider = (id, m) => answer(id, async () => {
  const p = of(m, "providers", m.name);
  const signal = signalFor(m.key);
  try {
    const s = await (p.streamSimple ?? p.stream)(m.model, m.context, { ...m.options, signal });
    for await (const e of s) call("ext.streamed", { key: m.key, event: e });
    return await s.result();
  } finally { signals.delete(m.key); }
});
