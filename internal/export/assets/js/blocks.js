// Parts that entries are made of: folds, long texts, pictures, JSON.

// A fold is a part that opens. Whether it is open is remembered by its key, beyond the
// life of its element; kinds of folds can be opened and closed together.
class Folds {
  constructor() {
    this.kinds = new Map(); // kind -> open unless a fold says otherwise
    this.own = new Map(); // key -> open
  }

  isOpen(kind, key, byDefault = false) {
    return this.own.get(key) ?? this.kinds.get(kind) ?? byDefault;
  }

  set(key, open) {
    this.own.set(key, open);
  }

  setKind(kind, open) {
    this.kinds.set(kind, open);
    for (const key of this.own.keys()) if (key.startsWith(kind + " ")) this.own.delete(key);
  }
}

// fold makes a fold; body makes its inside when it is first opened.
function fold(page, { kind, key, open = false, mark, summary, body }) {
  key = `${kind} ${key}`;
  const node = el("details.fold" + (mark ? "." + mark : ""), null, el("summary", null, summary));
  const fill = () => {
    if (node.childElementCount === 1) node.append(el("div.fold-body", null, body()));
  };
  if (page.folds.isOpen(kind, key, open)) {
    node.open = true;
    fill();
  }
  node.addEventListener("toggle", () => {
    if (node.open) fill();
    if (node.open !== page.folds.isOpen(kind, key, open)) page.folds.set(key, node.open);
  });
  return node;
}

const clampLines = 16;
const maxShown = 400_000; // characters of one text that are put on the page

// longText shows the first lines of a text and offers the rest. show makes nodes of text.
function longText(page, { key, text, show, lines = clampLines, mark = "", label = "Output" }) {
  const all = text.length > maxShown ? text.slice(0, maxShown) : text;
  let head = firstLines(all, lines);
  if (all.length - head.length < 400 && countLines(all) <= lines + 3) head = all;
  const rest = head.length < all.length ? countLines(all) - lines : 0;
  const node = el("div.long" + mark);
  const fill = (open) => {
    const pre = el("pre", { tabindex: "0", "aria-label": label }, show(open ? all : head));
    node.replaceChildren(pre);
    if (all.length < text.length && open) node.append(el("p.cut", null, `${bytes(text.length - all.length)} more are not shown; the raw entry has them.`));
    if (rest > 0 || head.length < all.length) {
      node.classList.toggle("clamped", !open);
      node.append(el("button.more", {
        type: "button",
        onclick: () => { page.folds.set(`long ${key}`, !open); fill(!open); },
      }, open ? "Show less" : rest > 0 ? `Show ${count(rest, "more line")}` : "Show all"));
    }
  };
  fill(page.folds.isOpen("long", `long ${key}`) || page.folds.kinds.get("tool") === true && mark === ".output");
  return node;
}

function firstLines(text, n) {
  let at = -1;
  for (let k = 0; k < n; k++) {
    at = text.indexOf("\n", at + 1);
    if (at < 0) break;
  }
  if (at < 0 || text.slice(at).trim() === "") at = text.trimEnd().length;
  return text.slice(0, Math.min(at, n * 400));
}

function countLines(text) {
  let n = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) n++;
  return text.endsWith("\n") ? n - 1 : n;
}

// Kinds of pictures that are nothing but pixels.
const pictureTypes = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/avif"]);

function pictureBlock(block) {
  const type = str(own(block, "mimeType")).toLowerCase();
  const data = str(own(block, "data")).replace(/\s+/g, "");
  if (!pictureTypes.has(type) || data === "" || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) {
    return el("p.missing", null, icon("image"), ` Picture${type ? ` of type ${visible(type.slice(0, 40))}` : ""} that cannot be shown`);
  }
  const image = el("img", { alt: "Picture in the conversation", loading: "lazy", decoding: "async", src: `data:${type};base64,${data}` });
  return el("button.picture", { type: "button", "aria-label": "Show the picture in full size", onclick: () => enlarge(image) }, image);
}

function enlarge(image) {
  const dialog = el("dialog.viewer", { "aria-label": "Picture", onclick: () => dialog.close() }, el("img", { alt: image.alt, src: image.src }),
    el("button.mini.close", { type: "button", "aria-label": "Close" }, icon("cross")));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// jsonText returns a value as indented JSON.
function jsonText(value) {
  try {
    return JSON.stringify(value, null, 2) ?? "";
  } catch {
    return "";
  }
}

// prose shows Markdown.
const prose = (text, breaks) => el("div.prose", null, markdown(text, breaks));

// blocksOf returns the blocks of a content, which may be a bare text.
function blocksOf(content) {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return list(content).filter(isObject);
}

const textOf = (content) => blocksOf(content).filter((b) => own(b, "type") === "text").map((b) => str(own(b, "text"))).join("\n");

// chip is a small mark with a word.
const chip = (mark, ...children) => el("span.chip." + mark, null, children);
