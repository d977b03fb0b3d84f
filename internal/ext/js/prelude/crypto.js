// crypto and Web Crypto.
import { call, start, toBytes, fromBytes } from "./bridge.js";
import { Buffer, encode, wrap } from "./buffer.js";
import { view } from "./encoding.js";
import { Transform } from "./stream.js";

const bytes = (d, e) => (typeof d === "string" ? encode(d, e) : d instanceof KeyObject ? d.export() : view(d));
const bin = (d, e) => fromBytes(bytes(d, e));
const out = (s, e) => { const b = wrap(toBytes(s)); return e && e !== "buffer" ? b.toString(e) : b; };

class KeyObject {
  #key;
  constructor(key) { this.#key = Buffer.from(key); this.type = "secret"; this.symmetricKeySize = key.length; }
  export(o) { return o?.format === "jwk" ? { kty: "oct", k: this.#key.toString("base64url") } : this.#key; }
  equals(o) { return this.#key.equals(o.export()); }
}

class Hash extends Transform {
  #parts = []; #algorithm; #key; #done = false;
  constructor(algorithm, key) {
    super();
    this.#algorithm = algorithm;
    this.#key = key === undefined ? null : bin(key);
    call("crypto.hash", { algorithm, key: this.#key, data: "" }); // an unknown one fails here
  }
  update(d, e) {
    if (this.#done) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    this.#parts.push(Buffer.from(bytes(d, e)));
    return this;
  }
  digest(e) {
    if (this.#done) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    this.#done = true;
    return out(call("crypto.hash", { algorithm: this.#algorithm, key: this.#key, data: fromBytes(Buffer.concat(this.#parts)) }), e);
  }
  copy() { const h = new Hash(this.#algorithm); h.#key = this.#key; h.#parts = [...this.#parts]; return h; }
  _transform(c, e, cb) { this.update(c); cb(); }
  _flush(cb) { cb(null, this.digest()); }
}

class Cipher extends Transform {
  #a; #parts = []; #tag; #aad = [];
  constructor(algorithm, key, iv, decrypt) { super(); this.#a = { algorithm, key: bin(key), iv: iv == null ? "" : bin(iv), decrypt }; }
  update(d, inE, outE) { this.#parts.push(Buffer.from(bytes(d, inE))); return outE && outE !== "buffer" ? "" : Buffer.alloc(0); }
  final(e) {
    const r = call("crypto.cipher", { ...this.#a, data: fromBytes(Buffer.concat(this.#parts)), tag: this.#tag ? fromBytes(this.#tag) : "", aad: fromBytes(Buffer.concat(this.#aad)) });
    if (r.tag) this.#tag = wrap(toBytes(r.tag));
    return out(r.data, e);
  }
  getAuthTag() { return this.#tag; }
  setAuthTag(t) { this.#tag = Buffer.from(bytes(t)); return this; }
  setAAD(d) { this.#aad.push(Buffer.from(bytes(d))); return this; }
  setAutoPadding() { return this; }
  _transform(c, e, cb) { this.update(c); cb(); }
  _flush(cb) { try { cb(null, this.final()); } catch (e) { cb(e); } }
}

function randomBytes(length, cb) {
  const f = () => wrap(toBytes(call("crypto.random", { length })));
  if (!cb) return f();
  queueMicrotask(() => { try { cb(null, f()); } catch (e) { cb(e); } });
}
const fill = (b, offset = 0, length) => { const u = view(b); length ??= u.length - offset; u.set(randomBytes(length), offset); return b; };

export function randomUUID() {
  const b = randomBytes(16);
  b[6] = (b[6] & 15) | 64;
  b[8] = (b[8] & 63) | 128;
  const h = b.toString("hex");
  return `${h.slice(0, 8)}-${h.slice(8, 12)}-${h.slice(12, 16)}-${h.slice(16, 20)}-${h.slice(20)}`;
}

function randomInt(min, max, cb) {
  if (max === undefined || typeof max === "function") [min, max, cb] = [0, min, max];
  const range = max - min;
  if (!(range > 0)) throw Object.assign(new RangeError(`The value of "max" is out of range. It must be greater than the value of "min" (${min}). Received ${max}`), { code: "ERR_OUT_OF_RANGE" });
  const limit = 2 ** 48 - (2 ** 48 % range);
  let n;
  do n = randomBytes(6).readUIntBE(0, 6); while (n >= limit);
  n = min + (n % range);
  if (!cb) return n;
  queueMicrotask(() => cb(null, n));
}

const deriveArgs = (kind, digest, password, salt, iterations, length, info = "") => ({ kind, digest, password: bin(password), salt: bin(salt), iterations, length, info: bin(info) });
const pbkdf2Sync = (p, s, n, len, digest) => out(call("crypto.derive", deriveArgs("pbkdf2", digest, p, s, n, len)));
const pbkdf2 = (p, s, n, len, digest, cb) => { start("crypto.derive", deriveArgs("pbkdf2", digest, p, s, n, len)).then((r) => cb(null, out(r)), cb); };
const hkdfSync = (digest, key, salt, info, len) => new Uint8Array(out(call("crypto.derive", deriveArgs("hkdf", digest, key, salt, 0, len, info)))).buffer;

function timingSafeEqual(a, b) {
  const x = view(a), y = view(b);
  if (x.length !== y.length) throw Object.assign(new RangeError("Input buffers must have the same byte length"), { code: "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH" });
  let d = 0;
  for (let i = 0; i < x.length; i++) d |= x[i] ^ y[i];
  return d === 0;
}

// --- Web Crypto --------------------------------------------------------------------

const nameOf = (a) => String(typeof a === "string" ? a : a.name).toUpperCase();
const hashOf = (a) => String(typeof a === "string" ? a : a.name).toLowerCase().replace("-", "");
const plain = (b) => new Uint8Array(b).buffer;
const notSupported = (a) => new DOMException(`Unrecognized algorithm name: ${nameOf(a)}`, "NotSupportedError");
class CryptoKey { constructor(key, algorithm, extractable, usages) { Object.assign(this, { type: "secret", algorithm, extractable, usages }); Object.defineProperty(this, "_key", { value: Buffer.from(key) }); } }
const aes = { "AES-GCM": "gcm", "AES-CBC": "cbc", "AES-CTR": "ctr" };

function crypt(a, key, data, decrypt) {
  const kind = aes[nameOf(a)];
  if (!kind) throw notSupported(a);
  const c = new Cipher(`aes-${key._key.length * 8}-${kind}`, key._key, a.iv ?? a.counter, decrypt);
  let d = Buffer.from(view(data));
  if (a.additionalData) c.setAAD(a.additionalData);
  if (kind === "gcm" && decrypt) { c.setAuthTag(d.subarray(-16)); d = d.subarray(0, -16); }
  c.update(d);
  const r = c.final();
  return plain(kind === "gcm" && !decrypt ? Buffer.concat([r, c.getAuthTag()]) : r);
}

const subtle = {
  async digest(a, d) { return plain(new Hash(hashOf(a)).update(d).digest()); },
  async importKey(format, key, algorithm, extractable, usages) {
    const raw = format === "jwk" ? Buffer.from(key.k, "base64url") : format === "raw" ? view(key) : null;
    if (!raw) throw new DOMException("Only raw and jwk keys can be imported in this host", "NotSupportedError");
    return new CryptoKey(raw, typeof algorithm === "string" ? { name: algorithm } : algorithm, extractable, usages);
  },
  async exportKey(format, key) { return format === "jwk" ? { kty: "oct", k: key._key.toString("base64url"), ext: true } : plain(key._key); },
  async generateKey(a, extractable, usages) { return new CryptoKey(randomBytes((a.length ?? 256) / 8), a, extractable, usages); },
  async sign(a, key, d) { if (nameOf(a) !== "HMAC") throw notSupported(a); return plain(new Hash(hashOf(key.algorithm.hash), key._key).update(d).digest()); },
  async verify(a, key, sig, d) { const want = Buffer.from(await subtle.sign(a, key, d)); const got = view(sig); return want.length === got.length && timingSafeEqual(want, got); },
  async encrypt(a, key, d) { return crypt(a, key, d, false); },
  async decrypt(a, key, d) { try { return crypt(a, key, d, true); } catch (e) { throw e instanceof DOMException ? e : new DOMException("The operation failed for an operation-specific reason", "OperationError"); } },
  async deriveBits(a, key, bits) {
    if (nameOf(a) === "PBKDF2") return plain(pbkdf2Sync(key._key, a.salt, a.iterations, bits / 8, hashOf(a.hash)));
    if (nameOf(a) === "HKDF") return hkdfSync(hashOf(a.hash), key._key, a.salt, a.info, bits / 8);
    throw notSupported(a);
  },
  async deriveKey(a, key, target, extractable, usages) { return new CryptoKey(new Uint8Array(await subtle.deriveBits(a, key, target.length ?? 256)), target, extractable, usages); },
};
export const webcrypto = { subtle, randomUUID, getRandomValues: (u) => fill(u), CryptoKey };

const unsupported = (what) => () => { throw Object.assign(new Error(`crypto.${what} is not available in this host`), { code: "ERR_UNSUPPORTED" }); };
export const crypto = {
  createHash: (a) => new Hash(a), createHmac: (a, k) => new Hash(a, k), Hash, Hmac: Hash, hash: (a, d, e = "hex") => new Hash(a).update(d).digest(e),
  createCipheriv: (a, k, iv) => new Cipher(a, k, iv, false), createDecipheriv: (a, k, iv) => new Cipher(a, k, iv, true),
  randomBytes, pseudoRandomBytes: randomBytes, randomFillSync: fill, randomFill: (b, cb) => queueMicrotask(() => cb(null, fill(b))), randomUUID, randomInt, getRandomValues: webcrypto.getRandomValues,
  pbkdf2, pbkdf2Sync, hkdfSync, hkdf: (d, k, s, i, l, cb) => queueMicrotask(() => cb(null, hkdfSync(d, k, s, i, l))), timingSafeEqual,
  createSecretKey: (k, e) => new KeyObject(bytes(k, e)), KeyObject, webcrypto, subtle, constants: {}, getHashes: () => ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"],
  getCiphers: () => [128, 192, 256].flatMap((n) => ["cbc", "ctr", "gcm"].map((m) => `aes-${n}-${m}`)), getCurves: () => [],
  ...Object.fromEntries(["createSign", "createVerify", "sign", "verify", "generateKeyPair", "generateKeyPairSync", "createPublicKey", "createPrivateKey", "publicEncrypt", "privateDecrypt", "createECDH", "createDiffieHellman", "scrypt", "scryptSync", "X509Certificate"].map((k) => [k, unsupported(k)])),
};
