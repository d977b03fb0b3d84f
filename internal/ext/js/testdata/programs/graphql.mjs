import { buildSchema, graphql, parse, print, validate, introspectionFromSchema } from "graphql";
const schema = buildSchema("type Query { hi(n: Int = 1): [User!]! now: String @deprecated } type User { id: ID! name: String }");
const r = await graphql({ schema, source: "query Q($n: Int) { hi(n: $n) { ...f } bad: now } fragment f on User { id name }", variableValues: { n: 2 }, rootValue: { hi: async ({ n }) => Array.from({ length: n }, (_, i) => ({ id: i, name: () => "u" + i })), now: () => { throw new Error("no clock"); } } });
console.log(JSON.stringify(r), validate(schema, parse("{ nope }")).map((e) => e.message), print(parse("{a(x:[1,2]){b @skip(if:true)}}")), introspectionFromSchema(schema).__schema.types.length);
