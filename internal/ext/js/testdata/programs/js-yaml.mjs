import * as yaml from "js-yaml";
console.log(yaml.load("a: [1, two, 3.0]\nb: &r {c: true, d: 2026-01-02}\ne: *r\nf: >-\n  folded\n  text\n"));
console.log(yaml.dump({ z: [1, { y: null }], s: "a: b", m: "l1\nl2", d: new Date(0) }, { sortKeys: true, lineWidth: 20 }));
try { yaml.load("a: b: c"); } catch (e) { console.log(e.name, e.reason, e.mark?.line); }
