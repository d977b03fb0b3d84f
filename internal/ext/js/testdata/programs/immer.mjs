import { enablePatches, produce, produceWithPatches, applyPatches, original, isDraft } from "immer";
enablePatches();
const base = { list: [{ id: 1, done: false }], m: { k: [1] } };
const [next, patches, back] = produceWithPatches(base, (d) => { d.list[0].done = true; d.list.push({ id: 2, done: false }); delete d.m.k; });
console.log(next, base.list[0].done, next.m === base.m, Object.isFrozen(next));
console.log(patches, applyPatches(next, back));
console.log(produce([3, 1, 2], (d) => { d.sort(); if (!isDraft(d)) throw 0; }), produce(base, (d) => { d.same = original(d) === base; }).same);
