import { Effect, Schedule, Data } from "effect";
class Bad extends Data.TaggedError("Bad") {}
let tries = 0;
const flaky = Effect.suspend(() => (++tries < 3 ? Effect.fail(new Bad({ n: tries })) : Effect.succeed(tries)));
console.log(await Effect.runPromise(Effect.retry(flaky, Schedule.recurs(5))));
console.log(await Effect.runPromise(Effect.all([1, 2, 3].map((n) => Effect.delay(Effect.succeed(n * 2), `${10 - n} millis`)), { concurrency: 2 })));
console.log(await Effect.runPromise(Effect.gen(function* () { const a = yield* Effect.succeed(20); const b = yield* Effect.promise(async () => 22); return a + b; })));
console.log(await Effect.runPromise(Effect.catchTag(Effect.fail(new Bad({ n: 9 })), "Bad", (e) => Effect.succeed("caught " + e.n))));
