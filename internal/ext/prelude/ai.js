// The model library's names: streams, helpers, and calls through the host's providers.
import { call, start } from "../node/bridge.js";
import { randomUUID } from "../node/crypto.js";
import { StringEnum, Type, Value } from "./typebox.js";

export function uuidv7() {
  const t = Date.now().toString(16).padStart(12, "0");
  return `${t.slice(0, 8)}-${t.slice(8)}-7${randomUUID().slice(15)}`;
}
export const zeroUsage = () => ({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } });

class EventStream {
  #queue = []; #waiting = []; #done = false; #isEnd; #result; #final = Promise.withResolvers();
  constructor(isEnd, result) { this.#isEnd = isEnd; this.#result = result; this.#final.promise.catch(() => {}); }
  push(e) {
    if (this.#done) return;
    if (this.#isEnd?.(e)) { this.#done = true; this.#final.resolve(this.#result(e)); }
    if (this.#waiting.length) this.#waiting.shift()({ value: e, done: false });
    else this.#queue.push(e);
    if (this.#done) this.#release();
  }
  end(result) { this.#done = true; if (result !== undefined) this.#final.resolve(result); this.#release(); }
  #release() { for (const w of this.#waiting.splice(0)) w({ value: undefined, done: true }); }
  get ended() { return this.#done; }
  [Symbol.asyncIterator]() {
    return {
      next: () => (this.#queue.length ? Promise.resolve({ value: this.#queue.shift(), done: false }) : this.#done ? Promise.resolve({ value: undefined, done: true }) : new Promise((r) => this.#waiting.push(r))),
      return: async () => ({ value: undefined, done: true }),
    };
  }
  result() { return this.#final.promise; }
}
export class AssistantMessageEventStream extends EventStream {
  constructor() { super((e) => e.type === "done" || e.type === "error", (e) => (e.type === "done" ? e.message : e.error)); }
}

/** Protocols that extensions implement themselves. */
const apis = new Map();
const plainOptions = (o) => Object.fromEntries(Object.entries(o).filter(([, v]) => typeof v !== "function"));
const failed = (model, e, aborted) => ({ role: "assistant", content: [], api: model?.api, provider: model?.provider, model: model?.id, usage: zeroUsage(), stopReason: aborted ? "aborted" : "error", errorMessage: e.message, timestamp: Date.now() });

export function stream(model, context, options = {}) {
  const own = apis.get(model?.api);
  if (own) return (own.streamSimple ?? own.stream)(model, context, options);
  const s = new AssistantMessageEventStream();
  const { signal, ...rest } = options;
  start("ai.stream", { model, context, options: plainOptions(rest) }, { signal, onEvent: (e) => s.push(e) }).then(
    (m) => { if (!s.ended) s.push(m.stopReason === "error" || m.stopReason === "aborted" ? { type: "error", reason: m.stopReason, error: m } : { type: "done", reason: m.stopReason, message: m }); },
    (e) => { if (!s.ended) { const m = failed(model, e, signal?.aborted); s.push({ type: "error", reason: m.stopReason, error: m }); } },
  );
  return s;
}
export const complete = (m, c, o) => stream(m, c, o).result();
const lazy = (api) => () => ({ api, stream: (m, c, o) => stream({ ...m, api }, c, o), streamSimple: (m, c, o) => stream({ ...m, api }, c, o) });

const text = (c) => (typeof c === "string" ? c : (c ?? []).map((x) => x.text ?? "").join("\n"));
const system = (list) => (list ?? []).filter((m) => m.role === "system");
export const findModel = (provider, id) => call("models.find", { provider, id }) ?? undefined;
export const allModels = () => call("models.all");

function calculateCost(model, usage) {
  const c = model?.cost ?? {};
  const at = (k) => ((c[k] ?? 0) * (usage[k] ?? 0)) / 1e6;
  usage.cost = { input: at("input"), output: at("output"), cacheRead: at("cacheRead"), cacheWrite: at("cacheWrite") };
  usage.cost.total = usage.cost.input + usage.cost.output + usage.cost.cacheRead + usage.cost.cacheWrite;
  return usage.cost;
}
/** The object that a cut JSON text begins. */
export function parseStreamingJson(s) {
  if (!s?.trim()) return {};
  try { return JSON.parse(s); } catch { /* cut */ }
  const stack = [];
  let inside = false, escaped = false;
  for (const c of s) {
    if (inside) { if (escaped) escaped = false; else if (c === "\\") escaped = true; else if (c === '"') inside = false; continue; }
    if (c === '"') inside = true;
    else if (c === "{") stack.push("}");
    else if (c === "[") stack.push("]");
    else if (c === "}" || c === "]") stack.pop();
  }
  let t = (escaped ? s.slice(0, -1) : s) + (inside ? '"' : "");
  const close = stack.reverse().join("");
  for (const cut of [t, t.replace(/,\s*$/, ""), t.replace(/,?\s*"[^"]*"\s*:?\s*$/, ""), t.replace(/:\s*[^,:{}[\]]*$/, ":null")]) try { return JSON.parse(cut + close); } catch { /* next */ }
  return {};
}
function validateToolArguments(tool, c) {
  const args = Value.Convert(tool.parameters, structuredClone(c.arguments));
  const errors = Value.Errors(tool.parameters, args);
  if (errors.length) throw new Error(`Validation failed for tool "${c.name}":\n${errors.map((e) => `  - ${e.path.slice(1) || "root"}: ${e.message}`).join("\n")}`);
  return args;
}
class ToolCallArgumentsStream {
  #text = "";
  push(d) { this.#text += d; return this.value; }
  append(d) { return this.push(d); }
  get value() { return parseStreamingJson(this.#text); }
  end() { return this.value; }
}

export const ai = {
  Type, StringEnum, uuidv7, EventStream, AssistantMessageEventStream, createAssistantMessageEventStream: () => new AssistantMessageEventStream(), createProvider: (p) => p, calculateCost, ToolCallArgumentsStream, parseStreamingJson, validateToolArguments,
  validateToolCall: (tools, c) => { const t = tools.find((x) => x.name === c.name); if (!t) throw new Error(`Tool "${c.name}" not found`); return validateToolArguments(t, c); },
  stream, streamSimple: stream, complete, completeSimple: complete, registerApiProvider: (p) => void apis.set(p.api, p), getApiProvider: (a) => apis.get(a), getApiProviders: () => [...apis.values()], unregisterApiProviders: () => apis.clear(), resetApiProviders: () => apis.clear(), registerBuiltInApiProviders() {}, clearApiProviders: () => apis.clear(),
  anthropicMessagesApi: lazy("anthropic-messages"), openAIResponsesApi: lazy("openai-responses"), openAICompletionsApi: lazy("openai-completions"), googleGenerativeAiApi: lazy("google-generative-ai"), bedrockConverseStreamApi: lazy("bedrock-converse-stream"), mistralConversationsApi: lazy("mistral-conversations"),
  streamAnthropic: (m, c, o) => stream({ ...m, api: "anthropic-messages" }, c, o), streamSimpleAnthropic: (m, c, o) => stream({ ...m, api: "anthropic-messages" }, c, o), streamOpenAIResponses: (m, c, o) => stream({ ...m, api: "openai-responses" }, c, o), streamSimpleOpenAIResponses: (m, c, o) => stream({ ...m, api: "openai-responses" }, c, o), streamOpenAICompletions: (m, c, o) => stream({ ...m, api: "openai-completions" }, c, o), streamSimpleOpenAICompletions: (m, c, o) => stream({ ...m, api: "openai-completions" }, c, o),
  getModel: findModel, getModels: (p) => allModels().filter((m) => m.provider === p), getProviders: () => [...new Set(allModels().map((m) => m.provider))], modelsAreEqual: (a, b) => !!a && !!b && a.id === b.id && a.provider === b.provider,
  supportsXhigh: (m) => !!m?.thinkingLevelMap?.xhigh, getSupportedThinkingLevels: (m) => (m?.reasoning ? ["off", "minimal", "low", "medium", "high", ...(m.thinkingLevelMap?.xhigh ? ["xhigh"] : [])] : ["off"]), clampThinkingLevel: (m, l) => (m?.reasoning ? l : "off"),
  collapseSystemMessages: (list) => list, getCurrentSystemPrompt: (list) => system(list).map((m) => text(m.content)).join("\n\n"), getCurrentTools: (list) => system(list).flatMap((m) => m.tools ?? []), getCurrentSystemMessage: (list) => system(list)[0],
  getEnvApiKey: () => undefined, isContextOverflow: (m) => /context.{0,20}(length|window)|too (long|many tokens)|maximum.{0,20}tokens/i.test(m?.errorMessage ?? ""), isRetryableAssistantError: (m) => /rate.?limit|overload|timeout|429|50[0234]/i.test(m?.errorMessage ?? ""), sanitizeSurrogates: (s) => s.toWellFormed(), shortHash: (s) => { let h = 0; for (const c of s) h = (Math.imul(h, 31) + c.charCodeAt(0)) | 0; return (h >>> 0).toString(36); },
  getOAuthProviders: () => [], getOAuthProvider: () => undefined, registerOAuthProvider() {}, getOAuthApiKey: async () => null,
};
