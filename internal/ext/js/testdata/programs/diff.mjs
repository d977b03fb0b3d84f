import * as Diff from "diff";
const patch = Diff.createPatch("f.txt", "a\nb\nc\nd\n", "a\nB\nc\nd\ne\n", "old", "new", { context: 1 });
console.log(patch, Diff.applyPatch("a\nb\nc\nd\n", patch), Diff.parsePatch(patch)[0].hunks.length);
console.log(Diff.diffWords("the quick fox", "the slow fox jumps").map((p) => [p.added ? "+" : p.removed ? "-" : "=", p.value]), Diff.diffJson({ a: 1, b: 2 }, { a: 1, b: 3 }).map((p) => p.count), Diff.diffChars("abc", "axc").length);
