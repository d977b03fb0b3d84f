import fs from "fs-extra";
await fs.remove("fx");
await fs.outputJson("fx/a/b.json", { n: 1 }, { spaces: 1 });
await fs.copy("fx/a", "fx/c");
await fs.move("fx/c/b.json", "fx/c/d.json");
console.log(await fs.readJson("fx/c/d.json"), await fs.pathExists("fx/a/b.json"), await fs.readFile("fx/a/b.json", "utf8"), fs.readdirSync("fx", { recursive: true }).sort());
await fs.ensureSymlink("fx/a/b.json", "fx/link");
console.log((await fs.lstat("fx/link")).isSymbolicLink(), (await fs.stat("fx/link")).isFile());
try { await fs.copy("fx/none", "fx/x"); } catch (e) { console.log(e.code); }
try { await fs.move("fx/a", "fx/c"); } catch (e) { console.log(e.message); }
await fs.emptyDir("fx");
console.log(fs.readdirSync("fx"));
