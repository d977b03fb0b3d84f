import { execa, execaSync, $ } from "execa";
const r = await execa("node", ["-e", "console.log('out'); console.error('err')"]);
console.log(r.stdout, r.stderr, r.exitCode, r.failed, r.command);
console.log((await execa("cat", { input: "from input" })).stdout, (await execa({ shell: true })`echo $((1+2))`).stdout, execaSync("echo", ["sync"]).stdout);
try { await execa("sh", ["-c", "echo partial; exit 3"]); } catch (e) { console.log(e.name, e.exitCode, e.stdout, e.shortMessage); }
try { await execa("sleep", ["9"], { timeout: 50 }); } catch (e) { console.log(e.timedOut, e.signal, e.isTerminated); }
try { await execa("no-such-program"); } catch (e) { console.log(e.code, e.failed); }
const lines = [];
for await (const l of execa("printf", ["a\\nb\\n"])) lines.push(l);
console.log(lines, (await $`echo ${"a b"}`.pipe`tr a-z A-Z`).stdout);
