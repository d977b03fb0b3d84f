// The entries as a tree: who follows whom, which branch leads where, and which entries
// a filter shows.

// What a filter shows: kinds in the outline, kinds in the conversation.
const filters = {
  default: { name: "Default", hint: "The conversation and its tools", outline: "uatbcBXS", main: "uatrbcBXSomhw?" },
  "no-tools": { name: "No tools", hint: "The conversation without tools", outline: "uabcBXS", main: "uabcBXSo" },
  "user-only": { name: "Prompts", hint: "What the user wrote", outline: "u", main: "u" },
  "labeled-only": { name: "Labeled", hint: "Entries with a label", outline: "", main: "" },
  all: { name: "All", hint: "Every entry of the file", outline: "uatrbsocCBmhwlixXyeUS?", main: "uatrbsocCBmhwlixXyeUS?" },
};

const spoken = "uatrbcBX"; // kinds that make a branch one

class Tree {
  constructor(session) {
    this.session = session;
    const n = session.size, { parents } = session;
    // The children of entry i are kids[first[i + 1]] to kids[first[i + 2]]; of none, the roots.
    this.first = new Int32Array(n + 2);
    for (let i = 0; i < n; i++) this.first[parents[i] + 2]++;
    for (let p = 1; p < n + 2; p++) this.first[p] += this.first[p - 1];
    this.kids = new Int32Array(n);
    const next = this.first.slice();
    for (let i = 0; i < n; i++) this.kids[next[parents[i] + 1]++] = i;
    this.order = this.walk();
    this.sum();
  }

  children(i) {
    return this.kids.subarray(this.first[i + 1], this.first[i + 2]);
  }

  // walk returns all entries, parents before their children.
  walk() {
    const n = this.session.size;
    const order = new Int32Array(n);
    const stack = [...this.children(-1)].reverse();
    let at = 0;
    while (stack.length > 0) {
      const i = stack.pop();
      order[at++] = i;
      const kids = this.children(i);
      for (let k = kids.length - 1; k >= 0; k--) stack.push(kids[k]);
    }
    return order.subarray(0, at);
  }

  // sum finds for each entry the newest end below it and how much is said below it.
  sum() {
    const { session, order } = this;
    const n = session.size;
    this.newest = new Int32Array(n);
    this.weight = new Int32Array(n);
    for (let i = 0; i < n; i++) {
      this.newest[i] = -1;
      this.weight[i] = spoken.includes(session.kind(i)) ? 1 : 0;
    }
    for (let k = order.length - 1; k >= 0; k--) {
      const i = order[k];
      if (this.newest[i] < 0) this.newest[i] = i;
      const p = session.parents[i];
      if (p < 0) continue;
      this.weight[p] += this.weight[i];
      if (this.newest[p] < 0 || this.later(this.newest[i], this.newest[p])) this.newest[p] = this.newest[i];
    }
  }

  later(a, b) {
    const { times } = this.session;
    return times[a] === times[b] ? a > b : times[a] > times[b];
  }

  // path returns the entries from the root to a leaf.
  path(leaf) {
    let n = 0;
    for (let i = leaf; i >= 0; i = this.session.parents[i]) n++;
    const path = new Int32Array(n);
    for (let i = leaf; i >= 0; i = this.session.parents[i]) path[--n] = i;
    return path;
  }

  // siblings returns the alternatives to entry i that say something, itself included.
  siblings(i) {
    const all = this.children(this.session.parents[i]);
    if (all.length < 2) return [i];
    return [...all].filter((k) => k === i || this.weight[k] > 0);
  }

  // shows says whether a filter shows an entry in a place, "outline" or "main".
  shows(i, filter, place) {
    if (filter === "labeled-only") return this.session.labels.has(i);
    return filters[filter][place].includes(this.session.kind(i));
  }

  // rows returns the entries of a branch that the conversation shows: positions in its
  // path. A tool's result is part of the message that called the tool.
  rows(path, filter) {
    const { session } = this;
    const out = [];
    let called = false;
    for (let p = 0; p < path.length; p++) {
      const k = session.kind(path[p]);
      if (k === "a" || k === "t") called = true;
      else if (k === "u") called = false;
      if (!this.shows(path[p], filter, "main")) continue;
      if (k === "r" && called && filter !== "labeled-only") continue;
      out.push(p);
    }
    return Int32Array.from(out);
  }

  // outline returns the rows of the outline: entries, their depths, and for the first row
  // of each side branch the number of its rows. The branch that is read runs down at
  // depth 0; others hang to its right where they leave it. Of a folded one (a set of
  // entries in first rows) only the first row is there.
  outline(onPath, filter, folded) {
    const entries = [], depths = [];
    const heads = new Map(); // row -> number of rows
    const stack = [], at = []; // entries with their depths; -1 ends a side branch
    const entered = []; // first rows of the side branches that are open
    const push = (kids, depth) => {
      const main = this.mainOf(kids, onPath);
      if (main >= 0) { stack.push(main); at.push(depth); }
      for (let k = kids.length - 1; k >= 0; k--) {
        if (kids[k] === main) continue;
        stack.push(-1, kids[k]);
        at.push(0, -depth - 1); // below zero: a side branch begins
      }
    };
    push(this.children(-1), 0);
    while (stack.length > 0) {
      const i = stack.pop();
      let depth = at.pop();
      if (i < 0) {
        const begin = entered.pop();
        if (entries.length > begin) heads.set(begin, Math.max(heads.get(begin) ?? 0, entries.length - begin));
        continue;
      }
      if (depth < 0) {
        depth = -depth;
        entered.push(entries.length);
      }
      if (this.shows(i, filter, "outline")) {
        entries.push(i);
        depths.push(depth);
      }
      push(this.children(i), depth);
    }
    return foldRows(entries, depths, heads, folded);
  }

  // mainOf returns the child that goes on at the same depth: the one that is read, else
  // the one with the newest end.
  mainOf(kids, onPath) {
    let main = -1;
    for (const k of kids) {
      if (onPath[k]) return k;
      if (main < 0 || this.later(this.newest[k], this.newest[main])) main = k;
    }
    return main;
  }
}

// foldRows leaves out what is folded.
function foldRows(entries, depths, heads, folded) {
  if (folded.size === 0) return { entries, depths, heads };
  const out = { entries: [], depths: [], heads: new Map() };
  for (let r = 0; r < entries.length; r++) {
    const rows = heads.get(r);
    if (rows !== undefined) out.heads.set(out.entries.length, rows);
    out.entries.push(entries[r]);
    out.depths.push(depths[r]);
    if (rows !== undefined && folded.has(entries[r])) r += rows - 1;
  }
  return out;
}
