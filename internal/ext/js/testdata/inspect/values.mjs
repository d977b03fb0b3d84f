// Values and how Node 22 shows them (want.json): util.inspect and util.format.
import util from "node:util";
class A { constructor() { this.x = 1; } get y() { return 2; } }
class B extends A { get [Symbol.toStringTag]() { return "Tag"; } }
const circle = { name: "c" }; circle.self = circle; circle.list = [circle];
const cases = {
  "long array": Array.from({ length: 30 }, (_, i) => i * 37),
  "long strings": ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"],
  nested: { a: { b: { c: { d: 1 } } }, l: [[[[1]]]] },
  wide: { first: "a value of some length", second: "another value of some length", third: 12345, fourth: null },
  keys: { "a-b": 1, $c: 2, 3: 4, [Symbol("s")]: 5 },
  classes: [new A(), new B(), A, B, class {}, () => {}, function named() {}, async () => {}],
  circle,
  maps: new Map([["k", { v: [1, 2] }], [{ o: 1 }, new Set(["x"])]]),
  strings: ["it's", 'both \' and "', "line\nbreak", "\u0001\u001b"],
  "long text": { text: "a long line of text that goes on and on\nand a second line that goes on and on\nend" },
  numbers: [-0, 1n, NaN, 1e21, new Number(3), new String("s")],
  accessors: { get a() { return 1; }, set b(v) {}, get c() { return 1; }, set c(v) {} },
  holes: [1, , , 4, undefined],
  bytes: [Buffer.from("hi"), new Uint8Array(3), new ArrayBuffer(2)],
  nothing: [{}, [], new Map(), Object.create(null), new Date(0), /re/gi],
  extra: Object.assign([1, 2], { more: true }),
  own: { [util.inspect.custom](d, o) { return "own " + d; }, x: 1 },
};
const out = {};
for (const [k, v] of Object.entries(cases)) out[k] = util.inspect(v);
out.compact = util.inspect({ a: [1, { b: 2 }] }, { compact: false });
out.colors = util.inspect({ a: 1, b: "s", c: null, d: [undefined, true, Symbol("q")] }, { colors: true });
out.depth = util.inspect({ a: { b: { c: {} } } }, { depth: 0 });
out.limits = util.inspect({ l: [1, 2, 3], s: "abcdefgh" }, { maxArrayLength: 2, maxStringLength: 3 });
out.sorted = util.inspect({ b: 1, a: 2 }, { sorted: true });
out.format = util.format("%s %d %i %f %j %o %O %% %x", "a", "1.5", 2.7, "3.1", { j: 1 }, [1], { k: {} }, "more", { e: 1 });
globalThis.out = out;
