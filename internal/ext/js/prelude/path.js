// path, for both systems.
import { call } from "./bridge.js";

const drive = /^[A-Za-z]:/;

function make(win) {
  const sep = win ? "\\" : "/";
  const isSep = (c) => c === "/" || (win && c === "\\");
  const split = (p) => p.split(win ? /[\\/]+/ : /\/+/);
  /** The root of a path: "", "/", "C:", "C:\\" or "\\\\server\\share\\". */
  const root = (p) => {
    if (!win) return p.startsWith("/") ? "/" : "";
    const unc = /^[\\/]{2}[^\\/]+[\\/]+[^\\/]+[\\/]?/.exec(p);
    if (unc) return unc[0].replace(/\//g, "\\").replace(/\\?$/, "\\");
    if (drive.test(p)) return p.slice(0, 2) + (isSep(p[2]) ? "\\" : "");
    return isSep(p[0]) ? "\\" : "";
  };
  const check = (p, name = "path") => {
    if (typeof p !== "string") throw Object.assign(new TypeError(`The "${name}" argument must be of type string. Received ${p === undefined ? "undefined" : p === null ? "null" : typeof p}`), { code: "ERR_INVALID_ARG_TYPE" });
  };
  const fold = (parts, absolute) => {
    const out = [];
    for (const s of parts) {
      if (!s || s === ".") continue;
      if (s !== "..") out.push(s);
      else if (out.length && out.at(-1) !== "..") out.pop();
      else if (!absolute) out.push("..");
    }
    return out;
  };
  const p = {
    sep, delimiter: win ? ";" : ":",
    isAbsolute(s) { check(s); const r = root(s); return win ? r.endsWith("\\") : r === "/"; },
    normalize(s) {
      check(s);
      if (!s) return ".";
      const r = root(s), absolute = p.isAbsolute(s);
      let body = fold(split(s.slice(r.length)), absolute).join(sep);
      if (!body && !r) body = ".";
      if (body && isSep(s.at(-1)) && body !== ".") body += sep;
      return r + body;
    },
    join(...parts) {
      parts.forEach((s) => check(s));
      const s = parts.filter(Boolean).join(sep);
      return s ? p.normalize(s) : ".";
    },
    resolve(...parts) {
      let s = "";
      for (let i = parts.length - 1; i >= 0 && !p.isAbsolute(s); i--) {
        check(parts[i], `paths[${i}]`);
        if (parts[i]) s = s ? parts[i] + sep + s : parts[i];
      }
      if (!p.isAbsolute(s)) s = cwd() + (s ? sep + s : "");
      const r = root(s);
      return r + fold(split(s.slice(r.length)), true).join(sep);
    },
    dirname(s) {
      check(s);
      const r = root(s);
      let body = s.slice(r.length);
      while (body && isSep(body.at(-1))) body = body.slice(0, -1);
      let i = body.length - 1;
      while (i >= 0 && !isSep(body[i])) i--;
      if (i < 0) return r || ".";
      while (i > 0 && isSep(body[i - 1])) i--;
      return r + body.slice(0, i);
    },
    basename(s, ext) {
      check(s);
      let end = s.length;
      while (end > 0 && isSep(s[end - 1])) end--;
      let start = end;
      const low = win && drive.test(s) ? 2 : 0;
      while (start > low && !isSep(s[start - 1])) start--;
      const b = s.slice(start, end);
      return ext && b !== ext && b.endsWith(ext) ? b.slice(0, -ext.length) : b;
    },
    extname(s) {
      const b = p.basename(s);
      const i = b.lastIndexOf(".");
      return i <= 0 || /^\.+$/.test(b) ? "" : b.slice(i);
    },
    relative(from, to) {
      const a = p.resolve(from), b = p.resolve(to);
      const same = (x, y) => (win ? x.toLowerCase() === y.toLowerCase() : x === y);
      if (!same(root(a), root(b))) return b;
      const x = split(a.slice(root(a).length)).filter(Boolean), y = split(b.slice(root(b).length)).filter(Boolean);
      let i = 0;
      while (i < x.length && i < y.length && same(x[i], y[i])) i++;
      return [...x.slice(i).map(() => ".."), ...y.slice(i)].join(sep);
    },
    parse(s) {
      const r = root(s), base = p.basename(s), ext = p.extname(s);
      let dir = p.dirname(s);
      if (dir === "." && !s.startsWith(".")) dir = "";
      if (base === "") dir = r;
      return { root: r, dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
    },
    format(o) {
      const base = o.base || (o.name ?? "") + (o.ext ? (o.ext.startsWith(".") ? "" : ".") + o.ext : "");
      const dir = o.dir || o.root;
      if (!dir) return base;
      return dir === o.root ? dir + base : dir + sep + base;
    },
    toNamespacedPath: (s) => s,
    matchesGlob: (s, pattern) => glob(pattern).test(s.replace(/\\/g, "/")),
  };
  return p;
}

/** A glob as a regular expression. */
export function glob(pattern) {
  let out = "";
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i];
    if (c === "*" && pattern[i + 1] === "*") { i++; if (pattern[i + 1] === "/") { i++; out += "(?:.*/)?"; } else out += ".*"; }
    else if (c === "*") out += "[^/]*";
    else if (c === "?") out += "[^/]";
    else if (c === "{") out += "(?:";
    else if (c === "}") out += ")";
    else if (c === ",") out += out.lastIndexOf("(?:") > out.lastIndexOf(")") ? "|" : ",";
    else if (c === "[") { const end = pattern.indexOf("]", i + 2); if (end < 0) out += "\\["; else { out += "[" + pattern.slice(i + 1, end).replace(/^!/, "^") + "]"; i = end; } }
    else out += c.replace(/[.+^$()|\\]/g, "\\$&");
  }
  return new RegExp("^" + out + "$");
}

let system;
export const info = () => (system ??= call("system"));
export const cwd = () => info().cwd;

export const posix = make(false);
export const win32 = make(true);
for (const p of [posix, win32]) Object.assign(p, { posix, win32 });
export const path = info().platform === "win32" ? win32 : posix;
