// net, tls, dns and WebSocket.
import { cancel, call, start, toBytes, fromBytes } from "./bridge.js";
import { Buffer, Blob, wrap } from "./buffer.js";
import { view } from "./encoding.js";
import { EventEmitter } from "./events.js";
import { Duplex } from "./stream.js";

let last = 0;
const endpoint = (s) => { const m = /^\[?(.*?)\]?:(\d+)$/.exec(s ?? ""); return m ? { address: m[1], port: Number(m[2]), family: m[1].includes(":") ? "IPv6" : "IPv4" } : { address: s }; };

export class Socket extends Duplex {
  #key; #id; #connected; #open;
  constructor(o = {}) {
    super({ ...o, allowHalfOpen: o.allowHalfOpen ?? false, read() {} });
    this.connecting = false;
    this.bytesRead = this.bytesWritten = 0;
    this.#connected = new Promise((r) => { this.#open = r; });
  }
  _begin(op, args) {
    this.#key = args.key;
    this.connecting = true;
    start(op, args, { onId: (id) => { this.#id = id; }, onEvent: (m) => this.#told(m) }).then(() => { this.#id = undefined; this.push(null); }, (e) => { this.#id = undefined; this.#open(e); if (!this.destroyed) this.destroy(e); });
    return this;
  }
  #told(m) {
    if (m.type === "data") { const b = wrap(toBytes(m.data)); this.bytesRead += b.length; this.push(b); return; }
    const local = endpoint(m.local), remote = endpoint(m.remote);
    Object.assign(this, { connecting: false, localAddress: local.address, localPort: local.port, remoteAddress: remote.address, remotePort: remote.port, remoteFamily: remote.family });
    this.#open();
    this.emit("connect");
    this.emit("ready");
    if (this.encrypted) this.emit("secureConnect");
  }
  connect(...a) {
    const { o, cb } = connectArgs(a);
    if (cb) this.once(this.encrypted ? "secureConnect" : "connect", cb);
    return this._begin("net.connect", { key: "s" + ++last, host: o.host ?? "", port: Number(o.port ?? 0), path: o.path ?? "", tls: !!this.encrypted, serverName: o.servername ?? "", insecure: o.rejectUnauthorized === false });
  }
  _write(c, e, cb) { this.#connected.then((err) => { if (err) return cb(err); this.bytesWritten += c.length; return start("net.write", { key: this.#key, data: fromBytes(c) }).then(() => cb(), cb); }); }
  _final(cb) { this.#connected.then((err) => { if (err) return cb(); start("net.write", { key: this.#key, end: true }).then(() => cb(), () => cb()); }); }
  _destroy(e, cb) { if (this.#id) cancel(this.#id); cb(e); }
  get pending() { return this.connecting; }
  get readyState() { return this.connecting ? "opening" : this.destroyed ? "closed" : "open"; }
  address() { return { address: this.localAddress, port: this.localPort, family: "IPv4" }; }
  setTimeout(ms, cb) { if (cb) this.once("timeout", cb); clearTimeout(this._timer); if (ms) this._timer = setTimeout(() => this.emit("timeout"), ms).unref(); return this; }
  setNoDelay() { return this; } setKeepAlive() { return this; }
}
const connectArgs = (a) => {
  const cb = typeof a.at(-1) === "function" ? a.pop() : undefined;
  if (typeof a[0] === "object") return { o: a[0], cb };
  if (typeof a[0] === "string" && isNaN(a[0])) return { o: { path: a[0] }, cb };
  return { o: { port: a[0], host: a[1] }, cb };
};

export class Server extends EventEmitter {
  #id; #address;
  constructor(o, onConnection) {
    super();
    if (typeof o === "function") onConnection = o;
    if (onConnection) this.on(this._event ?? "connection", onConnection);
    this.listening = false;
  }
  /** Listens by a host operation; others replace how a client is served. */
  listen(...a) {
    const cb = typeof a.at(-1) === "function" ? a.pop() : undefined;
    const o = typeof a[0] === "object" && a[0] ? a[0] : typeof a[0] === "string" && isNaN(a[0]) ? { path: a[0] } : { port: a[0], host: typeof a[1] === "string" ? a[1] : undefined };
    if (cb) this.once("listening", cb);
    start(this._op ?? "net.listen", { key: "", host: o.host ?? "", port: Number(o.port ?? 0), path: o.path ?? "" }, { onId: (id) => { this.#id = id; }, onEvent: (m) => this._told(m) }).then(() => this.#over(), (e) => { if (e.name === "AbortError") this.#over(); else this.emit("error", e); });
    return this;
  }
  _told(m) {
    if (m.type === "listening") { this.#address = m.port === undefined ? m.address : { address: m.address, port: m.port, family: m.family }; this.listening = true; this.emit("listening"); return; }
    this._client(m);
  }
  _client(m) { const s = new Socket({ allowHalfOpen: true }); s._begin("net.accept", { key: m.key }); this.emit("connection", s); }
  #over() { this.listening = false; this.emit("close"); }
  address() { return this.#address ?? null; }
  close(cb) { if (cb) { if (this.listening) this.once("close", () => cb()); else queueMicrotask(() => cb(Object.assign(new Error("Server is not running."), { code: "ERR_SERVER_NOT_RUNNING" }))); } if (this.#id) cancel(this.#id); return this; }
  getConnections(cb) { cb(null, 0); }
  ref() { return this; } unref() { return this; }
}

const isIPv4 = (s) => /^(\d{1,3}\.){3}\d{1,3}$/.test(s) && s.split(".").every((n) => Number(n) < 256);
const isIPv6 = (s) => /^[0-9a-f:.]+(%\w+)?$/i.test(s) && s.split(":").length > 2;
const isIP = (s) => (isIPv4(s) ? 4 : isIPv6(s) ? 6 : 0);
const connect = (...a) => new Socket().connect(...a);
export const net = { Socket, Stream: Socket, Server, connect, createConnection: connect, createServer: (o, f) => new Server(o, f), isIP, isIPv4, isIPv6, setDefaultAutoSelectFamily() {}, getDefaultAutoSelectFamily: () => true };

export class TLSSocket extends Socket { constructor(s, o) { super(o); this.encrypted = true; this.authorized = true; } getPeerCertificate() { return {}; } }
const unsupported = (what) => Object.assign(new Error(`${what} is not available in this host`), { code: "ERR_UNSUPPORTED" });
export const tls = { TLSSocket, connect: (...a) => new TLSSocket().connect(...a), createServer() { throw unsupported("tls.createServer"); }, createSecureContext: () => ({}), rootCertificates: [], DEFAULT_CIPHERS: "", DEFAULT_MIN_VERSION: "TLSv1.2", DEFAULT_MAX_VERSION: "TLSv1.3", checkServerIdentity: () => undefined };

const family = (a) => ({ address: a, family: a.includes(":") ? 6 : 4 });
const lookup = async (name, o = {}) => {
  if (typeof o === "number") o = { family: o };
  const all = (await start("dns.lookup", { name })).map(family).filter((x) => !o.family || x.family === o.family);
  return o.all ? all : all[0];
};
const withCallback = (f) => (name, o, cb) => { if (typeof o === "function") [o, cb] = [{}, o]; f(name, o).then((r) => (Array.isArray(r) ? cb(null, r) : r?.address ? cb(null, r.address, r.family) : cb(null, r)), (e) => cb(e)); };
const resolve = async (name) => (await lookup(name, { all: true })).map((x) => x.address);
export const dnsPromises = { lookup, resolve, resolve4: async (n) => (await lookup(n, { all: true, family: 4 })).map((x) => x.address), resolve6: async (n) => (await lookup(n, { all: true, family: 6 })).map((x) => x.address) };
export const dns = { lookup: withCallback(lookup), resolve: withCallback(resolve), resolve4: withCallback(dnsPromises.resolve4), resolve6: withCallback(dnsPromises.resolve6), promises: dnsPromises, setDefaultResultOrder() {}, getDefaultResultOrder: () => "verbatim", setServers() {}, getServers: () => [], ADDRCONFIG: 32, V4MAPPED: 8, NODATA: "ENODATA", NOTFOUND: "ENOTFOUND" };

export class WebSocket extends EventTarget {
  #key = "w" + ++last; #id;
  constructor(address, protocols) {
    super();
    const o = typeof protocols === "object" && !Array.isArray(protocols) ? protocols : { protocols };
    this.url = new URL(address).href;
    if (!/^wss?:/.test(this.url.replace(/^http/, "ws"))) throw new DOMException("The URL's scheme must be either 'ws' or 'wss'.", "SyntaxError");
    Object.assign(this, { readyState: 0, protocol: "", extensions: "", bufferedAmount: 0, binaryType: "blob", onopen: null, onmessage: null, onclose: null, onerror: null });
    start("ws.connect", { key: this.#key, url: this.url, protocols: [].concat(o.protocols ?? []), headers: Object.entries(o.headers ?? {}) }, { onId: (id) => { this.#id = id; }, onEvent: (m) => this.#told(m) }).then((r) => this.#closed(r), (e) => {
      if (e.name !== "AbortError") this.dispatchEvent(new ErrorEvent("error", { message: e.message, error: e }));
      this.#closed({ code: 1006, reason: "", clean: false });
    });
  }
  #told(m) {
    if (m.type === "open") { this.readyState = 1; this.protocol = m.protocol; this.dispatchEvent(new Event("open")); return; }
    const data = m.text ? m.data : this.binaryType === "blob" ? new Blob([toBytes(m.data)]) : this.binaryType === "nodebuffer" ? wrap(toBytes(m.data)) : toBytes(m.data).buffer;
    this.dispatchEvent(new MessageEvent("message", { data }));
  }
  #closed(r) { this.readyState = 3; this.dispatchEvent(new CloseEvent("close", { code: r.code, reason: r.reason, wasClean: r.clean })); }
  #send(m) { start("ws.send", { key: this.#key, ...m }).catch((e) => this.dispatchEvent(new ErrorEvent("error", { message: e.message, error: e }))); }
  send(data) {
    if (this.readyState === 0) throw new DOMException("Still in CONNECTING state", "InvalidStateError");
    if (this.readyState !== 1) return;
    if (typeof data === "string") this.#send({ text: data });
    else if (data instanceof Blob) data.bytes().then((b) => this.#send({ data: fromBytes(b) }));
    else this.#send({ data: fromBytes(view(data)) });
  }
  close(code = 1000, reason = "") {
    if (this.readyState >= 2) return;
    const early = this.readyState === 0;
    this.readyState = 2;
    if (early) cancel(this.#id);
    else this.#send({ close: true, code, reason });
  }
}
for (const [i, k] of ["CONNECTING", "OPEN", "CLOSING", "CLOSED"].entries()) { WebSocket[k] = i; WebSocket.prototype[k] = i; }
