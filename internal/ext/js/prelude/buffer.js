// Buffer: bytes with Node's methods.
import { toBytes, fromBytes } from "./bridge.js";
import { custom } from "./inspect.js";
import { base64, fromBase64, fromUtf8, utf8, view } from "./encoding.js";

const encodingName = (e) => {
  const n = String(e ?? "utf8").toLowerCase();
  if (n === "utf-8") return "utf8";
  if (n === "binary" || n === "ascii") return n === "ascii" ? "ascii" : "latin1";
  if (n === "ucs2" || n === "ucs-2" || n === "utf-16le") return "utf16le";
  return n;
};
const known = ["utf8", "hex", "base64", "base64url", "latin1", "ascii", "utf16le"];

/** The bytes of a string in an encoding. */
export function encode(s, e) {
  switch (encodingName(e)) {
    case "hex": {
      const n = s.match(/^([0-9a-f]{2})*/i)[0].length >> 1;
      const u = new Uint8Array(n);
      for (let i = 0; i < n; i++) u[i] = parseInt(s.substr(i * 2, 2), 16);
      return u;
    }
    case "base64": case "base64url": return fromBase64(s);
    case "latin1": case "ascii": return toBytes(s);
    case "utf16le": {
      const u = new Uint8Array(s.length * 2);
      for (let i = 0; i < s.length; i++) { const c = s.charCodeAt(i); u[2 * i] = c & 255; u[2 * i + 1] = c >> 8; }
      return u;
    }
    case "utf8": return utf8(s);
  }
  throw Object.assign(new TypeError(`Unknown encoding: ${e}`), { code: "ERR_UNKNOWN_ENCODING" });
}

function decode(u, e) {
  switch (encodingName(e)) {
    case "hex": { let s = ""; for (const b of u) s += (b < 16 ? "0" : "") + b.toString(16); return s; }
    case "base64": return base64(u);
    case "base64url": return base64(u).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
    case "latin1": return fromBytes(u);
    case "ascii": return fromBytes(u.map((b) => b & 127));
    case "utf16le": { let s = ""; for (let i = 0; i + 1 < u.length; i += 2) s += String.fromCharCode(u[i] | (u[i + 1] << 8)); return s; }
    case "utf8": return fromUtf8(u);
  }
  throw Object.assign(new TypeError(`Unknown encoding: ${e}`), { code: "ERR_UNKNOWN_ENCODING" });
}

/** A Buffer on the same memory. */
export const wrap = (u) => new Bytes(u.buffer, u.byteOffset, u.byteLength);

class Bytes extends Uint8Array {
  static get [Symbol.species]() { return Bytes; }
  static from(v, e, length) {
    if (typeof v === "string") return wrap(encode(v, e));
    if (v instanceof ArrayBuffer || (typeof SharedArrayBuffer !== "undefined" && v instanceof SharedArrayBuffer)) return new Bytes(v, e, length);
    if (ArrayBuffer.isView(v) || Array.isArray(v)) { const b = new Bytes(v.length ?? v.byteLength); b.set(v instanceof DataView ? view(v) : v); return b; }
    if (v?.type === "Buffer" && Array.isArray(v.data)) return Buffer.from(v.data);
    const value = v?.valueOf?.();
    if (value != null && value !== v) return Buffer.from(value, e, length);
    if (typeof v?.length === "number") return wrap(Uint8Array.from(v));
    throw Object.assign(new TypeError(`The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object. Received ${v === null ? "null" : typeof v}`), { code: "ERR_INVALID_ARG_TYPE" });
  }
  static of(...items) { return Buffer.from(items); }
  static alloc(n, fill, e) { const b = new Bytes(n); if (fill !== undefined && fill !== 0) b.fill(fill, e); return b; }
  static allocUnsafe(n) { return new Bytes(n); }
  static allocUnsafeSlow(n) { return new Bytes(n); }
  static isBuffer(b) { return b instanceof Buffer; }
  static isEncoding(e) { return typeof e === "string" && known.includes(encodingName(e)); }
  static byteLength(s, e) { return typeof s === "string" ? encode(s, e).length : s.byteLength; }
  static concat(list, total = list.reduce((n, b) => n + b.length, 0)) {
    const out = new Bytes(total);
    let at = 0;
    for (const b of list) {
      if (at >= total) break;
      out.set(at + b.length > total ? b.subarray(0, total - at) : b, at);
      at += b.length;
    }
    return out;
  }
  static compare(a, b) {
    const n = Math.min(a.length, b.length);
    for (let i = 0; i < n; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
    return Math.sign(a.length - b.length);
  }
  get parent() { return this.buffer; }
  toString(e, from = 0, to = this.length) { return decode(from <= 0 && to >= this.length ? this : this.subarray(from, to), e); }
  toLocaleString(e) { return this.toString(e); }
  toJSON() { return { type: "Buffer", data: Array.from(this) }; }
  equals(b) { return Buffer.compare(this, b) === 0; }
  compare(b, bs = 0, be = b.length, s = 0, e = this.length) { return Buffer.compare(this.subarray(s, e), b.subarray(bs, be)); }
  slice(a, b) { return this.subarray(a, b); }
  subarray(a, b) { return wrap(Uint8Array.prototype.subarray.call(new Uint8Array(this.buffer, this.byteOffset, this.byteLength), a, b)); }
  write(s, offset = 0, length, e) {
    if (typeof offset === "string") { e = offset; offset = 0; length = undefined; }
    else if (typeof length === "string") { e = length; length = undefined; }
    let u = encode(s, e);
    u = u.subarray(0, Math.min(u.length, length ?? Infinity, this.length - offset));
    this.set(u, offset);
    return u.length;
  }
  copy(target, at = 0, from = 0, to = this.length) {
    const part = this.subarray(from, Math.min(to, from + target.length - at));
    target.set(part, at);
    return part.length;
  }
  fill(v, from = 0, to = this.length, e) {
    if (typeof from === "string") { e = from; from = 0; to = this.length; }
    else if (typeof to === "string") { e = to; to = this.length; }
    if (typeof v === "number" || typeof v === "boolean") return super.fill(Number(v), from, to);
    const u = typeof v === "string" ? encode(v, e) : v;
    for (let i = from; i < to; i++) this[i] = u.length ? u[(i - from) % u.length] : 0;
    return this;
  }
  indexOf(v, offset = 0, e) {
    if (typeof offset === "string") { e = offset; offset = 0; }
    if (offset < 0) offset = Math.max(0, this.length + offset);
    if (typeof v === "number") return super.indexOf(v & 255, offset);
    const n = typeof v === "string" ? encode(v, e) : v;
    outer: for (let i = offset; i <= this.length - n.length; i++) {
      for (let j = 0; j < n.length; j++) if (this[i + j] !== n[j]) continue outer;
      return i;
    }
    return -1;
  }
  lastIndexOf(v, offset = this.length, e) {
    const n = typeof v === "string" ? encode(v, e) : typeof v === "number" ? [v & 255] : v;
    outer: for (let i = Math.min(offset, this.length - n.length); i >= 0; i--) {
      for (let j = 0; j < n.length; j++) if (this[i + j] !== n[j]) continue outer;
      return i;
    }
    return -1;
  }
  includes(v, offset, e) { return this.indexOf(v, offset, e) !== -1; }
  swap16() { for (let i = 0; i + 1 < this.length; i += 2) [this[i], this[i + 1]] = [this[i + 1], this[i]]; return this; }
  readUIntBE(offset, n) { let v = 0; for (let i = 0; i < n; i++) v = v * 256 + this[offset + i]; return v; }
  readUIntLE(offset, n) { let v = 0; for (let i = n - 1; i >= 0; i--) v = v * 256 + this[offset + i]; return v; }
  readIntBE(offset, n) { const v = this.readUIntBE(offset, n); return v >= 2 ** (8 * n - 1) ? v - 2 ** (8 * n) : v; }
  readIntLE(offset, n) { const v = this.readUIntLE(offset, n); return v >= 2 ** (8 * n - 1) ? v - 2 ** (8 * n) : v; }
  writeUIntBE(v, offset, n) { for (let i = n - 1; i >= 0; i--) { this[offset + i] = v % 256; v = Math.floor(v / 256); } return offset + n; }
  writeUIntLE(v, offset, n) { for (let i = 0; i < n; i++) { this[offset + i] = v % 256; v = Math.floor(v / 256); } return offset + n; }
  writeIntBE(v, offset, n) { return this.writeUIntBE(v < 0 ? v + 2 ** (8 * n) : v, offset, n); }
  writeIntLE(v, offset, n) { return this.writeUIntLE(v < 0 ? v + 2 ** (8 * n) : v, offset, n); }
  [custom](depth, o, inspect) {
    const most = Math.min(50, this.length), more = this.length - most;
    return `<${this.constructor.name}${Array.from(this.subarray(0, most), (b) => " " + b.toString(16).padStart(2, "0")).join("")}${more > 0 ? ` ... ${more} more byte${more > 1 ? "s" : ""}` : ""}>`;
  }
}

/** Buffer is a function that can do without "new", as old packages call it. */
export function Buffer(v, e, length) {
  if (typeof v !== "number") return Buffer.from(v, e, length);
  return new Bytes(v);
}
Object.setPrototypeOf(Buffer, Bytes);
Buffer.prototype = Bytes.prototype;
Object.defineProperty(Bytes.prototype, "constructor", { value: Buffer, writable: true, configurable: true });
Buffer.poolSize = 8192;
Buffer.prototype.readUintBE = Buffer.prototype.readUIntBE;
Buffer.prototype.readUintLE = Buffer.prototype.readUIntLE;

const outOfRange = (offset, most) => Object.assign(new RangeError(`The value of "offset" is out of range. It must be >= 0 and <= ${most}. Received ${offset}`), { code: "ERR_OUT_OF_RANGE" });
const numbers = [["UInt8", 1, "Uint8"], ["Int8", 1, "Int8"], ["UInt16", 2, "Uint16"], ["Int16", 2, "Int16"], ["UInt32", 4, "Uint32"], ["Int32", 4, "Int32"], ["Float", 4, "Float32"], ["Double", 8, "Float64"], ["BigUInt64", 8, "BigUint64"], ["BigInt64", 8, "BigInt64"]];
for (const [name, size, type] of numbers) {
  for (const order of size === 1 ? [""] : ["LE", "BE"]) {
    const at = (b, offset) => {
      if (!(offset >= 0 && offset + size <= b.length)) throw outOfRange(offset, b.length - size);
      return new DataView(b.buffer, b.byteOffset, b.byteLength);
    };
    const read = function (offset = 0) { return at(this, offset)["get" + type](offset, order === "LE"); };
    const write = function (v, offset = 0) { at(this, offset)["set" + type](offset, v, order === "LE"); return offset + size; };
    for (const n of new Set([name, name.replace("UInt", "Uint")])) {
      Buffer.prototype["read" + n + order] = read;
      Buffer.prototype["write" + n + order] = write;
    }
  }
}

export class Blob {
  #bytes;
  constructor(parts = [], { type = "" } = {}) {
    this.#bytes = Buffer.concat([...parts].map((p) => (p instanceof Blob ? p.#bytes : typeof p === "string" ? Buffer.from(p) : wrap(view(p)))));
    this.type = String(type).toLowerCase();
  }
  get size() { return this.#bytes.length; }
  async text() { return this.#bytes.toString(); }
  async bytes() { return new Uint8Array(this.#bytes); }
  async arrayBuffer() { return new Uint8Array(this.#bytes).buffer; }
  slice(a, b, type) { return new Blob([this.#bytes.subarray(a, b)], { type }); }
  stream() { const b = this.#bytes; return new ReadableStream({ start(c) { if (b.length) c.enqueue(new Uint8Array(b)); c.close(); } }); }
}
export class File extends Blob {
  constructor(parts, name, o = {}) { super(parts, o); this.name = String(name); this.lastModified = o.lastModified ?? Date.now(); }
}

export const isUtf8 = (b) => { try { fromUtf8(view(b), true); return true; } catch { return false; } };

export const buffer = {
  Buffer, Blob, File, isUtf8, isAscii: (b) => view(b).every((x) => x < 128),
  constants: { MAX_LENGTH: 2 ** 31 - 1, MAX_STRING_LENGTH: 2 ** 29 }, kMaxLength: 2 ** 31 - 1, kStringMaxLength: 2 ** 29, INSPECT_MAX_BYTES: 50, SlowBuffer: Buffer,
  atob: globalThis.atob, btoa: globalThis.btoa,
  transcode: (b, from, to) => Buffer.from(b.toString(from), to),
};
