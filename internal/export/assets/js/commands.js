// What the keyboard and the buttons of the bar do.

const shortcuts = [
  ["j  k", "Next and previous entry"],
  ["J  K", "Next and previous prompt"],
  ["g  G", "Top and bottom"],
  ["[  ]", "Previous and next branch"],
  ["/", "Search"],
  ["n  N", "Next and previous match"],
  ["Esc", "Clear the search, close what is open"],
  ["t", "Open or close all thinking"],
  ["o", "Open or close all tools"],
  ["y", "Copy a link to this entry"],
  ["b", "Show or hide the outline"],
  ["\u2191 \u2193 \u2190 \u2192", "Move in the outline; Enter opens"],
  ["?", "This help"],
];

function showHelp() {
  const dialog = el("dialog.sheet.help", { "aria-label": "Keyboard shortcuts" },
    el("header", null, el("h2", null, "Keyboard"), el("button.mini", { type: "button", "aria-label": "Close", onclick: () => dialog.close() }, icon("cross"))),
    el("dl", null, shortcuts.map(([keys, what]) => [el("dt", null, keys.split("  ").map((k) => k.split(" ")).flat().map((k) => el("kbd", null, k))), el("dd", null, what)])));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (e) => { if (e.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
}

function bindKeys(page) {
  const actions = {
    j: () => page.step(1), k: () => page.step(-1), J: () => page.step(1, "u"), K: () => page.step(-1, "u"),
    g: () => page.toRow(0), G: () => page.toRow(page.rows.length), "[": () => page.sibling(-1), "]": () => page.sibling(1),
    "/": () => page.focusSearch(), n: () => page.match(1), N: () => page.match(-1), t: () => page.toggleKind("thinking"),
    o: () => page.toggleKind("tool"), y: () => copyText(page.address(page.current), "Link"), b: () => page.toggleSide(), "?": showHelp,
  };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || document.querySelector("dialog[open]")) return;
    const typing = e.target.closest?.("input, textarea, select");
    if (e.key === "Escape") page.escape();
    else if (!typing && Object.hasOwn(actions, e.key)) {
      actions[e.key]();
      e.preventDefault();
    }
  });
}

function bindBar(page) {
  const button = (id, icons, action) => {
    const node = byID(id);
    if (icons) node.append(icon(icons));
    node.addEventListener("click", action);
    return node;
  };
  button("side-toggle", "outline", () => page.toggleSide());
  button("thinking-toggle", null, () => page.toggleKind("thinking"));
  button("tools-toggle", null, () => page.toggleKind("tool"));
  button("download", "download", () => download(page.session));
  button("help-toggle", "help", showHelp);
  const theme = byID("theme-toggle");
  const themes = ["system", "light", "dark"];
  const show = (name) => {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    theme.replaceChildren(icon(name));
    theme.setAttribute("aria-label", `Theme: ${name}`);
  };
  let now = themes.includes(prefs.get("theme")) ? prefs.get("theme") : "system";
  show(now);
  theme.addEventListener("click", () => {
    now = themes[(themes.indexOf(now) + 1) % themes.length];
    prefs.set("theme", now === "system" ? null : now);
    show(now);
    announce(`Theme: ${now}`);
  });
}

// download hands out the session as JSON Lines.
async function download(session) {
  await complete();
  const blob = new Blob([...session.lines()], { type: "application/x-ndjson" });
  const a = el("a", { href: URL.createObjectURL(blob), download: str(session.meta.file) || "session.jsonl" });
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
  announce(`Download of ${bytes(blob.size)} started`);
}

function bindFilters(page) {
  const node = byID("filters");
  for (const [name, { name: title, hint }] of Object.entries(filters)) {
    node.append(el("button", { type: "button", role: "radio", title: hint, data: { filter: name }, onclick: () => page.setFilter(name) }, title));
  }
  node.addEventListener("keydown", (e) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
    if (!step) return;
    const all = [...node.children];
    const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    next.focus();
    next.click();
    e.preventDefault();
    e.stopPropagation();
  });
}

function bindResizer() {
  const resizer = byID("resizer");
  const root = document.documentElement;
  const set = (width, keep) => {
    width = Math.round(Math.max(220, Math.min(width, window.innerWidth * 0.6)));
    root.style.setProperty("--side", `${width}px`);
    resizer.setAttribute("aria-valuenow", width);
    if (keep) prefs.set("side", String(width));
  };
  const saved = Number(prefs.get("side"));
  if (saved > 0) set(saved, false);
  const width = () => byID("side").getBoundingClientRect().width;
  resizer.addEventListener("pointerdown", (e) => {
    resizer.setPointerCapture(e.pointerId);
    const move = (m) => set(m.clientX, false);
    resizer.addEventListener("pointermove", move);
    resizer.addEventListener("lostpointercapture", () => { resizer.removeEventListener("pointermove", move); set(width(), true); }, { once: true });
    e.preventDefault();
  });
  resizer.addEventListener("keydown", (e) => {
    const step = { ArrowLeft: -16, ArrowRight: 16 }[e.key];
    if (step) { set(width() + step, true); e.preventDefault(); e.stopPropagation(); }
  });
}
