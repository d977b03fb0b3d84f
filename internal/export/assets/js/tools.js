// Tool calls with their results, each kind in the form that reads best.

// A tool's view gets the arguments, the result (a message, or null), and returns a
// summary for its line, and what stands below it.
const toolViews = new Map(Object.entries({
  bash: (page, key, args, result) => ({
    summary: firstLine(str(own(args, "command"))),
    language: "sh",
    body: [
      str(own(args, "command")).includes("\n") ? el("pre.command", { tabindex: "0" }, coloured(str(own(args, "command")), "sh")) : null,
      output(page, key, result, terminal, 12),
    ],
    copy: () => str(own(args, "command")),
  }),
  read: (page, key, args, result) => {
    const path = pathOf(args);
    const from = number(own(args, "offset")) || 1;
    const to = number(own(args, "limit")) ? from + number(own(args, "limit")) - 1 : 0;
    return {
      summary: path + (own(args, "offset") || to ? `:${from}${to ? `\u2013${to}` : ""}` : ""),
      quiet: true,
      body: output(page, key, result, (text) => numbered(text, from, languageOf(path)), 10),
    };
  },
  write: (page, key, args, result) => {
    const path = pathOf(args), text = str(own(args, "content"));
    return {
      summary: path, detail: count(countLines(text), "line"),
      body: [
        longText(page, { key: key + " content", text, show: (t) => coloured(t, languageOf(path)), lines: 12, mark: ".output.source", label: "Content" }),
        failed(result) ? output(page, key, result, terminal, 12) : null,
      ],
      copy: () => text,
    };
  },
  edit: (page, key, args, result) => {
    const path = pathOf(args);
    const lines = editLines(args, result);
    return {
      summary: path,
      detail: [el("span.plus", null, `+${counted(lines, "+")}`), " ", el("span.minus", null, `\u2212${counted(lines, "-")}`)],
      open: true,
      body: [
        lines.length > 0 ? longDiff(page, key, lines, languageOf(path)) : null,
        failed(result) ? output(page, key, result, terminal, 12) : null,
      ],
    };
  },
  grep: (page, key, args, result) => ({
    summary: [`/${str(own(args, "pattern"))}/`, own(args, "path") ? ` in ${pathOf(args)}` : "", own(args, "glob") ? ` (${str(own(args, "glob"))})` : ""].join(""),
    quiet: true,
    body: output(page, key, result, terminal, 12),
  }),
  find: (page, key, args, result) => ({
    summary: str(own(args, "pattern")) + (own(args, "path") ? ` in ${pathOf(args)}` : ""),
    quiet: true,
    body: output(page, key, result, terminal, 12),
  }),
  ls: (page, key, args, result) => ({ summary: pathOf(args) || ".", quiet: true, body: output(page, key, result, terminal, 12) }),
}));

const pathOf = (args) => str(own(args, "path") ?? own(args, "file_path"));
const firstLine = (text) => text.trim().split("\n", 1)[0];
const failed = (result) => own(result, "isError") === true;

// otherTool shows the arguments as they are, the result as text or JSON.
function otherTool(page, key, args, result) {
  const small = Object.values(isObject(args) ? args : {}).filter((v) => typeof v !== "object").map((v) => str(v).split("\n", 1)[0]).join("  ");
  const empty = isObject(args) && Object.keys(args).length === 0;
  return {
    summary: small,
    body: [
      empty || args === undefined ? null : longText(page, { key: key + " args", text: jsonText(args), show: (t) => coloured(t, "json"), lines: 14, mark: ".output.source", label: "Arguments" }),
      output(page, key, result, (t) => (/^\s*[[{]/.test(t) ? coloured(t, "json") : terminal(t)), 12),
    ],
  };
}

// output shows the content of a result.
function output(page, key, result, show, lines) {
  if (!result) return null;
  const parts = [];
  for (const [n, block] of blocksOf(own(result, "content")).entries()) {
    const type = own(block, "type");
    if (type === "image") parts.push(pictureBlock(block));
    else if (type === "text") {
      const text = str(own(block, "text"));
      if (text.trim() === "") continue;
      parts.push(longText(page, { key: `${key} ${n}`, text: text.trimEnd(), show: failed(result) ? terminal : show, lines, mark: ".output" }));
    } else parts.push(el("pre.output", null, coloured(jsonText(block), "json")));
  }
  return parts.length > 0 ? parts : el("p.empty", null, "No output");
}

// numbered shows lines of a file with their numbers; what a tool adds in brackets at the
// end is no line of the file.
function numbered(text, from, language) {
  const note = /\n\n(\[[^\n]*\])\s*$/.exec(text);
  const source = note ? text.slice(0, note.index) : text;
  const lines = countLines(source + "\n");
  const numbers = Array.from({ length: lines }, (_, k) => from + k).join("\n");
  return [el("span.numbers", { "aria-hidden": "true" }, numbers), el("span.source", null, coloured(source, language), note ? el("span.esc", null, `\n\n${visible(note[1])}`) : "")];
}

function editLines(args, result) {
  const details = own(result, "details");
  if (typeof own(details, "diff") === "string" && own(details, "diff") !== "") return displayLines(own(details, "diff"));
  if (typeof own(details, "patch") === "string") {
    const lines = patchLines(own(details, "patch"));
    if (lines.length > 0) return lines;
  }
  const edits = list(own(args, "edits")).filter(isObject);
  if (edits.length > 0) return pairLines(edits);
  return own(args, "oldText") !== undefined || own(args, "newText") !== undefined ? pairLines([args]) : [];
}

function longDiff(page, key, lines, language) {
  const node = el("div.long");
  const few = 40;
  const fill = (open) => {
    node.replaceChildren(diffTable(open ? lines : lines.slice(0, few), language));
    if (lines.length <= few) return;
    node.append(el("button.more", { type: "button", onclick: () => { page.folds.set(`long ${key} diff`, !open); fill(!open); } },
      open ? "Show less" : `Show ${count(lines.length - few, "more line")}`));
  };
  fill(page.folds.isOpen("long", `long ${key} diff`));
  return node;
}

// toolCard shows a call and its result.
function toolCard(page, key, call, result) {
  const name = str(own(call, "name")) || str(own(result, "toolName")) || "tool";
  let args = own(call, "arguments");
  if (typeof args === "string") {
    try { args = JSON.parse(args); } catch { /* shown as it is */ }
  }
  const view = (toolViews.get(name) ?? otherTool)(page, key, args, result ?? null);
  const bad = failed(result);
  const state = !result ? chip("open", "no result") : bad ? chip("bad", icon("cross"), el("span.unseen", null, "failed")) : chip("good", icon("check"), el("span.unseen", null, "succeeded"));
  const took = number(own(result, "durationMs"));
  const summary = [
    el("span.tool-name", null, visible(name.slice(0, 60))),
    el("span.tool-what", null, view.language ? coloured(view.summary.slice(0, 400), view.language) : visible(view.summary.slice(0, 400))),
    view.detail ? el("span.tool-detail", null, view.detail) : null,
    took > 0 ? el("span.tool-time", null, span(took)) : null,
    state,
  ];
  const body = () => [
    el("div.tool-tools", null,
      view.copy ? copyButton("input", view.copy) : null,
      result ? copyButton("output", () => textOf(own(result, "content"))) : null),
    view.body,
  ];
  return fold(page, { kind: "tool", key, open: bad || !view.quiet, mark: bad ? "tool-card-bad" : "tool-card", summary, body });
}

// strayResult shows a result whose call is not known.
function strayResult(page, key, result) {
  return toolCard(page, key, { name: own(result, "toolName"), arguments: {} }, result);
}
