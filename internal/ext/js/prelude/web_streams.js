// The web's streams.

export class ReadableStream {
  #queue = []; #waiting = []; #state = "open"; #error; #source; #controller; #pulling = false; #started; #closed;
  constructor(source = {}) {
    this.locked = false;
    this.#source = source ?? {};
    const end = Promise.withResolvers();
    end.promise.catch(() => {});
    this.#closed = end;
    const s = this;
    this.#controller = {
      get desiredSize() { return s.#state === "open" ? 1 - s.#queue.length : 0; },
      enqueue(v) {
        if (s.#state !== "open") throw new TypeError("Invalid state: Controller is already closed");
        if (s.#waiting.length) s.#waiting.shift().resolve({ value: v, done: false });
        else s.#queue.push(v);
      },
      close() {
        if (s.#state !== "open") throw new TypeError("Invalid state: Controller is already closed");
        s.#state = "closed";
        for (const w of s.#waiting.splice(0)) w.resolve({ value: undefined, done: true });
        if (!s.#queue.length) end.resolve();
      },
      error(e) {
        if (s.#state !== "open") return;
        s.#state = "errored";
        s.#error = e;
        s.#queue = [];
        for (const w of s.#waiting.splice(0)) w.reject(e);
        end.reject(e);
      },
      byobRequest: null,
    };
    this.#started = Promise.resolve(this.#source.start?.(this.#controller)).catch((e) => this.#controller.error(e));
  }
  static from(it) {
    const i = it[Symbol.asyncIterator]?.() ?? it[Symbol.iterator]();
    return new ReadableStream({ async pull(c) { const { done, value } = await i.next(); if (done) c.close(); else c.enqueue(value); }, cancel: (r) => i.return?.(r) });
  }
  async #read() {
    if (this.#queue.length) {
      const value = this.#queue.shift();
      if (!this.#queue.length && this.#state === "closed") this.#closed.resolve();
      this.#pull();
      return { value, done: false };
    }
    if (this.#state === "errored") throw this.#error;
    if (this.#state === "closed") return { value: undefined, done: true };
    const next = new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    this.#pull();
    return next;
  }
  async #pull() {
    if (this.#pulling || !this.#source.pull) return;
    this.#pulling = true;
    try {
      await this.#started;
      while (this.#state === "open" && this.#waiting.length) {
        const before = this.#waiting.length + this.#queue.length;
        await this.#source.pull(this.#controller);
        if (this.#waiting.length + this.#queue.length === before) break;
      }
    } catch (e) {
      this.#controller.error(e);
    } finally {
      this.#pulling = false;
    }
  }
  getReader() {
    if (this.locked) throw new TypeError("Invalid state: ReadableStream is locked");
    this.locked = true;
    const s = this;
    return {
      read: () => s.#read(),
      releaseLock() { s.locked = false; },
      cancel: (r) => s.#cancel(r),
      get closed() { return s.#closed.promise; },
    };
  }
  async #cancel(reason) {
    if (this.#state !== "open") return;
    this.#state = "closed";
    this.#queue = [];
    for (const w of this.#waiting.splice(0)) w.resolve({ value: undefined, done: true });
    this.#closed.resolve();
    await this.#source.cancel?.(reason);
  }
  cancel(reason) { return this.#cancel(reason); }
  values({ preventCancel = false } = {}) {
    const r = this.getReader();
    return {
      next: () => r.read(),
      return: async (v) => { if (!preventCancel) await r.cancel(v); r.releaseLock(); return { value: v, done: true }; },
      [Symbol.asyncIterator]() { return this; },
    };
  }
  [Symbol.asyncIterator](o) { return this.values(o); }
  async pipeTo(target, { preventClose, preventAbort, preventCancel, signal } = {}) {
    const r = this.getReader(), w = target.getWriter();
    const stop = () => { if (!preventCancel) r.cancel(signal.reason); if (!preventAbort) w.abort(signal.reason); };
    signal?.addEventListener("abort", stop, { once: true });
    try {
      for (;;) {
        const { done, value } = await r.read();
        signal?.throwIfAborted();
        if (done) break;
        await w.write(value);
      }
      if (!preventClose) await w.close();
    } catch (e) {
      if (!preventAbort) await w.abort(e);
      throw e;
    } finally {
      r.releaseLock();
      w.releaseLock();
    }
  }
  pipeThrough(t, o) { this.pipeTo(t.writable, o).catch(() => {}); return t.readable; }
  tee() {
    const r = this.getReader();
    const outs = [];
    let reading = false;
    const pull = async () => {
      if (reading) return;
      reading = true;
      const { done, value } = await r.read().finally(() => { reading = false; });
      for (const c of outs) if (done) c.close(); else c.enqueue(value);
    };
    const make = () => new ReadableStream({ start(c) { outs.push(c); }, pull });
    return [make(), make()];
  }
}

export class WritableStream {
  #sink; #tail; #state = "open"; #closed = Promise.withResolvers();
  constructor(sink = {}) {
    this.locked = false;
    this.#sink = sink ?? {};
    this.#closed.promise.catch(() => {});
    this.controller = { error: (e) => this.#fail(e), signal: new AbortController().signal };
    this.#tail = Promise.resolve(this.#sink.start?.(this.controller));
  }
  #fail(e) { this.#state = "errored"; this.#closed.reject(e); }
  #queue(f) {
    const r = this.#tail.then(f);
    this.#tail = r.catch((e) => this.#fail(e));
    return r;
  }
  getWriter() {
    if (this.locked) throw new TypeError("Invalid state: WritableStream is locked");
    this.locked = true;
    const s = this;
    return {
      write: (v) => (s.#state === "open" ? s.#queue(() => s.#sink.write?.(v, s.controller)) : Promise.reject(new TypeError("Invalid state: WritableStream is closed"))),
      close: () => { s.#state = "closed"; return s.#queue(async () => { await s.#sink.close?.(); s.#closed.resolve(); }); },
      abort: async (e) => { s.#state = "errored"; await s.#sink.abort?.(e); },
      releaseLock() { s.locked = false; },
      get ready() { return s.#tail; }, get closed() { return s.#closed.promise; }, get desiredSize() { return 1; },
    };
  }
  close() { const w = this.getWriter(); return w.close().finally(() => w.releaseLock()); }
  abort(e) { const w = this.getWriter(); return w.abort(e).finally(() => w.releaseLock()); }
}

export class TransformStream {
  constructor(t = {}) {
    let out;
    this.readable = new ReadableStream({ start(c) { out = c; } });
    const controller = { enqueue: (v) => out.enqueue(v), error: (e) => out.error(e), terminate: () => out.close(), get desiredSize() { return out.desiredSize; } };
    this.writable = new WritableStream({
      start: () => t.start?.(controller),
      write: (v) => (t.transform ? t.transform(v, controller) : out.enqueue(v)),
      async close() { await t.flush?.(controller); try { out.close(); } catch { /* closed by the transformer */ } },
      abort: (e) => out.error(e),
    });
  }
}

export class TextDecoderStream extends TransformStream {
  constructor(label, o) {
    const d = new TextDecoder(label, o);
    super({ transform(v, c) { const s = d.decode(v, { stream: true }); if (s) c.enqueue(s); }, flush(c) { const s = d.decode(); if (s) c.enqueue(s); } });
    this.encoding = d.encoding;
  }
}
export class TextEncoderStream extends TransformStream {
  constructor() { const e = new TextEncoder(); super({ transform: (v, c) => c.enqueue(e.encode(v)) }); this.encoding = "utf-8"; }
}
export class ByteLengthQueuingStrategy { constructor(o) { this.highWaterMark = o.highWaterMark; } size(c) { return c.byteLength; } }
export class CountQueuingStrategy { constructor(o) { this.highWaterMark = o.highWaterMark; } size() { return 1; } }

export const webStreams = { ReadableStream, WritableStream, TransformStream, TextDecoderStream, TextEncoderStream, ByteLengthQueuingStrategy, CountQueuingStrategy };
