// Readers of the session over a mirror of its entries, of which only news is fetched.
import { call } from "../node/bridge.js";
import { alive } from "./life.js";
import { buildSessionContext } from "./coding.js";

let mirror = { session: "", list: [], byId: new Map() };

/** Brings the mirror up to date and returns the session's facts with it. */
function now() {
  alive();
  const r = call("session.read", { session: mirror.session, from: mirror.list.length });
  if (r.session !== mirror.session || r.reset) mirror = { session: r.session, list: [], byId: new Map() };
  for (const e of r.entries ?? []) { mirror.list.push(e); mirror.byId.set(e.id, e); }
  return r;
}
function branch(from) {
  const r = now();
  const out = [];
  for (let e = mirror.byId.get(from ?? r.leaf); e; e = mirror.byId.get(e.parentId)) out.push(e);
  return out.reverse();
}
function labels() {
  const out = new Map();
  for (const e of mirror.list) if (e.type === "label") { if (e.label) out.set(e.targetId, e.label); else out.delete(e.targetId); }
  return out;
}
function tree() {
  now();
  const marks = labels(), nodes = new Map(), roots = [];
  for (const entry of mirror.list) nodes.set(entry.id, { entry, children: [], ...(marks.has(entry.id) ? { label: marks.get(entry.id) } : {}) });
  for (const n of nodes.values()) (nodes.get(n.entry.parentId)?.children ?? roots).push(n);
  return roots;
}

export const sessionManager = {
  getEntries: () => { now(); return [...mirror.list]; },
  getBranch: branch,
  getEntry: (id) => { now(); return mirror.byId.get(id); },
  getLeafId: () => now().leaf || null,
  getLeafEntry: () => mirror.byId.get(now().leaf),
  getLabel: (id) => { now(); return labels().get(id); },
  getTree: tree,
  getChildren: (id) => { now(); return mirror.list.filter((e) => e.parentId === id); },
  getHeader: () => now().header ?? null,
  getCwd: () => now().cwd,
  getSessionDir: () => now().dir,
  getSessionId: () => now().session,
  getSessionFile: () => now().file || undefined,
  getSessionName: () => now().name || undefined,
  isPersisted: () => !!now().file,
  buildSessionContext: () => { const r = now(); return buildSessionContext(mirror.list, r.leaf || null); },
  buildContextEntries: () => branch(),
};
sessionManager.buildSessionProjection = sessionManager.buildSessionContext;
