import ky from "ky";
import { read, serve } from "./_serve.mjs";
let n = 0;
const s = await serve(async (req, res) => {
  if (req.url === "/retry" && ++n < 3) { res.writeHead(503, { "retry-after": "0" }); return res.end(); }
  if (req.url === "/bad") { res.writeHead(404); return res.end("gone"); }
  if (req.url === "/slow") return;
  res.setHeader("content-type", "application/json");
  res.end(JSON.stringify({ method: req.method, url: req.url, n, body: await read(req), h: req.headers["x-h"] }));
});
const api = ky.create({ prefixUrl: s.url, prefix: s.url, hooks: { beforeRequest: [(r) => { (r.request ?? r).headers.set("x-h", "hook"); }] } });
console.log(await api.get("x", { searchParams: { a: "1 2" } }).json(), await api.post("p", { json: { k: "v" } }).json(), await api.get("retry", { retry: { limit: 3, backoffLimit: 1 } }).json());
try { await api.get("bad", { retry: 0 }); } catch (e) { console.log(e.name, e.response.status); }
try { await api.get("slow", { timeout: 50, retry: 0 }); } catch (e) { console.log(e.name); }
await s.close();
