import matter from "gray-matter";
const f = matter("---\ntitle: Hello\ntags: [a, b]\nnested:\n  x: 1\n---\nThe *body*\n<!-- more -->\nrest", { excerpt_separator: "<!-- more -->" });
console.log(f.data, JSON.stringify(f.content), JSON.stringify(f.excerpt), matter.test("---\nx"), matter.stringify("body", { k: ["v"] }));
