// Small tools that everything else stands on.

// el makes an element: el("div.row#x", {title: "t", onclick: f, data: {i: 3}}, ...children).
// Children are nodes, strings (always text), arrays of these, or nothing.
function el(spec, props, ...children) {
  const [head, ...marks] = spec.split(/(?=[.#])/);
  const node = document.createElement(head);
  for (const mark of marks) {
    if (mark[0] === ".") node.classList.add(mark.slice(1));
    else node.id = mark.slice(1);
  }
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(node.dataset, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

function append(node, child) {
  if (Array.isArray(child)) for (const c of child) append(node, c);
  else if (child !== undefined && child !== null && child !== false) node.append(child);
}

const byID = (id) => document.getElementById(id);

// Icons, drawn on a grid of 16.
const iconPaths = {
  outline: "M2.5 4h3M2.5 8h3M2.5 12h3M8 4h5.5M8 8h5.5M8 12h5.5",
  download: "M8 2.5v7.5M4.8 7 8 10.2 11.2 7M3 13.5h10",
  light: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.5v1.3M8 13.2v1.3M1.5 8h1.3M13.2 8h1.3M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9",
  dark: "M13 9.6A5.6 5.6 0 0 1 6.4 3 5.6 5.6 0 1 0 13 9.6Z",
  system: "M2.5 3.5h11v7.5h-11zM6 13.5h4",
  help: "M6 6.1a2 2 0 1 1 2.8 1.9c-.6.3-.8.6-.8 1.4M8 11.6v.1M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8Z",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  link: "M6.7 9.3 9.3 6.7M7.3 4.6l1-1a2.9 2.9 0 0 1 4.1 4.1l-1 1M8.7 11.4l-1 1a2.9 2.9 0 0 1-4.1-4.1l1-1",
  raw: "M6 2.5c-2 0-2 1-2 2.5S3.7 7.5 2.5 8c1.2.5 1.5 1.5 1.5 3s0 2.5 2 2.5M10 2.5c2 0 2 1 2 2.5s.3 2.5 1.5 3c-1.2.5-1.5 1.5-1.5 3s0 2.5-2 2.5",
  fork: "M4.5 2.5v11M4.5 10.5c0-3 7-2 7-6M11.5 2.7v.1",
  user: "M8 2.5a2.6 2.6 0 1 0 0 5.2 2.6 2.6 0 0 0 0-5.2M3 13.5c.4-2.6 2.4-3.7 5-3.7s4.6 1.1 5 3.7",
  assistant: "M8 2c.5 3.6 2 5.3 6 6-4 .7-5.5 2.4-6 6-.5-3.6-2-5.3-6-6 4-.7 5.5-2.4 6-6Z",
  tool: "M3 4.5 6.5 8 3 11.5M8 12h5",
  note: "M3 8h10",
  fold: "M3 3.5h10M3 12.5h10M8 5.5v5M6 8.5l2 2 2-2",
  label: "M2.5 2.5h5.5l5.5 5.5-5.5 5.5-5.5-5.5zM5.3 5.3v.1",
  image: "M2.5 3.5h11v9h-11zM3 11l3-3 2.5 2.5L10.5 9l2.5 2.5M10.8 6v.1",
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  stop: "M4.5 4.5h7v7h-7z",
};

function icon(name) {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  for (const [k, v] of [["viewBox", "0 0 16 16"], ["class", "icon"], ["aria-hidden", "true"]]) svg.setAttribute(k, v);
  const path = document.createElementNS(ns, "path");
  path.setAttribute("d", iconPaths[name] ?? iconPaths.note);
  svg.append(path);
  return svg;
}

// What comes from a session may have any shape: these read it without surprises.
const isObject = (v) => typeof v === "object" && v !== null && !Array.isArray(v);
const own = (v, name) => (isObject(v) && Object.hasOwn(v, name) ? v[name] : undefined);
const list = (v) => (Array.isArray(v) ? v : []);
const number = (v) => (typeof v === "number" && Number.isFinite(v) ? v : 0);

function str(v) {
  if (typeof v === "string") return v;
  if (v === undefined || v === null) return "";
  if (typeof v === "object") return JSON.stringify(v, null, 2) ?? "";
  return String(v);
}

const grouped = new Intl.NumberFormat("en-US");
const count = (n, one, many = one + "s") => `${grouped.format(n)} ${n === 1 ? one : many}`;

function tokens(n) {
  if (n < 10_000) return grouped.format(n);
  if (n < 1_000_000) return `${(n / 1000).toFixed(n < 100_000 ? 1 : 0)}k`;
  return `${(n / 1_000_000).toFixed(2)}M`;
}

const money = (n) => (n >= 100 ? `$${n.toFixed(2)}` : n >= 0.01 || n === 0 ? `$${n.toFixed(3)}` : `$${n.toFixed(5)}`);

function bytes(n) {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(1)} KB`;
  return `${(n / 1024 / 1024).toFixed(1)} MB`;
}

function span(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const m = Math.floor(ms / 60_000);
  if (m < 60) return `${m} min ${Math.round((ms % 60_000) / 1000)} s`;
  const h = Math.floor(m / 60);
  if (h < 48) return `${h} h ${m % 60} min`;
  return `${Math.floor(h / 24)} days ${h % 24} h`;
}

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const clockFormat = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const validTime = (ms) => Number.isFinite(ms) && ms > 0 && ms < 8.64e15;
const day = (ms) => (validTime(ms) ? dayFormat.format(ms) : "");
const clock = (ms) => (validTime(ms) ? clockFormat.format(ms) : "");

function when(ms) {
  if (!validTime(ms)) return null;
  return el("time", { datetime: new Date(ms).toISOString(), title: day(ms) }, clock(ms));
}

// Preferences of the reader; without storage they last as long as the page.
const prefs = {
  get(name) {
    try { return localStorage.getItem("isotope.export." + name); } catch { return null; }
  },
  set(name, value) {
    try {
      if (value === null) localStorage.removeItem("isotope.export." + name);
      else localStorage.setItem("isotope.export." + name, value);
    } catch { /* kept for this visit only */ }
  },
};

// announce says something to a reader who listens, and shows it for a moment.
let announced = 0;
function announce(text) {
  const live = byID("live");
  live.textContent = text;
  live.classList.add("shown");
  clearTimeout(announced);
  announced = setTimeout(() => live.classList.remove("shown"), 1600);
}

async function copyText(text, what) {
  let done = false;
  try {
    await navigator.clipboard.writeText(text);
    done = true;
  } catch {
    const area = el("textarea.unseen", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    const focused = document.activeElement;
    area.select();
    done = document.execCommand("copy");
    area.remove();
    focused?.focus?.({ preventScroll: true });
  }
  announce(done ? `${what} copied` : "The browser did not allow to copy");
  return done;
}

const copyButton = (name, text) =>
  el("button.mini", { type: "button", "aria-label": `Copy ${name}`, title: `Copy ${name}`, onclick: (e) => { e.stopPropagation(); copyText(text(), name[0].toUpperCase() + name.slice(1)); } }, icon("copy"));
