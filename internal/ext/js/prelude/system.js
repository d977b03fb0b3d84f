// process and os.
import { call } from "./bridge.js";
import { Buffer } from "./buffer.js";
import { EventEmitter } from "./events.js";
import { log } from "./globals.js";
import { cwd, info } from "./path.js";
import { Readable, Writable } from "./stream.js";

const get = (name) => call("env.get", { name }) ?? undefined;
const env = new Proxy({}, {
  get: (t, k) => (typeof k === "string" ? get(k) : undefined),
  set: (t, k, v) => { call("env.set", { name: String(k), value: String(v) }); return true; },
  defineProperty: (t, k, d) => { call("env.set", { name: String(k), value: String(d.value) }); return true; },
  deleteProperty: (t, k) => { call("env.set", { name: String(k), value: null }); return true; },
  has: (t, k) => typeof k === "string" && get(k) !== undefined,
  ownKeys: () => call("env.keys"),
  getOwnPropertyDescriptor: (t, k) => { const value = typeof k === "string" ? get(k) : undefined; return value === undefined ? undefined : { value, enumerable: true, configurable: true, writable: true }; },
});

/** stdout and stderr of scripts both go to the host's log: stdout is the protocol's. */
const sink = (fd) => {
  let rest = "";
  return Object.assign(new Writable({
    decodeStrings: false,
    write(c, e, cb) {
      const lines = (rest + (typeof c === "string" ? c : Buffer.from(c).toString())).split("\n");
      rest = lines.pop();
      for (const l of lines) call("log", { text: l });
      if (rest) { call("log", { text: rest }); rest = ""; }
      cb();
    },
  }), { fd, isTTY: false, columns: 80, rows: 24, getWindowSize: () => [80, 24], hasColors: () => false, getColorDepth: () => 1, clearLine: () => true, cursorTo: () => true, moveCursor: () => true, clearScreenDown: () => true });
};

const versions = { node: "22.19.0", v8: "12.4.254.21", uv: "1.51.0", modules: "127" };
const hrtime = Object.assign((since) => {
  const n = Math.round(call("now") * 1e6);
  const s = Math.floor(n / 1e9), ns = n % 1e9;
  if (!since) return [s, ns];
  const d = (s - since[0]) * 1e9 + (ns - since[1]);
  return [Math.floor(d / 1e9), d % 1e9];
}, { bigint: () => BigInt(Math.round(call("now") * 1e6)) });

class Exit extends Error { constructor(code) { super(`process.exit(${code ?? 0}) was called by an extension`); this.name = "ExitError"; this.code = "ERR_PROCESS_EXIT"; } }

const memoryUsage = Object.assign(() => call("memory"), { rss: () => call("memory").rss });
export const process = Object.assign(new EventEmitter(), {
  env, argv: [info().exe, info().exe], argv0: info().exe, execPath: info().exe, execArgv: [], platform: info().platform, arch: info().arch, pid: info().pid, ppid: info().ppid,
  version: "v" + versions.node, versions, release: { name: "node", lts: "Jod" }, features: { inspector: false }, config: { variables: {}, target_defaults: {} }, title: "isotope", exitCode: undefined, allowedNodeEnvironmentFlags: new Set(),
  cwd, chdir() { throw Object.assign(new Error("process.chdir() is not available to extensions"), { code: "ERR_UNSUPPORTED" }); },
  exit(code) { throw new Exit(code); }, abort() { throw new Exit(134); }, reallyExit(code) { throw new Exit(code); },
  kill: (pid, signal) => { call("proc.kill", { pid, signal: String(signal ?? "SIGTERM") }); return true; },
  nextTick: (f, ...a) => queueMicrotask(() => f(...a)), hrtime, uptime: () => call("now") / 1000, memoryUsage, cpuUsage: () => ({ user: Math.round(call("now") * 1000), system: 0 }), resourceUsage: () => ({}), constrainedMemory: () => 0, availableMemory: () => 8e9,
  emitWarning: (w) => log("Warning: " + (w?.message ?? w)), umask: () => 0o22, getuid: () => info().uid, geteuid: () => info().uid, getgid: () => info().gid, getegid: () => info().gid, getgroups: () => [info().gid],
  stdout: sink(1), stderr: sink(2), stdin: Object.assign(new Readable({ read() { this.push(null); } }), { isTTY: false, fd: 0, setRawMode() { return this; } }),
  binding() { throw new Error("No such module"); }, setUncaughtExceptionCaptureCallback() {}, hasUncaughtExceptionCaptureCallback: () => false, setSourceMapsEnabled() {}, loadEnvFile() {}, report: {}, getActiveResourcesInfo: () => [], ref() {}, unref() {},
});
Object.defineProperty(process, Symbol.toStringTag, { value: "process" });

const signals = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGBUS: 7, SIGFPE: 8, SIGKILL: 9, SIGUSR1: 10, SIGSEGV: 11, SIGUSR2: 12, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15, SIGCHLD: 17, SIGCONT: 18, SIGSTOP: 19, SIGTSTP: 20, SIGTTIN: 21, SIGTTOU: 22, SIGWINCH: 28 };
const errno = { ENOENT: 2, EACCES: 13, EEXIST: 17, ENOTDIR: 20, EISDIR: 21, EINVAL: 22, EPERM: 1, EPIPE: 32, ECONNREFUSED: 111, EADDRINUSE: 98 };
const kernel = { linux: "Linux", darwin: "Darwin", win32: "Windows_NT" };
export const os = {
  EOL: info().platform === "win32" ? "\r\n" : "\n", devNull: info().platform === "win32" ? "\\\\.\\nul" : "/dev/null", constants: { signals, errno, priority: {}, dlopen: {} },
  homedir: () => get("HOME") ?? info().home, tmpdir: () => info().tmp, platform: () => info().platform, type: () => kernel[info().platform] ?? info().platform, arch: () => info().arch, machine: () => (info().arch === "x64" ? "x86_64" : info().arch === "arm64" && info().platform === "linux" ? "aarch64" : info().arch),
  release: () => info().release, version: () => "", hostname: () => info().hostname, endianness: () => "LE", cpus: () => Array.from({ length: info().cpus }, () => ({ model: "cpu", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } })),
  availableParallelism: () => info().cpus, totalmem: () => 16e9, freemem: () => 8e9, loadavg: () => [0, 0, 0], uptime: () => call("now") / 1000, networkInterfaces: () => ({}), getPriority: () => 0, setPriority() {},
  userInfo: () => ({ username: info().user, uid: info().uid, gid: info().gid, homedir: os.homedir(), shell: get("SHELL") ?? null }),
};
