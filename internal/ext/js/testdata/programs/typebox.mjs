import { Type } from "../node_modules/typebox/build/index.mjs";
import { Value } from "../node_modules/typebox/build/value/index.mjs";
import { Compile } from "../node_modules/typebox/build/compile/index.mjs";
const T = Type.Object({ a: Type.String({ minLength: 2 }), n: Type.Optional(Type.Integer({ minimum: 1 })), u: Type.Union([Type.Literal("x"), Type.Literal("y")]) });
console.log(JSON.stringify(T));
console.log(Value.Check(T, { a: "ab", u: "x" }), [...Value.Errors(T, { a: "a", u: "z", n: 0 })].map((e) => [e.instancePath, e.message]));
console.log(Value.Convert(T, { a: 12, n: "3", u: "y" }), Value.Default(Type.Object({ d: Type.Number({ default: 4 }) }), {}));
console.log(Compile(T).Check({ a: "ab", u: "y", n: 2 }));
