// The life of a generation of extensions.
import { call, start } from "../node/bridge.js";

export const life = { bound: false, stale: "", run: undefined };
/** Throws once the generation of extensions is over. */
export function alive() { if (life.stale) throw new Error(life.stale); }
/** Throws while extensions are being loaded. */
export function ready() {
  alive();
  if (!life.bound) throw new Error("Extension runtime not initialized. Action methods cannot be called during extension loading.");
}
/** An action of the host. */
export const act = (name, args) => { ready(); return call("host." + name, args) ?? undefined; };
export const actLater = (name, args, o) => { ready(); return start("host." + name, args, o); };
