// Globals that the other modules use while they are evaluated; imported first.
import { install as installEvents } from "./event_target.js";
import { install as installGlobals } from "./globals.js";
import { install as installEncoding } from "./encoding.js";

installEvents(globalThis);
installGlobals(globalThis);
installEncoding(globalThis);
