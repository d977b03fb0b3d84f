import fg from "fast-glob";
import fs from "node:fs";
fs.mkdirSync("fg/a/b", { recursive: true });
for (const f of ["fg/x.ts", "fg/a/y.ts", "fg/a/b/z.js", "fg/a/.h.ts"]) fs.writeFileSync(f, "1");
console.log((await fg("**/*.{ts,js}", { cwd: "fg" })).sort(), fg.sync(["**/*", "!**/b/**"], { cwd: "fg", dot: true }).sort(), (await fg("*", { cwd: "fg", onlyDirectories: true })), (await fg("**/*.js", { cwd: "fg", stats: true }))[0].stats.size);
const l = [];
for await (const p of fg.stream("**/*.ts", { cwd: "fg", absolute: false })) l.push(p);
console.log(l.sort(), fg.isDynamicPattern("a/*"), fg.escapePath("a(b)"));
