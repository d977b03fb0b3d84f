// Tests of the page's parts, run in a browser by TestParts. Results go to window.results.
const results = [];
const check = (name, got, want) => {
  if (got !== want) results.push(`${name}\n  got  ${got}\n  want ${want}`);
};

// shape writes a node as text: p(a em(b)).
function shape(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data.replaceAll("\n", "\\n");
  if (node.nodeType === Node.DOCUMENT_FRAGMENT_NODE) return [...node.childNodes].map(shape).join(" ");
  if (node.matches("div.code")) return `code[${node.querySelector(".code-head > span").textContent}](${node.querySelector("pre").textContent.replaceAll("\n", "\\n")})`;
  if (node.matches("div.table")) return shape(node.firstChild);
  const name = node.localName === "a" ? `a[${node.getAttribute("href")}]` : node.localName + (node.classList.length > 0 && node.localName === "span" ? "." + node.classList[0] : "");
  return `${name}(${[...node.childNodes].map(shape).join(" ")})`;
}

for (const [source, want] of [
  ["plain", "p(plain)"],
  ["a *b* **c** ***d***", "p(a  em(b)   strong(c)   em(strong(d)))"],
  ["snake_case_name and _em_", "p(snake_case_name and  em(em))"],
  ["2 * 3 * 4", "p(2 * 3 * 4)"],
  ["*a **b** c*", "p(em(a  strong(b)  c))"],
  ["**a *b* c**", "p(strong(a  em(b)  c))"],
  ["~~gone~~ ~x", "p(del(gone)  ~x)"],
  ["`a*b*` ``x`y``", "p(code(a*b*)   code(x`y))"],
  ["`open", "p(`open)"],
  ["\\*not\\* &amp; &#65; &nope;", "p(*not* & A &nope;)"],
  ["[t](https://a.example/x_(y) 'title')", "p(a[https://a.example/x_(y)](t))"],
  ["[**b** c](http://x.example)", "p(a[http://x.example](strong(b)  c))"],
  ["[a][r] and [r]\n\n[r]: https://r.example/", "p(a[https://r.example/](a)  and  a[https://r.example/](r))"],
  ["[bad](javascript:alert(1))", "p(span.deadlink(bad))"],
  ["[bad](java\u0000script:alert(1)) [c](\u0001javascript:x)", "p(span.deadlink(bad)   span.deadlink(c))"],
  ["[d](data:text/html,<b>x</b>)", "p(span.deadlink(d))"],
  ["[d](data:text/html;base64,PGI+)", "p(span.deadlink(d))"],
  ["[v](vbscript:x) [f](file:///etc/passwd) [h](#x) [r](a.md)", "p(span.deadlink(v)   span.deadlink(f)   span.deadlink(h)   span.deadlink(r))"],
  ["![alt](https://x.example/p.png)", "p(span.outside(svg(path()) a[https://x.example/p.png](alt)))"],
  ["https://a.example/b?c=1&d=2.", "p(a[https://a.example/b?c=1&d=2](https://a.example/b?c=1&d=2) .)"],
  ["(see https://a.example/x)", "p((see  a[https://a.example/x](https://a.example/x) ))"],
  ["<https://a.example> <b>bold</b>", "p(a[https://a.example](https://a.example)  <b>bold</b>)"],
  ["# One\n## Two ##\n\nthree\n===", "h3(One) h4(Two) h3(three)"],
  ["a\nb", "p(a\\nb)"],
  ["a  \nb", "p(a br() b)"],
  ["- a\n- b\n  - c\n\npara", "ul(li(p(a)) li(p(b) ul(li(p(c))))) p(para)"],
  ["3. x\n4. y", "ol(li(p(x)) li(p(y)))"],
  ["- [x] done\n- [ ] open", "ul(li(span.box() p(done)) li(span.box() p(open)))"],
  ["> q\nlazy\n\nout", "blockquote(p(q\\nlazy)) p(out)"],
  ["```go\nx := 1\n```\nafter", "code[go](x := 1) p(after)"],
  ["~~~\n```\n~~~", "code[](```)"],
  ["```\nnever closed", "code[](never closed)"],
  ["    indented\n\n    more", "code[](indented\\n\\nmore)"],
  ["---\n***", "hr() hr()"],
  ["| a | b |\n|---|--:|\n| 1 | `x\\|y` |", "table(thead(tr(th(a) th(b))) tbody(tr(td(1) td(code(x|y)))))"],
  ["a | b\nno table", "p(a | b\\nno table)"],
  ["<script>alert(1)<\/script>", "p(<script>alert(1)<\/script>)"],
  ["<img src=x onerror=alert(1)>", "p(<img src=x onerror=alert(1)>)"],
]) check(`markdown ${JSON.stringify(source)}`, shape(markdown(source)), want);
check("breaks", shape(markdown("a\nb", true)), "p(a br() b)");

// Text that must not hide or act.
check("control", visible("a\u0000b\u001b[1mc\u007f\r\nd\re"), "a\u2400b\u241b[1mc\u2421\nd\ne");
check("bidi", visible("x\u202ey\u2066z\u{e0041}"), "x\u27e6U+202E\u27e7y\u27e6U+2066\u27e7z\u27e6U+E0041\u27e7");
check("emoji", visible("\u{1f469}\u200d\u{1f4bb} \u00e9"), "\u{1f469}\u200d\u{1f4bb} \u00e9");
check("colours", shape(terminal("\x1b[31;1mred\x1b[0m plain \x1b[38;5;208mx\x1b[39m \x1b[48;2;1;2;3my")), "span.fg1(red)  plain  span(x)   span(y)");
check("hyperlink", terminal("\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07").textContent, "\u241bclick\u241b");
check("clipboard", terminal("\x1b]52;c;ZXZpbA==\x07x").textContent, "\u241bx");
check("cursor", terminal("a\x1b[2J\x1b[10;10Hb\x1bc").textContent, "a\u241b\u241bb\u241b");
check("progress", terminal("10%\r50%\r100%\nend\r\n").textContent, "100%\nend\n");
for (const [url, want] of [
  ["https://a.example/", "https://a.example/"], [" \thttps://a.example/", "https://a.example/"], ["mailto:a@b.example", "mailto:a@b.example"],
  ["javascript:alert(1)", null], ["JaVaScRiPt:alert(1)", null], ["java\nscript:alert(1)", null], ["\u0001javascript:x", null], ["data:text/html,x", null],
  ["//evil.example", null], ["http:javascript:x", null], ["vbscript:x", null], ["file:///x", null], ["blob:https://x", null], ["", null],
]) check(`url ${JSON.stringify(url)}`, safeURL(url), want);

// Source text keeps every character.
for (const [language, source] of [
  ["go", "func f() { s := \"a\\\"b\" /* c"], ["py", "x = '''open\n# c"], ["sh", "echo \"$HOME\" # c"], ["json", "{\"a\": [1, true, \"\\\""], ["html", "<a href=\"x\">&amp;<!-- c"],
  ["yaml", "a: b # c\n- d: 'e'"], ["css", "a { color: #fff; } /*"], ["diff", "--- a\n+b\n-c"], ["ts", "const x: Map<string, number> = `a${b}`;"], ["make", "all: a\n\t$(CC) x"], ["toml", "[a]\nb = 1"], ["sql", "SELECT 'it''s'"], ["unknown", "x"],
]) check(`code ${language}`, el("pre", null, coloured(source, language)).textContent, source);
check("keyword", shape(coloured("return f(x)", "go")), "span.tk-keyword(return)   span.tk-call(f) (x)");
for (const [path, want] of [["a/b.GO", "go"], ["C:\\x\\y.py", "py"], ["Makefile", "make"], ["Dockerfile", "sh"], [".gitignore", "gitignore"], ["none", ""]]) check(`language ${path}`, languageOf(path), want);

// Changes.
const display = displayLines(" 1 a\n-2 b\n+2 c\n   ...\n+10 d\n 11 ");
check("display diff", display.map((l) => `${l.sign}${l.number}:${l.text}`).join("|"), " 1:a|-2:b|+2:c|gap:...|+10:d| 11:");
check("patch", patchLines("--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9 @@ func\n+z\n\\ No newline").map((l) => `${l.sign}${l.number}:${l.text}`).join("|"), " 1:a|-2:b|+2:c|gap:func|+9:z");
check("marked change", [...diffTable(displayLines("-1 let a = 1;\n+1 let a = 2;"), "").querySelectorAll("mark")].map((m) => m.textContent).join(), "1,2");

// Searching.
check("terms", terms("Foo \"two words\" bar \"open").join("|"), "foo|two words|bar|open");
for (const [term, raw] of [["a\"b", "x a\\\"b"], ["a/b", "A\\/B"], ["<b>", "\\u003Cb>"], ["\u00e9t\u00e9", "\\u00c9t\\u00e9"], ["two words", "two\\nwords"], ["c:\\x", "c:\\\\x"], ["\u{1f600}", "\\ud83d\\ude00"]]) {
  check(`raw ${term}`, String(rawPattern(term).test(raw)), "true");
}
check("said", said({ type: "message", id: "i1", message: { role: "assistant", content: [{ type: "text", text: "T" }, { type: "thinking", thinking: "H" }, { type: "toolCall", name: "N", arguments: { a: ["V", 3] } }] } }), "T\nH\nN\na\nV\n3\ni1");

// Heights.
const heights = new Heights(Float64Array.from([10, 20, 30, 40]));
heights.set(1, 25);
check("sums", [heights.before(0), heights.before(2), heights.before(4)].join(), "0,35,105");
check("rows", [0, 9, 10, 34, 35, 64, 65, 104, 999].map((y) => heights.at(y)).join(), "0,0,1,1,2,2,3,3,3");

// Reading of values of any shape.
check("str", [str(undefined), str(null), str(3), str({ toString: 1 })].join("|"), "||3|{\n  \"toString\": 1\n}");
const polluted = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}');
check("own", String(own(polluted, "polluted")) + String(own(polluted, "hasOwnProperty")) + String(({}).polluted), "undefinedundefinedundefined");
check("numbers", [tokens(9999), tokens(12345), tokens(1234567), money(0), money(0.12345), money(0.00012), bytes(2048), span(61_000)].join(" "), "9,999 12.3k 1.23M $0.000 $0.123 $0.00012 2.0 KB 1 min 1 s");

// Work grows with the length of a text, whatever it is. Times are compared where the test
// wants it (a calm machine); elsewhere shorter texts show that there is an end, and how
// deep it goes.
const slow = [];
const many = (text, n) => text.repeat(times ? n : n / 8);
const timed = (name, work) => {
  const begin = performance.now();
  const made = work();
  const took = performance.now() - begin;
  if (times && took > 1000) slow.push(`${name}: ${Math.round(took)} ms`);
  return made;
};
for (const [name, source] of Object.entries({
  stars: many("*a ", 20_000), mixed: many("*a **b _c ", 8_000), brackets: many("[", 50_000), links: many("[a](b", 20_000), closed: many("[a](https://x) ", 5_000), ticks: Array.from({ length: 400 }, (_, k) => "`".repeat(k)).join(" "),
  quotes: many(">", 20_000), lists: Array.from({ length: 400 }, (_, k) => " ".repeat(k * 2) + "- x").join("\n"), rule: many("* ", 30_000) + "x", spaces: "- " + many(" ", 60_000) + "x", heading: "# " + many("#", 60_000) + "x",
  fence: "```" + many(" ", 60_000) + "`", table: "a|b\n-" + many(" ", 60_000) + "x", cells: many("|", 20_000) + "\n" + "|-".repeat(400), entity: many("&", 60_000), angle: many("<https://", 10_000), urls: many("https://a.b/((((", 4_000), emphasis: many("**", 30_000),
  images: many("![", 20_000) + many("[a](http://b)", 3_000), underscores: many("_", 60_000) + "a", escapes: many("\\", 60_001), lines: many("a\n", 40_000), tildes: many("~a~ ~~b ", 8_000),
})) {
  const node = timed(`markdown ${name}`, () => markdown(source));
  let deep = 0;
  for (let n = node; n?.firstElementChild; n = n.firstElementChild) deep++;
  if (deep > 150) slow.push(`markdown ${name}: ${deep} levels`);
}
for (const language of Object.keys(families)) {
  for (const source of [many("\"\\", 20_000), many("/*", 20_000), many("a", 50_000), many("<!--", 13_000), many("'''", 13_000), many("- ", 20_000), many("${", 20_000), many("0x", 20_000), many(" ", 50_000), many("a b\n", 13_000), many("a=\"", 13_000)]) {
    timed(`code ${language} ${JSON.stringify(source.slice(0, 4))}`, () => coloured(source, language));
  }
}
for (const source of [many("\x1b]", 20_000), many("\x1b[", 20_000), many("\x1b[1", 13_000) + "m", many("\r", 50_000), many("\x1bP", 20_000)]) {
  timed(`terminal ${JSON.stringify(source.slice(0, 4))}`, () => terminal(source));
}
results.push(...slow);
window.results = results;
