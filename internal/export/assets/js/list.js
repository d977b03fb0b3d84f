// A list of rows of any height, of which only those near the view exist. All heights
// are guesses until a row was shown; the row that the reader looks at never moves when
// guesses turn out wrong. Lists too tall for a browser are scaled, all by itself: above
// and below the rows stand spacers, and the place of the rows is kept by the row that
// is looked at, not by sums.

const maxSpace = 8_000_000; // pixels a spacer may have: browsers stop counting somewhere above

// Heights keeps the heights of all rows and their sums (a Fenwick tree).
class Heights {
  constructor(values) {
    this.values = values;
    this.sums = new Float64Array(values.length + 1);
    for (let i = 1; i <= values.length; i++) {
      this.sums[i] += values[i - 1];
      const up = i + (i & -i);
      if (up <= values.length) this.sums[up] += this.sums[i];
    }
  }

  set(i, height) {
    const change = height - this.values[i];
    if (change === 0) return;
    this.values[i] = height;
    for (let k = i + 1; k < this.sums.length; k += k & -k) this.sums[k] += change;
  }

  // before returns the height of all rows above row i.
  before(i) {
    let sum = 0;
    for (let k = i; k > 0; k -= k & -k) sum += this.sums[k];
    return sum;
  }

  // at returns the row at a distance from the top.
  at(y) {
    let i = 0;
    for (let step = 1 << Math.floor(Math.log2(this.sums.length)); step > 0; step >>= 1) {
      if (i + step < this.sums.length && this.sums[i + step] <= y) {
        i += step;
        y -= this.sums[i];
      }
    }
    return Math.min(i, this.values.length - 1);
  }
}

class List {
  // make(row) returns the element of a row; guess(row) its height; onView is called when
  // other rows are in view.
  constructor(scroller, { make, guess, onView }) {
    this.scroller = scroller;
    this.make = make;
    this.guess = guess;
    this.onView = onView;
    this.above = el("div.space", { "aria-hidden": "true" });
    this.below = el("div.space", { "aria-hidden": "true" });
    this.body = el("div.rows", { role: "feed", "aria-label": "Conversation" });
    this.scroller.append(this.above, this.body, this.below);
    this.rows = new Map(); // row -> element
    this.size = 0;
    this.first = 0; // rows first to last-1 exist
    this.last = 0;
    this.whole = false; // all rows are to exist
    this.sizes = new ResizeObserver((changes) => this.resized(changes));
    this.frame = 0;
    this.pin = null; // [row, offset] that stays where it is until the reader scrolls
    this.top = 0; // where the list itself has scrolled to
    scroller.addEventListener("scroll", () => {
      if (Math.abs(scroller.scrollTop - this.top) > 2) this.pin = null;
      this.soon();
    }, { passive: true });
    new ResizeObserver(() => this.soon()).observe(scroller);
  }

  soon() {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => { this.frame = 0; this.update(); });
  }

  // reset shows a list of so many rows, with a row at a distance from the top of the view.
  reset(size, row = 0, offset = 0) {
    this.size = size;
    this.pin = row > 0 ? [row, offset] : null;
    const values = new Float64Array(size);
    for (let i = 0; i < size; i++) values[i] = this.guess(i);
    this.heights = new Heights(values);
    this.sizes.disconnect();
    this.body.replaceChildren();
    this.rows.clear();
    this.first = this.last = 0;
    this.show(row, offset);
  }

  // renew makes the elements of all rows anew, where they stand.
  renew() {
    const [row, offset] = this.anchor() ?? [0, 0];
    this.sizes.disconnect();
    this.body.replaceChildren();
    this.rows.clear();
    this.first = this.last = 0;
    this.show(row, offset);
  }

  // goTo puts a row at a distance from the top of the view, and keeps it there while
  // what is around it takes its place.
  goTo(row, offset) {
    this.pin = [row, offset];
    this.show(row, offset);
  }

  // replace makes one row anew.
  replace(row) {
    const old = this.rows.get(row);
    if (!old) return;
    const node = this.element(row);
    if (old.classList.contains("seen")) node.classList.add("seen");
    const focused = old === document.activeElement;
    this.sizes.unobserve(old);
    old.replaceWith(node);
    this.sizes.observe(node);
    if (focused) node.focus({ preventScroll: true });
  }

  element(row) {
    const node = this.make(row);
    node.dataset.row = row;
    this.rows.set(row, node);
    return node;
  }

  // anchor returns the first row in view and its distance from the top of the view.
  anchor() {
    const top = this.scroller.getBoundingClientRect().top;
    for (let r = this.first; r < this.last; r++) {
      const box = this.rows.get(r).getBoundingClientRect();
      if (box.bottom > top + 1) return box.top < top + this.scroller.clientHeight ? [r, box.top - top] : null;
    }
    return null;
  }

  // update brings the rows in view into being after the reader has scrolled.
  update() {
    if (this.size === 0) return;
    const top = this.scroller.scrollTop, height = this.scroller.clientHeight;
    const start = this.above.offsetHeight, end = start + this.body.offsetHeight;
    const enough = (this.first === 0 || top - start > height * 0.5) && (this.last === this.size || end - top - height > height * 0.5);
    if (!enough) {
      const at = this.anchor();
      if (at) this.show(at[0], at[1]);
      else if (top < start || this.last === this.first) this.show(this.heights.at((top / Math.max(1, start)) * this.heights.before(this.first)), 0);
      else {
        const known = this.heights.before(this.last), all = this.heights.before(this.size);
        this.show(this.heights.at(known + ((top - end) / Math.max(1, this.below.offsetHeight)) * (all - known)), 0);
      }
    }
    this.onView(this.anchor()?.[0] ?? this.first);
  }

  // show puts a row at a distance from the top of the view and fills the view around it.
  show(row, offset) {
    const height = this.scroller.clientHeight || 800;
    const reach = this.whole ? Infinity : height * 1.2 + 400;
    row = Math.max(0, Math.min(this.size - 1, row));
    let first = row, last = row + 1;
    const measured = (r) => this.heights.values[r];
    // Guesses may be wrong: what is still missing after measuring is added.
    for (let round = 0; round < 5; round++) {
      let up = offset, down = offset + measured(row);
      for (let r = row - 1; r >= first; r--) up -= measured(r);
      for (let r = row + 1; r < last; r++) down += measured(r);
      const before = [first, last];
      while (first > 0 && up > -reach) up -= measured(--first);
      while (last < this.size && down < height + reach) down += measured(last++);
      if (round > 0 && before[0] === first && before[1] === last) break;
      this.fill(first, last);
    }
    this.space();
    this.place(row, offset);
  }

  place(row, offset) {
    const node = this.rows.get(row);
    const top = this.scroller.getBoundingClientRect().top;
    this.scroll(node.getBoundingClientRect().top - top - offset);
    this.soon();
  }

  scroll(by) {
    if (Math.abs(by) >= 0.5) this.scroller.scrollTop += by;
    this.top = this.scroller.scrollTop;
  }

  // fill makes exactly the rows first to last-1 exist.
  fill(first, last) {
    for (const [r, node] of this.rows) {
      if (r >= first && r < last) continue;
      this.sizes.unobserve(node);
      node.remove();
      this.rows.delete(r);
    }
    let after = null; // the element behind the place of the next one
    const fresh = [];
    for (let r = last - 1; r >= first; r--) {
      let node = this.rows.get(r);
      if (!node) {
        node = this.element(r);
        this.body.insertBefore(node, after);
        fresh.push(r);
      }
      after = node;
    }
    this.first = first;
    this.last = last;
    for (const r of fresh) {
      const node = this.rows.get(r);
      this.heights.set(r, node.getBoundingClientRect().height);
      this.sizes.observe(node);
    }
  }

  space() {
    const all = this.heights.before(this.size);
    const above = this.heights.before(this.first), below = all - this.heights.before(this.last);
    const scale = Math.min(1, maxSpace / Math.max(1, above, below));
    this.above.style.height = `${above * scale}px`;
    this.below.style.height = `${below * scale}px`;
  }

  // resized notes rows that changed. When they stand above the row in view, the view
  // follows that row.
  resized(changes) {
    const top = this.scroller.getBoundingClientRect().top;
    let moved = 0;
    for (const { target } of changes) {
      const r = Number(target.dataset.row);
      if (this.rows.get(r) !== target) continue;
      const box = target.getBoundingClientRect();
      if (box.height === 0) continue;
      if (box.bottom <= top + 1) moved += box.height - this.heights.values[r];
      this.heights.set(r, box.height);
    }
    if (this.pin && this.rows.has(this.pin[0])) this.place(...this.pin);
    else if (moved !== 0) this.scroll(moved);
    this.soon();
  }
}
