// The border between scripts and the host. Only strings cross it: __host(op, json)
// calls into Go, __dispatch(kind, id, json) is called by Go.

const host = globalThis.__host;
delete globalThis.__host;
// Kept before any extension can replace them.
const { stringify, parse } = JSON;

/** A host error as an Error with Node's fields. */
export function toError(e) {
  const err = new Error(e.message);
  for (const k of ["code", "errno", "syscall", "path", "dest"]) if (e[k] !== undefined) err[k] = e[k];
  if (e.name) Object.defineProperty(err, "name", { value: e.name, writable: true, configurable: true });
  return err;
}

/** Calls a host operation and returns its result, or throws its error. */
export function call(op, args) {
  const r = parse(host(op, args === undefined ? "null" : stringify(args)));
  if (r.e) throw toError(r.e);
  return r.v;
}

let operations = 0;
const pending = new Map();

/**
 * Starts a host operation that runs beside the scripts. options: signal cancels it,
 * onEvent gets what it tells, onId its id.
 */
export function start(op, args, { signal, onEvent, onId } = {}) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const id = String(++operations);
    const onAbort = () => call("cancel", { id });
    const finish = (settle) => (value) => {
      pending.delete(id);
      signal?.removeEventListener("abort", onAbort);
      settle(value);
    };
    pending.set(id, {
      resolve: finish(resolve),
      reject: finish((e) => reject(signal?.aborted ? signal.reason : e)),
      onEvent,
    });
    signal?.addEventListener("abort", onAbort);
    onId?.(id);
    try {
      const r = parse(host("@" + op, stringify({ id, args: args === undefined ? null : args })));
      if (r.e) pending.get(id)?.reject(toError(r.e));
    } catch (e) {
      pending.get(id)?.reject(e);
    }
  });
}

/** Ends an operation by its id. */
export const cancel = (id) => call("cancel", { id });

/** What Go can call: name -> function(id, argument). A string returned is the answer. */
export const dispatchers = {
  __proto__: null,
  settle(id, m) {
    const p = pending.get(id);
    if (!p) return;
    if (m.e) p.reject(toError(m.e));
    else p.resolve(m.v);
  },
  stream(id, m) {
    pending.get(id)?.onEvent?.(m);
  },
};

globalThis.__dispatch = (kind, id, json) => {
  const f = dispatchers[kind];
  if (!f) throw new Error("unknown dispatch " + kind);
  const r = f(id, json === "" ? undefined : parse(json));
  return typeof r === "string" ? r : undefined;
};

/** What is told of an error that a script threw. */
export function errorInfo(e) {
  try {
    if (e !== null && typeof e === "object" && "message" in e) {
      const info = { name: String(e.name ?? "Error"), message: String(e.message) };
      if (typeof e.code === "string") info.code = e.code;
      if (typeof e.stack === "string") info.stack = e.stack;
      return info;
    }
    return { name: "", message: typeof e === "string" ? e : stringify(e) ?? String(e) };
  } catch {
    return { name: "Error", message: "an error that cannot be shown" };
  }
}

const answerOf = (v) => {
  try {
    return `{"v":${stringify(v === undefined ? null : v) ?? "null"}}`;
  } catch (e) {
    return stringify({ e: errorInfo(e) });
  }
};

/** Runs f and answers Go's call id with its result, now or once its promise settles. */
export function answer(id, f) {
  let r;
  try {
    r = f();
  } catch (e) {
    return stringify({ e: errorInfo(e) });
  }
  if (r === null || typeof r !== "object" || typeof r.then !== "function") return answerOf(r);
  const reply = (text) => host("reply", `{"id":${stringify(id)},"answer":${text}}`);
  r.then(
    (v) => reply(answerOf(v)),
    (e) => reply(stringify({ e: errorInfo(e) })),
  );
}

/** Reports an error that belongs to no call. */
export function report(owner, e) {
  call("failed", { owner, error: errorInfo(e) });
}

/** Strings of one character a byte, in which bytes cross the border. */
export function toBytes(s) {
  const u = new Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) u[i] = s.charCodeAt(i);
  return u;
}

export function fromBytes(u) {
  let s = "";
  for (let i = 0; i < u.length; i += 8192) s += String.fromCharCode.apply(null, u.subarray(i, i + 8192));
  return s;
}
