import OpenAI from "openai";
import { events, read, serve } from "./_serve.mjs";
const s = await serve(async (req, res) => {
  const body = JSON.parse(await read(req));
  if (body.model === "bad") { res.writeHead(400, { "content-type": "application/json" }); return res.end(JSON.stringify({ error: { message: "no such model", type: "invalid", code: "nope" } })); }
  if (!body.stream) { res.setHeader("content-type", "application/json"); return res.end(JSON.stringify({ id: "1", object: "chat.completion", choices: [{ index: 0, message: { role: "assistant", content: `${req.headers.authorization}|${body.messages[0].content}` }, finish_reason: "stop" }], usage: { total_tokens: 3 } })); }
  events(res, [..."Hello".split("").map((c) => ["", { choices: [{ index: 0, delta: { content: c } }] }]), ["", "[DONE]"]]);
});
const client = new OpenAI({ apiKey: "key", baseURL: s.url, maxRetries: 0 });
console.log((await client.chat.completions.create({ model: "m", messages: [{ role: "user", content: "hi" }] })).choices[0].message.content);
let text = "", n = 0;
for await (const c of await client.chat.completions.create({ model: "m", stream: true, messages: [{ role: "user", content: "hi" }] })) { text += c.choices[0]?.delta?.content ?? ""; n++; }
console.log(text, n);
try { await client.chat.completions.create({ model: "bad", messages: [] }); } catch (e) { console.log(e.constructor.name, e.status, e.code, e.message, e instanceof OpenAI.APIError); }
await s.close();
