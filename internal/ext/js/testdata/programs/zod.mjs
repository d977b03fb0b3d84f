import { z } from "zod";
const User = z.object({ name: z.string().min(2), age: z.coerce.number().int().optional(), mail: z.email(), tags: z.array(z.enum(["a", "b"])).default([]), at: z.iso.datetime().transform((s) => new Date(s).getUTCFullYear()) });
console.log(User.parse({ name: "Ann", age: "7", mail: "a@b.org", at: "2026-01-02T03:04:05Z" }));
const bad = User.safeParse({ name: "x", mail: "no", tags: ["c"], at: "later" });
console.log(bad.error.issues.map((i) => [i.path.join("."), i.code, i.message]));
console.log(JSON.stringify(z.toJSONSchema(z.object({ u: z.union([z.string(), z.number()]), d: z.discriminatedUnion("k", [z.object({ k: z.literal("x") }), z.object({ k: z.literal("y"), v: z.boolean() })]) }))));
console.log(await z.string().refine(async (s) => s.length > 3, "short").safeParseAsync("abc").then((r) => r.error.issues[0].message));
