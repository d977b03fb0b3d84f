import spawn from "cross-spawn";
const c = spawn("node", ["-e", "process.stdin.on('data', (d) => process.stdout.write(String(d).toUpperCase()))"], { stdio: ["pipe", "pipe", "inherit"] });
let out = "";
c.stdout.on("data", (d) => { out += d; });
c.stdin.end("hi there");
console.log(await new Promise((r) => c.on("close", (code) => r(code))), out);
const r = spawn.sync("sh", ["-c", "echo a b; exit 2"], { encoding: "utf8" });
console.log(r.status, JSON.stringify(r.stdout), r.error);
console.log(await new Promise((r) => spawn("no-such-program").on("error", (e) => r(e.code))));
