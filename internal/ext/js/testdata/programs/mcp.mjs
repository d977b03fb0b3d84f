// npm: @modelcontextprotocol/sdk
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
const here = path.dirname(fileURLToPath(import.meta.url));
fs.writeFileSync(path.join(here, "mcp-server.mjs"), `
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";
const s = new McpServer({ name: "adder", version: "1.0.0" });
s.registerTool("add", { description: "Adds", inputSchema: { a: z.number(), b: z.number() } }, async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }));
s.registerResource("note", "note://one", { mimeType: "text/plain" }, async (u) => ({ contents: [{ uri: u.href, text: "a note" }] }));
await s.connect(new StdioServerTransport());
`);
const client = new Client({ name: "program", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command: "node", args: [path.join(here, "mcp-server.mjs")] }));
console.log(client.getServerVersion().name, (await client.listTools()).tools.map((t) => [t.name, t.description, JSON.stringify(t.inputSchema.properties)]));
console.log((await client.callTool({ name: "add", arguments: { a: 2, b: 3 } })).content[0].text, (await client.callTool({ name: "add", arguments: { a: "x" } })).isError);
console.log((await client.readResource({ uri: "note://one" })).contents[0].text);
await client.close();
