// npm: proper-lockfile
import lockfile from "proper-lockfile";
import fs from "node:fs";
fs.writeFileSync("locked.txt", "");
const release = await lockfile.lock("locked.txt", { stale: 5000 });
console.log(await lockfile.check("locked.txt"), fs.existsSync("locked.txt.lock"));
try { await lockfile.lock("locked.txt", { retries: { retries: 1, minTimeout: 5 } }); } catch (e) { console.log(e.code, e.message); }
setTimeout(release, 30);
const again = await lockfile.lock("locked.txt", { retries: { retries: 20, minTimeout: 10, maxTimeout: 20 } });
await again();
console.log(await lockfile.check("locked.txt"), fs.existsSync("locked.txt.lock"));
