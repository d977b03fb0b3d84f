import got from "got";
import { read, serve } from "./_serve.mjs";
let n = 0;
const s = await serve(async (req, res) => {
  if (req.url === "/retry" && ++n < 2) { res.writeHead(500); return res.end(); }
  if (req.url === "/bad") { res.writeHead(404, "Not here"); return res.end("gone"); }
  if (req.url === "/to") { res.writeHead(301, { location: "/end" }); return res.end(); }
  if (req.url === "/slow") return;
  res.setHeader("content-type", "application/json");
  res.end(JSON.stringify({ method: req.method, url: req.url, body: await read(req), type: req.headers["content-type"] }));
});
console.log(await got(s.url + "/a", { searchParams: { q: "x y" } }).json(), await got.post(s.url + "/p", { json: { k: 1 } }).json(), (await got(s.url + "/to", { responseType: "json" })).body.url);
console.log((await got(s.url + "/retry", { retry: { limit: 2, calculateDelay: ({ computedValue }) => (computedValue ? 1 : 0) } })).statusCode, n);
try { await got(s.url + "/bad", { retry: { limit: 0 } }); } catch (e) { console.log(e.name, e.code, e.response.statusCode, e.response.body); }
try { await got(s.url + "/slow", { timeout: { request: 50 }, retry: { limit: 0 } }); } catch (e) { console.log(e.name, e.code); }
console.log(JSON.parse(await read(got.stream(s.url + "/s"))).url);
await s.close();
