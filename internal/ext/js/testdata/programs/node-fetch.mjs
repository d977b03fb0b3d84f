import fetch, { FormData, Headers } from "node-fetch";
import { read, serve } from "./_serve.mjs";
const s = await serve(async (req, res) => {
  if (req.url === "/to") { res.writeHead(307, { location: "/end" }); return res.end(); }
  if (req.url === "/slow") return;
  const body = await read(req);
  res.setHeader("x-m", [req.method, "two"]);
  res.end(JSON.stringify({ url: req.url, body: body.replace(/-{4,}[\w-]+/g, "BOUNDARY").slice(0, 80), agent: !!req.headers["user-agent"] }));
});
const r = await fetch(s.url + "/a", { headers: new Headers({ a: "b" }) });
console.log(r.status, r.ok, r.headers.get("x-m"), await r.json());
console.log((await (await fetch(s.url + "/to", { method: "POST", body: "keep" })).json()), (await fetch(s.url + "/to", { redirect: "manual" })).status);
const f = new FormData();
f.set("k", "v");
console.log(await (await fetch(s.url + "/f", { method: "POST", body: f })).json());
const c = new AbortController();
setTimeout(() => c.abort(), 20);
try { await fetch(s.url + "/slow", { signal: c.signal }); } catch (e) { console.log(e.name); }
try { await fetch("http://127.0.0.1:1/"); } catch (e) { console.log(e.name, e.code); }
await s.close();
