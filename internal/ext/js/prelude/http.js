// http and https: clients over the host's client, servers over the host's server.
import { cancel, start, toBytes, fromBytes } from "./bridge.js";
import { Buffer, wrap } from "./buffer.js";
import { EventEmitter } from "./events.js";
import { Server as NetServer } from "./net.js";
import { Readable, Writable } from "./stream.js";
import { URL, url as urlModule } from "./url.js";

const STATUS_CODES = { 100: "Continue", 101: "Switching Protocols", 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required", 413: "Payload Too Large", 415: "Unsupported Media Type", 418: "I'm a Teapot", 422: "Unprocessable Entity", 425: "Too Early", 429: "Too Many Requests", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout" };
const METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"];

export class IncomingMessage extends Readable {
  constructor(list = []) {
    super({ read() {} });
    this.httpVersion = "1.1";
    this.httpVersionMajor = this.httpVersionMinor = 1;
    this.headers = {};
    this.rawHeaders = [];
    this.trailers = {};
    this.complete = false;
    this.aborted = false;
    this.socket = this.connection = Object.assign(new EventEmitter(), { setTimeout() {}, setNoDelay() {}, setKeepAlive() {}, destroy: () => this.destroy(), remoteAddress: undefined, encrypted: false });
    for (const [k, v] of list) {
      this.rawHeaders.push(k, v);
      const low = k.toLowerCase();
      if (low === "set-cookie") (this.headers[low] ??= []).push(v);
      else this.headers[low] = low in this.headers ? this.headers[low] + ", " + v : v;
    }
  }
  setTimeout() { return this; }
}

/** Headers that are to be sent. */
class Outgoing extends Writable {
  #headers = new Map();
  constructor(o) { super(o); this.headersSent = false; this.finished = false; }
  setHeader(k, v) { if (this.headersSent) throw Object.assign(new Error("Cannot set headers after they are sent to the client"), { code: "ERR_HTTP_HEADERS_SENT" }); this.#headers.set(k.toLowerCase(), [k, v]); return this; }
  setHeaders(h) { for (const [k, v] of h instanceof Map || typeof h.entries === "function" ? h.entries() : Object.entries(h)) this.setHeader(k, v); return this; }
  appendHeader(k, v) { const old = this.getHeader(k); return this.setHeader(k, old === undefined ? v : [].concat(old, v)); }
  getHeader(k) { return this.#headers.get(k.toLowerCase())?.[1]; }
  getHeaders() { return Object.fromEntries([...this.#headers].map(([k, [, v]]) => [k, v])); }
  getHeaderNames() { return [...this.#headers.keys()]; }
  hasHeader(k) { return this.#headers.has(k.toLowerCase()); }
  removeHeader(k) { this.#headers.delete(k.toLowerCase()); }
  _list() { return [...this.#headers.values()].flatMap(([k, v]) => [].concat(v).map((x) => [k, String(x)])); }
  flushHeaders() {} addTrailers() {} setNoDelay() {} setSocketKeepAlive() {} setTimeout() { return this; }
}

export class ClientRequest extends Outgoing {
  #parts = []; #o; #sent = false; #abort = new AbortController();
  constructor(protocol, args) {
    super({ autoDestroy: false }); // it lives until its response is over
    const cb = typeof args.at(-1) === "function" ? args.pop() : undefined;
    let o = {};
    for (const a of args) o = { ...o, ...(typeof a === "string" ? urlModule.urlToHttpOptions(new URL(a)) : a instanceof URL ? urlModule.urlToHttpOptions(a) : a) };
    this.#o = o;
    this.method = (o.method ?? "GET").toUpperCase();
    this.protocol = o.protocol ?? protocol;
    this.host = (o.hostname ?? o.host ?? "localhost").replace(/:\d+$/, "");
    this.path = o.path ?? "/";
    for (const [k, v] of Array.isArray(o.headers) ? pairs(o.headers) : Object.entries(o.headers ?? {})) if (v !== undefined) this.setHeader(k, v);
    if (o.auth && !this.hasHeader("authorization")) this.setHeader("Authorization", "Basic " + Buffer.from(o.auth).toString("base64"));
    if (cb) this.once("response", cb);
    if (o.timeout) this.setTimeout(o.timeout);
    o.signal?.addEventListener("abort", () => this.destroy(o.signal.reason), { once: true });
    this.socket = this.connection = Object.assign(new EventEmitter(), { setTimeout() {}, setNoDelay() {}, setKeepAlive() {}, destroy: () => this.destroy(), ref() {}, unref() {} });
    queueMicrotask(() => this.emit("socket", this.socket));
  }
  _write(c, e, cb) { this.#parts.push(c); cb(); }
  _final(cb) { this.finished = true; this.#send(); cb(); }
  setTimeout(ms, cb) {
    if (cb) this.once("timeout", cb);
    clearTimeout(this._timer);
    if (ms) this._timer = setTimeout(() => this.emit("timeout"), ms);
    return this;
  }
  #send() {
    if (this.#sent) return;
    this.#sent = this.headersSent = true;
    const port = this.#o.port ?? /:(\d+)$/.exec(this.#o.host ?? "")?.[1];
    const host = this.host.includes(":") ? `[${this.host}]` : this.host;
    const address = `${this.protocol}//${host}${port ? ":" + port : ""}${this.path.startsWith("/") ? "" : "/"}${this.path}`;
    let res;
    const onEvent = (m) => {
      clearTimeout(this._timer);
      if (m.type === "data") return void res.push(wrap(toBytes(m.data)));
      res = Object.assign(new IncomingMessage(m.headers), { statusCode: m.status, statusMessage: m.statusText || STATUS_CODES[m.status] || "", req: this });
      res.once("close", () => { if (!res.complete) this.#abort.abort(); });
      this.res = res;
      if (!this.emit("response", res)) res.resume();
    };
    const body = this.#parts.length || !/^(GET|HEAD|DELETE|OPTIONS)$/.test(this.method) ? fromBytes(Buffer.concat(this.#parts)) : null;
    start("fetch", { url: address, method: this.method, headers: this._list(), body, redirect: "manual" }, { signal: this.#abort.signal, onEvent }).then(
      () => { res.complete = true; res.push(null); this.emit("close"); },
      (e) => {
        clearTimeout(this._timer);
        if (this.destroyed) return;
        if (res) { res.aborted = true; res.destroy(Object.assign(new Error("aborted"), { code: "ECONNRESET" })); } else this.destroy(e.name === "AbortError" ? hangUp() : e);
      },
    );
  }
  _destroy(e, cb) {
    clearTimeout(this._timer);
    this.#abort.abort();
    if (!this.res || !this.res.complete) this.res?.destroy(e ?? undefined);
    cb(e ?? (this.res ? null : hangUp()));
  }
  abort() { this.aborted = true; this.destroy(); }
}
const hangUp = () => Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
const pairs = (l) => (Array.isArray(l[0]) ? l : l.reduce((out, x, i) => (i % 2 ? out.at(-1).push(x) : out.push([x]), out), []));

export class ServerResponse extends Outgoing {
  #key; #chain = Promise.resolve();
  constructor(key, req) {
    super({});
    this.#key = key;
    this.req = req;
    this.statusCode = 200;
    this.statusMessage = "";
    this.sendDate = true;
    this.socket = this.connection = req.socket;
  }
  writeHead(status, message, headers) {
    if (typeof message !== "string") { headers = message; message = undefined; }
    this.statusCode = status;
    if (message) this.statusMessage = message;
    for (const [k, v] of Array.isArray(headers) ? pairs(headers) : Object.entries(headers ?? {})) this.setHeader(k, v);
    return this;
  }
  #put(m) {
    const head = this.headersSent ? { status: 0 } : { status: this.statusCode, headers: this._list() };
    this.headersSent = true;
    this.#chain = this.#chain.then(() => start("http.write", { key: this.#key, ...head, ...m }));
    return this.#chain;
  }
  flushHeaders() { if (!this.headersSent) this.#put({}).catch(() => {}); }
  writeContinue() {} writeProcessing() {}
  _write(c, e, cb) { this.#put({ data: fromBytes(c) }).then(() => cb(), cb); }
  _final(cb) { this.finished = true; this.#put({ end: true }).then(() => cb(), () => cb()); }
}

export class Server extends NetServer {
  #open = new Map();
  constructor(o, f) { super(); if (typeof o === "function") f = o; if (f) this.on("request", f); this.timeout = 0; this.keepAliveTimeout = 5000; this.headersTimeout = 60000; this.requestTimeout = 300000; }
  get _op() { return "http.listen"; }
  setTimeout() { return this; }
  closeAllConnections() {} closeIdleConnections() {}
  _client(m) {
    if (m.type === "gone") { const [req, res] = this.#open.get(m.key) ?? []; if (req) { req.aborted = true; req.emit("close"); res.emit("close"); } this.#open.delete(m.key); return; }
    const req = Object.assign(new IncomingMessage(m.headers), { method: m.method, url: m.url });
    req.socket.remoteAddress = m.remote.replace(/:\d+$/, "");
    const res = new ServerResponse(m.key, req);
    this.#open.set(m.key, [req, res]);
    res.once("finish", () => this.#open.delete(m.key));
    if (m.body) req.push(wrap(toBytes(m.body)));
    req.complete = true;
    req.push(null);
    if (!this.emit("request", req, res)) res.writeHead(404).end();
  }
}

export class Agent extends EventEmitter { constructor(o = {}) { super(); this.options = o; this.maxSockets = Infinity; this.sockets = {}; this.requests = {}; } destroy() {} createConnection() {} }

function make(protocol) {
  const request = (...a) => new ClientRequest(protocol, a);
  const m = {
    STATUS_CODES, METHODS, IncomingMessage, ServerResponse, ClientRequest, OutgoingMessage: Outgoing, Server, Agent, globalAgent: new Agent(), maxHeaderSize: 16384,
    request, get: (...a) => { const r = request(...a); r.end(); return r; }, createServer: (o, f) => new Server(o, f), validateHeaderName() {}, validateHeaderValue() {}, setMaxIdleHTTPParsers() {},
  };
  if (protocol === "https:") m.createServer = () => { throw Object.assign(new Error("https.createServer is not available in this host"), { code: "ERR_UNSUPPORTED" }); };
  return m;
}
export const http = make("http:");
export const https = make("https:");
