// Events: one object an event, shared by its handlers, which Go calls one by one. Each
// kind says what a handler sees and what its result means.
import { answer, dispatchers } from "../node/bridge.js";
import { Context, trustContext } from "./context.js";
import { life } from "./life.js";

/** A result's own member: what a prototype was given does not count. */
const own = (o, k) => (o !== null && typeof o === "object" && Object.hasOwn(o, k) ? o[k] : undefined);
const ctx = new Context();

/** Observers: results mean nothing. */
class Kind {
  constructor(event) { this.event = event; }
  get context() { return ctx; }
  view() { return this.event; }
  /** Takes a handler's result; true stops the event. */
  take() { return false; }
  out() { return null; }
}
/** The last result counts, cancel stops. */
class Before extends Kind {
  take(r) { if (r == null) return false; this.result = r; return own(r, "cancel") === true; }
  out() { return this.result ?? null; }
}
class ToolCall extends Kind {
  take(r) { if (r == null) return false; this.result = { block: own(r, "block") === true, reason: own(r, "reason"), terminate: own(r, "terminate") }; return this.result.block; }
  out() { return { input: this.event.input, ...this.result }; }
}
class ToolResult extends Kind {
  take(r) {
    if (r == null) return false;
    if (own(r, "content") !== undefined && own(r, "structuredContent") === undefined) delete this.event.structuredContent;
    for (const k of ["content", "details", "structuredContent", "isError", "usage"]) if (own(r, k) !== undefined) { this.event[k] = r[k]; this.changed = true; }
    return false;
  }
  out() { const { content, details, structuredContent, isError, usage } = this.event; return this.changed ? { content, details, structuredContent, isError, usage } : null; }
}
class Input extends Kind {
  view() { return { ...this.event }; }
  take(r) {
    const action = own(r, "action");
    if (action === "handled") { this.result = { action }; return true; }
    if (action === "transform") {
      this.event.text = own(r, "text") ?? this.event.text;
      if (own(r, "images") !== undefined) this.event.images = r.images;
      this.changed = true;
    }
    return false;
  }
  out() { return this.result ?? (this.changed ? { action: "transform", text: this.event.text, images: this.event.images ?? null } : { action: "continue" }); }
}
/** The messages of a request: handlers return others or change them in place. */
class Messages extends Kind {
  take(r) { if (Array.isArray(own(r, "messages"))) this.event.messages = r.messages; return false; }
  out() { return { messages: this.event.messages }; }
}
class Payload extends Kind {
  view() { return { ...this.event }; }
  take(r) { if (r !== undefined) { this.event.payload = r; this.changed = true; } return false; }
  out() { return this.changed ? { payload: this.event.payload } : null; }
}
class RequestHeaders extends Kind { out() { return { headers: this.event.headers }; } }
class BeforeStart extends Kind {
  messages = [];
  get context() { return Object.assign(Object.create(ctx), { getSystemPrompt: () => this.event.systemPrompt }); }
  view() { return { ...this.event }; }
  take(r) {
    const m = own(r, "message"), p = own(r, "systemPrompt");
    if (m) this.messages.push(m);
    if (typeof p === "string") { this.event.systemPrompt = p; this.prompt = p; }
    return false;
  }
  out() { return { messages: this.messages, systemPrompt: this.prompt ?? null, systemPromptOptions: this.event.systemPromptOptions ?? null }; }
}
class MessageEnd extends Kind {
  take(r) {
    const m = own(r, "message");
    if (!m) return false;
    if (m.role !== this.event.message.role) throw new Error("message_end handlers must return a message with the same role");
    this.event.message = m;
    this.changed = true;
    return false;
  }
  out() { return this.changed ? { message: this.event.message } : null; }
}
class UserBash extends Kind {
  take(r) {
    if (r === undefined || r === null) return false;
    const operations = own(r, "operations"), result = own(r, "result");
    if ((operations === undefined) === (result === undefined)) throw new Error("user_bash handlers must return exactly one of operations and result");
    this.operations = operations;
    this.result = result;
    return true;
  }
  async out() {
    if (!this.operations) return this.result ? { result: this.result } : null;
    let output = "";
    const r = await this.operations.exec(this.event.command, this.event.cwd, { onData: (d) => { output += d.toString(); }, signal: life.run?.signal });
    return { result: { output, exitCode: r.exitCode ?? undefined, cancelled: false, truncated: false } };
  }
}
class Boundary extends Kind {
  view() { return { ...this.event }; }
  take(r) {
    for (const k of ["entries", "continue"]) if (own(r, k) !== undefined) { this.event[k] = r[k]; this.changed = true; }
    return false;
  }
  out() { return this.changed ? { entries: this.event.entries ?? [], continue: !!this.event.continue } : null; }
}
class Resources extends Kind {
  all = { skillPaths: [], promptPaths: [], themePaths: [] };
  take(r, extension) { for (const k of Object.keys(this.all)) for (const p of own(r, k) ?? []) this.all[k].push({ path: String(p), extensionPath: extension.path }); return false; }
  out() { return this.all; }
}
class Trust extends Kind {
  get context() { return trustContext; }
  take(r) { const t = own(r, "trusted"); if (t !== "yes" && t !== "no") return false; this.result = { trusted: t, remember: own(r, "remember") === true }; return true; }
  out() { return this.result ?? null; }
}
class Action extends Kind {
  take(r) { const a = own(r, "action"); if (a === "warm" || a === "stop") this.event.action = a; return false; }
  out() { return { action: this.event.action }; }
}

const kinds = {
  __proto__: null,
  session_before_switch: Before, session_before_fork: Before, session_before_compact: Before, session_before_tree: Before,
  tool_call: ToolCall, tool_result: ToolResult, input: Input, context: Messages, context_with_system: Messages, before_provider_request: Payload, before_provider_headers: RequestHeaders,
  before_agent_start: BeforeStart, message_end: MessageEnd, user_bash: UserBash, turn_end: Boundary, agent_before_settle: Boundary, resources_discover: Resources, project_trust: Trust, cache_warming_decision: Action,
};

export const handlers = new Map(); // number -> { f, extension }
const open = new Map(); // events that are being handled

/** AbortControllers that Go can fire, by key. */
export const signals = new Map();
export function signalFor(key) {
  const c = new AbortController();
  signals.set(key, c);
  return c.signal;
}
dispatchers.abort = (key, m) => {
  const c = key === "run" ? life.run : signals.get(key);
  c?.abort(m?.reason ? new DOMException(m.reason, "AbortError") : undefined);
};
dispatchers.run = (id, m) => { life.run = m.on ? new AbortController() : undefined; };

/** Has one handler take an event. The last one answers with what became of it. */
dispatchers.handle = (id, m) => answer(id, () => {
  let e = open.get(m.key);
  if (!e) {
    const K = kinds[m.event.type] ?? Kind;
    if (m.signal) m.event.signal = signalFor(m.key);
    e = new K(m.event);
    if (!m.last) open.set(m.key, e);
  }
  const h = handlers.get(m.handler);
  if (!h) return m.last ? finish(m.key, e) : null;
  const r = h.f(e.view(), e.context);
  return typeof r?.then === "function" ? r.then((v) => taken(m, e, v, h)) : taken(m, e, r, h);
});
function taken(m, e, r, h) {
  const stop = e.take(r, h.extension);
  if (!stop && !m.last) return null;
  return finish(m.key, e, stop);
}
function finish(key, e, stop = false) {
  open.delete(key);
  signals.delete(key);
  const out = e.out();
  return typeof out?.then === "function" ? out.then((v) => ({ stop, out: v })) : { stop, out };
}
/** What became of an event whose last handler failed. */
dispatchers.finish = (id, m) => answer(id, () => { const e = open.get(m.key); return e ? finish(m.key, e) : null; });
