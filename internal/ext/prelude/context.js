// What handlers get as ctx: state of the session, its readers, and the user interface.
import { call, start } from "../node/bridge.js";
import { ai, allModels, complete, findModel, stream } from "./ai.js";
import { act, actLater, alive, life } from "./life.js";
import { sessionManager } from "./session.js";
import { theme } from "./theme.js";

const state = (key) => { alive(); return call("ctx", { key }) ?? undefined; };

// --- user interface --------------------------------------------------------------------

const tell = (method, fields) => { alive(); call("ui.tell", { method, fields }); };
/** A dialog: the default comes at a time-out, an abort, and where nobody can answer. */
async function ask(method, fields, o, none) {
  alive();
  if (o?.signal?.aborted) return none;
  try {
    const id = call("ui.open", { method, fields });
    if (!id) return none;
    const v = await start("ui.dialog", { id, timeout: ms(o) ?? 0 }, { signal: o?.signal });
    return v ?? none;
  } catch (e) {
    if (o?.signal?.aborted) return none;
    throw e;
  }
}
const noop = () => {};
// Clients get what the protocol says, whatever a script passes.
const text = (v) => String(v ?? "");
const maybe = (v) => v === undefined || v === null ? undefined : String(v);
const ms = (o) => typeof o?.timeout === "number" && Number.isFinite(o.timeout) ? o.timeout : undefined;
const oneOf = (v, ...words) => words.includes(v) ? v : undefined;
export const ui = {
  select: (title, options, o) => ask("select", { title: text(title), options: Array.from(options, text), timeout: ms(o) }, o, undefined),
  confirm: (title, message, o) => ask("confirm", { title: text(title), message: text(message), timeout: ms(o) }, o, false),
  input: (title, placeholder, o) => ask("input", { title: text(title), placeholder: maybe(placeholder), timeout: ms(o) }, o, undefined),
  editor: (title, prefill) => ask("editor", { title: text(title), prefill: maybe(prefill) }, undefined, undefined),
  notify: (message, notifyType) => tell("notify", { message: text(message), notifyType: oneOf(notifyType, "info", "warning", "error") }),
  setStatus: (statusKey, statusText) => tell("setStatus", { statusKey: text(statusKey), statusText: maybe(statusText) }),
  setWidget(widgetKey, content, o) {
    if (typeof content === "function") return;
    const widgetLines = Array.isArray(content) ? Array.from(content, text) : maybe(content)?.split("\n");
    tell("setWidget", { widgetKey: text(widgetKey), widgetLines, widgetPlacement: oneOf(o?.placement, "aboveEditor", "belowEditor") });
  },
  setTitle: (title) => tell("setTitle", { title: text(title) }),
  setEditorText: (v) => tell("set_editor_text", { text: text(v) }),
  pasteToEditor: (v) => tell("set_editor_text", { text: text(v) }),
  getEditorText: () => "", custom: async () => undefined, onTerminalInput: () => noop, theme,
  setWorkingMessage: noop, setWorkingVisible: noop, setWorkingIndicator: noop, setHiddenThinkingLabel: noop, setFooter: noop, setHeader: noop, addAutocompleteProvider: noop, setEditorComponent: noop, getEditorComponent: () => undefined, requestRender: noop,
  getAllThemes: () => [], getTheme: () => undefined, setTheme: () => ({ success: false, error: "Theme switching not supported in RPC mode" }), getToolsExpanded: () => false, setToolsExpanded: noop,
};

// --- models ---------------------------------------------------------------------------

const credentials = (provider) => start("models.credentials", { provider });
export const modelRegistry = {
  find: findModel, getAll: allModels, getAvailable: () => call("models.available"), hasConfiguredAuth: (m) => call("models.configured", { provider: m?.provider ?? m }), getProviders: ai.getProviders, getProvider: (id) => ({ id }), getProviderDisplayName: (id) => id, isUsingOAuth: () => false, getError: () => undefined, refresh: async () => {}, authStorage: { get: () => undefined, has: () => false, list: () => [] },
  getApiKey: async (m) => (await credentials(m.provider)).apiKey, getApiKeyForProvider: async (p) => (await credentials(p)).apiKey, getProviderAuth: credentials,
  async getApiKeyAndHeaders(m) { try { const c = await credentials(m.provider); return { ok: true, apiKey: c.apiKey, headers: c.headers }; } catch (e) { return { ok: false, error: e.message }; } },
  stream, streamSimple: stream, complete, completeSimple: complete, getModelsOfType: () => [], getAvailableOfType: () => [], getModelOfType: () => undefined, findOfType: () => undefined, registerProvider() {}, unregisterProvider() {},
  classify: async () => { throw new Error("classify is not available in this host"); }, generateImages: async () => { throw new Error("generateImages is not available in this host"); },
};

/** ctx of events, tools and shortcuts. */
export class Context {
  get ui() { alive(); return ui; }
  get mode() { return state("mode"); }
  get hasUI() { return state("hasUI"); }
  get cwd() { return state("cwd"); }
  get sessionManager() { alive(); return sessionManager; }
  get modelRegistry() { alive(); return modelRegistry; }
  get model() { return state("model"); }
  get scopedModels() { return state("scopedModels") ?? []; }
  get thinkingLevel() { return state("thinkingLevel"); }
  get signal() { alive(); return life.run?.signal; }
  isIdle() { return state("isIdle"); }
  isProjectTrusted() { return state("trusted"); }
  hasPendingMessages() { return state("pending"); }
  getContextUsage() { return state("contextUsage"); }
  getSystemPrompt() { return state("systemPrompt") ?? ""; }
  abort() { act("abort"); }
  shutdown() { act("shutdown"); }
  compact({ customInstructions, onComplete, onError } = {}) {
    actLater("compact", { customInstructions }).then((r) => onComplete?.(r), (e) => { if (onError) onError(e); });
  }
}

/** ctx of commands, which may replace the session. */
export class CommandContext extends Context {
  getSystemPromptOptions() { return state("systemPromptOptions") ?? { cwd: this.cwd }; }
  waitForIdle() { return actLater("waitForIdle"); }
  reload() { return actLater("reload"); }
  navigateTree(targetId, o = {}) { return actLater("navigateTree", { targetId, ...o }); }
  newSession(o = {}) { return replace("newSession", { parentSession: o.parentSession }, o); }
  fork(entryId, o = {}) { return replace("fork", { entryId, position: o.position }, o); }
  switchSession(sessionPath, o = {}) { return replace("switchSession", { sessionPath }, o); }
}
class ReplacedContext extends CommandContext {
  async sendMessage(message, options) { call("host.sendMessage", { message, options }); }
  async sendUserMessage(content, options) { call("host.sendUserMessage", { content, options }); }
}
/**
 * Replaces the session. setup and withSession run in this, the old generation, which is
 * kept until they are done; its other calls already say that it is over.
 */
async function replace(name, args, o) {
  const r = await actLater(name, args);
  if (!r.cancelled) {
    const before = life.stale;
    life.stale = "";
    try {
      if (o.setup) await o.setup({ ...sessionManager, appendMessage: (m) => call("host.appendMessage", { message: m }), appendCustomEntry: (customType, data) => call("host.appendEntry", { customType, data }) });
      if (o.withSession) await o.withSession(new ReplacedContext());
    } finally { life.stale = before; }
  }
  return r;
}
/** ctx of tools: they can run other tools. */
export class ToolContext extends Context {
  #signal; #call;
  constructor(call, signal) { super(); this.#call = call; this.#signal = signal; }
  get tools() { return call("host.allTools") ?? []; }
  executeTool(name, args, { signal } = {}) { return actLater("executeTool", { parentToolCallId: this.#call, name, args }, { signal: signal ?? this.#signal }); }
}
/** The reduced ctx of project_trust. */
export const trustContext = { get cwd() { return state("cwd"); }, get mode() { return state("mode"); }, get hasUI() { return state("hasUI"); }, ui: { select: ui.select, confirm: ui.confirm, input: ui.input, notify: ui.notify, editor: ui.editor } };
