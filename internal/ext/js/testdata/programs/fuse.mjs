// npm: fuse.js
import Fuse from "fuse.js";
const f = new Fuse([{ t: "Old Man's War", a: "John Scalzi" }, { t: "The Lock Artist", a: "Steve Hamilton" }, { t: "HTML5", a: "Remy Sharp" }], { keys: ["t", { name: "a", weight: 2 }], includeScore: true, includeMatches: true, threshold: 0.4 });
console.log(f.search("lok").map((r) => [r.refIndex, r.item.t, r.score.toFixed(4), r.matches[0].indices]), f.search("john | html").length, f.search({ $and: [{ t: "old" }, { a: "scalzi" }] }).length);
