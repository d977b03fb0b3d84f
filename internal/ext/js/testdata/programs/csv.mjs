// npm: csv-parse
import { parse } from "csv-parse";
import { parse as sync } from "csv-parse/sync";
import { Readable } from "node:stream";
console.log(sync('a;b\n1;"x;""y"""\n2;\n', { delimiter: ";", columns: true, cast: (v, c) => (c.column === "a" ? Number(v) : v) }));
const rows = [];
for await (const r of Readable.from(["n,m\n1,", "2\n3", ",4\n"]).pipe(parse({ from_line: 2, trim: true }))) rows.push(r);
console.log(rows);
try { sync("a,b\n1"); } catch (e) { console.log(e.code, e.message); }
