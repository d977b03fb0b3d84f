// Text and bytes: UTF-8, base64, TextEncoder, TextDecoder.
import { toBytes, fromBytes } from "./bridge.js";

/** UTF-8 bytes of a string; halves of surrogate pairs become U+FFFD. */
export function utf8(s) {
  let plain = true;
  for (let i = 0; i < s.length; i++) if (s.charCodeAt(i) > 127) { plain = false; break; }
  if (plain) return toBytes(s);
  const out = new Uint8Array(s.length * 3);
  let n = 0;
  for (let i = 0; i < s.length; i++) {
    let c = s.charCodeAt(i);
    if (c >= 0xd800 && c < 0xe000) {
      const d = s.charCodeAt(i + 1);
      if (c < 0xdc00 && d >= 0xdc00 && d < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (d - 0xdc00);
        i++;
      } else c = 0xfffd;
    }
    if (c < 0x80) out[n++] = c;
    else if (c < 0x800) { out[n++] = 0xc0 | (c >> 6); out[n++] = 0x80 | (c & 63); }
    else if (c < 0x10000) { out[n++] = 0xe0 | (c >> 12); out[n++] = 0x80 | ((c >> 6) & 63); out[n++] = 0x80 | (c & 63); }
    else { out[n++] = 0xf0 | (c >> 18); out[n++] = 0x80 | ((c >> 12) & 63); out[n++] = 0x80 | ((c >> 6) & 63); out[n++] = 0x80 | (c & 63); }
  }
  return out.slice(0, n);
}

/** The string of UTF-8 bytes; what is no UTF-8 becomes U+FFFD, or an error if fatal. */
export function fromUtf8(u, fatal) {
  let out = "";
  let run = 0; // start of plain bytes
  const flush = (end) => { if (end > run) out += fromBytes(u.subarray(run, end)); };
  for (let i = 0; i < u.length; ) {
    const b = u[i];
    if (b < 0x80) { i++; continue; }
    flush(i);
    const [c, n] = sequence(u, i);
    if (c < 0 && fatal) throw Object.assign(new TypeError("The encoded data was not valid for encoding utf-8"), { code: "ERR_ENCODING_INVALID_ENCODED_DATA" });
    out += c < 0 ? "\ufffd" : String.fromCodePoint(c);
    i += n;
    run = i;
  }
  flush(u.length);
  return out;
}

/** The character that begins at i and its length; -1 and what to skip for a fault. */
function sequence(u, i) {
  const b = u[i];
  const need = b >= 0xf0 && b < 0xf5 ? 3 : b >= 0xe0 && b < 0xf0 ? 2 : b >= 0xc2 && b < 0xe0 ? 1 : 0;
  if (need === 0) return [-1, 1];
  let c = need === 3 ? b & 7 : need === 2 ? b & 15 : b & 31;
  for (let k = 1; k <= need; k++) {
    const x = u[i + k];
    const low = k === 1 && (b === 0xe0 ? 0xa0 : b === 0xf0 ? 0x90 : 0x80);
    const high = k === 1 && (b === 0xed ? 0x9f : b === 0xf4 ? 0x8f : 0xbf);
    if (x === undefined || (x & 0xc0) !== 0x80 || (k === 1 && (x < low || x > high))) return [-1, k];
    c = (c << 6) | (x & 63);
  }
  return [c, need + 1];
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const values = new Int16Array(128).fill(-1);
for (let i = 0; i < 64; i++) values[digits.charCodeAt(i)] = i;
values[45] = 62; // "-" and "_" of the URL alphabet
values[95] = 63;

export function base64(u) {
  const parts = [];
  let s = "";
  for (let i = 0; i < u.length; i += 3) {
    const n = (u[i] << 16) | ((u[i + 1] ?? 0) << 8) | (u[i + 2] ?? 0);
    s += digits[n >> 18] + digits[(n >> 12) & 63] + (i + 1 < u.length ? digits[(n >> 6) & 63] : "=") + (i + 2 < u.length ? digits[n & 63] : "=");
    if (s.length > 4096) { parts.push(s); s = ""; }
  }
  return parts.join("") + s;
}

export function fromBase64(s) {
  const out = new Uint8Array(Math.ceil((s.length * 3) / 4));
  let n = 0, bits = 0, have = 0;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c === 61) break;
    const v = c < 128 ? values[c] : -1;
    if (v < 0) continue;
    bits = ((bits << 6) | v) & 0xffffff;
    have += 6;
    if (have >= 8) { have -= 8; out[n++] = (bits >> have) & 255; }
  }
  return out.slice(0, n);
}

export const view = (b) => (b == null ? new Uint8Array(0) : b instanceof Uint8Array ? b : ArrayBuffer.isView(b) ? new Uint8Array(b.buffer, b.byteOffset, b.byteLength) : new Uint8Array(b));

class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(s = "") { return utf8(String(s)); }
  encodeInto(s, target) {
    let read = 0, written = 0;
    for (const ch of s) {
      const b = utf8(ch);
      if (written + b.length > target.length) break;
      target.set(b, written);
      written += b.length;
      read += ch.length;
    }
    return { read, written };
  }
}

const labels = { utf8: "utf-8", "unicode-1-1-utf-8": "utf-8", latin1: "windows-1252", ascii: "windows-1252", "us-ascii": "windows-1252", "iso-8859-1": "windows-1252", "utf-16": "utf-16le", ucs2: "utf-16le" };

class TextDecoder {
  #rest = new Uint8Array(0);
  #started = false;
  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    const name = String(label).trim().toLowerCase();
    this.encoding = labels[name] ?? name;
    if (!["utf-8", "windows-1252", "utf-16le", "utf-16be"].includes(this.encoding)) throw Object.assign(new RangeError(`The "${label}" encoding is not supported`), { code: "ERR_ENCODING_NOT_SUPPORTED" });
    this.fatal = fatal;
    this.ignoreBOM = ignoreBOM;
  }
  decode(input, { stream = false } = {}) {
    let u = view(input);
    if (this.#rest.length) {
      const all = new Uint8Array(this.#rest.length + u.length);
      all.set(this.#rest);
      all.set(u, this.#rest.length);
      u = all;
      this.#rest = new Uint8Array(0);
    }
    if (stream) {
      const keep = this.#unfinished(u);
      this.#rest = u.slice(u.length - keep);
      u = u.subarray(0, u.length - keep);
    }
    let s = this.#text(u);
    if (!this.#started && s && !this.ignoreBOM && s.charCodeAt(0) === 0xfeff) s = s.slice(1);
    this.#started = stream && (this.#started || s.length > 0 || u.length > 0);
    return s;
  }
  #text(u) {
    if (this.encoding === "utf-8") return fromUtf8(u, this.fatal);
    if (this.encoding === "windows-1252") return fromBytes(u);
    const big = this.encoding === "utf-16be" ? 1 : 0;
    let s = "";
    for (let i = 0; i + 1 < u.length; i += 2) s += String.fromCharCode(u[i + big] | (u[i + 1 - big] << 8));
    return s;
  }
  /** How many bytes at the end are the beginning of a character. */
  #unfinished(u) {
    if (this.encoding.startsWith("utf-16")) return u.length % 2;
    if (this.encoding !== "utf-8") return 0;
    for (let back = 1; back <= Math.min(3, u.length); back++) {
      const c = u[u.length - back];
      if ((c & 0xc0) === 0x80) continue;
      const need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
      return need > back ? back : 0;
    }
    return 0;
  }
}

const invalid = () => new DOMException("Invalid character", "InvalidCharacterError");

export function install(G) {
  Object.assign(G, { TextEncoder, TextDecoder });
  G.btoa = (s) => {
    s = String(s);
    for (let i = 0; i < s.length; i++) if (s.charCodeAt(i) > 255) throw invalid();
    return base64(toBytes(s));
  };
  G.atob = (s) => {
    s = String(s).replace(/[\t\n\f\r ]/g, "");
    if (/[^A-Za-z0-9+/=]/.test(s) || s.replace(/=+$/, "").length % 4 === 1) throw invalid();
    return fromBytes(fromBase64(s));
  };
}
