import { glob, globSync, Glob } from "glob";
import fs from "node:fs";
fs.mkdirSync("gl/a/b", { recursive: true });
for (const f of ["gl/x.ts", "gl/a/y.ts", "gl/a/b/z.js", "gl/.hid"]) fs.writeFileSync(f, "");
console.log((await glob("gl/**/*.ts")).sort(), globSync("**/*", { cwd: "gl", nodir: true, dot: true }).sort(), (await glob("{a,q}/**", { cwd: "gl", ignore: "**/*.js" })).sort());
const l = [];
for await (const p of new Glob("*", { cwd: "gl", withFileTypes: true })) l.push(p.name + (p.isDirectory() ? "/" : ""));
console.log(l.sort());
