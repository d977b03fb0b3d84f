// The built-in modules by their names.
import { call } from "./bridge.js";
import { buffer } from "./buffer.js";
import { childProcess } from "./child_process.js";
import { crypto } from "./crypto.js";
import { events } from "./events.js";
import { fs, fsp } from "./fs.js";
import { console, performance } from "./globals.js";
import { http, https } from "./http.js";
import { dns, dnsPromises, net, tls } from "./net.js";
import { path, posix, win32 } from "./path.js";
import { consumers, stream, streamPromises, StringDecoder } from "./stream.js";
import { os, process } from "./system.js";
import { fileURLToPath, url, URLSearchParams } from "./url.js";
import { assert, asyncHooks, diagnosticsChannel, readline, readlinePromises, util, zlib } from "./util.js";
import { webStreams } from "./web_streams.js";

const unsupported = (what) => Object.assign(new Error(`${what} is not available in this host`), { code: "ERR_UNSUPPORTED" });
/** A module whose parts can be imported but not used. */
const absent = (module, names, more = {}) => ({
  ...Object.fromEntries(names.map((n) => [n, /^[A-Z]/.test(n) ? class { constructor() { throw unsupported(`${module}.${n}`); } } : () => { throw unsupported(`${module}.${n}`); }])),
  ...more,
});

const { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate } = globalThis;
const delay = (arm) => (ms, value, { signal } = {}) => new Promise((resolve, reject) => {
  if (signal?.aborted) return reject(aborted(signal));
  const t = arm(() => { signal?.removeEventListener("abort", stop); resolve(value); }, ms);
  const stop = () => { clearTimeout(t); reject(aborted(signal)); };
  signal?.addEventListener("abort", stop, { once: true });
});
const aborted = (signal) => Object.assign(new Error("The operation was aborted", { cause: signal.reason }), { name: "AbortError", code: "ABORT_ERR" });
const timersPromises = {
  setTimeout: delay(setTimeout), setImmediate: (v, o) => delay((f) => setImmediate(f))(0, v, o),
  async *setInterval(ms, value, o) { for (;;) { await timersPromises.setTimeout(ms, undefined, o); yield value; } },
  scheduler: { wait: (ms, o) => timersPromises.setTimeout(ms, undefined, o), yield: () => timersPromises.setImmediate() },
};

const querystring = {
  parse: (s, sep = "&", eq = "=") => { const out = { __proto__: null }; for (const [k, v] of new URLSearchParams(String(s).replaceAll(sep, "&").replaceAll(eq, "="))) out[k] = k in out ? [].concat(out[k], v) : v; return out; },
  stringify: (o, sep = "&", eq = "=") => Object.entries(o ?? {}).flatMap(([k, v]) => [].concat(v).map((x) => encodeURIComponent(k) + eq + encodeURIComponent(x ?? ""))).join(sep),
  escape: encodeURIComponent, unescape: decodeURIComponent,
};
querystring.decode = querystring.parse;
querystring.encode = querystring.stringify;

function createRequire(from) {
  const file = from instanceof globalThis.URL || String(from).startsWith("file:") ? fileURLToPath(from) : String(from);
  const require = (spec) => globalThis.__ext.requireFrom(file, spec);
  require.resolve = Object.assign((spec) => {
    if (spec.startsWith(".") || path.isAbsolute(spec)) return path.resolve(path.dirname(file), spec);
    if (globalThis.__ext.moduleName(spec)) return spec;
    const found = call("module.resolve", { from: file, spec });
    if (!found) throw globalThis.__ext.notFound(spec);
    return found;
  }, { paths: () => [] });
  require.cache = {};
  require.main = undefined;
  require.extensions = {};
  return require;
}
class Module {}
const moduleModule = Object.assign(Module, { Module, createRequire, builtinModules: [], isBuiltin: (s) => !!modules["node:" + s.replace(/^node:/, "")], register() {}, registerHooks: () => ({ deregister() {} }), enableCompileCache() {}, findPackageJSON: () => undefined, syncBuiltinESMExports() {}, stripTypeScriptTypes: (s) => s, _extensions: {}, _cache: {} });

export const modules = {
  __proto__: null,
  "node:assert": assert, "node:assert/strict": assert.strict, "node:async_hooks": asyncHooks, "node:buffer": buffer, "node:child_process": childProcess, "node:console": console, "node:constants": { ...fs.constants, ...os.constants.signals, ...os.constants.errno }, "node:crypto": crypto, "node:diagnostics_channel": diagnosticsChannel,
  "node:dns": dns, "node:dns/promises": dnsPromises, "node:events": events, "node:fs": fs, "node:fs/promises": fsp, "node:http": http, "node:https": https, "node:module": moduleModule, "node:net": net, "node:os": os, "node:path": path, "node:path/posix": posix, "node:path/win32": win32,
  "node:perf_hooks": { performance, PerformanceObserver: class { observe() {} disconnect() {} }, constants: {}, monitorEventLoopDelay: () => ({ enable() {}, disable() {}, min: 0, max: 0, mean: 0, percentile: () => 0 }), createHistogram: () => ({}) }, "node:process": process, "node:punycode": { toASCII: (s) => s, toUnicode: (s) => s, encode: (s) => s, decode: (s) => s, ucs2: { decode: (s) => [...s].map((c) => c.codePointAt(0)), encode: (a) => String.fromCodePoint(...a) } }, "node:querystring": querystring,
  "node:readline": readline, "node:readline/promises": readlinePromises, "node:stream": stream, "node:stream/consumers": consumers, "node:stream/promises": streamPromises, "node:stream/web": webStreams, "node:string_decoder": { StringDecoder }, "node:sys": util,
  "node:timers": { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate, promises: timersPromises }, "node:timers/promises": timersPromises, "node:tls": tls, "node:tty": { isatty: () => false, ReadStream: class {}, WriteStream: class {} }, "node:url": url, "node:util": util, "node:util/types": util.types, "node:zlib": zlib,
  "node:v8": { getHeapStatistics: () => ({ total_heap_size: 0, used_heap_size: 0, heap_size_limit: 256 << 20 }), serialize: (v) => buffer.Buffer.from(JSON.stringify(v)), deserialize: (b) => JSON.parse(buffer.Buffer.from(b).toString()), setFlagsFromString() {}, getHeapSnapshot() { throw unsupported("v8.getHeapSnapshot"); } },
  "node:vm": absent("vm", ["runInContext", "runInNewContext", "createContext", "Script", "SourceTextModule"], { runInThisContext: (code) => (0, eval)(code), isContext: () => false }),
  "node:worker_threads": absent("worker_threads", ["Worker"], { isMainThread: true, parentPort: null, workerData: null, threadId: 0, resourceLimits: {}, MessageChannel, MessagePort, BroadcastChannel: class {}, markAsUncloneable() {}, markAsUntransferable() {}, SHARE_ENV: Symbol("SHARE_ENV") }),
  "node:cluster": absent("cluster", ["fork"], { isPrimary: true, isMaster: true, isWorker: false, workers: {} }), "node:dgram": absent("dgram", ["createSocket", "Socket"]), "node:domain": absent("domain", ["create"]), "node:http2": absent("http2", ["connect", "createServer", "createSecureServer"], { constants: {} }), "node:inspector": absent("inspector", ["Session"], { url: () => undefined, open() {}, close() {} }),
  "node:sea": { isSea: () => false }, "node:sqlite": absent("sqlite", ["DatabaseSync", "StatementSync"]), "node:test": absent("test", ["test", "describe", "it", "before", "after"]), "node:repl": absent("repl", ["start"]), "node:trace_events": { createTracing: () => ({ enable() {}, disable() {} }), getEnabledCategories: () => undefined }, "node:wasi": absent("wasi", ["WASI"]),
};
moduleModule.builtinModules.push(...Object.keys(modules).map((n) => n.slice(5)));
process.getBuiltinModule = (n) => modules["node:" + n.replace(/^node:/, "")];
export { absent, unsupported };
