// How values look in a console.

export const custom = Symbol.for("nodejs.util.inspect.custom");
const identifier = /^[A-Za-z_$][\w$]*$/;

const quote = (s) => {
  if (!s.includes("'")) return `'${s.replace(/\\/g, "\\\\").replace(/\n/g, "\\n")}'`;
  return JSON.stringify(s);
};

function primitive(v, nested) {
  switch (typeof v) {
    case "string": return nested ? quote(v) : v;
    case "bigint": return v + "n";
    case "number": return Object.is(v, -0) ? "-0" : String(v);
    case "function": return className(v) ?? `[Function${v.name ? ": " + v.name : " (anonymous)"}]`;
    case "symbol": return v.toString();
  }
  return String(v);
}

const className = (f) => (/^class\b/.test(Function.prototype.toString.call(f)) ? `[class ${f.name || "(anonymous)"}]` : undefined);

function nameOf(v) {
  const proto = Object.getPrototypeOf(v);
  if (proto === null) return "[Object: null prototype] ";
  const name = proto.constructor?.name;
  return name && name !== "Object" ? name + " " : "";
}

/** Lists parts on one line when they are short, else one a line. */
function join(open, parts, close, depth) {
  if (parts.length === 0) return open + close;
  const line = `${open} ${parts.join(", ")} ${close}`;
  if (line.length <= 76 && !line.includes("\n")) return line;
  const pad = "  ".repeat(depth + 1);
  return `${open}\n${parts.map((p) => pad + p).join(",\n")}\n${"  ".repeat(depth)}${close}`;
}

export function inspect(v, options = {}, depth = 0, seen = []) {
  if (typeof options !== "object" || options === null) options = {};
  if (v === null || typeof v !== "object") return primitive(v, depth > 0 || options.quote);
  if (seen.includes(v)) return "[Circular *1]";
  if (typeof v[custom] === "function") {
    const r = v[custom](options.depth ?? 2, options, inspect);
    return typeof r === "string" ? r : inspect(r, options, depth, seen);
  }
  if (v instanceof Error) return errorText(v);
  if (v instanceof Date) return isNaN(v) ? "Invalid Date" : v.toISOString();
  if (v instanceof RegExp) return String(v);
  const limit = options.depth === null ? Infinity : (options.depth ?? 2);
  if (depth > limit) return Array.isArray(v) ? "[Array]" : `[${nameOf(v).trim() || "Object"}]`;
  return compound(v, options, depth, [...seen, v]);
}

function errorText(e) {
  const head = `${e.name}: ${e.message}`;
  const stack = typeof e.stack === "string" ? e.stack.trimEnd() : "";
  if (!stack) return `[${head}]`;
  return stack.startsWith(e.name) ? stack : `${head}\n${stack}`;
}

function compound(v, options, depth, seen) {
  const show = (x) => inspect(x, options, depth + 1, seen);
  const member = ([k, x]) => `${identifier.test(k) ? k : quote(k)}: ${show(x)}`;
  if (v instanceof Promise) return "Promise { <pending> }";
  if (Array.isArray(v)) {
    const most = options.maxArrayLength ?? 100;
    const parts = v.slice(0, most).map(show);
    if (v.length > most) parts.push(`... ${v.length - most} more items`);
    return join("[", parts, "]", depth);
  }
  if (v instanceof Map) return join(`Map(${v.size}) {`, [...v].map(([k, x]) => `${show(k)} => ${show(x)}`), "}", depth);
  if (v instanceof Set) return join(`Set(${v.size}) {`, [...v].map(show), "}", depth);
  if (v instanceof ArrayBuffer) return `ArrayBuffer { byteLength: ${v.byteLength} }`;
  if (ArrayBuffer.isView(v)) {
    if (v.constructor?.name === "Buffer") return `<Buffer${[...v.subarray(0, 50)].map((b) => " " + b.toString(16).padStart(2, "0")).join("")}${v.length > 50 ? ` ... ${v.length - 50} more bytes` : ""}>`;
    return join(`${v.constructor.name}(${v.length}) [`, [...v].slice(0, 100).map(String), "]", depth);
  }
  return join(nameOf(v) + "{", Object.entries(v).map(member), "}", depth);
}

/** util.format. */
export function format(f, ...args) {
  if (typeof f !== "string") return [f, ...args].map((x) => inspect(x)).join(" ");
  let i = 0;
  const text = f.replace(/%[sdifjoOc%]/g, (m) => {
    if (m === "%%") return "%";
    if (i >= args.length) return m;
    const v = args[i++];
    switch (m) {
      case "%s": return typeof v === "object" && v !== null ? inspect(v, { depth: 0 }) : String(v);
      case "%d": return String(typeof v === "bigint" ? v : Number(v));
      case "%i": return String(parseInt(v, 10));
      case "%f": return String(parseFloat(v));
      case "%j": return JSON.stringify(v);
      case "%c": return "";
    }
    return inspect(v);
  });
  return [text, ...args.slice(i).map((x) => inspect(x))].join(" ");
}
