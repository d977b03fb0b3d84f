// Inline Markdown: emphasis, code, links, pictures by name, addresses, escapes. The
// algorithm is that of the CommonMark specification (a list of delimiters, looked at
// once), with limits where nesting or a search could grow out of hand. Raw HTML is text.

const maxNesting = 40;
const maxDestination = 2000;

const entities = new Map(Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "\u00a9", hellip: "\u2026", mdash: "\u2014", ndash: "\u2013", rarr: "\u2192", larr: "\u2190", times: "\u00d7", middot: "\u00b7", bull: "\u2022", check: "\u2713", laquo: "\u00ab", raquo: "\u00bb", deg: "\u00b0", euro: "\u20ac" }));

// inline returns a fragment. refs maps names to addresses; breaks keeps line ends.
function inline(text, refs, breaks) {
  return new Inline(text, refs, breaks).run();
}

class Inline {
  constructor(text, refs, breaks) {
    this.text = text;
    this.refs = refs;
    this.breaks = breaks;
    this.nodes = []; // {text} or {node, depth}; emphasis wraps ranges of it
    this.delimiters = []; // {at, ch, n, open, close}
    this.brackets = []; // {at, image, active, delimiters}
    this.noTicks = new Set(); // lengths of backtick runs that close nowhere
  }

  run() {
    const special = /[\\`*_~[\]!<&\nhH]/g;
    let i = 0;
    while (i < this.text.length) {
      special.lastIndex = i;
      const m = special.exec(this.text);
      if (m === null) break;
      if (m.index > i) this.put(this.text.slice(i, m.index));
      i = this.step(m[0], m.index);
    }
    this.put(this.text.slice(i));
    this.emphasis(0);
    const out = document.createDocumentFragment();
    for (const n of this.nodes) if (n) out.append(n.node ?? visible(n.text));
    out.normalize(); // a search looks at one text node at a time
    return out;
  }

  put(text) {
    if (text !== "") this.nodes.push({ text, depth: 0 });
  }

  node(node, depth = 1) {
    this.nodes.push({ node, depth });
  }

  // step handles the special character at i and returns where to go on.
  step(c, i) {
    const { text } = this;
    switch (c) {
      case "\\":
        if (text[i + 1] === "\n") { this.node(el("br")); return i + 2; }
        if (i + 1 < text.length && /[!-/:-@[-`{-~]/.test(text[i + 1])) { this.put(text[i + 1]); return i + 2; }
        this.put("\\");
        return i + 1;
      case "`": return this.code(i);
      case "*": case "_": case "~": return this.delimiter(c, i);
      case "!":
        if (text[i + 1] !== "[") { this.put("!"); return i + 1; }
        this.open(true);
        return i + 2;
      case "[": this.open(false); return i + 1;
      case "]": return this.close(i);
      case "<": return this.autolink(i);
      case "&": return this.entity(i);
      case "\n": return this.lineEnd(i);
      default: return this.address(i);
    }
  }

  code(i) {
    const { text } = this;
    let n = 1;
    while (text[i + n] === "`") n++;
    if (!this.noTicks.has(n)) {
      for (let j = text.indexOf("`", i + n); j >= 0;) {
        let k = 1;
        while (text[j + k] === "`") k++;
        if (k === n) {
          let body = text.slice(i + n, j).replace(/\n/g, " ");
          if (body.length > 2 && body.startsWith(" ") && body.endsWith(" ") && body.trim() !== "") body = body.slice(1, -1);
          this.node(el("code", null, visible(body)));
          return j + n;
        }
        j = text.indexOf("`", j + k);
      }
      this.noTicks.add(n);
    }
    this.put("`".repeat(n));
    return i + n;
  }

  delimiter(ch, i) {
    const { text } = this;
    let n = 1;
    while (text[i + n] === ch) n++;
    const before = i === 0 ? " " : text[i - 1];
    const after = text[i + n] ?? " ";
    const space = /\s/, mark = /[\p{P}\p{S}]/u;
    const left = !space.test(after) && (!mark.test(after) || space.test(before) || mark.test(before));
    const right = !space.test(before) && (!mark.test(before) || space.test(after) || mark.test(after));
    let open = left, close = right;
    if (ch === "_") {
      open = left && (!right || mark.test(before));
      close = right && (!left || mark.test(after));
    }
    if (ch === "~" && n > 2) open = close = false;
    if (open || close) this.delimiters.push({ at: this.nodes.length, ch, n, was: n, open, close });
    this.put(ch.repeat(n));
    return i + n;
  }

  // emphasis pairs the delimiters from number from on.
  emphasis(from) {
    const bottom = new Map(); // where the search for an opener may stop, by kind of closer
    const stack = [];
    for (const closer of this.delimiters.splice(from)) {
      while (closer.close && closer.n > 0) {
        const kind = closer.ch + (closer.open ? "o" : "") + (closer.was % 3);
        let k = stack.length - 1;
        const stop = bottom.get(kind) ?? 0;
        for (; k >= stop; k--) {
          const o = stack[k];
          if (o.ch !== closer.ch || !o.open) continue;
          if ((o.close || closer.open) && (o.was + closer.was) % 3 === 0 && !(o.was % 3 === 0 && closer.was % 3 === 0)) continue;
          if (closer.ch === "~" && o.n !== closer.n) continue;
          break;
        }
        if (k < stop) { bottom.set(kind, stack.length); break; }
        const opener = stack[k];
        stack.length = k + 1;
        for (const [key, value] of bottom) if (value > k) bottom.set(key, Math.min(value, k + 1));
        const n = closer.ch === "~" ? closer.n : Math.min(2, opener.n, closer.n);
        this.wrap(opener, closer, n);
        if (opener.n === 0) stack.pop();
      }
      if (closer.open && closer.n > 0) stack.push(closer);
    }
  }

  wrap(opener, closer, n) {
    opener.n -= n;
    closer.n -= n;
    this.nodes[opener.at] = opener.n > 0 ? { text: opener.ch.repeat(opener.n), depth: 0 } : null;
    this.nodes[closer.at] = closer.n > 0 ? { text: closer.ch.repeat(closer.n), depth: 0 } : null;
    const first = opener.at + 1;
    let depth = 0;
    for (let i = first; i < closer.at; i = this.nodes[i]?.skip ?? i + 1) depth = Math.max(depth, this.nodes[i]?.depth ?? 0);
    const tag = opener.ch === "~" ? "del" : n === 2 ? "strong" : "em";
    const node = depth < maxNesting ? el(tag) : document.createDocumentFragment();
    for (let i = first; i < closer.at;) {
      const inner = this.nodes[i];
      const next = inner?.skip ?? i + 1;
      if (inner) node.append(inner.node ?? visible(inner.text));
      this.nodes[i] = null;
      i = next;
    }
    // What was inside is passed over in one step from now on.
    if (closer.at > first) this.nodes[first] = { node, depth: depth < maxNesting ? depth + 1 : depth, skip: closer.at };
  }

  open(image) {
    if (this.brackets.length >= 500) { this.put(image ? "![" : "["); return; }
    this.brackets.push({ at: this.nodes.length, image, active: true, delimiters: this.delimiters.length });
    this.put(image ? "![" : "[");
  }

  close(i) {
    const bracket = this.brackets.pop();
    const found = bracket?.active ? this.destination(bracket, i + 1) : null;
    if (found === null) { this.put("]"); return i + 1; }
    this.emphasis(bracket.delimiters);
    const inside = this.nodes.splice(bracket.at).slice(1).filter(Boolean);
    const depth = inside.reduce((d, n) => Math.max(d, n.depth), 0);
    const children = inside.map((n) => n.node ?? visible(n.text));
    if (bracket.image) this.node(picturedLink(found.url, children), depth + 1);
    else {
      this.node(link(found.url, children), depth + 1);
      for (const b of this.brackets) if (!b.image) b.active = false;
    }
    return found.end;
  }

  // destination reads what follows a closing bracket: "(url 'title')", "[name]" or nothing.
  destination(bracket, i) {
    const rest = this.text.slice(i, i + maxDestination);
    const direct = /^\(\s{0,20}(?:<([^<>\n]*)>|((?:\\.|[^\s()\\]|\((?:\\.|[^\s()\\])*\))*))(?:\s{1,20}(?:"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'|\((?:\\[^]|[^()\\])*\)))?\s{0,20}\)/.exec(rest);
    if (direct) return { url: (direct[1] ?? direct[2]).replace(/\\([!-/:-@[-`{-~])/g, "$1"), end: i + direct[0].length };
    const named = /^\[([^[\]\\]{0,200})\]/.exec(rest);
    const inside = () => this.nodes.slice(bracket.at + 1, bracket.at + 12).map((n) => n?.text ?? "").join("");
    const name = named && named[1].trim() !== "" ? named[1] : this.refs.size > 0 ? inside() : "";
    const url = this.refs.get(name.trim().toLowerCase());
    return url === undefined ? null : { url, end: i + (named ? named[0].length : 0) };
  }

  autolink(i) {
    const m = /^<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/i.exec(this.text.slice(i, i + maxDestination + 10));
    if (m) { this.node(link(m[1], [visible(m[1])])); return i + m[0].length; }
    const br = /^<br\s{0,5}\/?>/i.exec(this.text.slice(i, i + 12));
    if (br) { this.node(el("br")); return i + br[0].length; }
    this.put("<");
    return i + 1;
  }

  entity(i) {
    const m = /^&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(\w{1,10}));/.exec(this.text.slice(i, i + 16));
    let c = m === null ? undefined : m[3] !== undefined ? entities.get(m[3]) : undefined;
    if (m !== null && m[3] === undefined) {
      const n = m[1] !== undefined ? Number(m[1]) : parseInt(m[2], 16);
      c = n > 0 && n <= 0x10ffff && !(n >= 0xd800 && n < 0xe000) ? String.fromCodePoint(n) : "\ufffd";
    }
    if (c === undefined) { this.put("&"); return i + 1; }
    this.put(c);
    return i + m[0].length;
  }

  lineEnd(i) {
    const last = this.nodes.at(-1);
    const hard = this.breaks || (last?.text?.endsWith("  ") ?? false);
    if (last?.text) last.text = last.text.trimEnd();
    if (hard) this.node(el("br"));
    else this.put("\n");
    let next = i + 1;
    while (this.text[next] === " ") next++;
    return next;
  }

  // address finds bare links.
  address(i) {
    const { text } = this;
    const known = text.startsWith("http", i) && /^https?:\/\/[^\s<>\u0000-\u001f]/.test(text.slice(i, i + 12));
    if (!known || (i > 0 && /[\p{L}\p{N}_]/u.test(text[i - 1]))) { this.put(text[i]); return i + 1; }
    let url = /^[^\s<>"`\u0000-\u001f]*/.exec(text.slice(i, i + maxDestination))[0];
    for (;;) {
      const cut = url.replace(/[.,;:!?'*_~\]]+$/, "");
      const open = cut.split("(").length, close = cut.split(")").length;
      const next = cut.endsWith(")") && close > open ? cut.slice(0, -1) : cut;
      if (next === url) break;
      url = next;
    }
    this.node(link(url, [visible(url)]));
    return i + url.length;
  }
}

// picturedLink stands for a picture that the page will not load: its name and address.
function picturedLink(url, children) {
  const name = children.length > 0 ? children : ["picture"];
  return el("span.outside", { title: "Pictures from elsewhere are not loaded" }, icon("image"), link(url, name));
}
