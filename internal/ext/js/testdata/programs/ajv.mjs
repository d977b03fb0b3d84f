import Ajv from "ajv";
import addFormats from "ajv-formats";
const ajv = addFormats(new Ajv({ allErrors: true, coerceTypes: true, useDefaults: true }));
const check = ajv.compile({ type: "object", properties: { n: { type: "integer", minimum: 3 }, mail: { type: "string", format: "email" }, p: { type: "string", pattern: "^\\p{L}+$" }, d: { default: [1] } }, required: ["n", "mail"], additionalProperties: false });
const v = { n: "2", mail: "x", p: "12", extra: 1 };
console.log(check(v), check.errors.map((e) => [e.instancePath, e.keyword, e.message]), v);
console.log(check({ n: 5, mail: "a@b.org", p: "Straße" }), ajv.errorsText(check.errors));
console.log(ajv.compile({ $defs: { t: { type: "object", properties: { kids: { type: "array", items: { $ref: "#/$defs/t" } } } } }, $ref: "#/$defs/t" })({ kids: [{ kids: [3] }] }));
