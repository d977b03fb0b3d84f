// child_process. Children never get the protocol's stdout: "inherit" means stderr.
import { call, start, toBytes, fromBytes } from "./bridge.js";
import { Buffer, encode, wrap } from "./buffer.js";
import { view } from "./encoding.js";
import { EventEmitter } from "./events.js";
import { toPath } from "./fs.js";
import { Readable, Writable } from "./stream.js";

let last = 0;
const signalName = (s) => (typeof s === "number" ? { 0: "0", 1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 9: "SIGKILL", 15: "SIGTERM" }[s] ?? "SIGTERM" : (s ?? "SIGTERM"));
const strings = (env) => env && Object.fromEntries(Object.entries(env).filter(([, v]) => v !== undefined).map(([k, v]) => [k, String(v)]));
const stdioOf = (stdio) => { const l = Array.isArray(stdio) ? stdio : [stdio, stdio, stdio]; return [0, 1, 2].map((i) => { const v = l[i] ?? "pipe"; return v === "pipe" || v === "overlapped" ? "pipe" : v === "ignore" ? "ignore" : "inherit"; }); };

/** The part of a child's description that all ways of starting share. */
function describe(command, args, o) {
  if (typeof command !== "string" || command === "") throw Object.assign(new TypeError(command === "" ? "The argument 'file' cannot be empty. Received ''" : 'The "file" argument must be of type string.'), { code: "ERR_INVALID_ARG_TYPE" });
  const [, stdout, stderr] = stdioOf(o.stdio);
  return { command, args: args.map(String), cwd: o.cwd ? toPath(o.cwd) : "", env: strings(o.env), shell: o.shell === true ? "default" : o.shell || "", timeout: o.timeout ?? 0, signal: signalName(o.killSignal), stdout, stderr };
}

class ChildProcess extends EventEmitter {
  #key; #over = false;
  constructor() { super(); this.exitCode = this.signalCode = null; this.killed = false; this.connected = false; }
  _start(command, args, o) {
    const key = (this.#key = "c" + ++last);
    const [stdin] = stdioOf(o.stdio);
    const d = { ...describe(command, args, o), key, stdin };
    this.spawnfile = command;
    this.spawnargs = [o.argv0 ?? command, ...args];
    this.stdout = d.stdout === "pipe" ? new Readable({ read() {} }) : null;
    this.stderr = d.stderr === "pipe" ? new Readable({ read() {} }) : null;
    this.stdin = stdin === "pipe" ? this.#input() : null;
    this.stdio = [this.stdin, this.stdout, this.stderr];
    start("proc.spawn", d, { signal: o.signal, onEvent: (m) => this.#told(m) }).then((r) => this.#ended(r), (e) => this.#failed(e));
    return this;
  }
  #input() {
    let ready = new Promise((r) => { this._ready = r; });
    return new Writable({
      write: (c, e, cb) => { ready.then(() => { if (!this.#over) call("proc.stdin", { key: this.#key, data: fromBytes(c) }); }).then(() => cb(), cb); },
      final: (cb) => { ready.then(() => { if (!this.#over) call("proc.stdin", { key: this.#key, end: true }); }).then(() => cb(), () => cb()); },
    });
  }
  #told(m) {
    if (m.type === "pid") { this.pid = m.pid; this._ready?.(); this.emit("spawn"); }
    else if (m.type === "out") this.stdout?.push(wrap(toBytes(m.data)));
    else this.stderr?.push(wrap(toBytes(m.data)));
  }
  #close() { this.#over = true; this._ready?.(); this.stdout?.push(null); this.stderr?.push(null); }
  #ended(r) {
    this.#close();
    this.exitCode = r.signal ? null : r.code;
    this.signalCode = r.signal || null;
    this.emit("exit", this.exitCode, this.signalCode);
    // close comes after the streams have been read or dropped.
    let open = 1;
    const done = () => { if (--open === 0) this.emit("close", this.exitCode, this.signalCode); };
    for (const s of [this.stdout, this.stderr]) {
      if (!s || s.readableEnded || s.destroyed) continue;
      if (s.listenerCount("data") + s.listenerCount("readable") === 0 && !s._r.consumed && !s._r.flowing) { s.resume(); }
      open++;
      s.once("close", done);
    }
    queueMicrotask(done);
  }
  #failed(e) {
    this.#close();
    this.emit("error", e);
    if (e.name === "AbortError") { this.killed = true; this.signalCode = "SIGTERM"; this.emit("exit", null, "SIGTERM"); }
    queueMicrotask(() => this.emit("close", this.exitCode ?? (typeof e.errno === "number" ? e.errno : -1), this.signalCode));
  }
  kill(signal) {
    if (this.#over) return false;
    const sent = call("proc.kill", { key: this.#key, signal: signalName(signal) });
    if (sent && signal !== 0) this.killed = true;
    return !!sent;
  }
  ref() {} unref() {} disconnect() {}
  send() { throw unsupported("ChildProcess.send"); }
}
if (Symbol.dispose) ChildProcess.prototype[Symbol.dispose] = ChildProcess.prototype.kill;
const unsupported = (what) => Object.assign(new Error(`${what} is not available in this host`), { code: "ERR_UNSUPPORTED" });

function spawn(command, args, o) {
  if (!Array.isArray(args)) { o = args; args = []; }
  return new ChildProcess()._start(command, args, o ?? {});
}

const text = (list, e) => { const b = Buffer.concat(list); return e === "buffer" || e === null ? b : b.toString(e ?? "utf8"); };
const failure = (cmd, stderr, more) => Object.assign(new Error(`Command failed: ${cmd}\n${stderr}`), { cmd, ...more });

function execFile(command, args, o, cb) {
  if (typeof args === "function") [args, o, cb] = [[], {}, args];
  else if (!Array.isArray(args)) [args, o, cb] = [[], args, o];
  if (typeof o === "function") [o, cb] = [{}, o];
  o ??= {};
  const c = spawn(command, args, o);
  const out = { stdout: [], stderr: [] };
  const limit = o.maxBuffer ?? 1024 * 1024;
  const cmd = [command, ...args].join(" ");
  let tooMuch = null;
  for (const k of ["stdout", "stderr"]) {
    let n = 0;
    c[k]?.on("data", (d) => {
      n += d.length;
      if (n > limit) { tooMuch ??= Object.assign(new RangeError(`${k} maxBuffer length exceeded`), { code: "ERR_CHILD_PROCESS_STDIO_MAXBUFFER", cmd }); c.kill(o.killSignal); return; }
      out[k].push(d);
    });
  }
  const done = (error) => {
    if (!cb) return;
    const f = cb;
    cb = undefined;
    f(error, text(out.stdout, o.encoding), text(out.stderr, o.encoding));
  };
  c.on("error", (e) => done(Object.assign(e, { cmd })));
  c.on("close", (code, signal) => {
    if (tooMuch) return done(tooMuch);
    if (code === 0 && !signal) return done(null);
    done(failure(cmd, text(out.stderr), { code, signal, killed: c.killed || !!signal && (o.timeout ?? 0) > 0 }));
  });
  return c;
}
const exec = (command, o, cb) => (typeof o === "function" ? execFile(command, [], { shell: true }, o) : execFile(command, [], { ...o, shell: o?.shell || true }, cb));

const custom = Symbol.for("nodejs.util.promisify.custom");
for (const f of [exec, execFile]) {
  Object.defineProperty(f, custom, {
    value: (...a) => {
      let child;
      const p = new Promise((resolve, reject) => { child = f(...a, (e, stdout, stderr) => (e ? reject(Object.assign(e, { stdout, stderr })) : resolve({ stdout, stderr }))); });
      p.child = child;
      return p;
    },
  });
}

function spawnSync(command, args, o) {
  if (!Array.isArray(args)) { o = args; args = []; }
  o ??= {};
  let r;
  try {
    r = call("proc.run", { ...describe(command, args, o), input: o.input == null ? null : fromBytes(typeof o.input === "string" ? encode(o.input) : view(o.input)), maxBuffer: o.maxBuffer ?? 0 });
  } catch (error) {
    error.message = error.message.replace(/^spawn /, "spawnSync ");
    return { pid: 0, status: null, signal: null, stdout: null, stderr: null, output: null, error: Object.assign(error, { spawnargs: args }) };
  }
  const decode = (b) => { const x = wrap(toBytes(b ?? "")); return o.encoding && o.encoding !== "buffer" ? x.toString(o.encoding) : x; };
  const [, so, se] = stdioOf(o.stdio);
  const stdout = so === "pipe" ? decode(r.stdout) : null, stderr = se === "pipe" ? decode(r.stderr) : null;
  const out = { pid: r.pid, status: r.signal ? null : r.code, signal: r.signal || null, stdout, stderr, output: [null, stdout, stderr] };
  if (r.timedOut) out.error = Object.assign(new Error(`spawnSync ${command} ETIMEDOUT`), { code: "ETIMEDOUT", errno: -110, syscall: "spawnSync " + command, path: command });
  else if (r.tooMuch) out.error = Object.assign(new Error(`spawnSync ${command} ENOBUFS`), { code: "ENOBUFS", errno: -105 });
  return out;
}
function execFileSync(command, args, o) {
  if (!Array.isArray(args)) { o = args; args = []; }
  const r = spawnSync(command, args, o);
  if (r.error) throw Object.assign(r.error, r);
  if (r.status !== 0) throw failure([command, ...args].join(" "), String(r.stderr ?? ""), r);
  return r.stdout;
}
const execSync = (command, o) => execFileSync(command, [], { ...o, shell: o?.shell || true });

export const childProcess = { spawn, exec, execFile, spawnSync, execSync, execFileSync, ChildProcess, fork() { throw unsupported("child_process.fork"); } };
