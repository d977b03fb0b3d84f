// Events of the web: Event, EventTarget, AbortController, DOMException.

class Event {
  #stopped = false;
  constructor(type, { bubbles = false, cancelable = false } = {}) {
    this.type = String(type);
    this.bubbles = bubbles;
    this.cancelable = cancelable;
    this.defaultPrevented = false;
    this.target = this.currentTarget = null;
    this.timeStamp = Date.now();
  }
  preventDefault() { if (this.cancelable) this.defaultPrevented = true; }
  stopPropagation() {}
  stopImmediatePropagation() { this.#stopped = true; }
  get cancelBubble() { return this.#stopped; }
}

class CustomEvent extends Event {
  constructor(type, options = {}) {
    super(type, options);
    this.detail = options.detail ?? null;
  }
}

class EventTarget {
  #listeners = new Map();
  addEventListener(type, listener, options) {
    if (!listener) return;
    const o = typeof options === "object" && options ? options : {};
    if (o.signal?.aborted) return;
    const list = this.#listeners.get(type) ?? [];
    if (list.some((l) => l.listener === listener)) return;
    this.#listeners.set(type, [...list, { listener, once: !!o.once }]);
    o.signal?.addEventListener("abort", () => this.removeEventListener(type, listener), { once: true });
  }
  removeEventListener(type, listener) {
    const list = this.#listeners.get(type);
    if (list) this.#listeners.set(type, list.filter((l) => l.listener !== listener));
  }
  dispatchEvent(event) {
    event.target ??= this;
    event.currentTarget = this;
    const own = this["on" + event.type];
    const list = [...(this.#listeners.get(event.type) ?? [])];
    if (typeof own === "function") list.unshift({ listener: own });
    let first;
    for (const { listener, once } of list) {
      if (once) this.removeEventListener(event.type, listener);
      try {
        if (typeof listener === "function") listener.call(this, event);
        else listener.handleEvent(event);
      } catch (e) {
        first ??= { error: e };
      }
      if (event.cancelBubble) break;
    }
    if (first) queueMicrotask(() => { throw first.error; });
    return !event.defaultPrevented;
  }
}

const codes = { AbortError: 20, TimeoutError: 23, DataCloneError: 25, InvalidCharacterError: 5, NotSupportedError: 9, InvalidStateError: 11, SyntaxError: 12 };

class DOMException extends Error {
  constructor(message = "", name = "Error") {
    super(message);
    const n = typeof name === "object" ? (name?.name ?? "Error") : name;
    Object.defineProperty(this, "name", { value: n, configurable: true });
    Object.defineProperty(this, "code", { value: codes[n] ?? 0, configurable: true });
    if (typeof name === "object" && name && "cause" in name) this.cause = name.cause;
  }
}

const create = Symbol("create");

class AbortSignal extends EventTarget {
  constructor(key) {
    if (key !== create) throw new TypeError("Illegal constructor");
    super();
    this.aborted = false;
    this.reason = undefined;
    this.onabort = null;
  }
  throwIfAborted() { if (this.aborted) throw this.reason; }
  static abort(reason) {
    const c = new AbortController();
    c.abort(reason);
    return c.signal;
  }
  static timeout(ms) {
    const c = new AbortController();
    setTimeout(() => c.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms).unref();
    return c.signal;
  }
  static any(signals) {
    const c = new AbortController();
    for (const s of signals) {
      if (s.aborted) { c.abort(s.reason); break; }
      s.addEventListener("abort", () => c.abort(s.reason), { once: true, signal: c.signal });
    }
    return c.signal;
  }
}

class AbortController {
  constructor() { this.signal = new AbortSignal(create); }
  abort(reason = new DOMException("This operation was aborted", "AbortError")) {
    const s = this.signal;
    if (s.aborted) return;
    s.aborted = true;
    s.reason = reason;
    s.dispatchEvent(new Event("abort"));
  }
}

class MessageEvent extends Event {
  constructor(type, o = {}) { super(type, o); this.data = o.data; this.origin = o.origin ?? ""; }
}
class CloseEvent extends Event {
  constructor(type, o = {}) { super(type, o); this.code = o.code ?? 0; this.reason = o.reason ?? ""; this.wasClean = !!o.wasClean; }
}
class ErrorEvent extends Event {
  constructor(type, o = {}) { super(type, o); this.message = o.message ?? ""; this.error = o.error; }
}

class MessagePort extends EventTarget {
  start() {}
  close() { this.peer = undefined; }
  ref() {} unref() {}
  postMessage(data) {
    const copy = structuredClone(data);
    const peer = this.peer;
    if (peer) setTimeout(() => peer.dispatchEvent(new MessageEvent("message", { data: copy })), 0);
  }
}
class MessageChannel {
  constructor() {
    this.port1 = new MessagePort();
    this.port2 = new MessagePort();
    this.port1.peer = this.port2;
    this.port2.peer = this.port1;
  }
}

export function install(G) {
  Object.assign(G, { Event, CustomEvent, EventTarget, DOMException, AbortSignal, AbortController, MessageEvent, CloseEvent, ErrorEvent, MessagePort, MessageChannel });
}
