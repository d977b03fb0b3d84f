// typebox: builders of JSON Schemas, and checks of values against them.

const KIND = Symbol.for("TypeBox.Kind");
const OPTIONAL = Symbol.for("TypeBox.Optional");
const hidden = (o, k, value) => Object.defineProperty(o, k, { value, enumerable: false, configurable: true, writable: true });

function make(kind, schema, options) {
  const s = { ...schema, ...options };
  hidden(s, KIND, kind);
  hidden(s, "~kind", kind);
  return s;
}
/** A schema again, with other options; what it is and whether it is optional stay. */
function again(s, options) {
  const r = make(s[KIND], s, options);
  if (s[OPTIONAL]) optional(r);
  return r;
}
function optional(s) {
  hidden(s, OPTIONAL, "Optional");
  hidden(s, "~optional", true);
  return s;
}
function required(s) {
  const r = make(s[KIND], s);
  return r;
}
function object(properties, options) {
  const names = Object.keys(properties).filter((k) => !properties[k][OPTIONAL]);
  return make("Object", { type: "object", properties, ...(names.length ? { required: names } : {}) }, options);
}
const mapped = (t, f, options) => object(Object.fromEntries(Object.entries(t.properties ?? {}).map(f)), options);
const keys = (k) => (Array.isArray(k) ? k : k?.anyOf ? k.anyOf.map((x) => x.const) : k?.const !== undefined ? [k.const] : [k]);
const literals = (list) => list.map((x) => (x !== null && typeof x === "object" ? x : Type.Literal(x)));

export const Type = {
  Any: (o) => make("Any", {}, o), Unknown: (o) => make("Unknown", {}, o), Never: (o) => make("Never", { not: {} }, o), Null: (o) => make("Null", { type: "null" }, o), Undefined: (o) => make("Undefined", { type: "undefined" }, o), Void: (o) => make("Void", { type: "void" }, o),
  String: (o) => make("String", { type: "string" }, o), Number: (o) => make("Number", { type: "number" }, o), Integer: (o) => make("Integer", { type: "integer" }, o), Boolean: (o) => make("Boolean", { type: "boolean" }, o), BigInt: (o) => make("BigInt", { type: "bigint" }, o), Symbol: (o) => make("Symbol", { type: "symbol" }, o), Date: (o) => make("Date", { type: "Date" }, o),
  Literal: (v, o) => make("Literal", { type: typeof v, const: v }, o), Const: (v, o) => Type.Literal(v, o), Enum: (e, o) => make("Enum", { enum: Array.isArray(e) ? [...e] : Object.entries(e).filter(([k]) => !(k in e && typeof e[e[k]] === "number" && isNaN(k) === false)).map(([, v]) => v) }, o),
  Array: (items, o) => make("Array", { type: "array", items }, o), Tuple: (items, o) => make("Tuple", { type: "array", items, minItems: items.length, additionalItems: false }, o), Object: object,
  Optional: (t) => optional(again(t)), Readonly: (t) => again(t), ReadonlyOptional: (t) => optional(again(t)), Union: (list, o) => make("Union", { anyOf: list }, o), Intersect: (list, o) => make("Intersect", { allOf: list }, o),
  Record: (k, v, o) => (k?.enum || k?.anyOf ? object(Object.fromEntries((k.enum ?? keys(k)).map((x) => [x, v])), o) : make("Record", { type: "object", patternProperties: { [k?.pattern ?? (k?.type === "number" || k?.type === "integer" ? "^-?(?:0|[1-9][0-9]*)(?:.[0-9]+)?$" : "^.*$")]: v } }, o)),
  Partial: (t, o) => mapped(t, ([k, v]) => [k, optional(again(v))], o), Required: (t, o) => mapped(t, ([k, v]) => [k, required(v)], o),
  Pick: (t, k, o) => object(Object.fromEntries(Object.entries(t.properties).filter(([n]) => keys(k).includes(n))), o), Omit: (t, k, o) => object(Object.fromEntries(Object.entries(t.properties).filter(([n]) => !keys(k).includes(n))), o),
  Composite: (list, o) => object(Object.assign({}, ...list.map((x) => x.properties)), o), Evaluate: (t) => (t.allOf ? Type.Composite(t.allOf) : t), KeyOf: (t) => Type.Union(Object.keys(t.properties).map((k) => Type.Literal(k))), Index: (t, k) => { const l = keys(k).map((x) => t.properties[x]); return l.length === 1 ? l[0] : Type.Union(l); },
  Exclude: (t, x) => Type.Union((t.anyOf ?? [t]).filter((a) => !(x.anyOf ?? [x]).some((b) => a.const === b.const))), Extract: (t, x) => Type.Union((t.anyOf ?? [t]).filter((a) => (x.anyOf ?? [x]).some((b) => a.const === b.const))),
  Unsafe: (s = {}) => make("Unsafe", s), Ref: (t, o) => make("Ref", { $ref: typeof t === "string" ? t : t.$id }, o), Recursive: (f, o) => { const $id = o?.$id ?? "T0"; return make("Recursive", f(make("This", { $ref: $id })), { $id, ...o }); }, This: () => make("This", { $ref: "#" }), Cyclic: (defs, k) => again(defs[k], { $defs: defs }), Module: (defs) => ({ Import: (k) => defs[k] }),
  RegExp: (r, o) => make("RegExp", { type: "string", pattern: r.source ?? r }, o), TemplateLiteral: (p, o) => make("TemplateLiteral", { type: "string", pattern: Array.isArray(p) ? "^" + p.map((x) => x.const ?? ".*").join("") + "$" : "^.*$" }, o), Uint8Array: (o) => make("Uint8Array", { type: "Uint8Array" }, o), Function: () => make("Function", {}), Promise: (t) => make("Promise", { item: t }),
  Transform: (t) => ({ Decode: (decode) => ({ Encode: (encode) => hidden(again(t), "codec", { decode, encode }) }) }), Codec: (t) => Type.Transform(t), Refine: (t, check) => hidden(again(t), "refine", check), Options: (t, o) => again(t, o), Clone: (t) => again(t), Script: () => make("Any", {}), Base: class {},
};

export const StringEnum = (values, o) => make("Unsafe", { type: "string", enum: [...values] }, o);

// --- checks ------------------------------------------------------------------------

const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
const formats = { email: /^[^\s@]+@[^\s@]+\.[^\s@]+$/, uuid: /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i, date: /^\d{4}-\d\d-\d\d$/, "date-time": /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/i, time: /^\d\d:\d\d(:\d\d)?/, uri: /^[a-z][a-z0-9+.-]*:\S+$/i, url: /^https?:\/\/\S+$/i, ipv4: /^(\d{1,3}\.){3}\d{1,3}$/ };

const types = {
  string(s, v, add) {
    if (typeof v !== "string") return add("must be string", "type");
    if (s.minLength !== undefined && v.length < s.minLength) add(`must not have fewer than ${s.minLength} characters`, "minLength");
    if (s.maxLength !== undefined && v.length > s.maxLength) add(`must not have more than ${s.maxLength} characters`, "maxLength");
    if (s.pattern !== undefined && !new RegExp(s.pattern, "u").test(v)) add(`must match pattern "${s.pattern}"`, "pattern");
    if (s.format && formats[s.format] && !formats[s.format].test(v)) add(`must match format "${s.format}"`, "format");
  },
  number(s, v, add) {
    if (typeof v !== "number" || !Number.isFinite(v)) return add("must be number", "type");
    limits(s, v, add);
  },
  integer(s, v, add) {
    if (!Number.isInteger(v)) return add("must be integer", "type");
    limits(s, v, add);
  },
  boolean(s, v, add) { if (typeof v !== "boolean") add("must be boolean", "type"); },
  null(s, v, add) { if (v !== null) add("must be null", "type"); },
  undefined(s, v, add) { if (v !== undefined) add("must be undefined", "type"); },
  array(s, v, add, walk, path) {
    if (!Array.isArray(v)) return add("must be array", "type");
    if (s.minItems !== undefined && v.length < s.minItems) add(`must not have fewer than ${s.minItems} items`, "minItems");
    if (s.maxItems !== undefined && v.length > s.maxItems) add(`must not have more than ${s.maxItems} items`, "maxItems");
    if (s.uniqueItems && new Set(v.map((x) => JSON.stringify(x))).size < v.length) add("must not have duplicate items", "uniqueItems");
    v.forEach((x, i) => { const t = Array.isArray(s.items) ? s.items[i] : s.items; if (t) walk(t, x, `${path}/${i}`); });
  },
  object(s, v, add, walk, path) {
    if (!isObject(v)) return add("must be object", "type");
    const missing = (s.required ?? []).filter((k) => v[k] === undefined);
    if (missing.length) add(`must have required properties ${missing.join(", ")}`, "required");
    for (const [k, t] of Object.entries(s.properties ?? {})) if (v[k] !== undefined) walk(t, v[k], `${path}/${k}`);
    for (const k of Object.keys(v)) {
      if (s.properties && k in s.properties) continue;
      const p = Object.entries(s.patternProperties ?? {}).find(([re]) => new RegExp(re).test(k));
      if (p) walk(p[1], v[k], `${path}/${k}`);
      else if (s.additionalProperties === false) add(`must not have additional properties`, "additionalProperties");
      else if (isObject(s.additionalProperties)) walk(s.additionalProperties, v[k], `${path}/${k}`);
    }
  },
};
function limits(s, v, add) {
  if (s.minimum !== undefined && v < s.minimum) add(`must be >= ${s.minimum}`, "minimum");
  if (s.maximum !== undefined && v > s.maximum) add(`must be <= ${s.maximum}`, "maximum");
  if (s.exclusiveMinimum !== undefined && v <= s.exclusiveMinimum) add(`must be > ${s.exclusiveMinimum}`, "exclusiveMinimum");
  if (s.exclusiveMaximum !== undefined && v >= s.exclusiveMaximum) add(`must be < ${s.exclusiveMaximum}`, "exclusiveMaximum");
  if (s.multipleOf !== undefined && Math.abs(v / s.multipleOf - Math.round(v / s.multipleOf)) > 1e-9) add(`must be multiple of ${s.multipleOf}`, "multipleOf");
}
const deepEqual = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** All faults of a value. */
function faults(root, value) {
  const out = [];
  const refs = { ...root?.$defs, ...(root?.$id ? { [root.$id]: root } : {}) };
  const walk = (s, v, path, list = out) => {
    if (s === true || s == null || typeof s !== "object") return list;
    const add = (message, keyword) => { list.push({ keyword, path: path || "/", instancePath: path, schemaPath: "#/", message, schema: s, value: v, params: {} }); };
    if (s.$ref !== undefined && (refs[s.$ref] ?? (s.$ref === "#" ? root : undefined))) return walk(refs[s.$ref] ?? root, v, path, list);
    if ("const" in s && !deepEqual(v, s.const)) { add("must be equal to constant", "const"); return list; }
    if (s.enum && !s.enum.some((x) => deepEqual(x, v))) { add("must be equal to one of the allowed values", "enum"); return list; }
    if (s.anyOf && !s.anyOf.some((t) => walk(t, v, path, []).length === 0)) { for (const t of s.anyOf) walk(t, v, path, list); add("must match a schema in anyOf", "anyOf"); }
    if (s.oneOf && s.oneOf.filter((t) => walk(t, v, path, []).length === 0).length !== 1) add("must match exactly one schema in oneOf", "oneOf");
    for (const t of s.allOf ?? []) walk(t, v, path, list);
    if (s.not && walk(s.not, v, path, []).length === 0) add("must not be valid", "not");
    const kinds = [].concat(s.type ?? []).filter((k) => types[k]);
    if (kinds.length === 1) types[kinds[0]](s, v, add, (t, x, p) => walk(t, x, p, list), path);
    else if (kinds.length > 1 && !kinds.some((k) => { const l = []; types[k](s, v, (m) => l.push(m), (t, x, p) => walk(t, x, p, l), path); return l.length === 0; })) add(`must be ${kinds.join(" or ")}`, "type");
    if (typeof s.refine === "function" && !s.refine(v)) add("must satisfy the refinement", "~refine");
    return list;
  };
  return walk(root, value, "");
}

/** Applies f to a value and what is in it, from the inside out. */
function transform(s, v, f) {
  if (isObject(v) && s?.properties) v = Object.fromEntries(Object.entries(v).map(([k, x]) => [k, s.properties[k] ? transform(s.properties[k], x, f) : x]));
  else if (Array.isArray(v) && s?.items && !Array.isArray(s.items)) v = v.map((x) => transform(s.items, x, f));
  return f(s, v);
}
const convert = (s, v) => {
  if (s?.type === "number" || s?.type === "integer") { const n = typeof v === "string" && v.trim() !== "" ? Number(v) : typeof v === "boolean" ? Number(v) : v; return Number.isNaN(n) ? v : s.type === "integer" && typeof n === "number" ? Math.trunc(n) : n; }
  if (s?.type === "boolean") return v === "true" || v === 1 || v === "1" ? true : v === "false" || v === 0 || v === "0" ? false : v;
  if (s?.type === "string" && (typeof v === "number" || typeof v === "boolean")) return String(v);
  if (s?.type === "array" && v !== undefined && !Array.isArray(v)) return [v];
  return v;
};
function withDefaults(s, v) {
  if (v === undefined && s?.default !== undefined) v = structuredClone(typeof s.default === "function" ? s.default() : s.default);
  if (isObject(v) && s?.properties) for (const [k, t] of Object.entries(s.properties)) { const d = withDefaults(t, v[k]); if (d !== undefined) v[k] = d; }
  if (Array.isArray(v) && s?.items && !Array.isArray(s.items)) v = v.map((x) => withDefaults(s.items, x));
  return v;
}
function create(s) {
  if (s?.default !== undefined) return structuredClone(s.default);
  if ("const" in s) return s.const;
  if (s.enum) return s.enum[0];
  if (s.anyOf) return create(s.anyOf[0]);
  if (s.allOf) return Object.assign({}, ...s.allOf.map(create));
  switch (s.type) {
    case "object": return Object.fromEntries((s.required ?? []).map((k) => [k, create(s.properties[k])]));
    case "array": return Array.isArray(s.items) ? s.items.map(create) : Array.from({ length: s.minItems ?? 0 }, () => create(s.items));
    case "string": return "";
    case "number": case "integer": return s.minimum ?? 0;
    case "boolean": return false;
    case "null": return null;
  }
  return undefined;
}
function clean(s, v) {
  return transform(s, v, (t, x) => (isObject(x) && t?.properties && t.additionalProperties === undefined && !t.patternProperties ? Object.fromEntries(Object.entries(x).filter(([k]) => k in t.properties)) : x));
}

class AssertError extends Error { constructor(errors) { super(errors[0] ? `${errors[0].message} at ${errors[0].path}` : "invalid value"); this.name = "AssertError"; this.errors = errors; this.error = errors[0]; } Errors() { return iterable(this.errors); } }
const iterable = (list) => Object.assign([...list], { First: () => list[0] });
/** Two forms: (schema, value) and (schema, references, value). */
const two = (f) => (...a) => (a.length > 2 ? f(a[0], a[2]) : f(a[0], a[1]));
const check = (s, v) => faults(s, v).length === 0;
const assert = (s, v) => { const e = faults(s, v); if (e.length) throw new AssertError(e); };
const decode = (s, v) => transform(s, v, (t, x) => (t?.codec ? t.codec.decode(x) : x));
const encode = (s, v) => transform(s, v, (t, x) => (t?.codec ? t.codec.encode(x) : x));

export const Value = {
  Check: two(check), Errors: two((s, v) => iterable(faults(s, v))), Assert: two(assert), Parse: two((s, v) => { v = withDefaults(s, clean(s, transform(s, structuredClone(v), convert))); assert(s, v); return decode(s, v); }),
  Decode: two((s, v) => { assert(s, v); return decode(s, v); }), Encode: two(encode), Convert: two((s, v) => transform(s, v, convert)), Clean: two(clean), Default: two(withDefaults), Create: create, Cast: two((s, v) => (check(s, v) ? v : create(s))), Repair: two((s, v) => (check(s, v) ? v : create(s))),
  Clone: (v) => structuredClone(v), Equal: deepEqual, Hash: (v) => JSON.stringify(v), Mutate: (a, b) => Object.assign(a, b), Diff: () => [], Patch: (v) => v, Pointer: {},
};
export const Compile = (s) => ({ Check: (v) => check(s, v), Errors: (v) => iterable(faults(s, v)), Parse: (v) => Value.Parse(s, v), Decode: (v) => decode(s, v), Encode: (v) => encode(s, v), Code: () => "", Schema: () => s, Type: () => s });

const is = (k) => (t) => t?.[KIND] === k;
const guards = Object.fromEntries(["Any", "Array", "Boolean", "Integer", "Intersect", "Literal", "Null", "Number", "Object", "Record", "String", "Tuple", "Union", "Unknown", "Never", "Enum", "Ref", "Undefined"].map((k) => ["Is" + k, is(k)]));
Object.assign(guards, { IsOptional: (t) => !!t?.[OPTIONAL], IsSchema: (t) => isObject(t), IsKind: (t) => t?.[KIND] !== undefined });
const registry = () => { const m = new Map(); return { Set: (k, f) => m.set(k, f), Get: (k) => m.get(k), Has: (k) => m.has(k), Delete: (k) => m.delete(k), Clear: () => m.clear(), Entries: () => new Map(m) }; };
const FormatRegistry = { ...registry(), Set: (k, f) => { formats[k] = { test: f }; }, Has: (k) => k in formats };

export const typebox = { ...Type, Type, Kind: KIND, OptionalKind: OPTIONAL, ReadonlyKind: Symbol.for("TypeBox.Readonly"), Hint: Symbol.for("TypeBox.Hint"), ...guards, TypeGuard: guards, KindGuard: guards, CloneType: again, Format: FormatRegistry, FormatRegistry, TypeRegistry: registry(), StringEnum, default: Type };
export const typeboxCompile = { Compile, TypeCompiler: { Compile, Code: () => "" }, default: Compile };
export const typeboxValue = { ...Value, Value, ValueErrorType: {}, AssertError, default: Value };
