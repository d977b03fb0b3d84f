// npm: hono, @hono/node-server
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
const app = new Hono();
app.get("/u/:id", (c) => c.json({ id: c.req.param("id"), q: c.req.query("q") }));
app.post("/f", async (c) => c.text("form " + (await c.req.parseBody()).k, 202, { "x-own": "1" }));
app.get("/s", (c) => streamSSE(c, async (s) => { for (const n of [1, 2]) await s.writeSSE({ data: String(n), event: "n" }); }));
app.onError((e, c) => c.text(e.message, 500));
app.get("/boom", () => { throw new Error("kaputt"); });
console.log(await (await app.request("/u/5?q=x")).json());
const s = await new Promise((r) => { const x = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, () => r(x)); });
const base = `http://127.0.0.1:${s.address().port}`;
console.log(await (await fetch(base + "/u/6")).json());
const f = await fetch(base + "/f", { method: "POST", body: new URLSearchParams({ k: "v" }) });
console.log(f.status, f.headers.get("x-own"), await f.text(), await (await fetch(base + "/boom")).text(), (await fetch(base + "/no")).status);
console.log(JSON.stringify(await (await fetch(base + "/s")).text()));
s.closeAllConnections?.();
await new Promise((r) => s.close(r));
