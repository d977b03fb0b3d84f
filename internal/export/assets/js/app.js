// The page: what is read (a branch, a filter, a search), and everything that changes it.

class Page {
  constructor() {
    this.session = new Session();
    this.tree = new Tree(this.session);
    this.folds = new Folds();
    this.search = new Search(this.session, () => this.searched());
    this.filter = "default";
    this.onPath = new Uint8Array(this.session.size);
    this.path = new Int32Array(0);
    this.rows = new Int32Array(0); // row r of the list shows path[rows[r - 1]]; row 0 is the card
    this.current = -1; // entry that is looked at
    this.branches = this.countEnds();
    this.list = new List(byID("main"), { make: (r) => this.make(r), guess: (r) => this.guess(r), onView: (r) => this.viewed(r) });
    this.outline = new Outline(byID("outline"), this);
  }

  // countEnds counts the branches that say something.
  countEnds() {
    let n = 0;
    const { session, tree } = this;
    for (let i = 0; i < session.size; i++) {
      if (tree.weight[i] === 0) continue;
      if (!tree.children(i).some((k) => tree.weight[k] > 0)) n++;
    }
    return n;
  }

  start() {
    byID("bar-title").textContent = unmarked(str(this.session.meta.title));
    document.documentElement.classList.add("at-top");
    bindBar(this);
    bindFilters(this);
    bindKeys(this);
    bindResizer();
    this.bindSearch();
    if (window.innerWidth < 860 || prefs.get("outline") === "closed") this.toggleSide(false, false);
    this.setLeaf(this.session.numbers.get(str(this.session.meta.leafId)) ?? this.session.size - 1);
    this.showFilter();
    if (!this.follow()) this.list.reset(this.rows.length + 1);
    this.outline.rebuild();
    window.addEventListener("hashchange", () => this.follow());
    window.addEventListener("beforeprint", () => this.expand());
    complete().then(() => this.arrived());
    // What a browser still reads appears as it comes.
    const poll = setInterval(() => {
      if (document.readyState !== "loading") clearInterval(poll);
      this.fillWaiting();
    }, 60);
  }

  arrived() {
    this.fillWaiting();
    this.list.replace(0); // the card may lack what stands in the entries
    // A short session is there as a whole: the browser's own search and print see it.
    if (this.rows.length <= 300) setTimeout(() => this.expand(), 300);
    document.documentElement.dataset.state = "complete";
  }

  fillWaiting() {
    for (const node of document.querySelectorAll(".row.waiting")) {
      if (this.session.pieceOf(Number(node.dataset.entry)) >= 0) this.list.replace(Number(node.dataset.row));
    }
  }

  expand() {
    if (this.rows.length > 3000) return;
    this.list.whole = true;
    const at = this.list.anchor() ?? [0, 0];
    this.list.show(at[0], at[1]);
  }

  // make returns the element of a row of the list.
  make(r) {
    return r === 0 ? headerCard(this) : rowOf(this, this.rows[r - 1]);
  }

  // guess estimates the height of a row by what the index knows.
  guess(r) {
    if (r === 0) return 320;
    const i = this.path[this.rows[r - 1]];
    const size = Math.min(this.session.bytes[i], 40_000);
    switch (this.session.kind(i)) {
      case "u": return 90 + Math.min(500, size / 5);
      case "a": case "t": return 60 + Math.min(1200, size / 3.5);
      case "b": case "r": return 100 + Math.min(320, size / 6);
      default: return 44;
    }
  }

  // setLeaf chooses the branch that ends with an entry.
  setLeaf(leaf) {
    this.leaf = leaf;
    this.path = this.tree.path(leaf);
    this.onPath.fill(0);
    for (const i of this.path) this.onPath[i] = 1;
    this.rows = this.tree.rows(this.path, this.filter);
    this.list.whole = false;
  }

  // rowOfEntry returns the row that shows an entry, or the nearest one above it.
  rowOfEntry(entry) {
    let low = 0, high = this.rows.length;
    // Positions grow with rows; the position of an entry on the path is found from there.
    const p = this.path.indexOf(entry);
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.rows[mid] <= p) low = mid + 1;
      else high = mid;
    }
    return low; // row 0 is the card
  }

  rowAbove(p) {
    let low = 0, high = this.rows.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.rows[mid] < p) low = mid + 1;
      else high = mid;
    }
    return low > 0 ? this.rows[low - 1] : -1;
  }

  // startsTurn says whether an assistant message is the first after something else.
  startsTurn(p) {
    const above = this.rowAbove(p);
    return above < 0 || !"at".includes(this.session.kind(this.path[above]));
  }

  // resultsOf finds the results of the calls of the message at p: by call id, and those
  // without one.
  resultsOf(p) {
    const results = new Map(), rest = [];
    for (let k = p + 1; k < this.path.length && k < p + 2000; k++) {
      const kind = this.session.kind(this.path[k]);
      if ("atu".includes(kind)) break;
      if (kind !== "r" || (this.filter === "labeled-only" && this.session.labels.has(this.path[k]))) continue;
      const result = message(this.session.entry(this.path[k]));
      const id = own(result, "toolCallId");
      if (typeof id === "string" && id !== "" && !results.has(id)) results.set(id, result);
      else rest.push(result);
    }
    return { results, rest };
  }

  // go shows the branch that ends with a leaf, at an entry.
  go(leaf, entry, quiet = false) {
    if (leaf !== this.leaf) {
      this.setLeaf(leaf);
      this.list.reset(this.rows.length + 1, this.rowOfEntry(entry), 72);
      if (this.rows.length <= 300) setTimeout(() => this.expand(), 300);
      this.outline.rebuild();
    } else this.list.goTo(this.rowOfEntry(entry), 72);
    this.look(entry, quiet);
  }

  // open shows an entry wherever it is, on the branch that is read when it is part of it.
  open(entry, quiet = false) {
    const leaf = this.onPath[entry] ? this.leaf : this.tree.newest[entry];
    if (!this.tree.shows(entry, this.filter, "main") && this.session.kind(entry) !== "r") this.setFilter("all", false);
    this.go(leaf, entry, quiet);
    if (window.innerWidth < 860) this.toggleSide(false, false);
  }

  // look moves the reader's eye, and the focus, to an entry.
  look(entry, quiet) {
    this.setCurrent(entry);
    const row = this.list.rows.get(this.rowOfEntry(entry));
    if (!row) return;
    row.classList.remove("seen");
    void row.offsetWidth; // starts the animation anew
    row.classList.add("seen");
    if (this.search.active) for (const d of row.querySelectorAll("details:not([open])")) this.openIfFound(d);
    if (!quiet && document.activeElement !== this.outline.node) row.focus({ preventScroll: true });
    this.mark();
  }

  // openIfFound opens a fold in which a search has found something.
  openIfFound(details) {
    details.open = true;
    setTimeout(() => {
      if (!this.search.pattern().test(details.textContent)) details.open = false;
      this.mark();
    });
  }

  setCurrent(entry) {
    if (entry === this.current) return;
    this.current = entry;
    let prompt = entry;
    while (prompt >= 0 && this.session.kind(prompt) !== "u") prompt = this.session.parents[prompt];
    const crumb = prompt >= 0 ? unmarked(this.session.texts[prompt]) : "";
    byID("bar-crumb").textContent = crumb === byID("bar-title").textContent ? "" : crumb;
    document.documentElement.classList.toggle("at-top", entry < 0);
    this.outline.reveal(this.outline.rowOf(entry));
    this.outline.soon();
  }

  // viewed is told which row is the first in view.
  viewed(r) {
    if (!this.list.pin) this.setCurrent(r === 0 ? -1 : this.path[this.rows[r - 1]]);
    this.mark();
  }

  mark() {
    if (this.search.active || this.marked) highlight(this.search, this.list.rows.values());
    this.marked = this.search.active;
  }

  // step goes to the next or previous row, of a kind if one is given.
  step(by, kind) {
    let r = this.current < 0 ? 0 : this.rowOfEntry(this.current);
    do r += by;
    while (kind && r > 0 && r <= this.rows.length && this.session.kind(this.path[this.rows[r - 1]]) !== kind);
    if (r <= 0) this.toRow(0);
    else if (r <= this.rows.length) this.go(this.leaf, this.path[this.rows[r - 1]]);
  }

  toRow(r) {
    if (r === 0 || this.rows.length === 0) {
      this.list.goTo(0, 0);
      this.setCurrent(-1);
    } else this.go(this.leaf, this.path[this.rows[r - 1]]);
  }

  // sibling switches the branch at the nearest fork at or above the current entry.
  sibling(by) {
    for (let i = this.current; i >= 0; i = this.session.parents[i]) {
      const all = this.tree.siblings(i);
      const to = all.indexOf(i) + by;
      if (all.length > 1 && to >= 0 && to < all.length) { this.go(this.tree.newest[all[to]], all[to]); return; }
    }
    announce("No other branch here");
  }

  setFilter(name, move = true) {
    if (name === this.filter) return;
    this.filter = name;
    const entry = this.current;
    this.rows = this.tree.rows(this.path, name);
    this.list.whole = false;
    this.list.reset(this.rows.length + 1, entry < 0 || !move ? 0 : this.rowOfEntry(entry), entry < 0 ? 0 : 72);
    if (this.rows.length <= 300) setTimeout(() => this.expand(), 300);
    this.outline.rebuild();
    this.showFilter();
  }

  showFilter() {
    for (const b of byID("filters").children) {
      const on = b.dataset.filter === this.filter;
      b.setAttribute("aria-checked", on ? "true" : "false");
      b.tabIndex = on ? 0 : -1;
    }
    this.showCount();
  }

  showCount() {
    const { search } = this;
    let text = "";
    if (search.active) text = search.done ? count(search.found.length, "match", "matches") : `${grouped.format(search.found.length)} so far`;
    else text = `${grouped.format(this.rows.length)} of ${count(this.session.size, "entry", "entries")} shown`;
    byID("count").textContent = text;
  }

  toggleKind(kind) {
    const open = this.folds.kinds.get(kind) !== true;
    this.folds.setKind(kind, open);
    byID(kind === "tool" ? "tools-toggle" : "thinking-toggle").setAttribute("aria-pressed", open ? "true" : "false");
    this.list.renew();
    announce(`${kind === "tool" ? "Tools" : "Thinking"} ${open ? "open" : "closed"}`);
  }

  toggleSide(open = document.documentElement.classList.contains("side-closed"), keep = true) {
    document.documentElement.classList.toggle("side-closed", !open);
    byID("side-toggle").setAttribute("aria-expanded", open ? "true" : "false");
    byID("side").inert = !open;
    if (keep) prefs.set("outline", open ? null : "closed");
  }

  bindSearch() {
    const box = byID("search");
    let wait = 0;
    box.addEventListener("input", () => {
      clearTimeout(wait);
      wait = setTimeout(() => this.search.set(box.value), this.session.size > 5000 ? 180 : 60);
    });
    box.addEventListener("keydown", (e) => {
      if (e.key === "Enter") {
        clearTimeout(wait);
        this.search.set(box.value);
        this.match(e.shiftKey ? -1 : 1, true);
        e.preventDefault();
      } else if (e.key === "ArrowDown") {
        this.outline.node.focus();
        this.outline.move(0);
        e.preventDefault();
      }
    });
    const button = (name, text, by) => el("button.mini", { type: "button", "aria-label": name, title: name, onclick: () => this.match(by) }, text);
    byID("steps").append(button("Previous match", "\u2191", -1), button("Next match", "\u2193", 1));
  }

  searched() {
    document.documentElement.classList.toggle("searching", this.search.active);
    document.documentElement.dataset.searched = this.search.done ? this.search.query : "";
    for (const [r, node] of this.list.rows) {
      if (r > 0) node.classList.toggle("hit", this.search.has(this.path[this.rows[r - 1]]));
    }
    this.outline.rebuild();
    this.showCount();
    this.mark();
  }

  // match goes to the next match, in the order of the file.
  match(by, stay = false) {
    const { found } = this.search;
    if (found.length === 0) { if (this.search.active && this.search.done) announce("Nothing found"); return; }
    let k = found.findIndex((i) => i > this.current);
    if (by < 0) {
      k = (k < 0 ? found.length : k) - 1;
      if (found[k] === this.current) k--;
    }
    k = (k + found.length) % found.length;
    if (by > 0 && found.findIndex((i) => i > this.current) < 0) k = 0;
    this.open(found[k], stay);
    this.outline.cursor = k;
    announce(`Match ${k + 1} of ${found.length}`);
  }

  focusSearch() {
    this.toggleSide(true, false);
    byID("search").focus();
    byID("search").select();
  }

  escape() {
    if (this.search.active || byID("search").value !== "") {
      byID("search").value = "";
      this.search.set("");
    }
    if (document.activeElement === byID("search")) byID("main").focus();
  }

  // address returns a link to an entry.
  address(entry) {
    const url = new URL(location.href);
    url.search = "";
    const id = entry >= 0 ? this.session.ids[entry] : "";
    const leaf = entry >= 0 && this.tree.newest[entry] !== this.leaf ? `&leaf=${encodeURIComponent(this.session.ids[this.leaf])}` : "";
    url.hash = id ? `entry=${encodeURIComponent(id)}${leaf}` : "";
    return url.href;
  }

  // follow goes where the address points: #entry=ID&leaf=ID, or leafId and targetId as
  // links of other programs have them.
  follow() {
    const params = new URLSearchParams(location.hash.slice(1));
    for (const [name, value] of new URLSearchParams(location.search)) if (!params.has(name)) params.set(name, value);
    const find = (...names) => {
      for (const name of names) {
        const i = this.session.numbers.get(params.get(name));
        if (i !== undefined) return i;
      }
      return -1;
    };
    const leaf = find("leaf", "leafId");
    const entry = find("entry", "targetId");
    if (leaf < 0 && entry < 0) return false;
    if (leaf >= 0 && leaf !== this.leaf) this.setLeaf(leaf);
    else if (leaf < 0 && !this.onPath[entry]) this.setLeaf(this.tree.newest[entry]);
    if (entry >= 0 && !this.onPath[entry]) this.setLeaf(this.tree.newest[entry]);
    const target = entry >= 0 ? entry : this.leaf;
    if (!this.tree.shows(target, this.filter, "main") && this.session.kind(target) !== "r") {
      this.filter = "all";
      this.showFilter();
    }
    this.rows = this.tree.rows(this.path, this.filter);
    this.list.reset(this.rows.length + 1, this.rowOfEntry(target), 72);
    this.outline.rebuild();
    this.look(target, true);
    return true;
  }
}

new Page().start();
document.documentElement.dataset.state ??= "ready";
performance.mark("isotope-ready");
