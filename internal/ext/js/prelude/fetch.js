// fetch and its classes.
import { cancel, start, toBytes, fromBytes } from "./bridge.js";
import { Blob, Buffer, File } from "./buffer.js";
import { view } from "./encoding.js";
import { URLSearchParams } from "./url.js";
import { ReadableStream } from "./web_streams.js";

export class Headers {
  #map = new Map();
  constructor(init) {
    if (init == null) return;
    if (typeof init[Symbol.iterator] === "function") for (const [k, v] of init) this.append(k, v);
    else for (const [k, v] of Object.entries(init)) if (v !== undefined) this.append(k, v);
  }
  append(k, v) { k = String(k).toLowerCase(); this.#map.set(k, [...(this.#map.get(k) ?? []), String(v).trim()]); }
  set(k, v) { this.#map.set(String(k).toLowerCase(), [String(v).trim()]); }
  get(k) { return this.#map.get(String(k).toLowerCase())?.join(", ") ?? null; }
  has(k) { return this.#map.has(String(k).toLowerCase()); }
  delete(k) { this.#map.delete(String(k).toLowerCase()); }
  getSetCookie() { return [...(this.#map.get("set-cookie") ?? [])]; }
  forEach(f, self) { for (const [k, v] of this) f.call(self, v, k, this); }
  *entries() {
    for (const k of [...this.#map.keys()].sort()) {
      if (k === "set-cookie") for (const v of this.#map.get(k)) yield [k, v];
      else yield [k, this.get(k)];
    }
  }
  *keys() { for (const [k] of this.entries()) yield k; }
  *values() { for (const [, v] of this.entries()) yield v; }
  [Symbol.iterator]() { return this.entries(); }
}

export class FormData {
  #list = [];
  static #value(v, name) { return v instanceof Blob ? (v instanceof File && name === undefined ? v : new File([v], name ?? v.name ?? "blob", { type: v.type })) : String(v); }
  append(k, v, name) { this.#list.push([String(k), FormData.#value(v, name)]); }
  set(k, v, name) { this.delete(k); this.append(k, v, name); }
  get(k) { return this.#list.find((e) => e[0] === k)?.[1] ?? null; }
  getAll(k) { return this.#list.filter((e) => e[0] === k).map((e) => e[1]); }
  has(k) { return this.#list.some((e) => e[0] === k); }
  delete(k) { this.#list = this.#list.filter((e) => e[0] !== k); }
  forEach(f, self) { for (const [k, v] of this.#list) f.call(self, v, k, this); }
  entries() { return this.#list[Symbol.iterator](); }
  *keys() { for (const e of this.#list) yield e[0]; }
  *values() { for (const e of this.#list) yield e[1]; }
  [Symbol.iterator]() { return this.entries(); }
}

async function multipart(form) {
  const mark = "----form" + Math.random().toString(36).slice(2) + Math.random().toString(36).slice(2);
  const parts = [];
  const quote = (s) => s.replace(/"/g, "%22").replace(/\r?\n/g, "%0A");
  for (const [k, v] of form) {
    const file = v instanceof Blob ? `; filename="${quote(v.name ?? "blob")}"\r\nContent-Type: ${v.type || "application/octet-stream"}` : "";
    parts.push(Buffer.from(`--${mark}\r\nContent-Disposition: form-data; name="${quote(k)}"${file}\r\n\r\n`), v instanceof Blob ? await v.bytes() : Buffer.from(v), Buffer.from("\r\n"));
  }
  parts.push(Buffer.from(`--${mark}--\r\n`));
  return { bytes: Buffer.concat(parts), type: "multipart/form-data; boundary=" + mark };
}

const bytesOf = async (stream) => {
  const out = [];
  if (typeof stream.getReader === "function") {
    const r = stream.getReader();
    for (;;) { const { done, value } = await r.read(); if (done) break; out.push(typeof value === "string" ? Buffer.from(value) : value); }
  } else for await (const c of stream) out.push(typeof c === "string" ? Buffer.from(c) : c);
  return Buffer.concat(out);
};

class Body {
  #body; #used = false;
  constructor(body, headers) {
    this.#body = body ?? null;
    const type = body instanceof URLSearchParams ? "application/x-www-form-urlencoded;charset=UTF-8" : typeof body === "string" ? "text/plain;charset=UTF-8" : body instanceof Blob && body.type ? body.type : null;
    if (type && !headers.has("content-type")) headers.set("content-type", type);
  }
  get bodyUsed() { return this.#used; }
  get body() {
    if (this.#body === null) return null;
    if (!(this.#body instanceof ReadableStream)) {
      const whole = this.#bytes();
      this.#body = new ReadableStream({ async pull(c) { const b = await whole; if (b.length) c.enqueue(new Uint8Array(b)); c.close(); } });
    }
    return this.#body;
  }
  get _raw() { return this.#body; }
  async #bytes() {
    const b = this.#body;
    if (b === null) return Buffer.alloc(0);
    if (typeof b === "string") return Buffer.from(b);
    if (b instanceof URLSearchParams) return Buffer.from(b.toString());
    if (b instanceof Blob) return Buffer.from(await b.bytes());
    if (b instanceof FormData) { const m = await multipart(b); if (!/boundary/.test(this.headers.get("content-type") ?? "")) this.headers.set("content-type", m.type); return m.bytes; }
    if (b instanceof ArrayBuffer || ArrayBuffer.isView(b)) return Buffer.from(view(b));
    if (typeof b.getReader === "function" || b[Symbol.asyncIterator] || b[Symbol.iterator]) return bytesOf(b);
    return Buffer.from(String(b));
  }
  async _take() {
    if (this.#used) throw new TypeError("Body is unusable: Body has already been read");
    this.#used = this.#body !== null;
    return this.#bytes();
  }
  async bytes() { return new Uint8Array(await this._take()); }
  async arrayBuffer() { return (await this.bytes()).buffer; }
  async text() { const s = (await this._take()).toString(); return s.charCodeAt(0) === 0xfeff ? s.slice(1) : s; }
  async json() { return JSON.parse(await this.text()); }
  async blob() { return new Blob([await this._take()], { type: this.headers.get("content-type") ?? "" }); }
  async formData() {
    if (!/urlencoded/.test(this.headers.get("content-type") ?? "")) throw new TypeError("Only urlencoded forms can be read in this host");
    const f = new FormData();
    for (const [k, v] of new URLSearchParams(await this.text())) f.append(k, v);
    return f;
  }
  /** Two bodies for one. */
  _split() {
    if (this.#used) throw new TypeError("Response.clone: Body has already been consumed.");
    if (!(this.#body instanceof ReadableStream)) return this.#body;
    const [a, b] = this.#body.tee();
    this.#body = a;
    return b;
  }
}

export class Response extends Body {
  #init;
  constructor(body, o = {}) {
    const headers = new Headers(o.headers);
    super(body, headers);
    this.headers = headers;
    this.#init = o;
    this.status = o.status ?? 200;
    if (!(this.status >= 200 && this.status <= 599) && !o._net) throw new RangeError(`init["status"] must be in the range of 200 to 599, inclusive.`);
    this.statusText = o.statusText ?? "";
    this.url = o._url ?? "";
    this.redirected = !!o._redirected;
    this.type = o._url ? "basic" : "default";
  }
  get ok() { return this.status >= 200 && this.status < 300; }
  clone() { return new Response(this._split(), { ...this.#init, headers: this.headers }); }
  static json(v, o = {}) { const h = new Headers(o.headers); if (!h.has("content-type")) h.set("content-type", "application/json"); return new Response(JSON.stringify(v), { ...o, headers: h }); }
  static error() { const r = new Response(null, { status: 0, _net: true }); r.type = "error"; return r; }
  static redirect(url, status = 302) { return new Response(null, { status, headers: { location: String(url) } }); }
}

export class Request extends Body {
  constructor(input, o = {}) {
    const from = input instanceof Request ? input : null;
    const headers = new Headers(o.headers ?? from?.headers);
    super(o.body !== undefined ? o.body : from?._split(), headers);
    this.headers = headers;
    this.url = from ? from.url : new globalThis.URL(String(input)).href;
    this.method = String(o.method ?? from?.method ?? "GET");
    if (/^(get|head|post|put|delete|options|patch)$/i.test(this.method)) this.method = this.method.toUpperCase();
    this.signal = o.signal ?? from?.signal ?? new AbortController().signal;
    this.redirect = o.redirect ?? from?.redirect ?? "follow";
    this.credentials = o.credentials ?? "same-origin";
    this.mode = o.mode ?? "cors";
    this.cache = o.cache ?? "default";
    if (o.body != null && /^(GET|HEAD)$/.test(this.method)) throw new TypeError("Request with GET/HEAD method cannot have body.");
  }
  clone() { return new Request(this); }
}

const dataURL = (u) => {
  const m = /^data:([^,]*?)(;base64)?,(.*)$/s.exec(u);
  if (!m) throw new TypeError("fetch failed");
  return new Response(m[2] ? Buffer.from(m[3], "base64") : decodeURIComponent(m[3]), { headers: { "content-type": m[1] || "text/plain;charset=US-ASCII" } });
};

export async function fetch(input, o = {}) {
  const r = new Request(input, o);
  r.signal.throwIfAborted();
  if (r.url.startsWith("data:")) return dataURL(r.url);
  if (!/^https?:/.test(r.url)) throw Object.assign(new TypeError("fetch failed"), { cause: new Error("not implemented... yet: " + r.url.split(":")[0]) });
  const body = r._raw == null ? null : fromBytes(await r._take());
  if (!r.headers.has("accept")) r.headers.set("accept", "*/*");
  if (!r.headers.has("user-agent")) r.headers.set("user-agent", "node");
  return new Promise((resolve, reject) => {
    let id, controller;
    const stream = new ReadableStream({ start(c) { controller = c; }, cancel: () => cancel(id) });
    const onEvent = (m) => {
      if (m.type === "data") { try { controller.enqueue(toBytes(m.data)); } catch { /* cancelled */ } return; }
      const none = r.method === "HEAD" || [101, 204, 205, 304].includes(m.status);
      resolve(new Response(none ? null : stream, { status: m.status, statusText: m.statusText, headers: m.headers, _url: m.url, _redirected: m.redirected, _net: true }));
    };
    start("fetch", { url: r.url, method: r.method, headers: [...r.headers], body, redirect: r.redirect }, { signal: r.signal, onId: (i) => { id = i; }, onEvent }).then(
      () => { try { controller.close(); } catch { /* cancelled */ } },
      (e) => {
        const err = r.signal.aborted ? r.signal.reason : Object.assign(new TypeError("fetch failed"), { cause: e });
        reject(err);
        controller.error(err);
      },
    );
  });
}
