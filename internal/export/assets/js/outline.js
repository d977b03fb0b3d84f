// The outline at the side: the session as a tree, or what a search has found. Rows have
// one height; only those in view exist.

const rowHeight = 27;
const maxOutline = 12_000_000; // pixels: taller lists are scaled

class Outline {
  constructor(node, page) {
    this.node = node;
    this.page = page;
    this.space = el("div.outline-space", { role: "none" });
    this.layer = el("div.outline-layer", { role: "none" });
    node.append(this.space, this.layer);
    this.entries = [];
    this.depths = [];
    this.heads = new Map();
    this.folded = new Set();
    this.cursor = -1; // row with the keyboard
    this.frame = 0;
    node.addEventListener("scroll", () => this.soon(), { passive: true });
    node.addEventListener("keydown", (e) => this.key(e));
    node.addEventListener("click", (e) => this.click(e));
    node.addEventListener("focus", () => { if (this.cursor < 0) this.move(Math.max(0, this.rowOf(page.current))); });
    new ResizeObserver(() => this.soon()).observe(node);
  }

  soon() {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
  }

  // rebuild takes the rows from the tree or the search.
  rebuild() {
    const { page } = this;
    if (page.search.active) {
      this.entries = page.search.found;
      this.depths = null;
      this.heads = new Map();
    } else {
      Object.assign(this, page.tree.outline(page.onPath, page.filter, this.folded));
    }
    this.places = null;
    this.height = Math.min(maxOutline, this.entries.length * rowHeight);
    this.space.style.height = `${this.height}px`;
    this.cursor = Math.min(this.cursor, this.entries.length - 1);
    this.node.setAttribute("aria-label", page.search.active ? "Found entries" : "Entries");
    this.draw();
  }

  // rowOf returns the row of an entry, or of the nearest shown one above it; -1 for none.
  rowOf(entry) {
    if (!this.places) this.places = new Map(this.entries.map((e, r) => [e, r]));
    for (let i = entry; i >= 0; i = this.page.session.parents[i]) {
      const r = this.places.get(i);
      if (r !== undefined) return r;
      if (this.page.search.active) return -1;
    }
    return -1;
  }

  // scroll positions and rows, scaled where the list is too tall.
  top() {
    const real = this.entries.length * rowHeight, view = this.node.clientHeight;
    if (real <= this.height) return this.node.scrollTop;
    return (this.node.scrollTop / Math.max(1, this.height - view)) * (real - view);
  }

  reveal(row) {
    if (row < 0) return;
    const view = this.node.clientHeight, top = this.top(), y = row * rowHeight;
    if (y >= top + rowHeight && y + 2 * rowHeight <= top + view) return;
    const real = this.entries.length * rowHeight;
    const want = Math.max(0, y - view * 0.4);
    this.node.scrollTop = real <= this.height ? want : (want / Math.max(1, real - view)) * (this.height - view);
    this.soon();
  }

  draw() {
    const view = this.node.clientHeight, top = this.top();
    const from = Math.max(0, Math.floor(top / rowHeight) - 4), to = Math.min(this.entries.length, Math.ceil((top + view) / rowHeight) + 4);
    this.layer.style.transform = `translateY(${this.node.scrollTop - (top - from * rowHeight)}px)`;
    const rows = [];
    const shown = this.rowOf(this.page.current);
    for (let r = from; r < to; r++) rows.push(this.row(r, r === shown));
    this.layer.replaceChildren(...rows);
    if (this.entries.length === 0) this.layer.replaceChildren(el("p.outline-empty", null, this.page.search.active ? (this.page.search.done ? "Nothing found" : "Searching\u2026") : "No entry passes this filter"));
    const active = this.cursor >= from && this.cursor < to ? `o${this.cursor}` : null;
    if (active) this.node.setAttribute("aria-activedescendant", active);
    else this.node.removeAttribute("aria-activedescendant");
  }

  row(r, current) {
    const { page } = this;
    const { session } = page;
    const i = this.entries[r];
    const depth = Math.min(this.depths?.[r] ?? 0, 10);
    const rows = this.heads.get(r);
    const kind = kindNames[session.kind(i)] ?? "unknown";
    const outcome = session.outcomes[i];
    const label = session.labels.get(i);
    const node = el(`div.o-row.o-${kind}`, {
      role: "treeitem", id: `o${r}`, data: { row: r }, "aria-level": (this.depths?.[r] ?? 0) + 1, "aria-selected": current ? "true" : "false",
      "aria-posinset": r + 1, "aria-setsize": this.entries.length,
      "aria-expanded": rows === undefined ? undefined : this.folded.has(i) ? "false" : "true",
    });
    if (!page.onPath[i]) node.classList.add("aside");
    if (r === this.cursor) node.classList.add("cursor");
    if (outcome !== "-") node.classList.add("failed");
    for (let d = 0; d < depth; d++) node.append(el("span.guide"));
    if (rows !== undefined) node.append(el("button.o-fold", { type: "button", tabindex: "-1", "aria-hidden": "true", title: this.folded.has(i) ? `Show ${count(rows - 1, "more entry", "more entries")}` : "Fold this branch", data: { fold: r } }, this.folded.has(i) ? "+" : icon("fork")));
    node.append(icon(iconOf(session.kind(i))));
    if (label !== undefined) node.append(chip("label", visible(label)));
    node.append(el("span.o-text", null, this.text(i)));
    return node;
  }

  text(i) {
    const { session, search } = this.page;
    const found = search.active ? search.snippet(i) : null;
    if (found) return [visible(found.before), el("mark", null, visible(found.match)), visible(found.after)];
    const text = unmarked(session.texts[i]);
    switch (session.kind(i)) {
      case "c": return `Compacted from ${tokens(Number(text) || 0)} tokens`;
      case "m": return `Model ${text.replace(" ", "/")}`;
      case "h": return `Thinking level ${text}`;
      case "b": return `$ ${text}`;
      case "l": return text ? `Label: ${text}` : "Label removed";
      case "s": return "System prompt";
      default: return text || `(${kindNames[session.kind(i)] ?? "entry"})`;
    }
  }

  click(e) {
    const row = e.target.closest(".o-row");
    if (!row) return;
    const r = Number(row.dataset.row);
    if (e.target.closest(".o-fold")) this.fold(r);
    else {
      this.cursor = r;
      this.page.open(this.entries[r]);
    }
  }

  fold(r, folded = !this.folded.has(this.entries[r])) {
    if (!this.heads.has(r)) return;
    if (folded) this.folded.add(this.entries[r]);
    else this.folded.delete(this.entries[r]);
    this.rebuild();
  }

  move(r) {
    if (this.entries.length === 0) return;
    this.cursor = Math.max(0, Math.min(this.entries.length - 1, r));
    this.reveal(this.cursor);
    this.draw();
  }

  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const page = Math.max(1, Math.floor(this.node.clientHeight / rowHeight) - 1);
    const r = this.cursor, i = this.entries[r];
    const steps = { ArrowDown: r + 1, ArrowUp: r - 1, j: r + 1, k: r - 1, Home: 0, End: this.entries.length - 1, PageDown: r + page, PageUp: r - page };
    if (Object.hasOwn(steps, e.key)) this.move(steps[e.key]);
    else if (e.key === "Enter" || e.key === " ") { if (i !== undefined) this.page.open(i); }
    else if (e.key === "ArrowRight" && this.heads.has(r) && this.folded.has(i)) this.fold(r, false);
    else if (e.key === "ArrowRight") this.move(r + 1);
    else if (e.key === "ArrowLeft" && this.heads.has(r) && !this.folded.has(i)) this.fold(r, true);
    else if (e.key === "ArrowLeft") this.move(this.parentRow(r));
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  // parentRow returns the nearest row above that is less deep.
  parentRow(r) {
    const depth = this.depths?.[r] ?? 0;
    for (let k = r - 1; k >= 0; k--) if ((this.depths?.[k] ?? 0) < depth) return k;
    return Math.max(0, r - 1);
  }
}

const rowIcons = { u: "user", a: "assistant", t: "tool", r: "tool", b: "tool", c: "fold", C: "fold", B: "fork", S: "fold", X: "label", l: "label" };
const iconOf = (kind) => rowIcons[kind] ?? "note";
