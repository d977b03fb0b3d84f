import * as v from "valibot";
const S = v.object({ id: v.pipe(v.string(), v.uuid()), n: v.pipe(v.string(), v.transform(Number), v.number(), v.maxValue(9)), o: v.optional(v.picklist(["x", "y"]), "x") });
console.log(v.parse(S, { id: "123e4567-e89b-12d3-a456-426614174000", n: "7" }));
const r = v.safeParse(S, { id: "1", n: "70", o: "z" });
console.log(r.success, v.flatten(r.issues));
