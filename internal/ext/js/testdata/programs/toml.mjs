// npm: smol-toml
import { parse, stringify, TomlError } from "smol-toml";
const t = parse('title = "T"\nd = 1979-05-27T07:32:00Z\n[a.b]\nc = [1, 2]\nf = 1_000.5\n[[p]]\nn = """x\ny"""\n[[p]]\nn = \'z\'');
console.log(JSON.stringify(t), t.d instanceof Date);
console.log(stringify({ a: 1.5, list: [{ x: 1 }, { x: 2 }], s: "q\"q" }));
try { parse("a = "); } catch (e) { console.log(e instanceof TomlError, e.line, e.column); }
