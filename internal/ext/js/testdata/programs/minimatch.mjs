// npm: minimatch, ignore
import { minimatch } from "minimatch";
import ignore from "ignore";
console.log(["a.js", "a/b.js", ".x.js"].map((f) => [minimatch(f, "*.js"), minimatch(f, "**/*.js"), minimatch(f, "*.js", { dot: true })]), minimatch("x-3", "x-{1..5}"), minimatch("ab", "+(a|b)"));
const ig = ignore().add(["*.log", "!keep.log", "/build", "dir/", "a/**/z"]);
console.log(ig.filter(["x.log", "keep.log", "build/x", "src/build/x", "dir/a", "a/b/c/z", "ok"]), ig.ignores("q.log"));
