// URL and url.
import { call } from "./bridge.js";
import { path } from "./path.js";

const unescape = (s) => { try { return decodeURIComponent(s.replace(/\+/g, " ")); } catch { return s; } };
const escape = (s) => encodeURIComponent(s).replace(/%20/g, "+").replace(/[!'()~]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());

export class URLSearchParams {
  #list = []; #changed;
  constructor(init = "", changed) {
    this.#changed = changed;
    if (init == null) return;
    if (typeof init === "object" && typeof init[Symbol.iterator] === "function") for (const [k, v] of init) this.#list.push([String(k), String(v)]);
    else if (typeof init === "object") for (const [k, v] of Object.entries(init)) this.#list.push([k, String(v)]);
    else this.#parse(String(init).replace(/^\?/, ""));
  }
  #parse(s) {
    for (const part of s.split("&")) {
      if (!part) continue;
      const i = part.indexOf("=");
      this.#list.push(i < 0 ? [unescape(part), ""] : [unescape(part.slice(0, i)), unescape(part.slice(i + 1))]);
    }
  }
  #update() { this.#changed?.(this.toString()); }
  get size() { return this.#list.length; }
  get(k) { return this.#list.find((e) => e[0] === k)?.[1] ?? null; }
  getAll(k) { return this.#list.filter((e) => e[0] === k).map((e) => e[1]); }
  has(k, v) { return this.#list.some((e) => e[0] === k && (v === undefined || e[1] === String(v))); }
  set(k, v) {
    const i = this.#list.findIndex((e) => e[0] === k);
    if (i < 0) this.#list.push([String(k), String(v)]);
    else { this.#list[i] = [k, String(v)]; this.#list = this.#list.filter((e, j) => j <= i || e[0] !== k); }
    this.#update();
  }
  append(k, v) { this.#list.push([String(k), String(v)]); this.#update(); }
  delete(k, v) { this.#list = this.#list.filter((e) => e[0] !== k || (v !== undefined && e[1] !== String(v))); this.#update(); }
  sort() { this.#list.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0)); this.#update(); }
  forEach(f, self) { for (const [k, v] of this.#list) f.call(self, v, k, this); }
  *entries() { for (const e of this.#list) yield [...e]; }
  *keys() { for (const e of this.#list) yield e[0]; }
  *values() { for (const e of this.#list) yield e[1]; }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return this.#list.map(([k, v]) => escape(k) + "=" + escape(v)).join("&"); }
}

const schemes = /^(https?|wss?|ftp):$/;
const invalid = (input) => Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL", input });

export class URL {
  #u; #params;
  constructor(input, base) {
    const u = call("url.parse", { url: String(input), base: base === undefined ? null : String(base) });
    if (!u) throw invalid(String(input));
    this.#set(u);
  }
  #set(u) {
    this.#u = u;
    this.#params = new URLSearchParams(u.search, (s) => { u.search = s ? "?" + s : ""; });
  }
  static canParse(u, base) { return URL.parse(u, base) !== null; }
  static parse(u, base) { try { return new URL(u, base); } catch { return null; } }
  static createObjectURL() { throw Object.assign(new Error("URL.createObjectURL is not available in this host"), { code: "ERR_UNSUPPORTED" }); }
  static revokeObjectURL() {}
  get href() {
    const u = this.#u;
    if (u.opaque !== undefined) return u.protocol + u.opaque + u.search + u.hash;
    const user = u.username || u.password ? u.username + (u.password ? ":" + u.password : "") + "@" : "";
    const slashes = u.host || u.protocol === "file:" || schemes.test(u.protocol) ? "//" : "";
    return u.protocol + slashes + user + u.host + u.pathname + u.search + u.hash;
  }
  set href(v) { const u = call("url.parse", { url: String(v), base: null }); if (!u) throw invalid(String(v)); this.#set(u); }
  get origin() { return schemes.test(this.#u.protocol) ? this.#u.protocol + "//" + this.#u.host : "null"; }
  get searchParams() { return this.#params; }
  get protocol() { return this.#u.protocol; }
  set protocol(v) { this.#u.protocol = String(v).replace(/:?$/, ":"); }
  get username() { return this.#u.username; }
  set username(v) { this.#u.username = encodeURIComponent(v); }
  get password() { return this.#u.password; }
  set password(v) { this.#u.password = encodeURIComponent(v); }
  get host() { return this.#u.host; }
  set host(v) { this.#u.host = String(v); }
  get hostname() { return this.#u.host.replace(/:\d*$/, ""); }
  set hostname(v) { this.#u.host = v + (this.port ? ":" + this.port : ""); }
  get port() { return /:(\d+)$/.exec(this.#u.host)?.[1] ?? ""; }
  set port(v) { this.#u.host = this.hostname + (v === "" ? "" : ":" + v); }
  get pathname() { return this.#u.pathname; }
  set pathname(v) { v = String(v); this.#u.pathname = (v.startsWith("/") ? v : "/" + v).replace(/[ ?#"<>]/g, (c) => encodeURIComponent(c)); }
  get search() { return this.#u.search; }
  set search(v) { v = String(v); this.#u.search = v && v !== "?" ? (v.startsWith("?") ? v : "?" + v) : ""; this.#set(this.#u); }
  get hash() { return this.#u.hash; }
  set hash(v) { v = String(v); this.#u.hash = v && v !== "#" ? (v.startsWith("#") ? v : "#" + v) : ""; }
  toString() { return this.href; }
  toJSON() { return this.href; }
}

export function fileURLToPath(u) {
  const url = typeof u === "string" ? new URL(u) : u;
  if (url.protocol !== "file:") throw Object.assign(new TypeError("The URL must be of scheme file"), { code: "ERR_INVALID_URL_SCHEME" });
  const p = decodeURIComponent(url.pathname);
  return path.sep === "\\" ? p.replace(/^\/([A-Za-z]:)/, "$1").replace(/\//g, "\\") : p;
}

export function pathToFileURL(p) {
  let s = path.resolve(p);
  if (/[\\/]$/.test(p) && !/[\\/]$/.test(s)) s += "/";
  s = s.replace(/\\/g, "/");
  return new URL("file://" + (s.startsWith("/") ? "" : "/") + s.split("/").map((x) => encodeURIComponent(x).replace(/%(3A|40|24|26|2B|2C|3B|3D)/gi, (m) => decodeURIComponent(m))).join("/"));
}

/** The old url.parse, as far as it is used. */
function parse(s, query) {
  const m = /^([a-z][a-z0-9+.-]*:)?(?:\/\/(?:([^/?#@]*)@)?([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/i.exec(String(s).trim());
  const [, protocol = null, auth = null, host = null, pathname, search = null, hash = null] = m;
  const port = host && /:(\d+)$/.exec(host)?.[1];
  return { protocol, slashes: host !== null || null, auth: auth && decodeURIComponent(auth), host: host || null, port: port ?? null, hostname: host ? host.replace(/:\d+$/, "") : null, hash, search, query: query ? Object.fromEntries(new URLSearchParams(search ?? "")) : (search?.slice(1) ?? null), pathname: pathname || (host ? "/" : null), path: (pathname || (host ? "/" : "")) + (search ?? "") || null, href: String(s) };
}

function format(u) {
  if (typeof u === "string") return u;
  if (u instanceof URL) return u.href;
  const protocol = u.protocol ? u.protocol.replace(/:?$/, ":") : "";
  const host = u.host ?? (u.hostname ? u.hostname + (u.port ? ":" + u.port : "") : "");
  const search = u.search ?? (u.query ? "?" + (typeof u.query === "string" ? u.query : new URLSearchParams(u.query)) : "");
  return protocol + (host || u.slashes ? "//" : "") + (u.auth ? u.auth + "@" : "") + host + (u.pathname ?? "") + search + (u.hash ?? "");
}

export const url = {
  URL, URLSearchParams, fileURLToPath, pathToFileURL, parse, format, Url: class Url {},
  resolve: (a, b) => { try { return new URL(b, a).href; } catch { const u = new URL(b, new URL(a, "resolve://x/")); return u.protocol === "resolve:" ? u.pathname + u.search + u.hash : u.href; } },
  domainToASCII: (s) => s.toLowerCase(), domainToUnicode: (s) => s,
  urlToHttpOptions: (u) => ({ protocol: u.protocol, hostname: u.hostname.replace(/^\[|\]$/g, ""), path: u.pathname + u.search, pathname: u.pathname, search: u.search, hash: u.hash, href: u.href, ...(u.port ? { port: Number(u.port) } : {}), ...(u.username ? { auth: decodeURIComponent(u.username) + ":" + decodeURIComponent(u.password) } : {}) }),
};
