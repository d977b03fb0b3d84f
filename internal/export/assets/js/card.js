// The card at the top: what this session is, in numbers.

function headerCard(page) {
  const { session } = page;
  const { meta } = session;
  const stats = own(meta, "stats"), used = own(stats, "tokens");
  const node = el("article.row.card", { data: { entry: -1 }, tabindex: "-1", "aria-label": "About this session" });
  const tile = (value, name, hint) => el("div.tile", { title: hint }, el("dd", null, value), el("dt", null, name));
  const last = session.times.reduce((a, b) => Math.max(a, b), 0);
  const began = Date.parse(str(own(meta.header, "timestamp"))) || session.times[0];
  append(node, [
    el("p.kicker", null, logo(), el("span", null, "Session, exported from ", el("b", null, visible(str(meta.dialect)))), validTime(Date.parse(str(meta.exportedAt))) ? el("span", null, `on ${day(Date.parse(meta.exportedAt))}`) : null),
    el("h1", null, unmarked(str(meta.title))),
    el("dl.tiles", null,
      tile(money(number(own(stats, "cost"))), "Cost", "All usage that the file records, every branch"),
      tile(tokens(number(own(used, "total"))), "Tokens", `${grouped.format(number(own(used, "total")))} in all`),
      tile(grouped.format(number(own(stats, "userMessages"))), "Prompts", "Messages of the user"),
      tile(grouped.format(number(own(stats, "assistantMessages"))), "Replies", "Messages of the model"),
      tile(grouped.format(number(own(stats, "toolCalls"))), "Tool calls", `${count(number(own(stats, "toolResults")), "result")}`),
      validTime(began) && last > began ? tile(span(last - began), "Elapsed", "Between the first and the last entry") : null),
    facts(page, began),
    promptPart(page),
    toolsPart(page),
  ]);
  return node;
}

function logo() {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 32 32");
  svg.setAttribute("class", "mark");
  svg.setAttribute("aria-hidden", "true");
  for (const turn of [35, -35]) {
    const ring = document.createElementNS(ns, "ellipse");
    for (const [k, v] of [["cx", 16], ["cy", 16], ["rx", 14], ["ry", 5.5], ["transform", `rotate(${turn} 16 16)`]]) ring.setAttribute(k, v);
    svg.append(ring);
  }
  const core = document.createElementNS(ns, "circle");
  for (const [k, v] of [["cx", 16], ["cy", 16], ["r", 3]]) core.setAttribute(k, v);
  svg.append(core);
  return svg;
}

function facts(page, began) {
  const { meta } = page.session;
  const used = own(own(meta, "stats"), "tokens");
  const rows = [];
  const fact = (name, ...value) => rows.push(el("dt", null, name), el("dd", null, value));
  const id = str(own(meta.header, "id"));
  fact("Session", el("code#session-id", null, visible(id)), copyButton("session id", () => id));
  if (validTime(began)) fact("Started", day(began));
  if (own(meta.header, "cwd")) fact("Folder", el("code", null, visible(str(own(meta.header, "cwd")))));
  if (list(meta.models).length > 0) fact("Models", list(meta.models).map((m) => chip("model-name", visible(str(m)))));
  const parts = usageParts(own(used, "input"), own(used, "output"), own(used, "cacheRead"), own(used, "cacheWrite"));
  if (parts.length > 0) fact("Tokens", el("span.usage-line", null, parts));
  fact("Entries", grouped.format(page.session.size), page.branches > 1 ? ` on ${count(page.branches, "branch", "branches")}` : "");
  if (own(meta.header, "parentSession")) fact("Forked from", el("code", null, visible(str(own(meta.header, "parentSession")))));
  return el("dl.facts", null, rows);
}

// promptPart shows the system prompt: the one that was given, else the last one the
// session holds.
function promptPart(page) {
  let text = str(page.session.meta.systemPrompt);
  if (text === "") {
    const i = page.session.kinds.lastIndexOf("s");
    const entry = i < 0 ? null : page.session.entry(i);
    if (entry === null) return null;
    text = systemText(message(entry));
  }
  if (text.trim() === "") return null;
  return fold(page, { kind: "card", key: "prompt", mark: "card-part", summary: [el("span", null, "System prompt"), el("span.dim", null, count(countLines(text), "line"))],
    body: () => [copyButton("system prompt", () => text), el("pre.wrap", { tabindex: "0", "aria-label": "System prompt" }, visible(text))] });
}

function toolsPart(page) {
  const tools = list(page.session.meta.tools).filter(isObject);
  if (tools.length === 0) return null;
  return fold(page, { kind: "card", key: "tools", mark: "card-part", summary: [el("span", null, "Tools"), el("span.dim", null, tools.map((t) => visible(str(own(t, "name")))).join(", "))],
    body: () => tools.map(toolPart) });
}

function toolPart(tool) {
  const schema = own(tool, "parameters");
  const required = new Set(list(own(schema, "required")));
  const properties = own(schema, "properties");
  return el("section.tool-spec", null,
    el("h3", null, el("code", null, visible(str(own(tool, "name"))))),
    prose(str(own(tool, "description"))),
    isObject(properties) ? el("dl.params", null, Object.entries(properties).map(([name, value]) => [
      el("dt", null, el("code", null, visible(name)), required.has(name) ? el("span.required", { title: "Required" }, "*") : null, el("span.dim", null, ` ${visible(str(own(value, "type")))}`)),
      el("dd", null, visible(str(own(value, "description")))),
    ])) : null);
}
