import * as acorn from "acorn";
const t = acorn.parse("class A { #p = 1; static async *g() { yield* [await 1n, a?.b ?? /x/v]; } }\nexport default A;", { ecmaVersion: "latest", sourceType: "module", locations: true });
console.log(t.body.map((n) => [n.type, n.start, n.end, n.loc.end.line]), t.body[0].body.body.map((m) => [m.type, m.static ?? null, m.kind ?? null]));
console.log([...acorn.tokenizer("let x = 'é' + 0b11;", { ecmaVersion: 2022 })].map((k) => k.type.label).join(" "));
try { acorn.parse("let let = 1", { ecmaVersion: 2022, sourceType: "module" }); } catch (e) { console.log(e.name, e.message, e.pos, e.loc.column); }
