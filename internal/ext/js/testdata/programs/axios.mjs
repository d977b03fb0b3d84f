import axios from "axios";
import { read, serve } from "./_serve.mjs";
const s = await serve(async (req, res) => {
  if (req.url === "/slow") return;
  if (req.url === "/to") { res.writeHead(302, { location: "/end" }); return res.end(); }
  if (req.url === "/bad") { res.writeHead(422, { "content-type": "application/json" }); return res.end('{"why":"no"}'); }
  res.setHeader("content-type", "application/json");
  res.end(JSON.stringify({ method: req.method, url: req.url, type: req.headers["content-type"], own: req.headers["x-own"], body: await read(req) }));
});
const api = axios.create({ baseURL: s.url, headers: { "X-Own": "1" } });
api.interceptors.request.use((c) => { c.headers["x-own"] += "+"; return c; });
console.log((await api.get("/a", { params: { q: "ä b", l: [1, 2] } })).data, (await api.post("/p", { x: 1 })).data, (await api.get("/to")).data.url);
try { await api.get("/bad"); } catch (e) { console.log(e.name, e.code, e.response.status, e.response.data); }
try { await api.get("/slow", { timeout: 50 }); } catch (e) { console.log(e.code, e.message); }
try { await axios.get("http://127.0.0.1:1/"); } catch (e) { console.log(e.code); }
const c = new AbortController();
setTimeout(() => c.abort(), 20);
try { await api.get("/slow", { signal: c.signal }); } catch (e) { console.log(axios.isCancel(e), e.code); }
const st = await api.get("/s", { responseType: "stream" });
console.log(JSON.parse(await read(st.data)).url);
await s.close();
