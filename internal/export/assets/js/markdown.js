// Markdown blocks: headings, paragraphs, code, lists, quotes, tables, rules. Nodes are
// built directly; no text ever becomes markup.

const maxDepth = 24; // of quotes and lists; deeper ones are plain paragraphs

// markdown returns a text as a fragment. With breaks, line ends in paragraphs stay.
function markdown(text, breaks = false) {
  const lines = text.replace(/\r\n?/g, "\n").split("\n").map(untabbed);
  const refs = references(lines);
  const out = document.createDocumentFragment();
  new Blocks(refs, breaks).run(lines, out, 0);
  return out;
}

function untabbed(line) {
  const lead = /^[ \t]*/.exec(line)[0];
  if (!lead.includes("\t")) return line;
  let width = 0;
  for (const c of lead) width += c === "\t" ? 4 - (width % 4) : 1;
  return " ".repeat(width) + line.slice(lead.length);
}

const referencePattern = /^ {0,3}\[([^[\]\\]{1,200})\]:[ \t]{0,20}<?([^\s<>]{1,2000})>?[ \t]*(?:["'(][^\n]*)?$/;

// references takes the definitions of link addresses out of the lines.
function references(lines) {
  const refs = new Map();
  let fence = null;
  for (let i = 0; i < lines.length; i++) {
    const f = /^ {0,3}(`{3,}|~{3,})/.exec(lines[i]);
    if (f) fence = fence === null ? f[1] : f[1].startsWith(fence) ? null : fence;
    if (fence !== null || !lines[i].includes("]:")) continue;
    const m = referencePattern.exec(lines[i]);
    if (!m) continue;
    const name = m[1].trim().toLowerCase();
    if (!refs.has(name)) refs.set(name, m[2]);
    lines[i] = "";
  }
  return refs;
}

const fencePattern = /^( {0,3})(`{3,}|~{3,})([^`]*)$/;
const headingPattern = /^ {0,3}(#{1,6})(?:[ \t]+|$)/;
const rulePattern = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const quotePattern = /^ {0,3}> ?/;
const itemPattern = /^( {0,3})([-*+]|\d{1,9}[.)])(?: +|$)/;
const dividerPattern = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

const blank = (line) => line.trim() === "";
const indent = (line) => line.length - line.trimStart().length;

class Blocks {
  constructor(refs, breaks) {
    this.refs = refs;
    this.breaks = breaks;
  }

  inline(text) {
    return inline(text, this.refs, this.breaks);
  }

  run(lines, parent, depth) {
    let i = 0;
    while (i < lines.length) {
      if (blank(lines[i])) i++;
      else i = this.block(lines, i, parent, depth);
    }
  }

  // block reads the block that begins with line i and returns the line behind it.
  block(lines, i, parent, depth) {
    const line = lines[i];
    const fence = fencePattern.exec(line);
    if (fence) return this.fence(lines, i, parent, fence);
    if (line.startsWith("    ")) return this.indented(lines, i, parent);
    const heading = headingPattern.exec(line);
    if (heading) {
      const text = line.slice(heading[0].length).trimEnd().replace(/(?:^|[ \t])#+$/, "");
      parent.append(el(`h${Math.min(6, heading[1].length + 2)}`, null, this.inline(text.trim())));
      return i + 1;
    }
    if (rulePattern.test(line)) {
      parent.append(el("hr"));
      return i + 1;
    }
    if (depth < maxDepth) {
      if (quotePattern.test(line)) return this.quote(lines, i, parent, depth);
      const item = itemPattern.exec(line);
      if (item) return this.list(lines, i, parent, depth, item);
    }
    if (line.includes("|") && i + 1 < lines.length && lines[i + 1].length < 1000 && lines[i + 1].includes("-") && dividerPattern.test(lines[i + 1])) {
      const next = this.table(lines, i, parent);
      if (next > i) return next;
    }
    return this.paragraph(lines, i, parent);
  }

  fence(lines, i, parent, [, lead, marks, info]) {
    const body = [];
    let j = i + 1;
    for (; j < lines.length; j++) {
      const line = lines[j].trim();
      if (line.startsWith(marks) && line.length >= marks.length && [...line].every((c) => c === marks[0]) && indent(lines[j]) < 4) break;
      body.push(lines[j].slice(Math.min(indent(lines[j]), lead.length)));
    }
    parent.append(codeBlock(body.join("\n"), info.trim().split(/\s/)[0]));
    return j + 1;
  }

  indented(lines, i, parent) {
    let j = i;
    while (j < lines.length && (lines[j].startsWith("    ") || blank(lines[j]))) j++;
    let end = j;
    while (blank(lines[end - 1])) end--;
    parent.append(codeBlock(lines.slice(i, end).map((l) => l.slice(4)).join("\n"), ""));
    return j;
  }

  quote(lines, i, parent, depth) {
    const inside = [];
    let j = i;
    for (; j < lines.length; j++) {
      if (quotePattern.test(lines[j])) inside.push(lines[j].replace(quotePattern, ""));
      else if (!blank(lines[j]) && !blank(inside.at(-1)) && !this.interrupts(lines[j])) inside.push(lines[j]);
      else break;
    }
    const node = el("blockquote");
    this.run(inside, node, depth + 1);
    parent.append(node);
    return j;
  }

  // interrupts says whether a line ends the paragraph before it.
  interrupts(line) {
    if (fencePattern.test(line) || headingPattern.test(line) || rulePattern.test(line) || quotePattern.test(line)) return true;
    const item = itemPattern.exec(line);
    return item !== null && item[0].length < line.length && (!/\d/.test(item[2]) || /^1[.)]/.test(item[2]));
  }

  list(lines, i, parent, depth, first) {
    const ordered = /\d/.test(first[2]);
    const kind = first[2].at(-1);
    const node = ordered ? el("ol", { start: Number.parseInt(first[2], 10) === 1 ? undefined : Number.parseInt(first[2], 10) }) : el("ul");
    let loose = false;
    let j = i;
    while (j < lines.length) {
      const m = itemPattern.exec(lines[j]);
      if (!m || m[2].at(-1) !== kind || rulePattern.test(lines[j])) break;
      const [body, next, gap] = this.item(lines, j, m);
      j = next;
      const more = j < lines.length && itemPattern.exec(lines[j])?.[2].at(-1) === kind;
      loose ||= (gap && more) || body.some((l, k) => blank(l) && k < body.length - 1 && !blank(body[k + 1]) && indent(body[k + 1]) < 2);
      node.append(this.listItem(body, depth));
    }
    if (loose) node.classList.add("loose");
    parent.append(node);
    return j;
  }

  // item returns the lines of one item without its marker, the line behind it, and
  // whether blank lines follow.
  item(lines, i, m) {
    const spaces = m[0].length - m[1].length - m[2].length;
    const width = m[1].length + m[2].length + (spaces > 4 || spaces === 0 ? 1 : spaces);
    const body = [lines[i].slice(width)];
    let j = i + 1;
    for (; j < lines.length; j++) {
      if (blank(lines[j])) body.push("");
      else if (indent(lines[j]) >= width) body.push(lines[j].slice(width));
      else if (!blank(body.at(-1)) && !this.interrupts(lines[j]) && !itemPattern.test(lines[j])) body.push(lines[j].trimStart());
      else break;
    }
    const gap = blank(body.at(-1)) && body.length > 1;
    while (body.length > 1 && blank(body.at(-1))) body.pop();
    return [body, j, gap];
  }

  listItem(body, depth) {
    const node = el("li");
    const task = /^\[([ xX])\] +/.exec(body[0]);
    if (task) {
      body = [body[0].slice(task[0].length), ...body.slice(1)];
      node.classList.add("task");
      node.append(el("span.box", { role: "img", "aria-label": task[1] === " " ? "To do" : "Done", data: { done: task[1] === " " ? "no" : "yes" } }));
    }
    this.run(body, node, depth + 1);
    return node;
  }

  table(lines, i, parent) {
    const head = cells(lines[i]);
    const rules = cells(lines[i + 1]);
    if (head.length !== rules.length) return i;
    const align = rules.map((r) => (r.endsWith(":") ? (r.startsWith(":") ? "center" : "right") : ""));
    const row = (tag, values) => el("tr", null, head.map((_, k) => el(tag, { class: align[k] || undefined }, this.inline(values[k] ?? ""))));
    const body = el("tbody");
    let j = i + 2;
    for (; j < lines.length && !blank(lines[j]) && !this.interrupts(lines[j]); j++) body.append(row("td", cells(lines[j])));
    parent.append(el("div.table", { tabindex: "0" }, el("table", null, el("thead", null, row("th", head)), body)));
    return j;
  }

  paragraph(lines, i, parent) {
    const text = [lines[i].trimStart()];
    let j = i + 1;
    for (; j < lines.length && !blank(lines[j]); j++) {
      const under = /^ {0,3}(=+|-+)[ \t]*$/.exec(lines[j]);
      if (under) {
        parent.append(el(under[1][0] === "=" ? "h3" : "h4", null, this.inline(text.join("\n").trimEnd())));
        return j + 1;
      }
      if (this.interrupts(lines[j])) break;
      text.push(this.breaks ? lines[j] : lines[j].trimStart());
    }
    parent.append(el("p", null, this.inline(text.join("\n").trimEnd())));
    return j;
  }
}

// cells splits a row of a table; escaped bars and bars in code are part of a cell.
function cells(line) {
  const out = [];
  let cell = "", code = false;
  line = line.trim();
  for (let i = line.startsWith("|") ? 1 : 0; i < line.length; i++) {
    const c = line[i];
    if (c === "\\" && line[i + 1] === "|") { cell += "|"; i++; continue; }
    if (c === "`") code = !code;
    if (c === "|" && !(code && line.includes("`", i))) {
      out.push(cell.trim());
      cell = "";
      continue;
    }
    cell += c;
  }
  if (cell.trim() !== "" || !line.endsWith("|")) out.push(cell.trim());
  return out;
}
