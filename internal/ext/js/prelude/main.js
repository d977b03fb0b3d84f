// The start of the host: globals, then the registry of modules that bundles use.
import "./start.js";
import { answer, call, dispatchers } from "./bridge.js";
import { install as installIntl } from "./intl.js";
import { Blob, Buffer, File } from "./buffer.js";
import { webcrypto } from "./crypto.js";
import { fetch, FormData, Headers, Request, Response } from "./fetch.js";
import { modules, unsupported } from "./modules.js";
import { WebSocket } from "./net.js";
import { path } from "./path.js";
import { process } from "./system.js";
import { pathToFileURL, URL, URLSearchParams } from "./url.js";
import { webStreams } from "./web_streams.js";

const G = globalThis;
installIntl(G);
Object.assign(G, { Buffer, Blob, File, process, URL, URLSearchParams, fetch, Headers, Request, Response, FormData, WebSocket, ...webStreams, crypto: webcrypto, CryptoKey: webcrypto.CryptoKey });
G.navigator ??= { userAgent: "Node.js/22", hardwareConcurrency: 1, language: "en-US", platform: process.platform };
if (!G.WebAssembly) {
  const fail = () => { throw unsupported("WebAssembly"); };
  G.WebAssembly = { compile: async () => fail(), instantiate: async () => fail(), validate: () => false, Module: class { constructor() { fail(); } }, Instance: class { constructor() { fail(); } }, Memory: class { constructor() { fail(); } } };
}
if (!G.BroadcastChannel) G.BroadcastChannel = class extends EventTarget { postMessage() {} close() {} };
modules["node:buffer"].atob = G.atob;
modules["node:buffer"].btoa = G.btoa;

/** Adds host modules of the host's user; each gets itself as its default export. */
export function provide(more) {
  Object.assign(modules, more);
  for (const m of Object.values(more)) withDefault(m);
}
function withDefault(m) {
  if (m && (typeof m === "object" || typeof m === "function") && !("default" in m)) Object.defineProperty(m, "default", { value: m, enumerable: false, configurable: true });
}
Object.values(modules).forEach(withDefault);

const notFound = (spec) => Object.assign(new Error(`Cannot find module '${spec}'`), { code: "MODULE_NOT_FOUND" });
let aliases = (spec) => (modules["node:" + spec] ? "node:" + spec : modules[spec] ? spec : "");
/** Says by which names extensions import host modules. */
export const setAliases = (f) => { const before = aliases; aliases = (s) => f(s) || before(s); };

const running = new Map();
G.__ext = {
  mods: {},
  require(name) { const m = modules[name]; if (!m) throw notFound(name); return m; },
  moduleName: (spec) => aliases(spec),
  requireFrom(file, spec) {
    const name = aliases(spec);
    if (name) return modules[name];
    if (spec.endsWith(".json")) return JSON.parse(modules["node:fs"].readFileSync(path.resolve(path.dirname(file), spec), "utf8"));
    throw notFound(spec);
  },
  notFound,
  meta: (file, dir) => ({
    url: pathToFileURL(file).href, filename: file, dirname: dir, env: {}, main: false,
    resolve(spec) {
      if (spec.startsWith(".")) return pathToFileURL(path.resolve(dir, spec)).href;
      if (aliases(spec)) return spec;
      const found = call("module.resolve", { from: file, spec });
      if (!found) throw notFound(spec);
      return pathToFileURL(found).href;
    },
  }),
  run(name, f) { running.set(name, f()); running.get(name).catch(() => {}); },
};

dispatchers.loaded = (id, name) => answer(id, async () => {
  const p = running.get(name);
  running.delete(name);
  if (!p) throw new Error("the script did not start");
  await p;
});

/** What each module exports, also what it inherits when it is an object of a class. */
dispatchers.exports = (id) => answer(id, () => Object.fromEntries(Object.entries(modules).map(([name, m]) => {
  const names = new Set(Object.getOwnPropertyNames(m));
  if (name === "node:process") for (const k of ["on", "once", "off", "emit", "addListener", "removeListener", "removeAllListeners", "listenerCount"]) names.add(k);
  for (const k of ["length", "name", "prototype", "arguments", "caller"]) if (typeof m === "function") names.delete(k);
  return [name, [...names].filter((k) => !k.startsWith("_"))];
})));

/** The value of a global, for tests and diagnostics. */
dispatchers.global = (id, name) => answer(id, () => G[name]);
