// npm: @earendil-works/pi-ai
import * as ai from "../node_modules/@earendil-works/pi-ai/dist/index.js";
import { getModels, getProviders, streamSimple } from "../node_modules/@earendil-works/pi-ai/dist/compat.js";
import { events, read, serve } from "./_serve.mjs";
const s = await serve(async (req, res) => {
  const body = JSON.parse(await read(req));
  events(res, [["", { choices: [{ index: 0, delta: { content: "You said " + body.messages.at(-1).content } }] }], ["", { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: { prompt_tokens: 5, completion_tokens: 3 } }], ["", "[DONE]"]]);
});
console.log(getProviders().includes("anthropic"), getModels("anthropic").length > 3);
const model = { id: "m", name: "M", api: "openai-completions", provider: "own", baseUrl: s.url, reasoning: false, input: ["text"], cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1000, maxTokens: 100 };
const stream = streamSimple(model, { systemPrompt: "sys", messages: [{ role: "user", content: "hi", timestamp: 1 }] }, { apiKey: "key" });
const kinds = [];
for await (const e of stream) kinds.push(e.type);
const m = await stream.result();
console.log(kinds, m.content, m.stopReason, m.usage.input, m.usage.output, m.errorMessage);
console.log(ai.parseStreamingJson?.('{"a":[1,{"b":"c'), typeof ai.EventStream);
await s.close();
