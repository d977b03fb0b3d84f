// Search through everything that is said in a session. The raw text of the pieces is
// looked through first, which is fast; only entries that may match are read.

// terms splits a query: words that must all be there, "quoted phrases" as one.
function terms(query) {
  return [...query.matchAll(/"([^"]+)"?|(\S+)/g)].map((m) => (m[1] ?? m[2]).toLowerCase()).filter((t) => t.trim() !== "").slice(0, 12);
}

const literal = (s) => s.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

// rawPattern matches where a term may stand in JSON, whatever way it is escaped.
function rawPattern(term) {
  let source = "";
  for (const c of term) {
    if (/\s/.test(c)) source += String.raw`(?:\s|\\[nrt]|\\u00[0-2][\da-f])+`;
    else if (c === '"' || c === "\\") source += String.raw`(?:\\${literal(c)}|\\u00${c.charCodeAt(0).toString(16)})`;
    else if (c === "/") source += String.raw`\\?\/`;
    else if (c < "\u0080") source += /[\w]/.test(c) ? c : String.raw`(?:${literal(c)}|\\u00${c.charCodeAt(0).toString(16).padStart(2, "0")})`;
    else source += `(?:${literal(c)}|${[...escapesOf(c), ...escapesOf(c.toUpperCase())].join("|")})`;
  }
  return new RegExp(source, "giu");
}

const escapesOf = (c) => [Array.from({ length: c.length }, (_, k) => String.raw`\\u` + c.charCodeAt(k).toString(16).padStart(4, "0")).join("")];

// said returns what there is to find in an entry, as one text.
function said(entry) {
  const out = [];
  const content = (c) => {
    if (typeof c === "string") out.push(c);
    for (const b of list(c)) {
      switch (own(b, "type")) {
        case "text": out.push(str(own(b, "text"))); break;
        case "thinking": out.push(str(own(b, "thinking"))); break;
        case "toolCall": out.push(str(own(b, "name")), leaves(own(b, "arguments"))); break;
        case "image": out.push(str(own(b, "mimeType"))); break;
        default: break;
      }
    }
  };
  if (own(entry, "type") === "message") {
    const m = own(entry, "message");
    content(own(m, "content"));
    for (const name of ["command", "output", "toolName", "errorMessage", "summary", "customType", "model"]) {
      if (own(m, name) !== undefined) out.push(str(own(m, name)));
    }
    const diff = own(own(m, "details"), "diff");
    if (typeof diff === "string") out.push(diff);
  } else {
    content(own(entry, "content"));
    for (const [name, value] of Object.entries(isObject(entry) ? entry : {})) {
      if (!["id", "parentId", "timestamp", "content", "usage", "type"].includes(name)) out.push(leaves(value));
    }
  }
  out.push(str(own(entry, "id")));
  return out.join("\n");
}

// leaves joins all texts and numbers of a value.
function leaves(value, depth = 0) {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null || depth > 30) return str(value);
  return (Array.isArray(value) ? value : Object.entries(value).flat()).map((v) => leaves(v, depth + 1)).join("\n");
}

class Search {
  constructor(session, onChange) {
    this.session = session;
    this.onChange = onChange;
    this.query = "";
    this.terms = [];
    this.found = []; // entries, in the order of the file
    this.done = true;
    this.turn = 0;
  }

  get active() {
    return this.terms.length > 0;
  }

  has(i) {
    return this.marks?.[i] === 1;
  }

  set(query) {
    query = query.trim();
    if (query === this.query) return;
    this.query = query;
    this.terms = terms(query);
    this.found = [];
    this.marks = this.active ? new Uint8Array(this.session.size) : null;
    this.done = !this.active;
    this.turn++;
    this.onChange();
    if (this.active) this.run(this.turn);
  }

  async run(turn) {
    // What is rare is looked for first: the longest term.
    const pattern = rawPattern(this.terms.reduce((a, b) => (b.length > a.length ? b : a)));
    await complete();
    if (turn !== this.turn) return;
    const pieces = this.session.collect();
    let since = performance.now();
    for (let k = 0; k < pieces.length; k++) {
      this.piece(pieces[k], pattern);
      if (performance.now() - since < 14) continue;
      this.onChange();
      await new Promise((go) => setTimeout(go));
      if (turn !== this.turn) return;
      since = performance.now();
    }
    for (const [i, text] of this.session.labels) {
      if (!this.has(i) && this.matches(text.toLowerCase())) this.add(i);
    }
    this.found.sort((a, b) => a - b);
    this.done = true;
    this.onChange();
  }

  piece({ from, node }, pattern) {
    const text = node.textContent;
    let i = from, start = 0; // the entry and where its line begins
    pattern.lastIndex = 0;
    for (let m = pattern.exec(text); m !== null; m = pattern.exec(text)) {
      for (;;) {
        const end = text.indexOf("\n", start);
        if (end < 0 || end >= m.index) break;
        start = end + 1;
        i++;
      }
      let end = text.indexOf("\n", start);
      if (end < 0) end = text.length;
      if (this.matches(this.text(text.slice(start, end)))) this.add(i);
      pattern.lastIndex = end;
    }
  }

  text(raw) {
    try {
      return said(JSON.parse(raw)).toLowerCase();
    } catch {
      return "";
    }
  }

  matches(text) {
    return this.terms.every((t) => text.includes(t));
  }

  add(i) {
    this.marks[i] = 1;
    this.found.push(i);
  }

  // pattern matches any of the terms in shown text.
  pattern() {
    return new RegExp(this.terms.map((t) => literal(t).replace(/\s+/g, "\\s+")).join("|"), "giu");
  }

  // snippet returns the words around the first place where an entry matches.
  snippet(i) {
    const entry = this.session.entry(i);
    if (entry === null) return null;
    const text = said(entry).replace(/\s+/g, " ");
    const at = text.toLowerCase().indexOf(this.terms[0]);
    if (at < 0) return null;
    const from = Math.max(0, at - 24);
    return { before: (from > 0 ? "\u2026" : "") + text.slice(from, at), match: text.slice(at, at + this.terms[0].length), after: text.slice(at + this.terms[0].length, at + 120) };
  }
}

// highlight marks the terms in shown nodes, without changing them.
function highlight(search, nodes) {
  if (typeof Highlight !== "function" || !CSS.highlights) return;
  CSS.highlights.delete("found");
  if (!search.active) return;
  const ranges = [];
  const pattern = search.pattern();
  for (const node of nodes) {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text !== null && ranges.length < 3000; text = walker.nextNode()) {
      for (const m of text.data.matchAll(pattern)) {
        const range = new Range();
        range.setStart(text, m.index);
        range.setEnd(text, m.index + m[0].length);
        ranges.push(range);
      }
    }
  }
  if (ranges.length > 0) CSS.highlights.set("found", new Highlight(...ranges));
}
