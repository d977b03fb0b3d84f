// How an entry looks in the conversation.

// rowOf makes the element of the entry at a position of the branch. It never fails: what
// cannot be shown as what it claims to be is shown as JSON.
function rowOf(page, p) {
  const { session } = page;
  const i = page.path[p];
  const kind = kindNames[session.kind(i)] ?? "unknown";
  const entry = session.entry(i);
  const node = el(`article.row.${kind}`, { data: { entry: i }, tabindex: "-1", "aria-posinset": p + 1, "aria-setsize": page.path.length });
  if (entry === null) {
    node.classList.add("waiting");
    node.append(el("p", null, visible(session.texts[i])));
    return node;
  }
  let parts;
  try {
    parts = (entryViews[kind] ?? entryViews.unknown)(page, i, entry, p);
  } catch (fault) {
    parts = { name: "Entry", body: [el("p.fault", null, `This entry could not be drawn (${visible(String(fault?.message ?? fault)).slice(0, 200)}).`), jsonPart(page, i, entry, true)] };
  }
  node.setAttribute("aria-label", parts.name + (clock(session.times[i]) ? `, ${clock(session.times[i])}` : ""));
  const shown = [headOf(page, i, parts), parts.body];
  append(node, [forkBar(page, p), parts.boxed ? el("div.said", null, shown) : shown, p === page.rows.at(-1) ? onward(page, p) : null]);
  if (page.search.has(i)) node.classList.add("hit");
  return node;
}

function headOf(page, i, parts) {
  const label = page.session.labels.get(i);
  const tools = el("div.row-tools", null,
    parts.copy ? copyButton("text", parts.copy) : null,
    el("button.mini", { type: "button", "aria-label": "Copy link to this entry", title: "Copy link", onclick: () => copyText(page.address(i), "Link") }, icon("link")),
    el("button.mini", { type: "button", "aria-label": "Show the raw entry", title: "Raw entry", onclick: () => showRaw(page, i) }, icon("raw")));
  const labelNode = label === undefined ? null : chip("label", icon("label"), visible(label));
  if (parts.note) return el("div.note-line", null, icon(parts.icon ?? "note"), el("span.note-text", null, parts.note), labelNode, when(page.session.times[i]), tools);
  if (parts.plain && !labelNode) return tools;
  return el("header.row-head", null, parts.plain ? null : [icon(parts.icon ?? "note"), el("span.who", null, parts.title ?? parts.name)], parts.plain ? null : parts.about, labelNode, parts.plain ? null : when(page.session.times[i]), tools);
}

// forkBar offers the other branches where one begins between this row and the one above.
function forkBar(page, p) {
  const { session, tree } = page;
  const above = page.rowAbove(p);
  for (let k = p; k > above; k--) {
    const i = page.path[k];
    const all = tree.siblings(i);
    if (all.length < 2) continue;
    const at = all.indexOf(i);
    const go = (to) => page.go(tree.newest[all[to]], all[to]);
    return el("div.fork", { role: "group", "aria-label": "Branches" }, icon("fork"),
      el("button.mini", { type: "button", "aria-label": "Previous branch", disabled: at === 0, onclick: () => go(at - 1) }, "\u2039"),
      el("span", null, `Branch ${at + 1} of ${all.length}`),
      el("button.mini", { type: "button", "aria-label": "Next branch", disabled: at === all.length - 1, onclick: () => go(at + 1) }, "\u203a"),
      el("span.fork-other", null, unmarked(session.texts[all[(at + 1) % all.length]].slice(0, 80))));
  }
  return null;
}

// onward offers what follows the last row elsewhere: a session may stand at an entry in
// the middle, or at a label that hangs beside the conversation.
function onward(page, p) {
  const { session, tree } = page;
  const ways = [...tree.children(page.leaf)];
  for (let k = p + 1; k < page.path.length; k++) ways.push(...tree.siblings(page.path[k]).filter((i) => i !== page.path[k]));
  const open = ways.filter((i) => tree.weight[i] > 0).slice(-8);
  if (open.length === 0) return null;
  return el("div.onward", { role: "group", "aria-label": "Where it goes on" }, el("p", null, icon("fork"), "The session stands here. It also went on:"),
    open.map((i) => el("button", { type: "button", onclick: () => page.go(tree.newest[i], i) },
      el("span", null, unmarked(session.texts[i]) || kindNames[session.kind(i)]), el("span.dim", null, count(tree.weight[i], "entry", "entries")))));
}

function showRaw(page, i) {
  const raw = page.session.raw(i) ?? "";
  const text = raw.replaceAll("\\u003C", "<");
  let pretty = text;
  try { pretty = JSON.stringify(JSON.parse(raw), null, 2); } catch { /* as it is */ }
  const dialog = el("dialog.sheet", { "aria-label": "Raw entry" },
    el("header", null, el("h2", null, "Entry ", el("code", null, visible(page.session.ids[i]))), copyButton("raw entry", () => text),
      el("button.mini", { type: "button", "aria-label": "Close", onclick: () => dialog.close() }, icon("cross"))),
    el("pre", { tabindex: "0" }, coloured(pretty.slice(0, maxShown), "json")));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
}

const jsonPart = (page, i, value, open = false) => fold(page, { kind: "json", key: String(i), open, summary: "Data", body: () => el("pre.json", { tabindex: "0" }, coloured(jsonText(value).slice(0, maxShown), "json")) });

const message = (entry) => own(entry, "message");

// A skill that was called by name stands in front of what the user wrote.
const skillPattern = /^<skill name="([^"\n]{1,200})" location="([^"\n]{0,2000})">\n([^]*?)\n<\/skill>(?:\n\n([^]*))?$/;

const entryViews = {
  user(page, i, entry) {
    const content = own(message(entry), "content");
    const body = [];
    for (const [n, block] of blocksOf(content).entries()) {
      if (own(block, "type") === "image") body.push(pictureBlock(block));
      else if (own(block, "type") === "text") body.push(userText(page, `${i} ${n}`, str(own(block, "text"))));
      else body.push(jsonPart(page, `${i} ${n}`, block));
    }
    return { name: "You", icon: "user", boxed: true, body, copy: () => textOf(content) };
  },

  assistant(page, i, entry, p) {
    const m = message(entry);
    const { results, rest } = page.resultsOf(p);
    const quiet = page.filter === "no-tools";
    const body = [];
    for (const [n, block] of blocksOf(own(m, "content")).entries()) {
      const key = `${i} ${n}`;
      switch (own(block, "type")) {
        case "text":
          if (str(own(block, "text")).trim() !== "") body.push(prose(str(own(block, "text"))));
          break;
        case "thinking": body.push(thinkingPart(page, key, block)); break;
        case "image": body.push(pictureBlock(block)); break;
        case "toolCall":
          if (!quiet) body.push(toolCard(page, key, block, results.get(str(own(block, "id")))));
          results.delete(str(own(block, "id")));
          break;
        default: body.push(jsonPart(page, key, block));
      }
    }
    if (!quiet) {
      for (const [n, result] of [...results.values(), ...rest].entries()) body.push(strayResult(page, `${i} stray ${n}`, result));
    }
    body.push(endingOf(m), usageLine(m));
    const model = str(own(m, "model"));
    return { name: "Assistant", icon: "assistant", plain: !page.startsTurn(p), about: model ? el("span.model", null, visible(model)) : null, body, copy: () => textOf(own(m, "content")) };
  },

  result(page, i, entry) {
    return { name: "Tool result", icon: "tool", body: [strayResult(page, String(i), message(entry))], copy: () => textOf(own(message(entry), "content")) };
  },

  bash(page, i, entry) {
    const m = message(entry);
    const code = own(m, "exitCode");
    const cancelled = own(m, "cancelled") === true;
    const path = str(own(m, "fullOutputPath"));
    const text = str(own(m, "output"));
    const bad = cancelled || (typeof code === "number" && code !== 0);
    const body = el("div.shell" + (bad ? ".shell-bad" : ""), null,
      el("div.shell-line", null, el("span.prompt", { "aria-hidden": "true" }, "$"), el("code", null, coloured(str(own(m, "command")), "sh")), copyButton("command", () => str(own(m, "command")))),
      text.trim() === "" ? null : longText(page, { key: String(i), text: text.trimEnd(), show: terminal, mark: ".output" }),
      el("div.shell-end", null,
        cancelled ? chip("bad", "cancelled") : typeof code === "number" ? chip(code === 0 ? "good" : "bad", `exit ${code}`) : null,
        own(m, "truncated") === true ? chip("open", "output cut") : null,
        path ? el("span.path", null, visible(path)) : null,
        own(m, "excludeFromContext") === true ? chip("open", "not shown to the model") : null));
    return { name: "Command", title: "You ran", icon: "tool", body: [body], copy: () => text };
  },

  system: (page, i, entry) => ({ name: "System message", icon: "note", body: [fold(page, { kind: "system", key: String(i), summary: "System prompt as it was sent", body: () => el("pre.wrap", { tabindex: "0" }, visible(systemText(message(entry)))) })] }),

  other: (page, i, entry) => ({ name: `Message of role ${visible(str(own(message(entry), "role")).slice(0, 40))}`, body: [prose(textOf(own(message(entry), "content"))), jsonPart(page, i, entry)] }),

  compaction: (page, i, entry) => summaryView(page, i, entry, "Compaction", "compacted", `Compacted from ${tokens(number(own(entry, "tokensBefore") ?? own(message(entry), "tokensBefore")))} tokens`),
  archived: (page, i, entry) => summaryView(page, i, entry, "Compaction", "compacted", "Compaction of an older form, without effect"),
  branch: (page, i, entry) => summaryView(page, i, entry, "Branch summary", "branch-summary", "Summary of another branch"),
  summary: (page, i, entry) => summaryView(page, i, entry, "Session summary", "session-summary", "Summary of the session"),

  custom(page, i, entry) {
    const from = own(entry, "type") === "message" ? message(entry) : entry;
    const content = own(from, "content");
    const body = blocksOf(content).map((b) => (own(b, "type") === "image" ? pictureBlock(b) : prose(str(own(b, "text")), true)));
    if (own(from, "details") !== undefined && own(from, "details") !== null) body.push(jsonPart(page, i, own(from, "details")));
    return { name: "Extension message", title: visible(str(own(from, "customType")).slice(0, 60)) || "Extension", icon: "label", body, copy: () => textOf(content) };
  },
  hidden: (page, i, entry, p) => entryViews.custom(page, i, entry, p),

  model: (page, i, entry) => note("Model", ["Model ", el("b", null, visible(`${str(own(entry, "provider"))}/${str(own(entry, "modelId"))}`))]),
  thinking: (page, i, entry) => note("Thinking level", ["Thinking level ", el("b", null, visible(str(own(entry, "thinkingLevel"))))]),
  window: (page, i, entry) => note("Context window", ["Context window ", el("b", null, `${tokens(number(own(entry, "contextWindow")))} tokens`)]),
  name: (page, i, entry) => note("Session name", ["Session named ", el("b", null, visible(str(own(entry, "name"))) || "nothing")]),
  label: (page, i, entry) => note("Label", [own(entry, "label") ? ["Labeled ", el("b", null, visible(str(own(entry, "label"))))] : "Label removed", " on ", jump(page, str(own(entry, "targetId")))]),
  state: (page, i, entry) => ({ ...note("Extension state", ["State of extension ", el("b", null, visible(str(own(entry, "customType"))))]), body: [jsonPart(page, i, own(entry, "data"))] }),
  edit: (page, i, entry) => ({ ...note("Context edit", ["Context edit of ", jump(page, str(own(entry, "targetId"))), own(entry, "replacement") === null ? ": left out" : ": replaced"]), body: own(entry, "replacement") ? [jsonPart(page, i, own(entry, "replacement"))] : null }),
  usage: (page, i, entry) => ({ ...note("Usage", ["Usage: ", visible(str(own(entry, "kind")))]), body: [usageLine(entry)] }),
  unknown: (page, i, entry) => ({ ...note("Entry", ["Entry of type ", el("b", null, visible(str(own(entry, "type")).slice(0, 80)) || "none")]), body: [jsonPart(page, i, entry)] }),
};

const note = (name, text) => ({ name, note: text });

const jump = (page, id) => (page.session.numbers.has(id) ? el("a", { href: `#entry=${encodeURIComponent(id)}` }, visible(id)) : el("code", null, visible(id)));

function userText(page, key, text) {
  const skill = skillPattern.exec(text);
  if (!skill) return longProse(page, key, text);
  return [
    fold(page, { kind: "skill", key, mark: "skill", summary: [icon("label"), el("span", null, "Skill ", el("b", null, visible(skill[1])))], body: () => [el("p.path", null, visible(skill[2])), prose(skill[3])] }),
    skill[4] ? longProse(page, key + " args", skill[4]) : null,
  ];
}

// longProse folds what was pasted by the yard.
function longProse(page, key, text) {
  if (text.length < 6000 && countLines(text) < 80) return prose(text, true);
  return longText(page, { key, text, show: (t) => visible(t), lines: 30, mark: ".pasted", label: "Text" });
}

function thinkingPart(page, key, block) {
  const text = str(own(block, "thinking")).trim();
  if (text === "") return own(block, "redacted") === true ? el("p.missing", null, "Thinking that the provider keeps to itself") : null;
  return fold(page, {
    kind: "thinking", key, mark: "thought",
    summary: [el("span.thought-name", null, "Thinking"), el("span.thought-first", null, visible(firstLine(text).replace(/[*_#`]/g, "").slice(0, 160)))],
    body: () => prose(text, true),
  });
}

function endingOf(m) {
  const fault = str(own(m, "errorMessage"));
  switch (own(m, "stopReason")) {
    case "error": return el("p.ending.bad", { role: "note" }, icon("cross"), el("span", null, `Error: ${visible(fault) || "the provider gave no reason"}`));
    case "aborted": return el("p.ending", { role: "note" }, icon("stop"), el("span", null, fault && fault !== "Request was aborted." ? `Aborted: ${visible(fault)}` : "Aborted"));
    case "length": return el("p.ending.bad", { role: "note" }, icon("stop"), el("span", null, "Cut off: the model reached its output limit"));
    default: return null;
  }
}

function usageLine(m) {
  const u = own(m, "usage");
  const parts = usageParts(own(u, "input"), own(u, "output"), own(u, "cacheRead"), own(u, "cacheWrite"));
  const cost = number(own(own(u, "cost"), "total"));
  const took = number(own(m, "durationMs"));
  if (cost > 0) parts.push(el("span", { title: "Cost" }, money(cost)));
  if (took > 0) parts.push(el("span", { title: "Duration" }, span(took)));
  return parts.length > 0 ? el("p.usage-line", null, parts) : null;
}

function usageParts(input, output, read, write) {
  const part = (sign, title, n) => (number(n) > 0 ? el("span", { title, "aria-label": `${title} ${grouped.format(number(n))}` }, `${sign}${tokens(number(n))}`) : null);
  return [part("\u2191", "Input tokens", input), part("\u2193", "Output tokens", output), part("R", "Tokens read from the cache", read), part("W", "Tokens written to the cache", write)].filter(Boolean);
}

function summaryView(page, i, entry, name, mark, title) {
  const from = own(entry, "type") === "message" ? message(entry) : entry;
  const text = str(own(from, "summary"));
  const verbatim = own(own(from, "details"), "strategy") === "verbatim-lines";
  const body = () => (text.trim() === "" ? el("p.empty", null, "Nothing was kept as text") : verbatim ? el("pre.wrap", { tabindex: "0" }, visible(text)) : prose(text));
  return { name, plain: true, body: [fold(page, { kind: "summary", key: String(i), mark, summary: [icon("fold"), el("span", null, title), when(page.session.times[i])], body })], copy: () => text };
}

// systemText joins what a system message holds: text, sections, or both.
function systemText(m) {
  const sections = own(m, "sections");
  const parts = [textOf(own(m, "content"))];
  if (isObject(sections)) parts.push(...Object.values(sections).map(str));
  return parts.filter((t) => t.trim() !== "").join("\n\n");
}
