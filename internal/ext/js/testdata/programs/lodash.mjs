import _ from "lodash";
console.log(_.groupBy([1.2, 1.8, 2.1], Math.floor), _.chunk([1, 2, 3, 4, 5], 2), _.merge({ a: { b: 1 } }, { a: { c: [1] } }), _.get({ a: [{ b: 5 }] }, "a[0].b"), _.camelCase("foo-bar baz"), _.startCase("fooBar"));
console.log(_.isEqual(new Map([[1, { a: [1] }]]), new Map([[1, { a: [1] }]])), _.cloneDeep({ d: new Date(0), r: /x/gi, s: new Set([1]) }), _.template("Hi <%= name %>!<% list.forEach((x) => { %> <%- x %><% }) %>")({ name: "Bo", list: ["<a>"] }));
const calls = [];
const f = _.debounce((x) => calls.push(x), 5, { leading: true });
f(1); f(2); f(3);
await new Promise((r) => setTimeout(r, 30));
console.log(calls, _(["b", "a", "c"]).sortBy().map(_.upperCase).join("-"), _.words("ÀÉ naïve façade"), _.deburr("déjà vu"));
