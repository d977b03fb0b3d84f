// The agent package's names: helpers, the tool factories of tools.js, and classes that
// only a terminal uses.
import { call, start } from "../node/bridge.js";
import { fs } from "../node/fs.js";
import { path } from "../node/path.js";
import { process } from "../node/system.js";
import { makeBus } from "./bus.js";
import { keybindings, tui } from "./tui.js";
import { plainTheme } from "./theme.js";
import { factories, localBash, makeTool, toolNames } from "./tools.js";
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, formatSize, GREP_MAX_LINE_LENGTH, truncate } from "./truncate.js";

const about = () => call("agent.about");

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

const set = (names) => (cwd, o) => names.map((n) => makeTool(n)(cwd, o?.[n]));
/** ":3-7", the lines that a call of read asks for. */
function formatReadLineRange(offset, limit) {
  if (offset == null && limit == null) return "";
  const from = Number(offset ?? 1), count = limit == null ? undefined : Number(limit);
  if (Number.isNaN(from) || Number.isNaN(count ?? 0)) return "";
  return count === undefined ? `:${from}` : `:${from}-${from + count - 1}`;
}

export const coding = {
  get VERSION() { return about().version; }, get CONFIG_DIR_NAME() { return about().configDir; }, get APP_NAME() { return about().name; }, getAgentDir: () => about().agentDir, getPackageDir: () => about().agentDir, getDocsPath: () => path.join(about().agentDir, "docs"), getExamplesPath: () => path.join(about().agentDir, "examples"), getReadmePath: () => path.join(about().agentDir, "README.md"), getModelsPath: () => path.join(about().agentDir, "models.json"), getAuthPath: () => path.join(about().agentDir, "auth.json"), getSettingsPath: () => path.join(about().agentDir, "settings.json"), getSessionsDir: () => path.join(about().agentDir, "sessions"), getToolsDir: () => path.join(about().agentDir, "tools"), getPromptsDir: () => path.join(about().agentDir, "prompts"), getCustomThemesDir: () => path.join(about().agentDir, "themes"), CURRENT_SESSION_VERSION: 3, CONFIG_DIR_NAMES: [".pi"], ENV_AGENT_DIR: "PI_CODING_AGENT_DIR",
  ...factories, ...Object.fromEntries(Object.values(toolNames).map((N) => [`${N}ToolComponent`, tui.Container])), createCodingTools: set(["read", "bash", "edit", "write"]), createReadOnlyTools: set(["read", "grep", "find", "ls"]), createAllTools: (cwd, o) => Object.fromEntries(Object.keys(toolNames).filter((n) => n !== "powershell").map((n) => [n, makeTool(n)(cwd, o?.[n])])), createCodingToolDefinitions: set(["read", "bash", "edit", "write"]),
  defineTool: (t) => t, isToolCallEventType: (name, e) => e?.toolName === name, createLocalBashOperations: localBash, createLocalPowerShellOperations: localBash, getShellConfig: () => ({ shell: "/bin/bash", args: ["-c"] }), getShellEnv: () => ({ ...process.env }),
  truncateHead: (s, o) => truncate(s, o, false), truncateTail: (s, o) => truncate(s, o, true), truncateLine: (s, n = GREP_MAX_LINE_LENGTH) => (s.length > n ? { text: s.slice(0, n) + "... [truncated]", wasTruncated: true } : { text: s, wasTruncated: false }), formatSize, DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, GREP_MAX_LINE_LENGTH, withFileMutationQueue,
  convertToLlm, serializeConversation, buildSessionContext, buildContextEntries: branch, getLatestCompactionEntry: (list) => list.findLast((e) => e.type === "compaction") ?? null, migrateSessionEntries() {}, parseSessionEntries: (s) => s.split("\n").flatMap((l) => { try { return l.trim() ? [JSON.parse(l)] : []; } catch { return []; } }), estimateTokens: (m) => Math.ceil(blocks(m.content ?? m.summary ?? "").map(blockText).join("").length / 4), calculateContextTokens: (u) => u.totalTokens || u.input + u.output + u.cacheRead + u.cacheWrite,
  parseFrontmatter, stripFrontmatter: (s) => front.exec(s)?.[2] ?? s, createEventBus: () => makeBus(), createSyntheticSourceInfo: (p, o) => ({ path: p, source: "local", scope: "temporary", origin: "top-level", ...o }), getLanguageFromPath: (p) => languages[path.extname(p).slice(1).toLowerCase()], highlightCode: (c) => c.split("\n"), detectSupportedImageMimeTypeFromFile: async (p) => { try { return sniff(fs.readFileSync(p)); } catch { return null; } }, resizeImage: async (i) => ({ ...i, wasResized: false }), convertToPng: async (data, mimeType) => (mimeType === "image/png" ? { data, mimeType } : null), formatDimensionNote: () => undefined, copyToClipboard: async () => {}, generateDiffString: (a, b) => ({ diff: call("diff", { a, b }), firstChangedLine: undefined }), generateUnifiedPatch: (file, a, b) => call("diff", { a, b }),
  getMarkdownTheme: plainTheme, getSelectListTheme: plainTheme, getSettingsListTheme: plainTheme, getEditorTheme: plainTheme, Theme: class {}, initTheme() {}, keyHint: hint, keyText: (k) => k, rawKeyHint: hint, editorKey: (k) => k, appKey: (k) => k, appKeyHint: (kb, k, d) => hint(k, d), formatReadLineRange, getKeybindings: () => keybindings,
  loadSkills: () => ({ skills: [], diagnostics: [] }), loadSkillsFromDir: () => ({ skills: [], diagnostics: [] }), formatSkillsForPrompt: () => "", loadProjectContextFiles: () => [], loadPromptTemplates: () => [], parseSkillBlock: () => null, parseArgs: () => ({}), hasTrustRequiringProjectResources: () => false, readStoredCredential: async () => undefined, compact: async () => { throw new Error("compact is not available to extensions in this host: use ctx.compact"); }, shouldCompact: () => false, generateSummary: async () => { throw new Error("generateSummary is not available to extensions in this host"); },
  SessionManager, SettingsManager, CustomEditor, DynamicBorder, BorderedLoader, ModelRegistry: absent("ModelRegistry"), ModelRuntime: absent("ModelRuntime"), AuthStorage: absent("AuthStorage"), AgentSession: absent("AgentSession"), DefaultResourceLoader: absent("DefaultResourceLoader"), DefaultPackageManager: absent("DefaultPackageManager"), ExtensionRunner: absent("ExtensionRunner"), RpcClient: absent("RpcClient"), createAgentSession() { throw Object.assign(new Error("createAgentSession is not available to extensions in this host"), { code: "ERR_UNSUPPORTED" }); },
  ...Object.fromEntries(["UserMessageComponent", "AssistantMessageComponent", "ToolExecutionComponent", "BashExecutionComponent", "FooterComponent", "CustomMessageComponent", "CompactionSummaryMessageComponent", "BranchSummaryMessageComponent", "ModelSelectorComponent", "ExtensionSelectorComponent", "ExtensionInputComponent", "ExtensionEditorComponent", "SettingsSelectorComponent", "SessionSelectorComponent", "TreeSelectorComponent", "ThemeSelectorComponent", "LoginDialogComponent"].map((k) => [k, tui.Container])), renderDiff: (d) => d, truncateToVisualLines: (t) => ({ visualLines: t.split("\n"), skippedCount: 0 }),
};
export const core = { Agent: absent("Agent"), agentLoop() { throw new Error("agentLoop is not available to extensions in this host"); }, agentLoopContinue() { throw new Error("agentLoop is not available to extensions in this host"); } };
