// What an extension's factory gets as pi.
import { call, start, report } from "../node/bridge.js";
import { makeBus } from "./bus.js";
import { act, alive } from "./life.js";
import { handlers } from "./events.js";

let last = 0;
export const bus = makeBus((e) => report("", e));
const isFunction = (f, what) => { if (typeof f !== "function") throw new Error(`${what} must be a function`); };
/** What of an object is data. */
const data = (o) => JSON.parse(JSON.stringify(o ?? null, (k, v) => (typeof v === "function" ? undefined : v)));

export class Extension {
  constructor(id, path) {
    Object.assign(this, { id, path });
    for (const k of ["tools", "commands", "shortcuts", "flags", "messageRenderers", "entryRenderers", "providers"]) this[k] = new Map();
    this.toolRenderers = [];
  }
}
export const extensions = new Map();

export function makeApi(x) {
  const register = (op, fields) => { alive(); call("ext." + op, { ext: x.id, ...fields }); };
  return {
    on(event, f) {
      alive();
      isFunction(f, `the handler of ${event}`);
      const handler = ++last;
      handlers.set(handler, { f, extension: x });
      register("on", { event: String(event), handler });
      return () => { if (handlers.delete(handler)) call("ext.off", { ext: x.id, event: String(event), handler }); };
    },
    registerTool(t) {
      if (typeof t?.name !== "string" || !t.name) throw new Error("a tool must have a name");
      if (!t.parameters || typeof t.parameters !== "object") throw new Error(`Tool "${t.name}" must define an object parameter schema.`);
      isFunction(t.execute, `execute of tool "${t.name}"`);
      x.tools.set(t.name, t);
      register("tool", { name: t.name, label: t.label, description: String(t.description ?? ""), parameters: data(t.parameters), promptSnippet: t.promptSnippet, promptGuidelines: t.promptGuidelines, executionMode: t.executionMode, exposure: t.exposure, defaultActive: t.defaultActive, constrainedSampling: data(t.constrainedSampling) });
    },
    registerCommand(name, o) {
      if (typeof o?.handler !== "function") throw new Error(`Command "/${name}" must define handler().`);
      x.commands.set(name, o);
      register("command", { name: String(name), description: o.description, completions: typeof o.getArgumentCompletions === "function" });
    },
    registerShortcut(key, o) { isFunction(o?.handler, `the handler of shortcut ${key}`); x.shortcuts.set(String(key), o); register("shortcut", { key: String(key), description: o.description }); },
    registerFlag(name, o) { x.flags.set(name, o); register("flag", { name, description: o?.description, type: o?.type, default: o?.default ?? null }); },
    getFlag(name) { alive(); return x.flags.has(name) ? (call("ext.flagValue", { ext: x.id, name }) ?? undefined) : undefined; },
    registerMessageRenderer(type, f) { alive(); x.messageRenderers.set(type, f); }, registerEntryRenderer(type, f) { alive(); x.entryRenderers.set(type, f); }, registerMarkdownTransformer(f, o) { alive(); x.markdown = { f, o }; }, registerToolRenderer(f) { alive(); x.toolRenderers.push(f); },
    sendMessage: (message, options) => act("sendMessage", { message, options }), sendMessages: (messages, options) => { for (const m of messages) act("sendMessage", { message: m, options }); },
    sendUserMessage: (content, options) => act("sendUserMessage", { content, options }), appendEntry: (customType, entry) => act("appendEntry", { customType, data: entry }),
    setSessionName: (name) => act("setSessionName", { name }), getSessionName: () => act("getSessionName"), setLabel: (entryId, label) => act("setLabel", { entryId, label }),
    exec(command, args = [], o = {}) { alive(); return start("exec", { command, args: args.map(String), cwd: o.cwd ?? "", timeout: o.timeout ?? 0, maxBuffer: o.maxBuffer ?? 0, signal: "SIGTERM", stdout: "pipe", stderr: "pipe" }, { signal: o.signal }).catch((e) => { if (o.signal?.aborted) return { stdout: "", stderr: "", code: 143, killed: true, truncated: false }; throw e; }); },
    getActiveTools: () => act("activeTools"), getAllTools: () => act("allTools"), setActiveTools: (names) => act("setActiveTools", { names }), getCommands: () => act("commands"), getSettings: () => act("settings") ?? {},
    async setModel(m) { return act("setModel", { provider: m?.provider, id: m?.id }) ?? false; }, getThinkingLevel: () => act("thinkingLevel"), setThinkingLevel: (level) => act("setThinkingLevel", { level }),
    registerProvider(name, config) {
      if (typeof name === "object") { config = name; name = config.id; }
      x.providers.set(name, config);
      register("provider", { name, config: data(config), stream: typeof (config?.streamSimple ?? config?.stream) === "function", oauth: !!config?.oauth });
    },
    unregisterProvider(name) { x.providers.delete(name); register("unprovider", { name }); },
    registerVirtualModel(m) { register("virtualModel", { model: data(m) }); }, unregisterVirtualModel() { alive(); }, registerMcpServer(name, config) { register("mcpServer", { name, config: data(config) }); }, unregisterMcpServer() { alive(); }, getMcpServers: () => [],
    getWorkflowResources: () => [], refreshWorkflowResources: async () => {}, getResourceLoaderInheritanceSnapshot: () => undefined,
    events: bus,
  };
}
