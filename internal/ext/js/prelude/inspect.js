// How values look in a console: util.inspect and util.format, with Node's layout.
// Covered: all built-in types, classes, getters, symbols, circles, custom inspectors,
// colours, depth, array and string limits, sorted, compact, breakLength. Not covered:
// the state of promises, what is in weak collections, and proxies (shown as their
// targets).

export const custom = Symbol.for("nodejs.util.inspect.custom");
export const defaultOptions = { showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100, maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false };
export const colors = { __proto__: null, reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], blink: [5, 25], inverse: [7, 27], hidden: [8, 28], strikethrough: [9, 29], doubleunderline: [21, 24], overlined: [53, 55], black: [30, 39], red: [31, 39], green: [32, 39], yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39], gray: [90, 39], grey: [90, 39], redBright: [91, 39], greenBright: [92, 39], yellowBright: [93, 39], blueBright: [94, 39], magentaBright: [95, 39], cyanBright: [96, 39], whiteBright: [97, 39], bgBlack: [40, 49], bgRed: [41, 49], bgGreen: [42, 49], bgYellow: [43, 49], bgBlue: [44, 49], bgMagenta: [45, 49], bgCyan: [46, 49], bgWhite: [47, 49], bgGray: [100, 49] };
export const styles = { special: "cyan", number: "yellow", bigint: "yellow", boolean: "yellow", undefined: "grey", null: "bold", string: "green", symbol: "green", date: "magenta", regexp: "red", module: "underline" };

const identifier = /^[A-Za-z_]\w*$/;
const escapes = { "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\" };
const quote = (s) => {
  const q = !s.includes("'") ? "'" : !s.includes('"') ? '"' : !s.includes("`") && !s.includes("${") ? "`" : "'";
  const body = s.replace(/[\x00-\x1f\x7f-\x9f\\]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, (c) => escapes[c] ?? (c > "\xff" ? "\\u" + c.charCodeAt(0).toString(16).toUpperCase() : "\\x" + c.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")));
  return q + (q === "'" ? body.replaceAll("'", "\\'") : body) + q;
};
const wide = (s) => /[\u0300-\u036f\u1100-\u115f\u200b-\u200f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe00-\ufe0f\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\ud800-\udfff]/.test(s);
const width = (s) => {
  s = s.replace(/\x1b\[[\d;]*m/g, "");
  if (!wide(s)) return s.length;
  let n = 0;
  for (const c of s) n += /[\u0300-\u036f\u200b-\u200f\ufe00-\ufe0f]/.test(c) ? 0 : wide(c) ? 2 : 1;
  return n;
};

const paint = (ctx, text, style) => {
  const c = ctx.colors && colors[styles[style]];
  return c ? `\x1b[${c[0]}m${text}\x1b[${c[1]}m` : text;
};

/** A string on its own, or split after its line ends when it is too long for a line. */
function stringText(ctx, s) {
  let more = "";
  if (s.length > ctx.maxStringLength) {
    const n = s.length - ctx.maxStringLength;
    s = s.slice(0, ctx.maxStringLength);
    more = `... ${n} more character${n > 1 ? "s" : ""}`;
  }
  if (ctx.compact !== true && s.length > 16 && s.length > ctx.breakLength - ctx.indent - 4) {
    return s.split(/(?<=\n)/).map((l) => paint(ctx, quote(l), "string")).join(` +\n${" ".repeat(ctx.indent + 2)}`) + more;
  }
  return paint(ctx, quote(s), "string") + more;
}
function primitive(ctx, v) {
  if (typeof v === "string") return stringText(ctx, v);
  if (v === null) return paint(ctx, "null", "null");
  const text = typeof v === "bigint" ? v + "n" : Object.is(v, -0) ? "-0" : String(v);
  return paint(ctx, text, typeof v);
}

function ownDescriptor(o, k) { try { return Object.getOwnPropertyDescriptor(o, k); } catch { return undefined; } }
/** The name of the class of an object, null without a prototype. */
function className(v) {
  for (let o = v; o; o = Object.getPrototypeOf(o)) {
    const d = ownDescriptor(o, "constructor");
    if (typeof d?.value === "function" && d.value.name && (o !== v || v instanceof d.value)) return d.value.name;
  }
  return null;
}
/** What stands before the braces: the class, its size, its tag. */
function prefix(v, name, fallback, size = "") {
  let tag = v[Symbol.toStringTag];
  if (typeof tag !== "string" || tag === "" || tag === name) tag = "";
  const t = tag && tag !== fallback ? `[${tag}] ` : "";
  if (name === null) return `[${fallback}${size}: null prototype] ${t}`;
  return `${name}${size} ${t}`;
}
function functionText(f) {
  const source = Function.prototype.toString.call(f);
  const tag = f[Symbol.toStringTag];
  if (/^class\b/.test(source)) {
    const parent = Object.getPrototypeOf(f);
    return `[class ${Object.hasOwn(f, "name") && f.name ? f.name : "(anonymous)"}${parent?.name ? ` extends ${parent.name}` : parent === null ? " extends null" : ""}]`;
  }
  const kind = Object.getPrototypeOf(f)?.[Symbol.toStringTag] ?? "Function";
  return `[${kind}${f.name ? `: ${f.name}` : " (anonymous)"}]${typeof tag === "string" && tag && tag !== kind ? ` [${tag}]` : ""}`;
}

function keysOf(ctx, v, indexed) {
  let keys = ctx.showHidden ? Object.getOwnPropertyNames(v) : Object.keys(v);
  if (indexed) keys = keys.filter((k) => !/^(0|[1-9]\d*)$/.test(k));
  return [...keys, ...Object.getOwnPropertySymbols(v).filter((k) => ctx.showHidden || ownDescriptor(v, k)?.enumerable)];
}
function member(ctx, v, k, depth, plain) {
  const d = ownDescriptor(v, k) ?? { value: v[k], enumerable: true };
  let text;
  if (d.get) text = paint(ctx, d.set ? "[Getter/Setter]" : "[Getter]", "special");
  else if (d.set) text = paint(ctx, "[Setter]", "special");
  else { ctx.indent += 2; text = show(ctx, d.value, depth + 1); ctx.indent -= 2; }
  if (plain) return text;
  const name = typeof k === "symbol" ? `[${paint(ctx, k.toString(), "symbol")}]` : identifier.test(k) ? k : paint(ctx, quote(k), "string");
  return `${d.enumerable ? name : `[${typeof k === "symbol" ? k.toString() : k}]`}: ${text}`;
}
const rest = (n) => `... ${n} more item${n > 1 ? "s" : ""}`;
function elements(ctx, v, depth) {
  const out = [], n = v.length;
  let i = 0;
  for (; i < n && out.length < ctx.maxArrayLength; i++) {
    if (Object.hasOwn(v, i)) { out.push(member(ctx, v, String(i), depth, true)); continue; }
    let j = i;
    while (j < n && !Object.hasOwn(v, j)) j++;
    out.push(paint(ctx, `<${j - i} empty item${j - i > 1 ? "s" : ""}>`, "undefined"));
    i = j - 1;
  }
  if (i < n) out.push(rest(n - i));
  return out;
}
function items(ctx, list, depth, f) {
  ctx.indent += 2;
  const most = Math.min(ctx.maxArrayLength, list.length);
  const out = list.slice(0, most).map((x) => f((y) => show(ctx, y, depth + 1), x));
  if (list.length > most) out.push(rest(list.length - most));
  ctx.indent -= 2;
  return out;
}

/** Puts the short parts of long lists into columns. */
function columns(ctx, parts, values) {
  const n = parts.length > ctx.maxArrayLength ? parts.length - 1 : parts.length;
  const widths = parts.slice(0, n).map(width);
  const most = Math.max(...widths) + 2, total = widths.reduce((a, b) => a + b + 2, 0);
  if (most * 3 + ctx.indent >= ctx.breakLength || (total / most <= 5 && most - 2 > 6)) return parts;
  const biased = Math.max(most - 3 - Math.sqrt(most - total / parts.length), 1);
  const count = Math.min(Math.round(Math.sqrt(2.5 * biased * n) / biased), Math.floor((ctx.breakLength - ctx.indent) / most), ctx.compact * 4, 15);
  if (count <= 1) return parts;
  const room = Array.from({ length: count }, (_, i) => Math.max(0, ...widths.filter((w, j) => j % count === i)) + 2);
  const right = values === undefined || parts.every((p, i) => i >= values.length || typeof values[i] === "number" || typeof values[i] === "bigint");
  const out = [];
  for (let i = 0; i < n; i += count) {
    const row = parts.slice(i, Math.min(i + count, n));
    out.push(row.map((p, j) => {
      const last = j === row.length - 1, text = last ? p : p + ", ", fill = " ".repeat(Math.max(0, room[j] - widths[i + j] - 2));
      return right ? fill + text : last ? text : text + fill;
    }).join(""));
  }
  if (n < parts.length) out.push(parts[n]);
  return out;
}
/** Joins parts on one line where they fit and are not nested too deep, else one a line. */
function join(ctx, parts, base, open, close, depth, list) {
  const head = base ? `${base} ` : "";
  let lines = parts;
  if (typeof ctx.compact === "number") {
    if (list && ctx.compact >= 1 && parts.length > 6) lines = columns(ctx, parts, list.values);
    if (ctx.deepest - depth < ctx.compact && lines === parts) {
      const start = parts.length + ctx.indent + open.length + base.length + 10;
      const length = parts.reduce((a, p) => a + width(p), parts.length + start);
      if (length <= ctx.breakLength && !base.includes("\n")) {
        const line = parts.join(", ");
        if (!line.includes("\n")) return `${head}${open} ${line} ${close}`;
      }
    }
  } else if (ctx.compact === true) {
    const line = parts.join(", ");
    if (line.length + open.length + ctx.indent <= ctx.breakLength && !line.includes("\n")) return `${head}${open} ${line} ${close}`;
  }
  const pad = `\n${" ".repeat(ctx.indent)}`;
  return `${head}${open}${pad}  ${lines.join(`,${pad}  `)}${pad}${close}`;
}

function errorText(ctx, e, keys) {
  const name = typeof e.name === "string" && e.name ? e.name : "Error", message = typeof e.message === "string" ? e.message : "";
  const head = message ? `${name}: ${message}` : name;
  const stack = typeof e.stack === "string" ? e.stack.trimEnd() : "";
  for (const k of ["name", "message", "stack"]) if (keys.includes(k) && (stack.includes(e[k]) || head.includes(e[k]))) keys.splice(keys.indexOf(k), 1);
  for (const k of ["cause", "errors"]) if (Object.hasOwn(e, k) && !keys.includes(k)) keys.push(k);
  const text = !stack ? `[${head}]` : stack.startsWith(name) ? stack : `${head}\n${stack}`;
  return ctx.indent ? text.replaceAll("\n", `\n${" ".repeat(ctx.indent)}`) : text;
}

const hex = (u) => Array.from(u.subarray(0, 50), (b) => b.toString(16).padStart(2, "0")).join(" ") + (u.length > 50 ? ` ... ${u.length - 50} more byte${u.length > 51 ? "s" : ""}` : "");
const iteratorNames = { "Map Iterator": "Map Iterator", "Set Iterator": "Set Iterator", "Array Iterator": "Object [Array Iterator]" };

/** The parts of an object: what stands before it, its braces, its elements. */
function shape(ctx, v, name, depth) {
  const keys = keysOf(ctx, v, Array.isArray(v) || ArrayBuffer.isView(v));
  const s = { keys, base: "", open: "{", close: "}", parts: [] };
  if (Array.isArray(v)) {
    const p = name === "Array" && !v[Symbol.toStringTag] ? "" : prefix(v, name, "Array", `(${v.length})`);
    return { ...s, open: `${p}[`, close: "]", parts: depth > ctx.depth ? [] : elements(ctx, v, depth), list: { values: v } };
  }
  if (v instanceof Set) return { ...s, open: `${prefix(v, name, "Set", `(${v.size})`)}{`, parts: items(ctx, [...Set.prototype.values.call(v)], depth, (f, x) => f(x)) };
  if (v instanceof Map) return { ...s, open: `${prefix(v, name, "Map", `(${v.size})`)}{`, parts: items(ctx, [...Map.prototype.entries.call(v)], depth, (f, [k, x]) => `${f(k)} => ${f(x)}`) };
  if (ArrayBuffer.isView(v) && !(v instanceof DataView)) {
    const most = Math.min(ctx.maxArrayLength, v.length);
    const parts = Array.from(v.subarray(0, most), (x) => primitive(ctx, x));
    if (v.length > most) parts.push(rest(v.length - most));
    return { ...s, open: `${prefix(v, name, name ?? "TypedArray", `(${v.length})`)}[`, close: "]", parts, list: { values: v } };
  }
  const tag = Object.prototype.toString.call(v).slice(8, -1);
  if (iteratorNames[tag]) return { ...s, open: `[${tag}] {`, parts: [] };
  if (tag === "Arguments") return { ...s, open: "[Arguments] [", close: "]", parts: elements(ctx, v, depth), keys: [], list: { values: v } };
  if (typeof v === "function") return { ...s, base: paint(ctx, functionText(v), "special"), bare: true };
  if (v instanceof RegExp) return { ...s, base: paint(ctx, (name === "RegExp" ? "" : prefix(v, name, "RegExp")) + RegExp.prototype.toString.call(v), "regexp"), bare: true };
  if (v instanceof Date) return { ...s, base: paint(ctx, (name === "Date" ? "" : prefix(v, name, "Date")) + (Number.isNaN(v.getTime()) ? "Invalid Date" : v.toISOString()), "date"), bare: true };
  if (v instanceof Error) return { ...s, base: errorText(ctx, v, keys), bare: true };
  if (v instanceof ArrayBuffer) return { ...s, open: `${prefix(v, name, "ArrayBuffer")}{`, parts: [`[Uint8Contents]: <${hex(new Uint8Array(v))}>`, `[byteLength]: ${primitive(ctx, v.byteLength)}`] };
  if (v instanceof DataView) return { ...s, open: `${prefix(v, name, "DataView")}{`, parts: ["byteLength", "byteOffset", "buffer"].map((k) => { ctx.indent += 2; const t = show(ctx, v[k], depth + 1); ctx.indent -= 2; return `${k}: ${t}`; }) };
  if (v instanceof Promise) return { ...s, open: `${prefix(v, name, "Promise")}{`, parts: [paint(ctx, "<pending>", "special")] };
  if (v instanceof WeakMap || v instanceof WeakSet) return { ...s, open: `${prefix(v, name, tag)}{`, parts: [paint(ctx, "<items unknown>", "special")] };
  for (const [C, text] of [[Number, "Number"], [String, "String"], [Boolean, "Boolean"], [BigInt, "BigInt"], [Symbol, "Symbol"]]) {
    if (v instanceof C) return { ...s, keys: C === String ? keysOf(ctx, v, true) : keys, base: paint(ctx, `[${text}: ${primitive({ ...ctx, colors: false, indent: 0 }, v.valueOf())}]`, text.toLowerCase()), bare: true };
  }
  return { ...s, open: name === "Object" && !v[Symbol.toStringTag] ? "{" : `${prefix(v, name, "Object")}{` };
}

function show(ctx, v, depth) {
  if (v === null || (typeof v !== "object" && typeof v !== "function")) return primitive(ctx, v);
  const f = ctx.customInspect ? v[custom] : undefined;
  if (typeof f === "function" && f !== inspect && !(v.constructor?.prototype === v)) {
    const left = ctx.depth === Infinity ? Infinity : ctx.depth - depth;
    const r = f.call(v, left, { ...ctx, depth: left, stylize: (t, s) => paint(ctx, String(t), s) }, inspect);
    if (r !== v) return typeof r === "string" ? r.replaceAll("\n", `\n${" ".repeat(ctx.indent)}`) : show(ctx, r, depth);
  }
  if (ctx.seen.includes(v)) {
    if (!ctx.circles.has(v)) ctx.circles.set(v, ctx.circles.size + 1);
    return paint(ctx, `[Circular *${ctx.circles.get(v)}]`, "special");
  }
  return compound(ctx, v, depth);
}
function compound(ctx, v, depth) {
  const name = className(v);
  if (depth > ctx.depth && typeof v !== "function" && !(v instanceof RegExp) && !(v instanceof Date) && !(v instanceof Error)) {
    return paint(ctx, Array.isArray(v) ? "[Array]" : `[${prefix(v, name, "Object").trimEnd()}]`, "special");
  }
  ctx.seen.push(v);
  ctx.deepest = depth;
  const s = shape(ctx, v, name, depth);
  const parts = [...s.parts, ...s.keys.map((k) => member(ctx, v, k, depth))];
  ctx.seen.pop();
  if (ctx.sorted && !s.list) parts.sort(typeof ctx.sorted === "function" ? ctx.sorted : undefined);
  if (s.bare && !parts.length) return s.base;
  const text = parts.length ? join(ctx, parts, s.base, s.open, s.close, depth, s.list) : `${s.base ? `${s.base} ` : ""}${s.open}${s.close}`;
  return ctx.circles.has(v) ? `${paint(ctx, `<ref *${ctx.circles.get(v)}>`, "special")} ${text}` : text;
}

export function inspect(v, options, depth, withColors) {
  const o = typeof options === "object" && options !== null ? options : typeof options === "boolean" ? { showHidden: options, ...(depth === undefined ? {} : { depth }), ...(withColors === undefined ? {} : { colors: withColors }) } : {};
  const ctx = { ...defaultOptions, ...Object.fromEntries(Object.entries(o).filter(([, x]) => x !== undefined)), seen: [], circles: new Map(), indent: 0, deepest: 0 };
  for (const k of ["depth", "maxArrayLength", "maxStringLength"]) ctx[k] ??= Infinity;
  return show(ctx, v, 0);
}
inspect.custom = custom;
inspect.defaultOptions = defaultOptions;
inspect.colors = colors;
inspect.styles = styles;

const plainString = (v) => {
  if (typeof v !== "object" || v === null) return typeof v === "bigint" ? v + "n" : Object.is(v, -0) ? "-0" : String(v);
  const own = v instanceof Error || v instanceof Date || (typeof v.toString === "function" && v.toString !== Object.prototype.toString && v.toString !== Array.prototype.toString);
  return own ? String(v) : inspect(v, { depth: 0, colors: false, compact: 3 });
};
/** util.formatWithOptions. */
export function formatWith(options, f, ...args) {
  const one = (x) => (typeof x === "string" ? x : inspect(x, options));
  if (typeof f !== "string") return [f, ...args].map(one).join(" ");
  let i = 0;
  const text = args.length === 0 ? f : f.replace(/%[sdifjoOc%]/g, (m) => {
    if (m === "%%") return "%";
    if (i >= args.length) return m;
    const v = args[i++];
    switch (m) {
      case "%s": return plainString(v);
      case "%d": return typeof v === "bigint" ? v + "n" : typeof v === "symbol" ? "NaN" : plainString(Number(v));
      case "%i": return typeof v === "bigint" ? v + "n" : String(parseInt(v, 10));
      case "%f": return String(parseFloat(v));
      case "%j": try { return JSON.stringify(v); } catch { return "[Circular]"; }
      case "%o": return inspect(v, { ...options, showHidden: true, depth: 4 });
      case "%c": return "";
    }
    return inspect(v, options);
  });
  return [text, ...args.slice(i).map(one)].join(" ");
}
export const format = (...a) => formatWith({}, ...a);
