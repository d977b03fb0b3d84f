// The session as the page holds it: the index, which is read at once, and the entries,
// which stay text until one is looked at.

// Kinds of entries, as the index writes them.
const kindNames = {
  u: "user", a: "assistant", t: "assistant", r: "result", b: "bash", s: "system", o: "other", c: "compaction", C: "archived",
  B: "branch", m: "model", h: "thinking", w: "window", l: "label", i: "name", x: "state", X: "custom", y: "hidden", e: "edit",
  U: "usage", S: "summary", "?": "unknown",
};

class Session {
  constructor() {
    this.meta = JSON.parse(byID("meta").textContent);
    const n = number(this.meta.entries);
    this.size = n;
    this.kinds = "";
    this.outcomes = "";
    this.ids = new Array(n);
    this.texts = new Array(n);
    this.parents = new Int32Array(n).fill(-1);
    this.times = new Float64Array(n);
    this.bytes = new Int32Array(n);
    this.numbers = new Map(); // id -> entry, the newest of that id
    this.labels = new Map(); // entry -> text
    this.pieces = []; // {from, node} of the text of entries
    this.cache = new Map(); // piece -> its lines
    this.readIndex();
  }

  readIndex() {
    const later = []; // entries whose parent stands behind them
    const targets = [];
    let from = 0;
    for (const node of document.querySelectorAll("script.index")) {
      const b = JSON.parse(node.textContent);
      const parents = new Map(b.p), marks = new Map(b.to);
      this.kinds += b.k;
      this.outcomes += b.f;
      let time = 0;
      for (let k = 0; k < b.k.length; k++) {
        const i = from + k;
        time += b.t[k];
        this.ids[i] = b.id[k];
        this.texts[i] = b.s[k];
        this.times[i] = time;
        this.bytes[i] = b.n[k];
        const parent = parents.get(k);
        if (parent === undefined) this.parents[i] = i - 1;
        else if (parent !== 0) {
          const p = this.numbers.get(parent);
          if (p === undefined) later.push([i, parent]);
          else this.parents[i] = p;
        }
        if (b.id[k] !== "") this.numbers.set(b.id[k], i);
        if (marks.has(k)) targets.push([marks.get(k), b.s[k]]);
      }
      from += b.k.length;
      node.remove();
    }
    for (const [i, id] of later) this.parents[i] = this.numbers.get(id) ?? -1;
    for (const [id, text] of targets) {
      const i = this.numbers.get(id);
      if (i === undefined) continue;
      if (text === "") this.labels.delete(i);
      else this.labels.set(i, text);
    }
    this.size = from;
  }

  kind(i) {
    return this.kinds[i];
  }

  // collect notes the pieces that the browser has read so far. While it still reads, the
  // last one may be cut.
  collect() {
    const nodes = document.getElementsByClassName("piece");
    const complete = document.readyState === "loading" ? nodes.length - 1 : nodes.length;
    for (let k = this.pieces.length; k < complete; k++) {
      this.pieces.push({ from: Number(nodes[k].dataset.from), node: nodes[k] });
    }
    return this.pieces;
  }

  // pieceOf returns the number of the piece that holds entry i, -1 when it is not there yet.
  pieceOf(i) {
    const p = this.collect();
    let low = 0, high = p.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (p[mid].from <= i) low = mid + 1;
      else high = mid;
    }
    if (low === p.length && document.readyState === "loading" && (low === 0 || i >= p[low - 1].from + this.linesOf(low - 1).length)) return -1;
    return low - 1;
  }

  linesOf(piece) {
    let lines = this.cache.get(piece);
    if (lines === undefined) {
      lines = this.pieces[piece].node.textContent.split("\n");
      if (this.cache.size >= 24) this.cache.delete(this.cache.keys().next().value);
    } else this.cache.delete(piece);
    this.cache.set(piece, lines);
    return lines;
  }

  // raw returns the JSON of entry i, null when the browser has not read it yet.
  raw(i) {
    const piece = this.pieceOf(i);
    if (piece < 0) return null;
    return this.linesOf(piece)[i - this.pieces[piece].from] ?? "null";
  }

  // entry returns entry i as an object, null when it is not there yet.
  entry(i) {
    const raw = this.raw(i);
    if (raw === null) return null;
    try {
      return JSON.parse(raw);
    } catch {
      return { type: "damaged", text: raw };
    }
  }

  // lines yields the session as JSON Lines, as it stood in its file.
  *lines() {
    yield JSON.stringify(this.meta.header) + "\n";
    for (const piece of this.collect()) yield piece.node.textContent.replaceAll("\\u003C", "<") + "\n";
  }
}

// complete resolves when the browser has read the whole page.
function complete() {
  if (document.readyState !== "loading") return Promise.resolve();
  return new Promise((done) => document.addEventListener("DOMContentLoaded", () => done(), { once: true }));
}
