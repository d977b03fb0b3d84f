// Text that comes from a session, made fit to be seen: nothing in it may hide, reorder
// what stands around it, or act.

// Control characters, the ones that change the direction of what follows, and invisible
// "tag" characters, which can carry text that only a model reads.
const unseenPattern = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

function picture(c) {
  const n = c.codePointAt(0);
  if (n < 0x20) return String.fromCharCode(0x2400 + n);
  if (n === 0x7f) return "\u2421";
  return `\u27e6U+${n.toString(16).toUpperCase().padStart(4, "0")}\u27e7`;
}

// visible returns text whose every character can be seen. Line ends are "\n".
function visible(text) {
  if (text.includes("\r")) text = text.replace(/\r\n?/g, "\n");
  return text.replace(unseenPattern, picture);
}

// unmarked takes the commonest Markdown marks out of a line that is shown as it is.
const unmarked = (text) => visible(text).replace(/`+|\*\*|^#+ |^> /g, "");

// Escape sequences of terminals: colours (with their numbers), any other control
// sequence, operating system commands and the other string types, short escapes.
const escapePattern = /\x1b\[([0-9;:]*)m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]/g;

// terminal shows the output of a program: its colours are kept, every other escape
// sequence becomes a small mark that does nothing.
function terminal(text) {
  const out = document.createDocumentFragment();
  text = overwritten(text);
  if (!text.includes("\x1b")) {
    out.append(visible(text));
    return out;
  }
  let style = {};
  let at = 0;
  const put = (end) => {
    if (end > at) out.append(styled(visible(text.slice(at, end)), style));
  };
  for (const m of text.matchAll(escapePattern)) {
    put(m.index);
    at = m.index + m[0].length;
    if (m[1] !== undefined) style = colours(style, m[1]);
    else out.append(el("span.esc", { title: `Terminal sequence ${visible(m[0].slice(0, 80))}` }, "\u241b"));
  }
  put(text.length);
  return out;
}

// overwritten leaves of each line what a terminal would still show after carriage
// returns: progress bars are one line, not hundreds.
function overwritten(text) {
  if (!text.includes("\r")) return text;
  return text.replace(/\r+\n/g, "\n").split("\n").map((line) => {
    if (!line.includes("\r")) return line;
    const parts = line.split("\r");
    let last = parts.length - 1;
    while (last > 0 && parts[last] === "") last--;
    return parts[last];
  }).join("\n");
}

function styled(text, style) {
  if (Object.keys(style).length === 0) return text;
  const node = el("span", null, text);
  if (typeof style.fg === "number") node.classList.add(`fg${style.fg}`);
  else if (style.fg) node.style.color = style.fg;
  if (typeof style.bg === "number") node.classList.add(`bg${style.bg}`);
  else if (style.bg) node.style.backgroundColor = style.bg;
  for (const mark of ["bold", "dim", "italic", "underline", "strike", "inverse"]) {
    if (style[mark]) node.classList.add(`sgr-${mark}`);
  }
  return node;
}

// colours applies the numbers of one SGR sequence.
function colours(style, codes) {
  const next = { ...style };
  const n = codes.split(/[;:]/).map((c) => Number(c) || 0);
  for (let i = 0; i < n.length; i++) {
    const c = n[i];
    if (c === 0) for (const k of Object.keys(next)) delete next[k];
    else if (c === 1) next.bold = true;
    else if (c === 2) next.dim = true;
    else if (c === 3) next.italic = true;
    else if (c === 4) next.underline = true;
    else if (c === 7) next.inverse = true;
    else if (c === 9) next.strike = true;
    else if (c === 22) { delete next.bold; delete next.dim; }
    else if (c === 23) delete next.italic;
    else if (c === 24) delete next.underline;
    else if (c === 27) delete next.inverse;
    else if (c === 29) delete next.strike;
    else if (c >= 30 && c <= 37) next.fg = c - 30;
    else if (c >= 90 && c <= 97) next.fg = c - 82;
    else if (c === 39) delete next.fg;
    else if (c >= 40 && c <= 47) next.bg = c - 40;
    else if (c >= 100 && c <= 107) next.bg = c - 92;
    else if (c === 49) delete next.bg;
    else if (c === 38 || c === 48) {
      const [colour, used] = extended(n.slice(i + 1));
      if (colour !== null) next[c === 38 ? "fg" : "bg"] = colour;
      i += used;
    }
  }
  return next;
}

// extended reads "5;N" and "2;R;G;B".
function extended(n) {
  const byte = (v) => Math.min(255, Math.max(0, v || 0));
  if (n[0] === 2) return [`rgb(${byte(n[1])} ${byte(n[2])} ${byte(n[3])})`, 4];
  if (n[0] !== 5) return [null, 0];
  const c = byte(n[1]);
  if (c < 16) return [c, 2];
  if (c >= 232) return [`rgb(${8 + (c - 232) * 10} ${8 + (c - 232) * 10} ${8 + (c - 232) * 10})`, 2];
  const level = (v) => (v === 0 ? 0 : 55 + v * 40);
  return [`rgb(${level(Math.floor((c - 16) / 36))} ${level(Math.floor((c - 16) / 6) % 6)} ${level((c - 16) % 6)})`, 2];
}

// safeURL returns the address a link may have, or null. Control characters and blanks,
// which browsers ignore and filters trip over, are removed before the scheme is read.
function safeURL(url) {
  const bare = url.replace(/[\u0000-\u0020\u007f-\u00a0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, "");
  return /^(?:https?:\/\/|mailto:)[^\s]/i.test(bare) ? bare : null;
}

// link shows children as a link when the address is one to follow, else with the
// address beside them, as text.
function link(url, children) {
  const safe = safeURL(url);
  if (safe !== null) return el("a", { href: safe, rel: "noopener noreferrer nofollow", target: "_blank", referrerpolicy: "no-referrer", title: visible(safe) }, children);
  return el("span.deadlink", { title: visible(url) }, children);
}
