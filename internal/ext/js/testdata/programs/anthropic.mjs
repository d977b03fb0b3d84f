// npm: @anthropic-ai/sdk
import Anthropic from "@anthropic-ai/sdk";
import { events, read, serve } from "./_serve.mjs";
const s = await serve(async (req, res) => {
  const body = JSON.parse(await read(req));
  if (body.max_tokens > 99) { res.writeHead(429, { "content-type": "application/json" }); return res.end(JSON.stringify({ type: "error", error: { type: "rate_limit_error", message: "slow down" } })); }
  const start = { id: "m1", type: "message", role: "assistant", content: [], model: body.model, stop_reason: null, usage: { input_tokens: 3, output_tokens: 0 } };
  events(res, [["message_start", { type: "message_start", message: start }], ["content_block_start", { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }], ...["Hel", "lo €"].map((text) => ["content_block_delta", { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }]), ["content_block_stop", { type: "content_block_stop", index: 0 }], ["message_delta", { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } }], ["message_stop", { type: "message_stop" }]]);
});
const client = new Anthropic({ apiKey: "key", baseURL: s.url, maxRetries: 0 });
const stream = client.messages.stream({ model: "m", max_tokens: 10, messages: [{ role: "user", content: "hi" }] });
const parts = [];
stream.on("text", (t) => parts.push(t));
const m = await stream.finalMessage();
console.log(parts, m.content, m.stop_reason, m.usage);
try { await client.messages.create({ model: "m", max_tokens: 100, messages: [] }); } catch (e) { console.log(e.constructor.name, e.status, e.error.error.message); }
await s.close();
