import { simpleGit } from "simple-git";
import fs from "node:fs";
fs.rmSync("repo", { recursive: true, force: true });
fs.mkdirSync("repo");
const git = simpleGit("repo");
await git.init(["-b", "main"]);
await git.addConfig("user.name", "N").addConfig("user.email", "n@example.org").addConfig("commit.gpgsign", "false");
fs.writeFileSync("repo/a.txt", "one\n");
const before = await git.status();
await git.add(".").commit("first commit");
fs.appendFileSync("repo/a.txt", "two\n");
const log = await git.log(), diff = await git.diffSummary();
console.log(before.not_added, log.total, log.latest.message, log.latest.author_name, diff.files.map((f) => [f.file, f.insertions]), (await git.branchLocal()).current, (await git.status()).modified);
try { await git.checkout("none"); } catch (e) { console.log(e.constructor.name, /did not match/.test(e.message)); }
