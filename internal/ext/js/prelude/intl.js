// A small Intl for English: numbers, dates, lists, graphemes. Other locales fall back
// to it.

const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

function grouped(digits) {
  return digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

function number(v, o = {}) {
  let n = Number(v);
  if (typeof v === "bigint") return (v < 0n ? "-" : "") + grouped(String(v < 0n ? -v : v));
  if (!isFinite(n)) return isNaN(n) ? "NaN" : n < 0 ? "-∞" : "∞";
  if (o.notation === "compact") return compact(n, o);
  if (o.style === "percent") n *= 100;
  const money = o.style === "currency";
  const min = o.minimumFractionDigits ?? (money ? 2 : 0);
  const max = Math.max(min, o.maximumFractionDigits ?? (money ? 2 : o.style === "percent" ? 0 : 3));
  let text = o.maximumSignificantDigits ? String(Number(Math.abs(n).toPrecision(o.maximumSignificantDigits))) : Math.abs(n).toFixed(max);
  let [whole, fraction = ""] = text.split(".");
  if (!o.maximumSignificantDigits) {
    while (fraction.length > min && fraction.endsWith("0")) fraction = fraction.slice(0, -1);
  }
  whole = whole.padStart(o.minimumIntegerDigits ?? 1, "0");
  text = (o.useGrouping === false ? whole : grouped(whole)) + (fraction ? "." + fraction : "");
  const sign = n < 0 && /[1-9]/.test(text) ? "-" : "";
  if (money) {
    const symbol = { USD: "$", EUR: "€", GBP: "£", JPY: "¥", CNY: "CN¥" }[o.currency] ?? o.currency + " ";
    return sign + symbol + text;
  }
  const unit = o.style === "unit" ? " " + o.unit : "";
  return sign + text + (o.style === "percent" ? "%" : "") + unit;
}

function compact(n, o) {
  for (const [size, mark] of [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "K"]]) {
    if (Math.abs(n) >= size) {
      const x = n / size;
      return number(x, { maximumFractionDigits: o.maximumFractionDigits ?? (Math.abs(x) < 100 ? 1 : 0) }) + mark;
    }
  }
  return number(n, { maximumFractionDigits: o.maximumFractionDigits ?? 0 });
}

const two = (n) => String(n).padStart(2, "0");

/** The parts of a date as en-US orders them. */
function dateText(d, o) {
  const utc = o.timeZone === "UTC" || o.timeZone === "GMT";
  const get = (k) => d[(utc ? "getUTC" : "get") + k]();
  const styles = { full: { weekday: "long", year: "numeric", month: "long", day: "numeric" }, long: { year: "numeric", month: "long", day: "numeric" }, medium: { year: "numeric", month: "short", day: "numeric" }, short: { year: "2-digit", month: "numeric", day: "numeric" } };
  const clocks = { full: 3, long: 3, medium: 3, short: 2 };
  let p = { ...o };
  if (o.dateStyle) Object.assign(p, styles[o.dateStyle]);
  if (o.timeStyle) Object.assign(p, { hour: "numeric", minute: "2-digit", ...(clocks[o.timeStyle] > 2 ? { second: "2-digit" } : {}) });
  const date = [];
  if (p.month === "long" || p.month === "short") {
    const name = p.month === "long" ? months[get("Month")] : months[get("Month")].slice(0, 3);
    date.push(name + (p.day ? " " + (p.day === "2-digit" ? two(get("Date")) : get("Date")) : ""));
    if (p.year) date.push((p.day ? "" : "") + get("FullYear"));
  } else {
    const parts = [];
    if (p.month) parts.push(p.month === "2-digit" ? two(get("Month") + 1) : get("Month") + 1);
    if (p.day) parts.push(p.day === "2-digit" ? two(get("Date")) : get("Date"));
    if (p.year) parts.push(p.year === "2-digit" ? two(get("FullYear") % 100) : get("FullYear"));
    if (parts.length) date.push(parts.join("/"));
  }
  let text = date.join(p.day ? ", " : " ");
  if (p.weekday) text = (p.weekday === "long" ? days[get("Day")] : days[get("Day")].slice(0, 3)) + (text ? ", " + text : "");
  const time = clock(p, get);
  return [text, time].filter(Boolean).join(", ");
}

function clock(p, get) {
  if (!p.hour && !p.minute && !p.second) return "";
  const h24 = p.hour12 === false || p.hourCycle === "h23";
  const h = get("Hours");
  const parts = [];
  if (p.hour) parts.push(h24 ? two(h) : p.hour === "2-digit" ? two(h % 12 || 12) : h % 12 || 12);
  if (p.minute) parts.push(two(get("Minutes")));
  if (p.second) parts.push(two(get("Seconds")));
  return parts.join(":") + (p.hour && !h24 ? (h < 12 ? " AM" : " PM") : "");
}

class NumberFormat {
  constructor(locale, o = {}) { this.o = o; }
  format(n) { return number(n, this.o); }
  formatToParts(n) { return [{ type: "literal", value: this.format(n) }]; }
  resolvedOptions() { return { locale: "en-US", numberingSystem: "latn", ...this.o }; }
}

class DateTimeFormat {
  constructor(locale, o = {}) {
    this.o = Object.keys(o).some((k) => /year|month|day|hour|minute|second|Style|weekday/.test(k)) ? o : { ...o, year: "numeric", month: "numeric", day: "numeric" };
    this.format = (d) => dateText(new Date(d ?? Date.now()), this.o);
  }
  formatToParts(d) { return this.format(d).split(/(\W+)/).filter(Boolean).map((value) => ({ type: /^\W/.test(value) ? "literal" : "integer", value })); }
  resolvedOptions() { return { locale: "en-US", calendar: "gregory", numberingSystem: "latn", timeZone: this.o.timeZone ?? zone(), ...this.o }; }
}

const zone = () => globalThis.process?.env?.TZ || "UTC";

class RelativeTimeFormat {
  constructor(locale, o = {}) { this.o = o; }
  format(n, unit) {
    const u = String(unit).replace(/s$/, "");
    if (this.o.numeric === "auto" && u === "day" && Math.abs(n) <= 1) return n === 0 ? "today" : n > 0 ? "tomorrow" : "yesterday";
    const amount = number(Math.abs(n)) + " " + u + (Math.abs(n) === 1 ? "" : "s");
    return n < 0 || Object.is(n, -0) ? amount + " ago" : "in " + amount;
  }
}

class Collator {
  constructor(locale, o = {}) {
    const fold = (s) => (o.sensitivity === "base" || o.sensitivity === "accent" ? String(s).toLowerCase() : String(s));
    this.compare = (a, b) => (o.numeric ? natural(fold(a), fold(b)) : order(fold(a), fold(b)));
  }
  resolvedOptions() { return { locale: "en-US" }; }
}

/** Letters first without case, then with it, as dictionaries have it. */
function order(a, b) {
  const x = a.toLowerCase(), y = b.toLowerCase();
  if (x !== y) return x < y ? -1 : 1;
  return a === b ? 0 : a > b ? -1 : 1;
}

function natural(a, b) {
  const x = a.split(/(\d+)/), y = b.split(/(\d+)/);
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const r = i % 2 ? Number(x[i]) - Number(y[i]) : order(x[i], y[i]);
    if (r) return r < 0 ? -1 : 1;
  }
  return Math.sign(x.length - y.length);
}

class PluralRules {
  constructor(locale, o = {}) { this.o = o; }
  select(n) {
    if (this.o.type !== "ordinal") return n === 1 ? "one" : "other";
    const t = n % 100;
    if (t >= 11 && t <= 13) return "other";
    return { 1: "one", 2: "two", 3: "few" }[n % 10] ?? "other";
  }
  resolvedOptions() { return { locale: "en-US" }; }
}

class ListFormat {
  constructor(locale, o = {}) { this.word = o.type === "disjunction" ? "or" : "and"; }
  format(list) {
    const a = [...list];
    if (a.length < 3) return a.join(` ${this.word} `);
    return a.slice(0, -1).join(", ") + `, ${this.word} ` + a.at(-1);
  }
}

const joins = (c) => c === 0x200d || (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0x300 && c <= 0x36f) || (c >= 0x1f3fb && c <= 0x1f3ff) || (c >= 0x20d0 && c <= 0x20ff) || (c >= 0xe0020 && c <= 0xe007f);
const flag = (c) => c >= 0x1f1e6 && c <= 0x1f1ff;

class Segmenter {
  constructor(locale, o = {}) { this.granularity = o.granularity ?? "grapheme"; }
  segment(input) {
    const f = this.granularity === "grapheme" ? graphemes : words;
    return { [Symbol.iterator]: () => f(input), containing: (i = 0) => [...f(input)].find((s) => i >= s.index && i < s.index + s.segment.length) };
  }
  resolvedOptions() { return { locale: "en-US", granularity: this.granularity }; }
}

function* graphemes(input) {
  let segment = "", index = 0, flags = 0;
  for (const ch of input) {
    const c = ch.codePointAt(0);
    flags = flag(c) ? flags + 1 : 0;
    const glued = segment && (joins(c) || segment.endsWith("\u200d") || (flag(c) && flags % 2 === 0) || (segment === "\r" && ch === "\n"));
    if (segment && !glued) {
      yield { segment, index, input };
      index += segment.length;
      segment = "";
    }
    segment += ch;
  }
  if (segment) yield { segment, index, input };
}

function* words(input) {
  for (const m of input.matchAll(/[\p{L}\p{N}_'’]+|\s+|[^\p{L}\p{N}_'’\s]/gu)) yield { segment: m[0], index: m.index, input, isWordLike: /[\p{L}\p{N}]/u.test(m[0]) };
}

export function install(G) {
  const own = { NumberFormat, DateTimeFormat, RelativeTimeFormat, Collator, PluralRules, ListFormat, Segmenter, getCanonicalLocales: (l) => [].concat(l ?? []), supportedValuesOf: () => [] };
  const callable = (C) => new Proxy(C, { apply: (t, self, args) => new t(...args) });
  for (const k of Object.keys(own)) if (/^[A-Z]/.test(k)) { own[k] = callable(own[k]); own[k].supportedLocalesOf ??= () => ["en-US"]; }
  G.Intl = { ...own, ...(G.Intl ?? {}) };
  const define = (proto, name, f) => Object.defineProperty(proto, name, { value: f, writable: true, configurable: true });
  define(Number.prototype, "toLocaleString", function (l, o) { return number(this.valueOf(), o); });
  define(BigInt.prototype, "toLocaleString", function () { return number(this.valueOf()); });
  const defaults = { toLocaleString: { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "2-digit", second: "2-digit" }, toLocaleDateString: { year: "numeric", month: "numeric", day: "numeric" }, toLocaleTimeString: { hour: "numeric", minute: "2-digit", second: "2-digit" } };
  for (const [name, def] of Object.entries(defaults)) {
    define(Date.prototype, name, function (l, o = {}) {
      if (isNaN(this)) return "Invalid Date";
      const chosen = Object.keys(o).some((k) => /year|month|day|hour|minute|second|Style/.test(k));
      return dateText(this, chosen ? o : { ...def, ...o });
    });
  }
  define(String.prototype, "localeCompare", function (other, l, o) { return new Collator(l, o).compare(String(this), String(other)); });
}
