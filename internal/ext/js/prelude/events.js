// EventEmitter.
import { inspect } from "./inspect.js";

const errorMonitor = Symbol("events.errorMonitor");
const captureRejectionSymbol = Symbol.for("nodejs.rejection");

function check(f) {
  if (typeof f !== "function") throw Object.assign(new TypeError(`The "listener" argument must be of type function. Received ${f === null ? "null" : typeof f}`), { code: "ERR_INVALID_ARG_TYPE" });
}

/** A function, so that it can be called without new on any object, as old code does. */
export function EventEmitter(options) {
  if (!(this instanceof EventEmitter)) return new EventEmitter(options);
  EventEmitter.init.call(this);
}
const map = (e) => {
  if (!Object.hasOwn(e, "_events")) EventEmitter.init.call(e);
  return e._events;
};
EventEmitter.init = function () {
  Object.defineProperty(this, "_events", { value: new Map(), writable: true, configurable: true, enumerable: false });
};

function add(e, type, f, first) {
  check(f);
  const m = map(e);
  if (m.has("newListener")) e.emit("newListener", type, f.listener ?? f);
  const list = m.get(type) ?? [];
  m.set(type, first ? [f, ...list] : [...list, f]);
  return e;
}

function wrapOnce(e, type, f) {
  check(f);
  const once = function (...args) {
    e.removeListener(type, once);
    return f.apply(this, args);
  };
  once.listener = f;
  return once;
}

const methods = {
  on(type, f) { return add(this, type, f); },
  addListener(type, f) { return this.on(type, f); },
  prependListener(type, f) { return add(this, type, f, true); },
  once(type, f) { return this.on(type, wrapOnce(this, type, f)); },
  prependOnceListener(type, f) { return this.prependListener(type, wrapOnce(this, type, f)); },
  removeListener(type, f) {
    const m = map(this);
    const list = m.get(type);
    if (!list) return this;
    const i = list.findLastIndex((x) => x === f || x.listener === f);
    if (i < 0) return this;
    if (list.length === 1) m.delete(type);
    else m.set(type, list.toSpliced(i, 1));
    if (m.has("removeListener")) this.emit("removeListener", type, f);
    return this;
  },
  off(type, f) { return this.removeListener(type, f); },
  removeAllListeners(type) {
    if (type === undefined) map(this).clear();
    else map(this).delete(type);
    return this;
  },
  emit(type, ...args) {
    const m = map(this);
    if (type === "error" && m.has(errorMonitor)) this.emit(errorMonitor, ...args);
    const list = m.get(type);
    if (!list) {
      if (type !== "error") return false;
      if (args[0] instanceof Error) throw args[0];
      throw Object.assign(new Error("Unhandled error. (" + inspect(args[0]) + ")"), { code: "ERR_UNHANDLED_ERROR", context: args[0] });
    }
    for (const f of list) f.apply(this, args);
    return true;
  },
  listenerCount(type, f) { const l = map(this).get(type) ?? []; return f ? l.filter((x) => x === f || x.listener === f).length : l.length; },
  listeners(type) { return (map(this).get(type) ?? []).map((f) => f.listener ?? f); },
  rawListeners(type) { return [...(map(this).get(type) ?? [])]; },
  eventNames() { return [...map(this).keys()]; },
  setMaxListeners() { return this; },
  getMaxListeners() { return EventEmitter.defaultMaxListeners; },
};
for (const [k, f] of Object.entries(methods)) Object.defineProperty(EventEmitter.prototype, k, { value: f, writable: true, configurable: true, enumerable: true });

/** Resolves with the arguments of the next event. */
function once(emitter, type, { signal } = {}) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    if (typeof emitter.addEventListener === "function") return emitter.addEventListener(type, (e) => resolve([e]), { once: true });
    const done = (f) => (v) => {
      emitter.removeListener(type, ok);
      emitter.removeListener("error", failed);
      f(v);
    };
    const ok = (...args) => done(resolve)(args);
    const failed = done(reject);
    emitter.once(type, ok);
    if (type !== "error") emitter.once("error", failed);
    signal?.addEventListener("abort", () => failed(signal.reason), { once: true });
  });
}

/** Iterates over the events. */
function on(emitter, type, { signal, close = [] } = {}) {
  const queue = [], waiting = [];
  let error, over = false;
  const listener = (...args) => (waiting.length ? waiting.shift().resolve({ value: args, done: false }) : queue.push(args));
  const end = () => { over = true; for (const w of waiting.splice(0)) w.resolve({ value: undefined, done: true }); };
  const failed = (e) => { error = e; for (const w of waiting.splice(0)) w.reject(e); };
  emitter.on(type, listener);
  if (type !== "error") emitter.on("error", failed);
  for (const c of close) emitter.on(c, end);
  signal?.addEventListener("abort", () => failed(signal.reason), { once: true });
  const stop = () => { emitter.removeListener(type, listener); emitter.removeListener("error", failed); end(); };
  return {
    async next() {
      if (queue.length) return { value: queue.shift(), done: false };
      if (error) { const e = error; error = undefined; throw e; }
      if (over) return { value: undefined, done: true };
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    async return() { stop(); return { value: undefined, done: true }; },
    async throw(e) { failed(e); },
    [Symbol.asyncIterator]() { return this; },
  };
}

export const events = Object.assign(EventEmitter, {
  EventEmitter, EventEmitterAsyncResource: EventEmitter, once, on, errorMonitor, captureRejectionSymbol, captureRejections: false, defaultMaxListeners: 10, usingDomains: false,
  setMaxListeners() {}, getMaxListeners: () => 10,
  listenerCount: (e, t) => e.listenerCount(t), getEventListeners: (e, t) => e.listeners?.(t) ?? [],
  addAbortListener: (signal, f) => { signal.addEventListener("abort", f, { once: true }); return { [Symbol.dispose]() { signal.removeEventListener("abort", f); } }; },
});
