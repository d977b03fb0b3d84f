// Changes of files: the display form with line numbers ("+12 text"), unified patches,
// and pairs of old and new text.

const maxDiffLines = 5000;

// displayLines reads the form with line numbers.
function displayLines(text) {
  return text.split("\n").slice(0, maxDiffLines).map((line) => {
    const m = /^([+\- ]) *(\d+) (.*)$/s.exec(line) ?? /^([+\- ]) *(\d+)$/.exec(line);
    if (m) return { sign: m[1], number: m[2], text: m[3] ?? "" };
    return { sign: "gap", number: "", text: line.trim() };
  });
}

// patchLines reads a unified patch.
function patchLines(text) {
  const out = [];
  let before = 0, after = 0;
  for (const line of text.split("\n").slice(0, maxDiffLines)) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(line);
    if (hunk) {
      if (out.length > 0) out.push({ sign: "gap", number: "", text: hunk[3].trim() || "..." });
      before = Number(hunk[1]);
      after = Number(hunk[2]);
    } else if (before === 0 && after === 0) continue;
    else if (line.startsWith("+")) out.push({ sign: "+", number: String(after++), text: line.slice(1) });
    else if (line.startsWith("-")) out.push({ sign: "-", number: String(before++), text: line.slice(1) });
    else if (line.startsWith(" ")) { out.push({ sign: " ", number: String(after++), text: line.slice(1) }); before++; }
  }
  return out;
}

// pairLines shows what an edit asked for, when nothing is known of the file around it.
function pairLines(edits) {
  const out = [];
  for (const edit of edits) {
    if (out.length > 0) out.push({ sign: "gap", number: "", text: "..." });
    for (const line of str(own(edit, "oldText")).split("\n")) out.push({ sign: "-", number: "", text: line });
    for (const line of str(own(edit, "newText")).split("\n")) out.push({ sign: "+", number: "", text: line });
  }
  return out.slice(0, maxDiffLines);
}

const counted = (lines, sign) => lines.reduce((n, l) => n + (l.sign === sign ? 1 : 0), 0);

// diffTable shows lines as a table: number, sign, text in the colours of its language.
function diffTable(lines, language) {
  const changed = new Map(); // line -> [from, to] of what differs from its partner
  for (let i = 0; i < lines.length;) {
    let d = i;
    while (d < lines.length && lines[d].sign === "-") d++;
    let a = d;
    while (a < lines.length && lines[a].sign === "+") a++;
    if (d > i && a - d === d - i && d - i <= 40) {
      for (let k = 0; k < d - i; k++) mark(changed, lines, i + k, d + k);
    }
    i = Math.max(a, i + 1);
  }
  const names = { "+": "added", "-": "removed", " ": "same", gap: "gap" };
  return el("div.diff", { role: "table", "aria-label": "Change" }, lines.map((line, i) =>
    el(`div.line.${names[line.sign]}`, { role: "row" },
      el("span.no", { role: "cell" }, line.number),
      el("span.sign", { role: "cell", "aria-label": names[line.sign] }, line.sign === "gap" ? "" : line.sign),
      el("span.what", { role: "cell" }, lineNodes(line, changed.get(i), language)))));
}

function mark(changed, lines, a, b) {
  const x = lines[a].text, y = lines[b].text;
  if (x.length > 1000 || y.length > 1000) return;
  let head = 0;
  while (head < x.length && head < y.length && x[head] === y[head]) head++;
  let tail = 0;
  while (tail < x.length - head && tail < y.length - head && x[x.length - 1 - tail] === y[y.length - 1 - tail]) tail++;
  if ((head + tail) * 3 < Math.max(x.length, y.length)) return; // another line, not a changed one
  changed.set(a, [head, x.length - tail]);
  changed.set(b, [head, y.length - tail]);
}

function lineNodes(line, range, language) {
  if (line.sign === "gap") return line.text === "" ? "\u22ef" : visible(line.text);
  if (!range || range[0] >= range[1]) return [coloured(line.text, language), line.text === "" ? "\u200b" : ""];
  const [from, to] = range;
  return [coloured(line.text.slice(0, from), language), el("mark", null, visible(line.text.slice(from, to))), coloured(line.text.slice(to), language)];
}
