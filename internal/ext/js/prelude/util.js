// util, assert, readline and the small modules.
import { call, start, toBytes, fromBytes } from "./bridge.js";
import { Buffer, encode, wrap } from "./buffer.js";
import { view } from "./encoding.js";
import { EventEmitter } from "./events.js";
import { colors, format, formatWith, inspect } from "./inspect.js";
import { Transform } from "./stream.js";

const promisified = Symbol.for("nodejs.util.promisify.custom");
const promisify = Object.assign((f) => {
  if (typeof f !== "function") throw Object.assign(new TypeError('The "original" argument must be of type function.'), { code: "ERR_INVALID_ARG_TYPE" });
  if (f[promisified]) return f[promisified];
  return Object.defineProperty(function (...a) { return new Promise((resolve, reject) => f.call(this, ...a, (e, v) => (e ? reject(e) : resolve(v)))); }, "name", { value: f.name });
}, { custom: promisified });
const callbackify = (f) => function (...a) { const cb = a.pop(); f.apply(this, a).then((v) => queueMicrotask(() => cb(null, v)), (e) => queueMicrotask(() => cb(e ?? new Error("rejected")))); };

const ansi = /[\u001b\u009b][[\]()#;?]*(?:(?:(?:(?:;[-a-zA-Z\d/#&.:=?%@~_]+)*|[a-zA-Z\d]+(?:;[-a-zA-Z\d/#&.:=?%@~_]*)*)?(?:\u0007|\u001b\\|\u009c))|(?:(?:\d{1,4}(?:;\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~]))/g;
const styleText = (f, s) => [].concat(f).reduceRight((t, k) => { const c = colors[k]; return c ? `\u001b[${c[0]}m${t}\u001b[${c[1]}m` : t; }, s);

export function equal(a, b, strict = true, seen = new Map()) {
  if (strict ? Object.is(a, b) : a == b || (a !== a && b !== b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (seen.get(a) === b) return true;
  seen.set(a, b);
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  if (a instanceof RegExp && b instanceof RegExp) return String(a) === String(b);
  if (a instanceof Error && (a.message !== b.message || a.name !== b.name)) return false;
  if (a instanceof Map && b instanceof Map) return a.size === b.size && [...a].every(([k, v]) => b.has(k) && equal(v, b.get(k), strict, seen));
  if (a instanceof Set && b instanceof Set) return a.size === b.size && [...a].every((v) => b.has(v) || [...b].some((w) => equal(v, w, strict, seen)));
  if (ArrayBuffer.isView(a) && ArrayBuffer.isView(b)) return Buffer.compare(view(a), view(b)) === 0;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const x = Object.keys(a), y = Object.keys(b);
  return x.length === y.length && x.every((k) => Object.hasOwn(b, k) && equal(a[k], b[k], strict, seen));
}

const tag = (v) => Object.prototype.toString.call(v).slice(8, -1);
const types = {
  isPromise: (x) => x instanceof Promise, isDate: (x) => x instanceof Date, isRegExp: (x) => x instanceof RegExp, isNativeError: (x) => x instanceof Error, isMap: (x) => x instanceof Map, isSet: (x) => x instanceof Set, isWeakMap: (x) => x instanceof WeakMap, isWeakSet: (x) => x instanceof WeakSet,
  isUint8Array: (x) => x instanceof Uint8Array, isTypedArray: (x) => ArrayBuffer.isView(x) && !(x instanceof DataView), isArrayBuffer: (x) => x instanceof ArrayBuffer, isAnyArrayBuffer: (x) => /^(Shared)?ArrayBuffer$/.test(tag(x)), isSharedArrayBuffer: (x) => tag(x) === "SharedArrayBuffer", isArrayBufferView: ArrayBuffer.isView, isDataView: (x) => x instanceof DataView,
  isAsyncFunction: (f) => f?.constructor?.name === "AsyncFunction", isGeneratorFunction: (f) => /GeneratorFunction$/.test(f?.constructor?.name ?? ""), isGeneratorObject: (x) => tag(x) === "Generator", isProxy: () => false, isBoxedPrimitive: (x) => typeof x === "object" && /^(Number|String|Boolean|Symbol|BigInt)$/.test(tag(x)), isSymbolObject: (x) => typeof x === "object" && tag(x) === "Symbol", isNumberObject: (x) => typeof x === "object" && tag(x) === "Number", isStringObject: (x) => typeof x === "object" && tag(x) === "String", isBooleanObject: (x) => typeof x === "object" && tag(x) === "Boolean", isExternal: () => false, isModuleNamespaceObject: (x) => tag(x) === "Module", isKeyObject: () => false, isCryptoKey: () => false,
};

function parseArgs({ args = [], options = {}, strict = true, allowPositionals = !strict, tokens: wantTokens } = {}) {
  const values = { __proto__: null }, positionals = [], tokens = [];
  const named = (n) => Object.keys(options).find((k) => k === n || options[k].short === n);
  const fault = (message, code) => Object.assign(new TypeError(message), { code });
  const put = (k, v) => { if (options[k]?.multiple) (values[k] ??= []).push(v); else values[k] = v; };
  for (let i = 0; i < args.length; i++) {
    const a = args[i];
    if (a === "--") { positionals.push(...args.slice(i + 1)); break; }
    const m = /^--([^=]+)(?:=([\s\S]*))?$/.exec(a) ?? /^-([^-=])(?:=?([\s\S]+))?$/.exec(a);
    if (!m) { if (!allowPositionals) throw fault(`Unexpected argument '${a}'. This command does not take positional arguments`, "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL"); positionals.push(a); continue; }
    let k = named(m[1]), value = m[2], negative = false;
    if (!k && m[1].startsWith("no-") && options[m[1].slice(3)]) { k = m[1].slice(3); negative = true; }
    if (!k && strict) throw fault(`Unknown option '${a.split("=")[0]}'`, "ERR_PARSE_ARGS_UNKNOWN_OPTION");
    k ??= m[1];
    if (options[k]?.type === "string") { value ??= args[++i]; if (value === undefined && strict) throw fault(`Option '--${k} <value>' argument missing`, "ERR_PARSE_ARGS_INVALID_OPTION_VALUE"); put(k, value); }
    else put(k, options[k] ? !negative : (value ?? true));
    tokens.push({ kind: "option", name: k, rawName: a, value, index: i });
  }
  for (const [k, o] of Object.entries(options)) if (o.default !== undefined && !(k in values)) values[k] = o.default;
  return wantTokens ? { values, positionals, tokens } : { values, positionals };
}

class MIMEType {
  constructor(s) { const [essence, ...rest] = String(s).split(";"); [this.type, this.subtype] = essence.trim().toLowerCase().split("/"); this.params = new Map(rest.map((p) => p.trim().split("="))); }
  get essence() { return `${this.type}/${this.subtype}`; }
  toString() { return this.essence + [...this.params].map(([k, v]) => `;${k}=${v}`).join(""); }
}

export const util = {
  inspect,
  format, formatWithOptions: formatWith, promisify, callbackify, deprecate: (f) => f, inherits(a, b) { a.super_ = b; Object.setPrototypeOf(a.prototype, b.prototype); }, isDeepStrictEqual: (a, b) => equal(a, b),
  stripVTControlCharacters: (s) => String(s).replace(ansi, ""), styleText, toUSVString: (s) => String(s).toWellFormed(), TextEncoder: globalThis.TextEncoder, TextDecoder: globalThis.TextDecoder, debuglog: () => Object.assign(() => {}, { enabled: false }), debug: () => () => {}, types, parseArgs, MIMEType, parseEnv,
  getSystemErrorName: (n) => ({ "-2": "ENOENT", "-13": "EACCES", "-17": "EEXIST" })[n] ?? String(n), getSystemErrorMap: () => new Map(), aborted: (s) => new Promise((r) => (s.aborted ? r() : s.addEventListener("abort", () => r(), { once: true }))), transferableAbortController: () => new AbortController(), getCallSites: () => [],
  isArray: Array.isArray, isBoolean: (x) => typeof x === "boolean", isString: (x) => typeof x === "string", isFunction: (x) => typeof x === "function", isObject: (x) => x !== null && typeof x === "object", isDate: types.isDate, isRegExp: types.isRegExp, isError: types.isNativeError,
};
function parseEnv(s) { return Object.fromEntries(s.split("\n").map((l) => /^\s*(?:export\s+)?([\w.-]+)\s*=\s*(.*?)\s*$/.exec(l)).filter(Boolean).map(([, k, v]) => [k, v.replace(/^(["'])([\s\S]*)\1$/, "$2")])); }

// --- assert ------------------------------------------------------------------------

class AssertionError extends Error {
  constructor({ message, actual, expected, operator }) { super(message ?? `${inspect(actual)} ${operator} ${inspect(expected)}`); Object.assign(this, { code: "ERR_ASSERTION", actual, expected, operator, generatedMessage: message === undefined }); this.name = "AssertionError"; }
}
const check = (ok, actual, expected, operator, message) => { if (!ok) throw message instanceof Error ? message : new AssertionError({ message, actual, expected, operator }); };
const matches = (e, want) => want === undefined || (typeof want === "function" ? (want.prototype !== undefined && e instanceof want) || (!Error.isPrototypeOf(want) && want !== Error && want(e) === true) : want instanceof RegExp ? want.test(String(e)) : Object.keys(want).every((k) => (want[k] instanceof RegExp ? want[k].test(e[k]) : equal(e[k], want[k]))));
export const assert = Object.assign((v, m) => check(v, v, true, "==", m ?? "The expression evaluated to a falsy value"), {
  ok: (v, m) => check(v, v, true, "==", m ?? "The expression evaluated to a falsy value"), equal: (a, b, m) => check(a == b, a, b, "==", m), notEqual: (a, b, m) => check(a != b, a, b, "!=", m), strictEqual: (a, b, m) => check(Object.is(a, b), a, b, "strictEqual", m), notStrictEqual: (a, b, m) => check(!Object.is(a, b), a, b, "notStrictEqual", m),
  deepEqual: (a, b, m) => check(equal(a, b, false), a, b, "deepEqual", m), deepStrictEqual: (a, b, m) => check(equal(a, b), a, b, "deepStrictEqual", m), notDeepEqual: (a, b, m) => check(!equal(a, b, false), a, b, "notDeepEqual", m), notDeepStrictEqual: (a, b, m) => check(!equal(a, b), a, b, "notDeepStrictEqual", m), partialDeepStrictEqual: (a, b, m) => check(Object.keys(b).every((k) => equal(a[k], b[k])), a, b, "partialDeepStrictEqual", m),
  fail: (m = "Failed") => check(false, undefined, undefined, "fail", m), match: (s, re, m) => check(re.test(s), s, re, "match", m), doesNotMatch: (s, re, m) => check(!re.test(s), s, re, "doesNotMatch", m), ifError: (e) => { if (e != null) throw e; },
  throws(f, want, m) { let e; try { f(); } catch (x) { e = { x }; } check(e, undefined, want, "throws", m ?? "Missing expected exception."); if (!matches(e.x, want)) throw e.x; },
  doesNotThrow: (f) => { f(); },
  async rejects(p, want, m) { let e; try { await (typeof p === "function" ? p() : p); } catch (x) { e = { x }; } check(e, undefined, want, "rejects", m ?? "Missing expected rejection."); if (!matches(e.x, want)) throw e.x; },
  async doesNotReject(p) { await (typeof p === "function" ? p() : p); },
  AssertionError,
});
assert.strict = Object.assign((v, m) => assert(v, m), assert, { equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual });
assert.strict.strict = assert.strict;

// --- readline ------------------------------------------------------------------------

class Interface extends EventEmitter {
  #rest = ""; #questions = []; #lines = []; #wake; closed = false; line = ""; terminal = false;
  constructor(o) {
    super();
    this.input = o?.input ?? o;
    this.output = o?.output;
    this.input?.on?.("data", (d) => this.#data(typeof d === "string" ? d : Buffer.from(d).toString()));
    this.input?.on?.("end", () => { if (this.#rest) this.#line(this.#rest); this.#rest = ""; this.close(); });
    this.input?.on?.("error", (e) => this.emit("error", e));
    this.on("newListener", () => {});
  }
  #data(s) { const l = (this.#rest + s).split(/\r?\n/); this.#rest = l.pop(); for (const x of l) this.#line(x); }
  #line(s) { const q = this.#questions.shift(); if (q) return q(s); if (this.#wake !== undefined) { this.#lines.push(s); this.#wake(); } this.emit("line", s); }
  question(q, o, cb) { if (typeof o === "function") cb = o; this.output?.write?.(q); this.#questions.push(cb); }
  close() { if (!this.closed) { this.closed = true; this.#wake?.(); this.emit("close"); } }
  setPrompt(p) { this._prompt = p; } getPrompt() { return this._prompt ?? "> "; } prompt() { this.output?.write?.(this.getPrompt()); } pause() { return this; } resume() { return this; } write() {}
  async *[Symbol.asyncIterator]() { this.#wake = () => {}; for (;;) { if (this.#lines.length) yield this.#lines.shift(); else if (this.closed) return; else await new Promise((r) => { this.#wake = r; }); } }
}
if (Symbol.dispose) Interface.prototype[Symbol.dispose] = Interface.prototype.close;
const nothing = () => true;
export const readline = { Interface, createInterface: (o) => new Interface(o), clearLine: nothing, cursorTo: nothing, moveCursor: nothing, clearScreenDown: nothing, emitKeypressEvents() {} };
class PromiseInterface extends Interface { question(q) { return new Promise((r) => super.question(q, r)); } }
export const readlinePromises = { Interface: PromiseInterface, createInterface: (o) => new PromiseInterface(o), Readline: class {} };
readline.promises = readlinePromises;

// --- zlib ----------------------------------------------------------------------------

const zlib = { constants: { Z_NO_FLUSH: 0, Z_SYNC_FLUSH: 2, Z_FINISH: 4, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1, BROTLI_PARAM_QUALITY: 1, BROTLI_OPERATION_FLUSH: 1 } };
const zargs = (method, d, o) => ({ method, level: o?.level, data: fromBytes(typeof d === "string" ? encode(d) : view(d)) });
for (const method of ["gzip", "gunzip", "deflate", "inflate", "deflateRaw", "inflateRaw", "unzip", "brotliCompress", "brotliDecompress", "zstdCompress", "zstdDecompress"]) {
  zlib[method + "Sync"] = (d, o) => wrap(toBytes(call("zlib", zargs(method, d, o))));
  zlib[method] = (d, o, cb) => { if (typeof o === "function") [o, cb] = [{}, o]; start("zlib", zargs(method, d, o)).then((r) => cb(null, wrap(toBytes(r))), cb); };
  const name = method[0].toUpperCase() + method.slice(1);
  zlib[name] = class extends Transform {
    #parts = []; #o;
    constructor(o) { super(o); this.#o = o; }
    _transform(c, e, cb) { this.#parts.push(c); cb(); }
    _flush(cb) { start("zlib", zargs(method, Buffer.concat(this.#parts), this.#o)).then((r) => cb(null, wrap(toBytes(r))), cb); }
    close() {}
  };
  zlib["create" + name] = (o) => new zlib[name](o);
}
zlib.crc32 = (d, value = 0) => { let c = ~value; for (const b of typeof d === "string" ? encode(d) : view(d)) { c ^= b; for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1; } return ~c >>> 0; };
export { zlib };

// --- async_hooks -----------------------------------------------------------------------

/** Stores follow promises made inside run as far as a single thread of them goes. */
class AsyncLocalStorage {
  #store;
  run(store, f, ...a) {
    const before = this.#store;
    this.#store = store;
    let r;
    try { r = f(...a); } catch (e) { this.#store = before; throw e; }
    if (typeof r?.then === "function") return r.then((v) => { this.#store = before; return v; }, (e) => { this.#store = before; throw e; });
    this.#store = before;
    return r;
  }
  exit(f, ...a) { return this.run(undefined, f, ...a); }
  getStore() { return this.#store; }
  enterWith(s) { this.#store = s; }
  disable() { this.#store = undefined; }
  static bind(f) { return f; }
  static snapshot() { return (f, ...a) => f(...a); }
}
class AsyncResource { constructor(type) { this.type = type; } runInAsyncScope(f, self, ...a) { return f.apply(self, a); } emitDestroy() { return this; } asyncId() { return 1; } triggerAsyncId() { return 0; } bind(f) { return f; } static bind(f) { return f; } }
export const asyncHooks = { AsyncLocalStorage, AsyncResource, createHook: () => ({ enable() { return this; }, disable() { return this; } }), executionAsyncId: () => 1, triggerAsyncId: () => 0, executionAsyncResource: () => ({}), asyncWrapProviders: {} };

const channels = new Map();
class Channel { #l = []; constructor(name) { this.name = name; } get hasSubscribers() { return this.#l.length > 0; } subscribe(f) { this.#l.push(f); } unsubscribe(f) { const i = this.#l.indexOf(f); if (i >= 0) this.#l.splice(i, 1); return i >= 0; } publish(m) { for (const f of this.#l) f(m, this.name); } bindStore() {} unbindStore() {} runStores(c, f, self, ...a) { return f.apply(self, a); } }
const channel = (n) => { if (!channels.has(n)) channels.set(n, new Channel(n)); return channels.get(n); };
export const diagnosticsChannel = { channel, Channel, hasSubscribers: (n) => channel(n).hasSubscribers, subscribe: (n, f) => channel(n).subscribe(f), unsubscribe: (n, f) => channel(n).unsubscribe(f), tracingChannel: (n) => ({ start: channel(n), end: channel(n), asyncStart: channel(n), asyncEnd: channel(n), error: channel(n), hasSubscribers: false, subscribe() {}, unsubscribe() {}, traceSync: (f, c, self, ...a) => f.apply(self, a), tracePromise: (f, c, self, ...a) => f.apply(self, a), traceCallback: (f, p, c, self, ...a) => f.apply(self, a) }) };
