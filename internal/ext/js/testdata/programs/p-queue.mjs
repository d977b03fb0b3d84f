// npm: p-queue, p-retry, eventemitter3
import PQueue from "p-queue";
import pRetry, { AbortError } from "p-retry";
import { EventEmitter } from "eventemitter3";
const q = new PQueue({ concurrency: 2 });
let now = 0, most = 0;
const out = await Promise.all([3, 1, 2, 4].map((n, i) => q.add(async () => { most = Math.max(most, ++now); await new Promise((r) => setTimeout(r, n * 3)); now--; return n * 10; }, { priority: i })));
await q.onIdle();
console.log(out, most, q.size, q.pending);
let tries = 0;
console.log(await pRetry(() => { if (++tries < 3) throw new Error("again"); return tries; }, { retries: 5, minTimeout: 1, factor: 1 }));
try { await pRetry(() => { throw new AbortError("stop"); }, { retries: 3 }); } catch (e) { console.log(e.message); }
const e = new EventEmitter();
e.once("a", (...x) => console.log("a", x));
console.log(e.emit("a", 1, 2), e.emit("a"), e.eventNames());
