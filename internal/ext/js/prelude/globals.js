// Globals of Node that need no module: console, timers, clones, performance.
import { call, dispatchers, report } from "./bridge.js";
import { format, inspect } from "./inspect.js";

let indent = "";
export const log = (...args) => call("log", { text: indent + format(...args).replace(/\n/g, "\n" + indent) });

const counts = new Map();
const watches = new Map();
const elapsed = (label) => `${label}: ${(performance.now() - (watches.get(label) ?? 0)).toFixed(3)}ms`;
export const console = {
  log, info: log, warn: log, error: log, debug: log,
  trace: (...a) => log("Trace: " + format(...a)),
  dir: (v, o) => log(inspect(v, { customInspect: false, ...o })),
  dirxml: log,
  table: (v) => log(inspect(v)),
  group(...a) { if (a.length) log(...a); indent += "  "; },
  groupCollapsed(...a) { console.group(...a); },
  groupEnd() { indent = indent.slice(2); },
  assert(ok, ...a) { if (!ok) log("Assertion failed" + (a.length ? ": " + format(...a) : "")); },
  count(label = "default") { counts.set(label, (counts.get(label) ?? 0) + 1); log(`${label}: ${counts.get(label)}`); },
  countReset(label = "default") { counts.delete(label); },
  time(label = "default") { watches.set(label, performance.now()); },
  timeLog(label = "default", ...a) { log(elapsed(label), ...a); },
  timeEnd(label = "default") { log(elapsed(label)); watches.delete(label); },
  timeStamp() {}, profile() {}, profileEnd() {},
};
console.Console = class Console { constructor() { Object.assign(this, console); } };

// --- timers -----------------------------------------------------------------

const timers = new Map();
let lastTimer = 0;

class Timeout {
  #id; #ref = true;
  constructor(id) { this.#id = id; }
  get id() { return this.#id; }
  ref() { this.#ref = true; return this; }
  unref() { this.#ref = false; return this; }
  hasRef() { return this.#ref; }
  refresh() {
    const t = timers.get(this.#id);
    if (t) { call("timer.stop", { id: this.#id }); call("timer.start", { id: this.#id, ms: t.ms, repeat: t.repeat }); }
    return this;
  }
  close() { clear(this); return this; }
  [Symbol.toPrimitive]() { return Number(this.#id); }
}
if (Symbol.dispose) Timeout.prototype[Symbol.dispose] = Timeout.prototype.close;

function set(f, ms, args, repeat) {
  if (typeof f !== "function") throw Object.assign(new TypeError('The "callback" argument must be of type function.'), { code: "ERR_INVALID_ARG_TYPE" });
  const id = String(++lastTimer);
  ms = Math.max(1, Math.trunc(Number(ms)) || 1);
  timers.set(id, { f, args, repeat, ms });
  call("timer.start", { id, ms, repeat });
  return new Timeout(id);
}

function clear(t) {
  if (t == null) return;
  const id = String(t instanceof Timeout ? t.id : t);
  if (timers.delete(id)) call("timer.stop", { id });
}

dispatchers.timer = (id) => {
  const t = timers.get(id);
  if (!t) return;
  if (!t.repeat) timers.delete(id);
  t.f(...t.args);
};

// --- clones -----------------------------------------------------------------

const cannot = (v) => new DOMException(`${String(v)} could not be cloned.`, "DataCloneError");

function clone(v, seen) {
  if (typeof v === "function" || typeof v === "symbol") throw cannot(v);
  if (v === null || typeof v !== "object") return v;
  if (seen.has(v)) return seen.get(v);
  const keep = (r) => { seen.set(v, r); return r; };
  if (v instanceof Date) return keep(new Date(v));
  if (v instanceof RegExp) return keep(new RegExp(v.source, v.flags));
  if (v instanceof ArrayBuffer) return keep(v.slice(0));
  if (v instanceof DataView) return keep(new DataView(clone(v.buffer, seen), v.byteOffset, v.byteLength));
  if (ArrayBuffer.isView(v)) {
    const T = globalThis[v[Symbol.toStringTag]] ?? Uint8Array;
    return keep(new T(v));
  }
  if (v instanceof Boolean || v instanceof Number || v instanceof String) return keep(Object(v.valueOf()));
  if (v instanceof Map) { const r = keep(new Map()); for (const [k, x] of v) r.set(clone(k, seen), clone(x, seen)); return r; }
  if (v instanceof Set) { const r = keep(new Set()); for (const x of v) r.add(clone(x, seen)); return r; }
  if (v instanceof Error) {
    const T = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError }[v.name] ?? Error;
    const r = keep(new T(v.message));
    Object.defineProperty(r, "stack", { value: v.stack, writable: true, configurable: true });
    if ("cause" in v) r.cause = clone(v.cause, seen);
    return r;
  }
  if (v instanceof Promise || v instanceof WeakMap || v instanceof WeakSet || v instanceof WeakRef) throw cannot(v);
  const r = keep(Array.isArray(v) ? new Array(v.length) : {});
  for (const k of Object.keys(v)) r[k] = clone(v[k], seen);
  return r;
}

// --- performance ------------------------------------------------------------

const entries = [];
export const performance = {
  now: () => call("now"),
  timeOrigin: Date.now() - call("now"),
  mark(name) { const e = { name, entryType: "mark", startTime: performance.now(), duration: 0 }; entries.push(e); return e; },
  measure(name, from, to) {
    const at = (n, d) => (typeof n === "string" ? (entries.findLast((e) => e.name === n)?.startTime ?? d) : d);
    const startTime = at(from, 0);
    const e = { name, entryType: "measure", startTime, duration: at(to, performance.now()) - startTime };
    entries.push(e);
    return e;
  },
  clearMarks() { entries.length = 0; }, clearMeasures() {},
  getEntries: () => [...entries], getEntriesByName: (n) => entries.filter((e) => e.name === n), getEntriesByType: (t) => entries.filter((e) => e.entryType === t),
  eventLoopUtilization: () => ({ idle: 0, active: 0, utilization: 0 }),
  toJSON: () => ({}),
};

export const immediate = (f, ...a) => set(f, 0, a, false);

export function install(G) {
  G.global = G.self = G;
  G.console = console;
  G.setTimeout = (f, ms, ...a) => set(f, ms, a, false);
  G.setInterval = (f, ms, ...a) => set(f, ms, a, true);
  G.setImmediate = immediate;
  G.clearTimeout = G.clearInterval = G.clearImmediate = clear;
  G.structuredClone = (v) => clone(v, new Map());
  G.performance = performance;
  G.queueMicrotask = (f) => { Promise.resolve().then(f).catch((e) => report("", e)); };
  G.reportError = (e) => report("", e);
  for (const [k, v] of [["dispose", "Symbol.dispose"], ["asyncDispose", "Symbol.asyncDispose"]]) {
    if (!Symbol[k]) Object.defineProperty(Symbol, k, { value: Symbol.for(v) });
  }
  if (!Error.captureStackTrace) {
    Error.captureStackTrace = (o) => { Object.defineProperty(o, "stack", { value: new Error().stack, writable: true, configurable: true }); };
  }
  if (!("stackTraceLimit" in Error)) Error.stackTraceLimit = 10;
}
