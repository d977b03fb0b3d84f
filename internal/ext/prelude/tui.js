// The terminal library's names for a host without a terminal: components measure and
// render to lines, nothing is drawn.

const sequences = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[_PX^][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]/g;
const wide = (c) => c >= 0x1100 && (c <= 0x115f || (c >= 0x2e80 && c <= 0xa4cf && c !== 0x303f) || (c >= 0xac00 && c <= 0xd7a3) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0xfe30 && c <= 0xfe6f) || (c >= 0xff00 && c <= 0xff60) || (c >= 0xffe0 && c <= 0xffe6) || (c >= 0x1f300 && c <= 0x1f64f) || (c >= 0x1f680 && c <= 0x1faff) || (c >= 0x20000 && c <= 0x3fffd));
const zero = (c) => c < 32 || c === 0x7f || c === 0x200b || c === 0x200d || (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0x300 && c <= 0x36f);
const width = (ch) => { const c = ch.codePointAt(0); return zero(c) ? 0 : wide(c) ? 2 : 1; };
const TAB = "   ";

export function visibleWidth(s) {
  s = String(s ?? "");
  let n = 0;
  for (const ch of s.replace(sequences, "").replace(/\t/g, TAB)) n += width(ch);
  return n;
}
/** Characters and escape sequences with their widths. */
function tokens(s) {
  const out = [];
  let i = 0;
  const chars = (part) => { for (const ch of part) out.push([ch, width(ch)]); };
  for (const m of s.matchAll(sequences)) { chars(s.slice(i, m.index)); out.push([m[0], 0]); i = m.index + m[0].length; }
  chars(s.slice(i));
  return out;
}
export function truncateToWidth(s, most, ellipsis = "...", pad = false) {
  s = String(s ?? "").replace(/\t/g, TAB);
  const full = visibleWidth(s);
  if (full <= most) return pad ? s + " ".repeat(most - full) : s;
  const room = most - visibleWidth(ellipsis);
  if (room <= 0) return sliceByColumn(ellipsis, 0, most);
  let out = "", n = 0;
  for (const [t, w] of tokens(s)) { if (n + w > room) break; out += t; n += w; }
  return out + (s.includes("\x1b") ? "\x1b[0m" : "") + ellipsis;
}
function sliceByColumn(s, from, length) {
  let out = "", n = 0;
  for (const [t, w] of tokens(s)) { if (n >= from && n + w <= from + length) out += t; n += w; }
  return out;
}
export function wrapTextWithAnsi(s, most) {
  const out = [];
  for (const line of String(s ?? "").replace(/\t/g, TAB).split("\n")) {
    let cur = "", n = 0;
    for (const word of line.split(/(?<= )/)) {
      const w = visibleWidth(word);
      if (n + visibleWidth(word.trimEnd()) > most && n > 0) { out.push(cur.trimEnd()); cur = ""; n = 0; }
      if (w > most) for (const [t, k] of tokens(word)) { if (n + k > most) { out.push(cur); cur = ""; n = 0; } cur += t; n += k; }
      else { cur += word; n += w; }
    }
    out.push(cur);
  }
  return out;
}

class Component { render() { return []; } invalidate() {} handleInput() {} dispose() {} }
class Container extends Component {
  constructor() { super(); this.children = []; }
  addChild(c) { this.children.push(c); }
  removeChild(c) { this.children = this.children.filter((x) => x !== c); }
  clear() { this.children = []; }
  render(w) { return this.children.flatMap((c) => c.render(w)); }
  invalidate() { for (const c of this.children) c.invalidate?.(); }
}
const padded = (lines, px, py, bg, w) => {
  const all = [...Array(py).fill(""), ...lines.map((l) => " ".repeat(px) + l), ...Array(py).fill("")];
  return bg ? all.map((l) => bg(l + " ".repeat(Math.max(0, w - visibleWidth(l))))) : all;
};
class Text extends Component {
  constructor(text = "", paddingX = 1, paddingY = 1, bg) { super(); Object.assign(this, { text, paddingX, paddingY, bg }); }
  setText(t) { this.text = t; }
  setCustomBgFn(f) { this.bg = f; }
  render(w) { return this.text ? padded(wrapTextWithAnsi(this.text, Math.max(1, w - 2 * this.paddingX)), this.paddingX, this.paddingY, this.bg, w) : []; }
}
class Box extends Container {
  constructor(paddingX = 1, paddingY = 1, bg) { super(); Object.assign(this, { paddingX, paddingY, bg }); }
  setBgFn(f) { this.bg = f; }
  render(w) { return this.children.length ? padded(super.render(Math.max(1, w - 2 * this.paddingX)), this.paddingX, this.paddingY, this.bg, w) : []; }
}
class Spacer extends Component { constructor(n = 1) { super(); this.lines = n; } setLines(n) { this.lines = n; } render() { return Array(this.lines).fill(""); } }
class Markdown extends Text { constructor(text = "", px = 0, py = 0, theme, style) { super(text, px, py); Object.assign(this, { theme, style }); } }
class TruncatedText extends Component { constructor(text, px = 0, py = 0) { super(); Object.assign(this, { text, px, py }); } setText(t) { this.text = t; } render(w) { return padded([truncateToWidth(this.text.split("\n")[0], Math.max(1, w - 2 * this.px))], this.px, this.py); } }
class SelectList extends Component {
  constructor(items = [], most = 10, theme) { super(); Object.assign(this, { items, filtered: items, most, theme, selected: 0 }); }
  setFilter(f) { const s = String(f).toLowerCase(); this.filtered = this.items.filter((i) => (i.label ?? i.value ?? "").toLowerCase().includes(s)); this.selected = 0; }
  setSelectedIndex(i) { this.selected = Math.max(0, Math.min(i, this.filtered.length - 1)); }
  getSelectedItem() { return this.filtered[this.selected] ?? null; }
  render(w) { return this.filtered.slice(0, this.most).map((i, k) => truncateToWidth((k === this.selected ? "→ " : "  ") + (i.label ?? i.value), w)); }
  handleInput(d) {
    if (d === "\x1b[B") this.setSelectedIndex(this.selected + 1);
    else if (d === "\x1b[A") this.setSelectedIndex(this.selected - 1);
    else if (d === "\r" && this.getSelectedItem()) this.onSelect?.(this.getSelectedItem());
    else if (d === "\x1b") this.onCancel?.();
  }
}
class SettingsList extends SelectList {
  constructor(items, most, theme, onChange, onCancel) { super(items, most, theme); Object.assign(this, { onChange, onCancel }); }
  updateValue(id, v) { const i = this.items.find((x) => x.id === id); if (i) i.currentValue = v; }
}
class Input extends Component {
  constructor() { super(); this.value = ""; this.focused = false; }
  getValue() { return this.value; }
  setValue(v) { this.value = v; }
  handleInput(d) { if (d === "\r") this.onSubmit?.(this.value); else if (d === "\x1b") this.onEscape?.(); else if (d === "\x7f") this.value = this.value.slice(0, -1); else this.value += d; }
  render(w) { return [truncateToWidth("> " + this.value, w)]; }
}
class Editor extends Component {
  constructor(tui, theme, options) { super(); Object.assign(this, { tui, theme, options, text: "", focused: false, borderColor: theme?.borderColor ?? ((s) => s) }); }
  getText() { return this.text; }
  getExpandedText() { return this.text; }
  setText(t) { this.text = t; this.onChange?.(t); }
  insertTextAtCursor(t) { this.setText(this.text + t); }
  getLines() { return this.text.split("\n"); }
  getCursor() { const l = this.getLines(); return { line: l.length - 1, col: l.at(-1).length }; }
  isShowingAutocomplete() { return false; }
  setAutocompleteProvider() {} addToHistory() {} setPaddingX() {} setMaxHeight() {}
  handleInput(d) { if (d === "\r") this.onSubmit?.(this.text); else this.setText(this.text + d); }
  render(w) { const b = this.borderColor("─".repeat(w)); return [b, ...this.getLines(), b]; }
}
class Loader extends Text { constructor(tui, a, b, message = "") { super(message); } start() {} stop() {} setMessage(m) { this.text = m; } setIndicator() {} }
class CancellableLoader extends Loader {
  constructor(...a) { super(...a); this.controller = new AbortController(); }
  get signal() { return this.controller.signal; }
  get aborted() { return this.signal.aborted; }
  abort() { this.controller.abort(); this.onAbort?.(); }
}
class Image extends Component { constructor(data, mimeType) { super(); Object.assign(this, { data, mimeType }); } render() { return ["[image]"]; } }
class TUI extends Container { start() {} stop() {} requestRender() {} setFocus() {} showOverlay() { return { hide() {}, setHidden() {} }; } hideOverlay() {} addInputListener() { return () => {}; } }

const keys = { "\r": "enter", "\n": "enter", "\x1b": "escape", "\t": "tab", " ": "space", "\x7f": "backspace", "\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left", "\x1b[H": "home", "\x1b[F": "end", "\x1b[5~": "pageUp", "\x1b[6~": "pageDown", "\x1b[3~": "delete", "\x1b[Z": "shift+tab" };
function parseKey(d) {
  if (keys[d]) return keys[d];
  if (d.length === 1 && d.charCodeAt(0) < 27) return "ctrl+" + String.fromCharCode(d.charCodeAt(0) + 96);
  if (d.length === 2 && d[0] === "\x1b") return "alt+" + d[1];
  return d;
}
const keyName = (k) => String(k).toLowerCase().replace(/^return$/, "enter").replace(/^esc$/, "escape");
const modifiers = ["ctrl", "shift", "alt", "super", "ctrlShift", "ctrlAlt", "shiftAlt", "altShift", "shiftCtrl", "altCtrl", "ctrlShiftAlt", "ctrlSuper", "superCtrl", "shiftSuper", "superShift"];
const Key = Object.fromEntries(["escape", "enter", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageUp", "pageDown", "up", "down", "left", "right", ...Array.from({ length: 12 }, (_, i) => "f" + (i + 1))].map((k) => [k, k]));
Object.assign(Key, { esc: "escape", return: "enter" }, Object.fromEntries(modifiers.map((m) => [m, (k) => m.replace(/[A-Z]/g, (c) => "+" + c.toLowerCase()) + "+" + k])));

function fuzzyMatch(query, text) {
  const q = query.toLowerCase(), t = text.toLowerCase();
  let i = 0, score = 0, last = -1;
  for (let j = 0; j < t.length && i < q.length; j++) if (t[j] === q[i]) { score += j - last - 1 + j * 0.1; last = j; i++; }
  return { matches: i === q.length, score };
}
export const keybindings = { matches: (d, id) => (/(confirm|submit)$/.test(id) ? d === "\r" : /(cancel|interrupt)$/.test(id) ? d === "\x1b" : /\.up$/i.test(id) ? d === "\x1b[A" : /\.down$/i.test(id) ? d === "\x1b[B" : false), getKeys: () => [], getKeyText: () => "" };

export const tui = {
  Component, Container, Text, Box, Spacer, Markdown, TruncatedText, SelectList, SettingsList, Input, Editor, Loader, CancellableLoader, Image, TUI, HStack: Container, VStack: Container, ScrollView: Container, MouseRegion: Container,
  visibleWidth, truncateToWidth, wrapTextWithAnsi, sliceByColumn, stripTerminalSequences: (s) => String(s).replace(sequences, ""), replaceControlCharacters: (s) => s, normalizeTabs: (s) => s.replace(/\t/g, TAB), applyBackgroundToLine: (l, w, f) => f(l + " ".repeat(Math.max(0, w - visibleWidth(l)))),
  Key, parseKey, matchesKey: (d, k) => keyName(parseKey(d)) === keyName(k), isKeyRelease: () => false, isKeyRepeat: () => false, isKittyProtocolActive: () => false, setKittyProtocolActive() {}, decodeKittyPrintable: () => undefined,
  CURSOR_MARKER: "\x1b_pi:c\x07", renderFakeCursor: (s) => "\x1b[7m" + s + "\x1b[27m", isFocusable: (c) => !!c && "focused" in c, fuzzyMatch, fuzzyFilter: (items, q, text) => (q.trim() ? items.map((x) => [x, fuzzyMatch(q, text(x))]).filter(([, m]) => m.matches).sort((a, b) => a[1].score - b[1].score).map(([x]) => x) : items),
  getKeybindings: () => keybindings, setKeybindings() {}, getEditorKeybindings: () => keybindings, setEditorKeybindings() {}, KeybindingsManager: class { matches(d, id) { return keybindings.matches(d, id); } getKeys() { return []; } }, TUI_KEYBINDINGS: {}, DEFAULT_EDITOR_KEYBINDINGS: {},
  getCapabilities: () => ({ images: null, trueColor: false, hyperlinks: false }), detectCapabilities: () => ({ images: null, trueColor: false, hyperlinks: false }), setCapabilities() {}, hyperlink: (t) => t, getImageDimensions: () => null, imageFallback: () => "[image]", renderImage: () => null, getCellDimensions: () => ({ widthPx: 9, heightPx: 18 }), setCellDimensions() {}, deleteAllKittyImages: () => "", deleteKittyImage: () => "", allocateImageId: () => 1,
  CombinedAutocompleteProvider: class { constructor(commands = [], base = "") { Object.assign(this, { commands, base }); } getSuggestions() { return null; } applyCompletion(lines, line, col) { return { lines, cursorLine: line, cursorCol: col }; } }, Marked: class {}, renderLatex: (s) => s, compositeTuiLine: (a) => a, StdinBuffer: class {}, ProcessTerminal: class { columns = 80; rows = 24; },
};
