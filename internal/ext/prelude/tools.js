// The tool factories: built-in tools that the host runs, with what an extension changes
// of them. An extension's own bash operations are called back by the host's tool; its own
// file operations (other machines) are used by small tools of this file.
import { call, fromBytes, start, toBytes } from "../node/bridge.js";
import { Buffer, wrap } from "../node/buffer.js";
import { randomUUID } from "../node/crypto.js";
import { path } from "../node/path.js";
import { process } from "../node/system.js";
import { byteLength, truncate } from "./truncate.js";

/** Runs commands on this machine, for extensions that wrap the operations of bash. */
export function localBash(o = {}) {
  return {
    async exec(command, cwd, { onData, signal, timeout, env } = {}) {
      const out = (m) => { if (m.data !== undefined) onData?.(wrap(toBytes(m.data))); };
      const r = await start("proc.spawn", { key: "bash" + Math.random(), command: o.shellPath ?? "/bin/bash", args: ["-c", command], cwd, env, shell: "", timeout: timeout ? timeout * 1000 : 0, stdin: "ignore", stdout: "pipe", stderr: "pipe", signal: "SIGTERM" }, { signal, onEvent: out });
      if (r.timedOut) throw new Error(`timeout:${timeout}`);
      return { exitCode: r.signal ? null : r.code };
    },
  };
}
/** Runs the bash tool with what the extension changes of it: the command line, the shell,
 * or where commands run. */
function runBash(o, cwd, params, id, signal, onUpdate) {
  let c = { command: params.command, cwd, env: undefined };
  if (o.spawnHook) {
    c = o.spawnHook({ command: o.commandPrefix ? o.commandPrefix + "\n" + c.command : c.command, cwd, env: { ...process.env } });
    o = { ...o, commandPrefix: "" };
  }
  const remote = o.operations ? randomUUID() : "";
  let abort;
  const tell = (m) => call("tools.output", { key: remote, ...m });
  const exec = (e) => {
    abort = new AbortController();
    const run = async () => o.operations.exec(e.command, e.cwd, { onData: (d) => tell({ data: fromBytes(typeof d === "string" ? Buffer.from(d) : d) }), signal: abort.signal, timeout: params.timeout, env: c.env });
    run().then(
      (r) => tell({ ended: true, code: r?.exitCode ?? null }),
      (e) => tell({ ended: true, error: String(e?.message ?? e) }),
    );
  };
  const onEvent = (m) => { if (m.update) onUpdate?.(m.update); else if (m.exec) exec(m.exec); else if (m.abort) abort?.abort(); };
  const args = { ...params, command: remote && o.commandPrefix ? o.commandPrefix + "\n" + c.command : c.command };
  return start("tools.run", { name: "bash", id, args, cwd: c.cwd, env: c.env, prefix: o.commandPrefix, shell: o.shellPath, remote }, { signal, onEvent });
}
const textResult = (text, details) => ({ content: [{ type: "text", text }], details });

/** A tool whose file or shell operations the extension brings along. */
const withOperations = {
  async read(o, cwd, p) {
    const file = path.resolve(cwd, p.path);
    await o.operations.access?.(file);
    const mimeType = await o.operations.detectImageMimeType?.(file);
    const data = await o.operations.readFile(file);
    if (mimeType) return { content: [{ type: "text", text: `Read image file [${mimeType}]` }, { type: "image", data: data.toString("base64"), mimeType }], details: undefined };
    const lines = data.toString("utf8").split("\n");
    const from = (p.offset ?? 1) - 1;
    const t = truncate(lines.slice(from, p.limit ? from + p.limit : undefined).join("\n"));
    return textResult(t.truncated ? `${t.content}\n\n[Showing lines ${from + 1}-${from + t.outputLines} of ${lines.length}. Use offset=${from + t.outputLines + 1} to continue.]` : t.content, t.truncated ? { truncation: t } : undefined);
  },
  async write(o, cwd, p) {
    const file = path.resolve(cwd, p.path);
    await o.operations.mkdir?.(path.dirname(file));
    await o.operations.writeFile(file, p.content);
    return textResult(`Successfully wrote ${byteLength(p.content)} bytes to ${p.path}`);
  },
  async edit(o, cwd, p) {
    const file = path.resolve(cwd, p.path);
    await o.operations.access?.(file);
    let text = (await o.operations.readFile(file)).toString();
    for (const e of p.edits ?? [{ oldText: p.oldText, newText: p.newText }]) {
      const n = text.split(e.oldText).length - 1;
      if (n !== 1) throw new Error(n === 0 ? `Could not find the exact text in ${p.path}.` : `Found ${n} occurrences of the text in ${p.path}. The text must be unique.`);
      text = text.replace(e.oldText, () => e.newText);
    }
    await o.operations.writeFile(file, text);
    return textResult(`Successfully replaced ${p.edits?.length ?? 1} block(s) in ${p.path}.`, { diff: "" });
  },
  async ls(o, cwd, p) { const dir = path.resolve(cwd, p.path ?? "."); return textResult((await o.operations.readdir(dir)).sort().slice(0, p.limit ?? 500).join("\n")); },
  async find(o, cwd, p) { return textResult((await o.operations.glob(p.pattern, path.resolve(cwd, p.path ?? "."), { ignore: [], limit: p.limit ?? 1000 })).join("\n")); },
};
export const makeTool = (name) => (cwd = process.cwd(), o = {}) => {
  let spec;
  const get = (k) => (spec ??= call("tools.spec", { name }))[k];
  return {
    name, label: name,
    get description() { return get("description"); }, get parameters() { return get("parameters"); }, get promptSnippet() { return get("snippet"); }, get promptGuidelines() { return get("guidelines"); },
    execute(id, params, signal, onUpdate) {
      if (name === "bash") return runBash(o, cwd, params, String(id ?? ""), signal, onUpdate);
      const own = o.operations && withOperations[name];
      if (own) return own(o, cwd, params, signal, onUpdate);
      return start("tools.run", { name, id: String(id ?? ""), args: params, cwd }, { signal, onEvent: (m) => onUpdate?.(m.update) });
    },
  };
};
export const toolNames = { read: "Read", bash: "Bash", edit: "Edit", write: "Write", grep: "Grep", find: "Find", ls: "Ls", powershell: "PowerShell" };
export const factories = Object.fromEntries(Object.entries(toolNames).flatMap(([n, N]) => [[`create${N}Tool`, makeTool(n)], [`create${N}ToolDefinition`, makeTool(n)], [`is${N}ToolResult`, (e) => e?.toolName === n]]));
