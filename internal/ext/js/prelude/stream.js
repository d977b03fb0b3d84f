// Node's streams: Readable, Writable, Duplex, Transform, pipeline, with back pressure.
import { Buffer, wrap } from "./buffer.js";
import { EventEmitter } from "./events.js";
import { view } from "./encoding.js";

const highWater = { bytes: 65536, objects: 16 };
const later = (f) => queueMicrotask(f);
const premature = () => Object.assign(new Error("Premature close"), { code: "ERR_STREAM_PREMATURE_CLOSE" });

export function Stream(options) { EventEmitter.call(this, options); }
Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Stream, EventEmitter);

/** What both sides share: ends, errors, destruction. */
const base = {
  destroy(error) {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.errored = error ?? null;
    const done = (e) => later(() => {
      if (e ?? error) this.emit("error", e ?? error);
      this.closed = true;
      this.emit("close");
    });
    if (this._destroy) this._destroy(error ?? null, done);
    else done();
    return this;
  },
  ref() { return this; },
  unref() { return this; },
};

// --- reading ------------------------------------------------------------------

function initReadable(s, o = {}) {
  const r = { queue: [], size: 0, ended: false, endEmitted: false, flowing: null, reading: false, decoder: null, waiting: [], pipes: [], objectMode: !!(o.objectMode || o.readableObjectMode) };
  r.limit = o.readableHighWaterMark ?? o.highWaterMark ?? (r.objectMode ? highWater.objects : highWater.bytes);
  Object.defineProperty(s, "_r", { value: r, writable: true, configurable: true });
  s.readable = true;
  s.destroyed = false;
  s.closed = false;
  s.autoDestroy = o.autoDestroy !== false;
  if (typeof o.read === "function") s._read = o.read;
  if (typeof o.destroy === "function") s._destroy = o.destroy;
  if (o.encoding) Readable.prototype.setEncoding.call(s, o.encoding);
  if (o.signal) addAbortSignal(o.signal, s);
  if (typeof o.construct === "function") later(() => o.construct.call(s, (e) => e && s.destroy(e)));
}

export function Readable(o) {
  if (!(this instanceof Readable)) return new Readable(o);
  Stream.call(this);
  initReadable(this, o);
}
Object.setPrototypeOf(Readable.prototype, Stream.prototype);
Object.setPrototypeOf(Readable, Stream);

const sizeOf = (r, c) => (r.objectMode ? 1 : c.length);

/** Asks for more when there is room. */
function pull(s) {
  const r = s._r;
  if (r.reading || r.ended || s.destroyed || r.size >= r.limit || !s._read) return;
  r.reading = true;
  try { s._read(r.limit); } catch (e) { s.destroy(e); }
}

function flow(s) {
  const r = s._r;
  while (r.flowing && r.queue.length && !s.destroyed) s.emit("data", take(r));
  if (s.destroyed) return;
  if (r.flowing || r.ended) finish(s);
  if (r.flowing) { r.reading = false; pull(s); }
}

function take(r) {
  const c = r.queue.shift();
  r.size -= sizeOf(r, c);
  return c;
}

/** Emits end once everything was read. */
function finish(s) {
  const r = s._r;
  if (!r.ended || r.queue.length || r.endEmitted || s.destroyed) return;
  if (!r.flowing && !r.waiting.length && !s.listenerCount("readable") && !r.consumed) return;
  r.endEmitted = true;
  later(() => {
    s.readable = false;
    s.readableEnded = true;
    s.emit("end");
    if (s.autoDestroy && (!s._w || s._w.finished)) s.destroy();
  });
}

const wake = (r) => { for (const f of r.waiting.splice(0)) f(); };

Object.assign(Readable.prototype, base, {
  setEncoding(e) {
    this._r.encoding = e;
    this._r.decoder = new StringDecoder(e);
    const all = this._r.queue.splice(0);
    this._r.size = 0;
    for (const c of all) this._add(c);
    return this;
  },
  _add(c) {
    const r = this._r;
    if (r.decoder && typeof c !== "string") { c = r.decoder.write(c); if (!c) return; }
    r.queue.push(c);
    r.size += sizeOf(r, c);
  },
  push(c, encoding) {
    const r = this._r;
    r.reading = false;
    if (this.destroyed || r.ended) return false;
    if (c === null) {
      r.ended = true;
      const rest = r.decoder?.end();
      if (rest) { r.queue.push(rest); r.size += rest.length; }
    } else {
      if (!r.objectMode) {
        if (typeof c === "string") c = r.decoder && (encoding ?? "utf8") === r.encoding ? c : Buffer.from(c, encoding);
        else if (!(c instanceof Buffer)) c = wrap(view(c));
        if (c.length === 0) return r.size < r.limit;
      }
      this._add(c);
    }
    later(() => { if (this.destroyed) return; if (r.flowing) flow(this); else { if (r.queue.length || r.ended) this.emit("readable"); finish(this); } wake(r); });
    return r.size < r.limit;
  },
  unshift(c) {
    const r = this._r;
    if (typeof c === "string" && !r.decoder && !r.objectMode) c = Buffer.from(c);
    r.queue.unshift(c);
    r.size += sizeOf(r, c);
  },
  read(n) {
    const r = this._r;
    r.consumed = true;
    if (r.queue.length === 0) { r.reading = false; pull(this); finish(this); if (!r.queue.length) return null; }
    if (r.objectMode || (n === undefined && r.queue.length === 1)) { const c = take(r); later(() => { pull(this); finish(this); }); return c; }
    const all = r.decoder ? r.queue.join("") : Buffer.concat(r.queue);
    if (n !== undefined && n > all.length && !r.ended) { pull(this); return null; }
    const out = n === undefined ? all : all.slice(0, n), rest = n === undefined ? all.slice(0, 0) : all.slice(n);
    r.queue = rest.length ? [rest] : [];
    r.size = rest.length;
    later(() => { pull(this); finish(this); });
    return out;
  },
  on(type, f) {
    EventEmitter.prototype.on.call(this, type, f);
    if (type === "data" && this._r.flowing !== false) this.resume();
    if (type === "readable") { this._r.flowing = false; later(() => { if (this._r.queue.length || this._r.ended) { this.emit("readable"); finish(this); } else pull(this); }); }
    return this;
  },
  resume() {
    const r = this._r;
    if (!r.flowing) {
      r.flowing = true;
      later(() => { this.emit("resume"); flow(this); });
    }
    return this;
  },
  pause() {
    if (this._r.flowing !== false) { this._r.flowing = false; this.emit("pause"); }
    return this;
  },
  isPaused() { return this._r.flowing === false; },
  pipe(target, { end = true } = {}) {
    const onData = (c) => { if (target.write(c) === false) { this.pause(); target.once("drain", () => this.resume()); } };
    const onEnd = () => { if (end && target !== globalThis.process?.stdout && target !== globalThis.process?.stderr) target.end(); };
    this._r.pipes.push({ target, onData, onEnd });
    target.emit?.("pipe", this);
    this.on("data", onData);
    this.once("end", onEnd);
    this.resume();
    return target;
  },
  unpipe(target) {
    for (const p of this._r.pipes.filter((p) => !target || p.target === target)) {
      this.removeListener("data", p.onData);
      this.removeListener("end", p.onEnd);
      p.target.emit?.("unpipe", this);
    }
    this._r.pipes = this._r.pipes.filter((p) => target && p.target !== target);
    return this;
  },
  wrap(old) { old.on("data", (c) => this.push(c)); old.on("end", () => this.push(null)); return this; },
  async *iterator() { yield* this; },
  async toArray() { const out = []; for await (const c of this) out.push(c); return out; },
  map(f) { const s = this; return Readable.from((async function* () { for await (const c of s) yield f(c); })()); },
  filter(f) { const s = this; return Readable.from((async function* () { for await (const c of s) if (await f(c)) yield c; })()); },
  async forEach(f) { for await (const c of this) await f(c); },
});
Object.defineProperties(Readable.prototype, {
  readableFlowing: { get() { return this._r.flowing; } }, readableLength: { get() { return this._r.size; } }, readableHighWaterMark: { get() { return this._r.limit; } },
  readableObjectMode: { get() { return this._r.objectMode; } }, readableEncoding: { get() { return this._r.encoding ?? null; } },
});
Readable.prototype.addListener = Readable.prototype.on;

Readable.prototype[Symbol.asyncIterator] = async function* () {
  const r = this._r;
  let error;
  const failed = (e) => { error = e; wake(r); };
  this.on("error", failed);
  this.on("close", () => wake(r));
  r.consumed = true;
  try {
    for (;;) {
      if (error) throw error;
      if (r.queue.length) { yield take(r); continue; }
      if (r.ended) { finish(this); return; }
      if (this.destroyed) { if (error) throw error; if (!r.ended) throw premature(); return; }
      r.reading = false;
      const woken = new Promise((resolve) => r.waiting.push(resolve));
      pull(this);
      if (r.queue.length || r.ended) continue;
      await woken;
    }
  } finally {
    if (!this.destroyed) this.destroy();
  }
};

Readable.from = (source, o) => {
  if (typeof source === "string" || source instanceof Uint8Array) source = [source];
  let it;
  const s = new Readable({
    objectMode: true, highWaterMark: 1, ...o,
    async read() {
      try {
        it ??= source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]();
        const { done, value } = await it.next();
        s.push(done ? null : await value);
      } catch (e) { s.destroy(e); }
    },
    destroy(e, cb) { Promise.resolve(it?.return?.()).then(() => cb(e), cb); },
  });
  return s;
};
Readable.fromWeb = (web, o) => Readable.from(web, { objectMode: false, ...o });
Readable.toWeb = (s) => new ReadableStream({
  start(c) { s.on("data", (d) => { c.enqueue(typeof d === "string" ? d : new Uint8Array(d)); }); s.on("end", () => c.close()); s.on("error", (e) => c.error(e)); },
  cancel(e) { s.destroy(e); },
});

// --- writing ------------------------------------------------------------------

function initWritable(s, o = {}) {
  const w = { queue: [], size: 0, busy: false, ending: false, finished: false, needDrain: false, corked: 0, objectMode: !!(o.objectMode || o.writableObjectMode), decode: o.decodeStrings !== false };
  w.limit = o.writableHighWaterMark ?? o.highWaterMark ?? (w.objectMode ? highWater.objects : highWater.bytes);
  Object.defineProperty(s, "_w", { value: w, writable: true, configurable: true });
  s.writable = true;
  s.destroyed ??= false;
  s.closed ??= false;
  s.writableEnded = s.writableFinished = false;
  s.autoDestroy = o.autoDestroy !== false;
  for (const k of ["write", "writev", "final", "destroy"]) if (typeof o[k] === "function") s["_" + k] = o[k];
  if (o.signal) addAbortSignal(o.signal, s);
}

export function Writable(o) {
  if (!(this instanceof Writable)) return new Writable(o);
  Stream.call(this);
  initWritable(this, o);
}
Object.setPrototypeOf(Writable.prototype, Stream.prototype);
Object.setPrototypeOf(Writable, Stream);
Object.defineProperty(Writable, Symbol.hasInstance, { value(x) { return Function.prototype[Symbol.hasInstance].call(this, x) || (this === Writable && !!x?._w); } });

/** Writes what waits, one piece after the other. */
function work(s) {
  const w = s._w;
  while (!w.busy && !w.corked && w.queue.length && !s.destroyed) {
    const batch = s._writev && w.queue.length > 1 ? w.queue.splice(0) : [w.queue.shift()];
    w.busy = true;
    let now = true;
    const done = (e) => {
      w.busy = false;
      for (const { chunk, cb } of batch) { w.size -= w.objectMode ? 1 : chunk.length; cb?.(e ?? null); }
      if (e) return s.destroy(e);
      if (w.needDrain && w.size < w.limit && !w.ending) { w.needDrain = false; later(() => s.emit("drain")); }
      if (!now) work(s);
    };
    try {
      if (batch.length > 1) s._writev(batch, done);
      else if (s._write) s._write(batch[0].chunk, batch[0].encoding, done);
      else done(Object.assign(new Error("The _write() method is not implemented"), { code: "ERR_METHOD_NOT_IMPLEMENTED" }));
    } catch (e) { done(e); }
    now = false;
  }
  if (w.ending && !w.busy && !w.queue.length && !w.finalizing && !s.destroyed) finalize(s);
}

function finalize(s) {
  const w = s._w;
  w.finalizing = true;
  const done = (e) => {
    if (e) return s.destroy(e);
    later(() => {
      w.finished = s.writableFinished = true;
      s.emit("finish");
      if (s.autoDestroy && (!s._r || s._r.endEmitted)) s.destroy();
    });
  };
  if (s._final) try { s._final(done); } catch (e) { done(e); }
  else done();
}

const writing = {
  write(chunk, encoding, cb) {
    if (typeof encoding === "function") { cb = encoding; encoding = undefined; }
    const w = this._w;
    const fault = w.ending ? Object.assign(new Error("write after end"), { code: "ERR_STREAM_WRITE_AFTER_END" }) : this.destroyed ? Object.assign(new Error("Cannot call write after a stream was destroyed"), { code: "ERR_STREAM_DESTROYED" }) : null;
    if (fault) { later(() => { cb?.(fault); if (w.ending) this.destroy(fault); }); return false; }
    if (chunk === null) throw Object.assign(new TypeError("May not write null values to stream"), { code: "ERR_STREAM_NULL_VALUES" });
    if (!w.objectMode) {
      if (typeof chunk === "string") { if (w.decode) { chunk = Buffer.from(chunk, encoding ?? w.encoding); encoding = "buffer"; } }
      else if (ArrayBuffer.isView(chunk)) { if (!(chunk instanceof Buffer)) chunk = wrap(view(chunk)); encoding = "buffer"; }
      else throw Object.assign(new TypeError(`The "chunk" argument must be of type string or an instance of Buffer, TypedArray, or DataView.`), { code: "ERR_INVALID_ARG_TYPE" });
    }
    w.queue.push({ chunk, encoding: encoding ?? "utf8", cb });
    w.size += w.objectMode ? 1 : chunk.length;
    work(this);
    if (w.size >= w.limit) w.needDrain = true;
    return !w.needDrain;
  },
  end(chunk, encoding, cb) {
    if (typeof chunk === "function") { cb = chunk; chunk = undefined; }
    if (typeof encoding === "function") { cb = encoding; encoding = undefined; }
    if (chunk != null) this.write(chunk, encoding);
    const w = this._w;
    if (cb) { if (w.finished) later(cb); else { this.once("finish", cb); } }
    if (!w.ending) {
      w.ending = true;
      w.corked = 0;
      this.writable = false;
      this.writableEnded = true;
      work(this);
    }
    return this;
  },
  cork() { this._w.corked++; },
  uncork() { if (this._w.corked) { this._w.corked--; work(this); } },
  setDefaultEncoding(e) { this._w.encoding = e; return this; },
  destroySoon() { if (this._w.finished) this.destroy(); else this.once("finish", () => this.destroy()).end(); },
};
const writingState = {
  writableLength: { get() { return this._w.size; } }, writableHighWaterMark: { get() { return this._w.limit; } }, writableNeedDrain: { get() { return this._w.needDrain; } },
  writableObjectMode: { get() { return this._w.objectMode; } }, writableCorked: { get() { return this._w.corked; } },
};
Object.assign(Writable.prototype, base, writing, { pipe() { throw Object.assign(new Error("Cannot pipe, not readable"), { code: "ERR_STREAM_CANNOT_PIPE" }); } });
Object.defineProperties(Writable.prototype, writingState);
Writable.toWeb = (s) => new WritableStream({ write: (c) => new Promise((res, rej) => s.write(c, (e) => (e ? rej(e) : res()))), close: () => new Promise((r) => s.end(r)), abort: (e) => s.destroy(e) });

// --- both ---------------------------------------------------------------------

export function Duplex(o) {
  if (!(this instanceof Duplex)) return new Duplex(o);
  Stream.call(this);
  initReadable(this, o);
  initWritable(this, o);
  this.allowHalfOpen = o?.allowHalfOpen !== false;
  if (!this.allowHalfOpen) this.once("end", () => this.end());
}
Object.setPrototypeOf(Duplex.prototype, Readable.prototype);
Object.setPrototypeOf(Duplex, Readable);
Object.assign(Duplex.prototype, writing);
Object.defineProperties(Duplex.prototype, writingState);

export function Transform(o) {
  if (!(this instanceof Transform)) return new Transform(o);
  Duplex.call(this, o);
  if (typeof o?.transform === "function") this._transform = o.transform;
  if (typeof o?.flush === "function") this._flush = o.flush;
}
Object.setPrototypeOf(Transform.prototype, Duplex.prototype);
Object.setPrototypeOf(Transform, Duplex);
Object.assign(Transform.prototype, {
  _write(chunk, encoding, cb) {
    this._transform(chunk, encoding, (e, out) => {
      if (e) return cb(e);
      const room = out == null || this.push(out);
      if (room || this._r.flowing) return cb();
      this._ready = cb; // go on once somebody has read
    });
  },
  _read() { const f = this._ready; if (f) { this._ready = undefined; f(); } },
  _final(cb) {
    const done = (e, out) => { if (e) return cb(e); if (out != null) this.push(out); this.push(null); cb(); };
    if (this._flush) this._flush(done);
    else done();
  },
});

export function PassThrough(o) {
  if (!(this instanceof PassThrough)) return new PassThrough(o);
  Transform.call(this, o);
}
Object.setPrototypeOf(PassThrough.prototype, Transform.prototype);
Object.setPrototypeOf(PassThrough, Transform);
PassThrough.prototype._transform = (c, e, cb) => cb(null, c);

/** Calls cb once a stream is over, for better or worse. */
export function finished(s, o, cb) {
  if (typeof o === "function") { cb = o; o = {}; }
  let called = false;
  const done = (e) => { if (!called) { called = true; cb.call(s, e); } };
  const reads = s._r && o?.readable !== false, writes = s._w && o?.writable !== false;
  const over = () => (!reads || s.readableEnded || s._r.endEmitted) && (!writes || s.writableFinished);
  const check = () => { if (over()) done(); };
  s.on("end", check);
  s.on("finish", check);
  s.on("error", done);
  s.on("close", () => later(() => done(over() ? undefined : s.errored ?? premature())));
  if (s.destroyed && s.closed) later(() => done(over() ? undefined : s.errored ?? premature()));
  else if (over()) later(() => done());
  return () => { called = true; };
}

/** Connects streams, generators and functions, and calls cb when all is over. */
export function pipeline(...list) {
  const cb = typeof list.at(-1) === "function" && list.length > 1 && !isGenerator(list.at(-1)) ? list.pop() : () => {};
  if (list.length === 1 && Array.isArray(list[0])) list = list[0];
  let failed = false;
  const streams = [];
  const fail = (e) => { if (failed) return; failed = true; for (const s of streams) s.destroy?.(e === undefined ? undefined : null); cb(e); };
  let current;
  for (const [i, part] of list.entries()) {
    let next;
    if (typeof part === "function") {
      const r = part(i === 0 ? undefined : current, {});
      if (typeof r?.then === "function") { r.then((v) => cb(undefined, v), fail); return current; }
      next = Readable.from(r);
    } else if (part?._r || part?._w || typeof part?.pipe === "function" || typeof part?.write === "function") next = part;
    else if (typeof part?.getReader === "function") next = Readable.fromWeb(part);
    else next = Readable.from(part);
    streams.push(next);
    next.on("error", fail);
    if (i > 0 && typeof part !== "function") current.pipe(next);
    current = next;
  }
  finished(current, { readable: current._w ? false : undefined }, (e) => { if (e) fail(e); else if (!failed) { failed = true; cb(); } });
  return current;
}
const isGenerator = (f) => /GeneratorFunction$/.test(f?.constructor?.name ?? "");

export function addAbortSignal(signal, s) {
  const stop = () => s.destroy(signal.reason);
  if (signal.aborted) later(stop);
  else signal.addEventListener("abort", stop, { once: true });
  return s;
}

export class StringDecoder {
  #decoder; #rest = Buffer.alloc(0);
  constructor(encoding = "utf8") {
    this.encoding = String(encoding).toLowerCase().replace("utf-8", "utf8");
    if (this.encoding === "utf8" || this.encoding === "utf16le") this.#decoder = new TextDecoder(this.encoding === "utf8" ? "utf-8" : "utf-16le", { ignoreBOM: true });
  }
  write(b) {
    if (typeof b === "string") return b;
    if (this.#decoder) return this.#decoder.decode(b, { stream: true });
    if (!this.encoding.startsWith("base64")) return wrap(view(b)).toString(this.encoding);
    const all = Buffer.concat([this.#rest, b]);
    const n = all.length - (all.length % 3);
    this.#rest = all.subarray(n);
    return all.toString(this.encoding, 0, n);
  }
  end(b) {
    const s = b ? this.write(b) : "";
    if (this.#decoder) return s + this.#decoder.decode();
    const rest = this.#rest.toString(this.encoding);
    this.#rest = Buffer.alloc(0);
    return s + rest;
  }
}

const promised = {
  pipeline: (...a) => new Promise((res, rej) => { const o = a.at(-1); if (o && typeof o === "object" && !o._r && !o._w && "signal" in o) a.pop(); pipeline(...a, (e, v) => (e ? rej(e) : res(v))); }),
  finished: (s, o) => new Promise((res, rej) => finished(s, o ?? {}, (e) => (e ? rej(e) : res()))),
};
const collect = async (s) => { const out = []; for await (const c of s) out.push(typeof c === "string" ? Buffer.from(c) : c); return Buffer.concat(out); };

export const stream = Object.assign(Stream, {
  Stream, Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished, addAbortSignal, promises: promised,
  getDefaultHighWaterMark: (objects) => (objects ? highWater.objects : highWater.bytes), setDefaultHighWaterMark() {},
  isReadable: (s) => !!s?.readable, isErrored: (s) => !!s?.errored, isDisturbed: (s) => !!s?._r?.consumed, isWritable: (s) => !!s?.writable,
  compose: (...a) => pipeline(...a), duplexPair: () => { const a = new Duplex({ read() {}, write(c, e, cb) { b.push(c); cb(); }, final(cb) { b.push(null); cb(); } }); const b = new Duplex({ read() {}, write(c, e, cb) { a.push(c); cb(); }, final(cb) { a.push(null); cb(); } }); return [a, b]; },
});
export const streamPromises = promised;
export const consumers = {
  buffer: collect, text: async (s) => (await collect(s)).toString(), json: async (s) => JSON.parse((await collect(s)).toString()),
  arrayBuffer: async (s) => new Uint8Array(await collect(s)).buffer, bytes: async (s) => new Uint8Array(await collect(s)),
};
