// A server on this machine for programs that speak HTTP.
import http from "node:http";

export const serve = (handler) => new Promise((ready) => {
  const s = http.createServer(handler);
  s.listen(0, "127.0.0.1", () => ready({ server: s, url: `http://127.0.0.1:${s.address().port}`, close: () => new Promise((done) => { s.close(done); s.closeAllConnections?.(); }) }));
});
export const read = async (stream) => { let s = ""; for await (const c of stream) s += c; return s; };
export const events = (res, list) => { res.writeHead(200, { "content-type": "text/event-stream" }); for (const [event, data] of list) res.write((event ? `event: ${event}\n` : "") + `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`); res.end(); };
