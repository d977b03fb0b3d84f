import YAML from "yaml";
const doc = YAML.parseDocument("# head\na: &x [1, 2.5, 0x1F]\nb: *x\nc: |\n  text\n  more\nd: {e: null, f: ~, g: 2026-01-02}\n? k\n: v\n");
console.log(doc.toJS(), doc.errors.length, doc.commentBefore);
doc.setIn(["d", "h"], ["new"]);
console.log(String(doc), YAML.stringify({ s: "multi\nline", q: "yes", n: -0, l: [] }));
try { YAML.parse("a: [1\nb: }"); } catch (e) { console.log(e.name, e.code, e.linePos[0]); }
