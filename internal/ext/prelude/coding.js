// The agent package's names: helpers, tool factories over the host's tools, and classes
// that only a terminal uses.
import { call, start, toBytes } from "../node/bridge.js";
import { Buffer, wrap } from "../node/buffer.js";
import { fs } from "../node/fs.js";
import { path } from "../node/path.js";
import { process } from "../node/system.js";
import { makeBus } from "./bus.js";
import { keybindings, tui } from "./tui.js";
import { plainTheme } from "./theme.js";

const DEFAULT_MAX_LINES = 2000, DEFAULT_MAX_BYTES = 50 * 1024, GREP_MAX_LINE_LENGTH = 500;
const about = () => call("agent.about");
const byteLength = (s) => Buffer.byteLength(s);
const formatSize = (n) => (n < 1024 ? `${n}B` : n < 1024 * 1024 ? `${(n / 1024).toFixed(1)}KB` : `${(n / 1024 / 1024).toFixed(1)}MB`);

function truncate(text, { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES } = {}, tail) {
  const lines = text.split("\n");
  const totalBytes = byteLength(text);
  const base = { totalLines: lines.length, totalBytes, maxLines, maxBytes, lastLinePartial: false, firstLineExceedsLimit: false };
  if (lines.length <= maxLines && totalBytes <= maxBytes) return { content: text, truncated: false, truncatedBy: null, ...base, outputLines: lines.length, outputBytes: totalBytes };
  if (!tail && byteLength(lines[0]) > maxBytes) return { content: "", truncated: true, truncatedBy: "bytes", ...base, outputLines: 0, outputBytes: 0, firstLineExceedsLimit: true };
  const out = [];
  let n = 0, by = "lines", partial = false;
  for (let i = 0; i < lines.length && out.length < maxLines; i++) {
    const l = lines[tail ? lines.length - 1 - i : i];
    const size = byteLength(l) + (out.length ? 1 : 0);
    if (n + size > maxBytes) {
      by = "bytes";
      if (tail && !out.length) { const b = Buffer.from(l); let from = b.length - maxBytes; while (from < b.length && (b[from] & 0xc0) === 0x80) from++; const end = b.toString("utf8", from); out.push(end); n = byteLength(end); partial = true; }
      break;
    }
    out.push(l);
    n += size;
  }
  if (tail) out.reverse();
  if (out.length >= maxLines && n <= maxBytes) by = "lines";
  const content = out.join("\n");
  return { content, truncated: true, truncatedBy: by, ...base, outputLines: out.length, outputBytes: byteLength(content), lastLinePartial: partial };
}

// --- tools ---------------------------------------------------------------------------

function localBash(o = {}) {
  return {
    async exec(command, cwd, { onData, signal, timeout, env } = {}) {
      const out = (m) => { if (m.data !== undefined) onData?.(wrap(toBytes(m.data))); };
      const r = await start("proc.spawn", { key: "bash" + Math.random(), command: o.shellPath ?? "/bin/bash", args: ["-c", command], cwd, env, shell: "", timeout: timeout ? timeout * 1000 : 0, stdin: "ignore", stdout: "pipe", stderr: "pipe", signal: "SIGTERM" }, { signal, onEvent: out });
      if (r.timedOut) throw new Error(`timeout:${timeout}`);
      return { exitCode: r.signal ? null : r.code };
    },
  };
}
const textResult = (text, details) => ({ content: [{ type: "text", text }], details });

/** A tool whose file or shell operations the extension brings along. */
const withOperations = {
  async bash(o, cwd, p, signal, onUpdate) {
    let call = { command: o.commandPrefix ? o.commandPrefix + "\n" + p.command : p.command, cwd, env: { ...process.env } };
    if (o.spawnHook) call = o.spawnHook(call);
    let output = "";
    const shown = () => { const t = truncate(output, {}, true); return { t, details: t.truncated ? { truncation: t } : undefined }; };
    const onData = (d) => { output += d.toString(); const { t, details } = shown(); onUpdate?.(textResult(t.content, details)); };
    const { exitCode } = await (o.operations ?? localBash(o)).exec(call.command, call.cwd, { onData, signal, timeout: p.timeout, env: call.env }).catch((e) => {
      const limit = /^timeout:(.*)/.exec(e.message)?.[1];
      if (limit !== undefined) throw new Error(`${output ? output + "\n\n" : ""}Command timed out after ${limit} seconds`);
      if (signal?.aborted) throw new Error(`${output ? output + "\n\n" : ""}Command aborted`);
      throw e;
    });
    const { t, details } = shown();
    const text = t.content || "(no output)";
    if (exitCode !== 0 && exitCode !== null) throw new Error(`${text}\n\nCommand exited with code ${exitCode}`);
    return textResult(text, details);
  },
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
const pluggable = (name, o) => (name === "bash" ? o.operations || o.spawnHook || o.commandPrefix || o.shellPath : o.operations) && withOperations[name];

const makeTool = (name) => (cwd = process.cwd(), o = {}) => {
  let spec;
  const get = (k) => (spec ??= call("tools.spec", { name }))[k];
  return {
    name, label: name,
    get description() { return get("description"); }, get parameters() { return get("parameters"); }, get promptSnippet() { return get("snippet"); }, get promptGuidelines() { return get("guidelines"); },
    execute(id, params, signal, onUpdate) {
      const own = pluggable(name, o);
      if (own) return own(o, cwd, params, signal, onUpdate);
      return start("tools.run", { name, id: String(id ?? ""), args: params, cwd }, { signal, onEvent: (u) => onUpdate?.(u) });
    },
  };
};
const toolNames = { read: "Read", bash: "Bash", edit: "Edit", write: "Write", grep: "Grep", find: "Find", ls: "Ls", powershell: "PowerShell" };
const factories = Object.fromEntries(Object.entries(toolNames).flatMap(([n, N]) => [[`create${N}Tool`, makeTool(n)], [`create${N}ToolDefinition`, makeTool(n)], [`${n}Tool`, undefined], [`is${N}ToolResult`, (e) => e?.toolName === n], [`${N}ToolComponent`, tui.Container]]));
for (const n of Object.keys(toolNames)) { delete factories[`${n}Tool`]; }
const set = (names) => (cwd, o) => names.map((n) => makeTool(n)(cwd, o?.[n]));

// --- conversations -----------------------------------------------------------------------

const blocks = (c) => (typeof c === "string" ? [{ type: "text", text: c }] : c);
function convertToLlm(messages) {
  return messages.flatMap((m) => {
    switch (m.role) {
      case "user": case "assistant": case "toolResult": return [m];
      case "custom": return [{ role: "user", content: blocks(m.content), timestamp: m.timestamp }];
      case "bashExecution": return m.excludeFromContext ? [] : [{ role: "user", content: [{ type: "text", text: `Ran \`${m.command}\`\n${m.output ? "```\n" + m.output + "\n```" : "(no output)"}` }], timestamp: m.timestamp }];
      case "branchSummary": case "compactionSummary": return [{ role: "user", content: [{ type: "text", text: m.summary }], timestamp: m.timestamp }];
    }
    return [];
  });
}
const blockText = (c) => (c.type === "text" ? c.text : c.type === "thinking" ? c.thinking : c.type === "toolCall" ? `${c.name}(${Object.entries(c.arguments ?? {}).map(([k, v]) => `${k}=${JSON.stringify(v)}`).join(", ")})` : `[${c.type}]`);
const roles = { user: "User", assistant: "Assistant", toolResult: "Tool result", system: "System" };
const serializeConversation = (messages) => messages.map((m) => `[${roles[m.role] ?? m.role}]: ${blocks(m.content).map(blockText).join("\n")}`).join("\n\n");
function branch(entries, leafId) {
  const byId = new Map(entries.map((e) => [e.id, e]));
  const out = [];
  for (let e = leafId === null ? undefined : byId.get(leafId ?? entries.at(-1)?.id); e; e = byId.get(e.parentId)) out.unshift(e);
  return out;
}
export function buildSessionContext(entries, leafId) {
  const list = branch(entries.filter((e) => e.type !== "session"), leafId);
  const cut = list.findLastIndex((e) => e.type === "compaction");
  const messages = [];
  let thinkingLevel = "off", model = null;
  if (cut >= 0) messages.push({ role: "compactionSummary", summary: list[cut].summary, tokensBefore: list[cut].tokensBefore, timestamp: Date.parse(list[cut].timestamp) });
  const first = cut >= 0 ? Math.max(0, list.findIndex((e) => e.id === list[cut].firstKeptEntryId)) : 0;
  for (const [i, e] of list.entries()) {
    if (e.type === "thinking_level_change") thinkingLevel = e.thinkingLevel;
    else if (e.type === "model_change") model = { provider: e.provider, modelId: e.modelId };
    if (i < first || i === cut) continue;
    if (e.type === "message") messages.push(e.message);
    else if (e.type === "custom_message") messages.push({ role: "custom", customType: e.customType, content: e.content, display: e.display, details: e.details, timestamp: Date.parse(e.timestamp) });
    else if (e.type === "branch_summary") messages.push({ role: "branchSummary", summary: e.summary, fromId: e.fromId, timestamp: Date.parse(e.timestamp) });
  }
  return { messages, thinkingLevel, model };
}

// --- files --------------------------------------------------------------------------------

const front = /^---[ \t]*\r?\n([\s\S]*?)\r?\n?---[ \t]*(?:\r?\n|$)([\s\S]*)$/;
function parseFrontmatter(text) {
  const m = front.exec(text);
  if (!m) return { frontmatter: {}, body: text };
  return { frontmatter: call("yaml", { text: m[1] }) ?? {}, body: m[2] };
}
const queues = new Map();
async function withFileMutationQueue(file, f) {
  let key;
  try { key = fs.realpathSync(file); } catch { key = path.resolve(file); }
  const run = (queues.get(key) ?? Promise.resolve()).then(f, f);
  const done = run.catch(() => {});
  queues.set(key, done);
  done.then(() => { if (queues.get(key) === done) queues.delete(key); });
  return run;
}
const languages = { ts: "typescript", tsx: "typescript", mts: "typescript", js: "javascript", jsx: "javascript", mjs: "javascript", py: "python", rs: "rust", go: "go", md: "markdown", json: "json", sh: "bash", bash: "bash", html: "html", css: "css", yml: "yaml", yaml: "yaml", toml: "toml", java: "java", c: "c", h: "c", cpp: "cpp", rb: "ruby", php: "php", sql: "sql", swift: "swift", kt: "kotlin" };
const pictures = [["image/png", [0x89, 0x50, 0x4e, 0x47]], ["image/jpeg", [0xff, 0xd8, 0xff]], ["image/gif", [0x47, 0x49, 0x46]], ["image/webp", [0x52, 0x49, 0x46, 0x46]]];
const sniff = (b) => pictures.find(([, magic]) => magic.every((x, i) => b[i] === x))?.[0] ?? null;

const absent = (what) => class { constructor() { throw Object.assign(new Error(`${what} is not available to extensions in this host`), { code: "ERR_UNSUPPORTED" }); } };
class SessionManager {
  static async list(cwd) { return start("sessions.list", { cwd }); }
  static async listAll() { return start("sessions.list", { cwd: "" }); }
  static open() { return new (absent("SessionManager.open"))(); }
  static create() { return new (absent("SessionManager.create"))(); }
  static inMemory() { return new (absent("SessionManager.inMemory"))(); }
}
class SettingsManager {
  static create() { return new SettingsManager(); }
  static inMemory() { return new SettingsManager(); }
  getGlobalSettings() { return call("host.settings") ?? {}; }
  getProjectSettings() { return {}; }
  getSettings() { return call("host.settings") ?? {}; }
  reload() {} async flush() {}
}
class CustomEditor extends tui.Editor { constructor(t, theme, bindings, o) { super(t, theme, o); this.keybindings = bindings; this.actionHandlers = new Map(); } onAction(a, f) { this.actionHandlers.set(a, f); } }
class DynamicBorder extends tui.Component { constructor(f = (s) => s) { super(); this.color = f; } render(w) { return [this.color("─".repeat(Math.max(1, w)))]; } }
class BorderedLoader extends tui.Container { constructor(t, theme, message) { super(); this.controller = new AbortController(); this.addChild(new tui.Text(message)); } get signal() { return this.controller.signal; } dispose() {} }
const hint = (k, d) => `${k} ${d}`;

export const coding = {
  get VERSION() { return about().version; }, get CONFIG_DIR_NAME() { return about().configDir; }, get APP_NAME() { return about().name; }, getAgentDir: () => about().agentDir, getPackageDir: () => about().agentDir, getDocsPath: () => path.join(about().agentDir, "docs"), getExamplesPath: () => path.join(about().agentDir, "examples"), getReadmePath: () => path.join(about().agentDir, "README.md"), getModelsPath: () => path.join(about().agentDir, "models.json"), getAuthPath: () => path.join(about().agentDir, "auth.json"), getSettingsPath: () => path.join(about().agentDir, "settings.json"), getSessionsDir: () => path.join(about().agentDir, "sessions"), getToolsDir: () => path.join(about().agentDir, "tools"), getPromptsDir: () => path.join(about().agentDir, "prompts"), getCustomThemesDir: () => path.join(about().agentDir, "themes"), CURRENT_SESSION_VERSION: 3, CONFIG_DIR_NAMES: [".pi"], ENV_AGENT_DIR: "PI_CODING_AGENT_DIR",
  ...factories, createCodingTools: set(["read", "bash", "edit", "write"]), createReadOnlyTools: set(["read", "grep", "find", "ls"]), createAllTools: (cwd, o) => Object.fromEntries(Object.keys(toolNames).filter((n) => n !== "powershell").map((n) => [n, makeTool(n)(cwd, o?.[n])])), createCodingToolDefinitions: set(["read", "bash", "edit", "write"]),
  defineTool: (t) => t, isToolCallEventType: (name, e) => e?.toolName === name, createLocalBashOperations: localBash, createLocalPowerShellOperations: localBash, getShellConfig: () => ({ shell: "/bin/bash", args: ["-c"] }), getShellEnv: () => ({ ...process.env }),
  truncateHead: (s, o) => truncate(s, o, false), truncateTail: (s, o) => truncate(s, o, true), truncateLine: (s, n = GREP_MAX_LINE_LENGTH) => (s.length > n ? { text: s.slice(0, n) + "... [truncated]", wasTruncated: true } : { text: s, wasTruncated: false }), formatSize, DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, GREP_MAX_LINE_LENGTH, withFileMutationQueue,
  convertToLlm, serializeConversation, buildSessionContext, buildContextEntries: branch, getLatestCompactionEntry: (list) => list.findLast((e) => e.type === "compaction") ?? null, migrateSessionEntries() {}, parseSessionEntries: (s) => s.split("\n").flatMap((l) => { try { return l.trim() ? [JSON.parse(l)] : []; } catch { return []; } }), estimateTokens: (m) => Math.ceil(blocks(m.content ?? m.summary ?? "").map(blockText).join("").length / 4), calculateContextTokens: (u) => u.totalTokens || u.input + u.output + u.cacheRead + u.cacheWrite,
  parseFrontmatter, stripFrontmatter: (s) => front.exec(s)?.[2] ?? s, createEventBus: () => makeBus(), createSyntheticSourceInfo: (p, o) => ({ path: p, source: "local", scope: "temporary", origin: "top-level", ...o }), getLanguageFromPath: (p) => languages[path.extname(p).slice(1).toLowerCase()], highlightCode: (c) => c.split("\n"), detectSupportedImageMimeTypeFromFile: async (p) => { try { return sniff(fs.readFileSync(p)); } catch { return null; } }, resizeImage: async (i) => ({ ...i, wasResized: false }), convertToPng: async (data, mimeType) => (mimeType === "image/png" ? { data, mimeType } : null), formatDimensionNote: () => undefined, copyToClipboard: async () => {}, generateDiffString: (a, b) => ({ diff: call("diff", { a, b }), firstChangedLine: undefined }), generateUnifiedPatch: (file, a, b) => call("diff", { a, b }),
  getMarkdownTheme: plainTheme, getSelectListTheme: plainTheme, getSettingsListTheme: plainTheme, getEditorTheme: plainTheme, Theme: class {}, initTheme() {}, keyHint: hint, keyText: (k) => k, rawKeyHint: hint, editorKey: (k) => k, appKey: (k) => k, appKeyHint: (kb, k, d) => hint(k, d), formatReadLineRange: (a) => (a?.offset || a?.limit ? `:${a.offset ?? 1}${a.limit ? "-" + ((a.offset ?? 1) + a.limit - 1) : ""}` : ""), getKeybindings: () => keybindings,
  loadSkills: () => ({ skills: [], diagnostics: [] }), loadSkillsFromDir: () => ({ skills: [], diagnostics: [] }), formatSkillsForPrompt: () => "", loadProjectContextFiles: () => [], loadPromptTemplates: () => [], parseSkillBlock: () => null, parseArgs: () => ({}), hasTrustRequiringProjectResources: () => false, readStoredCredential: async () => undefined, compact: async () => { throw new Error("compact is not available to extensions in this host: use ctx.compact"); }, shouldCompact: () => false, generateSummary: async () => { throw new Error("generateSummary is not available to extensions in this host"); },
  SessionManager, SettingsManager, CustomEditor, DynamicBorder, BorderedLoader, ModelRegistry: absent("ModelRegistry"), ModelRuntime: absent("ModelRuntime"), AuthStorage: absent("AuthStorage"), AgentSession: absent("AgentSession"), DefaultResourceLoader: absent("DefaultResourceLoader"), DefaultPackageManager: absent("DefaultPackageManager"), ExtensionRunner: absent("ExtensionRunner"), RpcClient: absent("RpcClient"), createAgentSession() { throw Object.assign(new Error("createAgentSession is not available to extensions in this host"), { code: "ERR_UNSUPPORTED" }); },
  ...Object.fromEntries(["UserMessageComponent", "AssistantMessageComponent", "ToolExecutionComponent", "BashExecutionComponent", "FooterComponent", "CustomMessageComponent", "CompactionSummaryMessageComponent", "BranchSummaryMessageComponent", "ModelSelectorComponent", "ExtensionSelectorComponent", "ExtensionInputComponent", "ExtensionEditorComponent", "SettingsSelectorComponent", "SessionSelectorComponent", "TreeSelectorComponent", "ThemeSelectorComponent", "LoginDialogComponent"].map((k) => [k, tui.Container])), renderDiff: (d) => d, truncateToVisualLines: (t) => ({ visualLines: t.split("\n"), skippedCount: 0 }),
};
export const core = { Agent: absent("Agent"), agentLoop() { throw new Error("agentLoop is not available to extensions in this host"); }, agentLoopContinue() { throw new Error("agentLoop is not available to extensions in this host"); } };
