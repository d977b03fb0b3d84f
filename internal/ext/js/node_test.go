package js

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/network"
)

// Each case is a module that leaves its result in globalThis.out; the wanted results
// are what Node 22 gives.
func TestNodeModules(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("uses Unix paths and a shell")
	}
	for name, c := range map[string]struct{ src, want string }{
		"buffer":        {`globalThis.out = [Buffer.from("aé").toString("hex"), Buffer.from("aGk", "base64").toString(), Buffer.concat([Buffer.from("a"), Buffer.from([98])]).toString(), Buffer.from("abc").subarray(1).toString("base64url"), Buffer.alloc(3, "xy").toString(), Buffer.from([1, 2, 3, 4]).readUInt32BE(0), Buffer.byteLength("€"), Buffer.from("abc").indexOf("c"), Buffer.compare(Buffer.from("a"), Buffer.from("b"))];`, `["61c3a9","hi","ab","YmM","xyx",16909060,3,2,-1]`},
		"text":          {`const d = new TextDecoder(); globalThis.out = [d.decode(new Uint8Array([0xe2, 0x82]), { stream: true }) + d.decode(new Uint8Array([0xac])), new TextEncoder().encode("é").length, btoa("hi"), atob("aGk="), new TextDecoder().decode(new Uint8Array([0xff]))];`, `["€",2,"aGk=","hi","�"]`},
		"path":          {`import p from "node:path"; globalThis.out = [p.join("a", "..", "b", "/c/"), p.resolve("/a", "../b"), p.relative("/a/b", "/a/c/d"), p.basename("/x/y.txt", ".txt"), p.extname("a.b.c"), p.dirname("/a/b"), p.parse("/r/f.e").name, p.normalize("/a//b/../c/."), p.isAbsolute("a"), p.win32.join("C:\\a", "..", "b"), p.win32.basename("C:\\x\\y.z"), p.format({ dir: "/d", base: "b" })];`, `["b/c/","/b","../c/d","y",".c","/a","f","/a/c",false,"C:\\b","y.z","/d/b"]`},
		"url":           {`import { fileURLToPath, pathToFileURL } from "url"; const u = new URL("../x?a=1&b=%20#h", "https://user:pw@Example.com:443/p/q/"); u.searchParams.append("c", "d e"); globalThis.out = [u.href, u.host, u.origin, u.searchParams.get("b"), fileURLToPath("file:///a%20b"), pathToFileURL("/a b#c").href, URL.canParse("nope"), new URLSearchParams({ q: "1&2" }).toString()];`, `["https://user:pw@example.com/p/x?a=1&b=+&c=d+e#h","example.com","https://example.com"," ","/a b","file:///a%20b%23c",false,"q=1%262"]`},
		"events":        {`import { EventEmitter, once } from "events"; const e = new EventEmitter(); const l = []; e.on("x", (v) => l.push(v)); e.once("x", (v) => l.push("once" + v)); e.emit("x", 1); e.emit("x", 2); setTimeout(() => e.emit("y", "late"), 1); l.push(...(await once(e, "y"))); let thrown = ""; try { e.emit("error", new Error("bad")); } catch (err) { thrown = err.message; } globalThis.out = [l, thrown, e.listenerCount("x")];`, `[[1,"once1",2,"late"],"bad",1]`},
		"stream":        {`import { Readable, Transform, pipeline } from "stream"; import { pipeline as p } from "stream/promises"; const l = []; await p(Readable.from(["a", "b", "c"]), new Transform({ transform(c, e, cb) { cb(null, c.toString().toUpperCase()); } }), async function* (s) { for await (const c of s) { l.push(c.toString()); yield c; } }, async (s) => { for await (const c of s) l.push("+" + c); }); globalThis.out = l.join("");`, `"A+AB+BC+C"`},
		"stream events": {`import { Writable, Readable } from "stream"; const l = []; const w = new Writable({ highWaterMark: 2, write(c, e, cb) { setTimeout(() => { l.push(c.toString()); cb(); }, 1); } }); const r = new Readable({ read() {} }); r.push("abc"); r.push("def"); r.push(null); r.pipe(w); await new Promise((d) => w.on("finish", d)); globalThis.out = [l, w.writableFinished];`, `[["abc","def"],true]`},
		"web streams":   {`const s = new ReadableStream({ start(c) { c.enqueue(new TextEncoder().encode("hé")); c.close(); } }); let t = ""; for await (const x of s.pipeThrough(new TextDecoderStream())) t += x; globalThis.out = t;`, `"hé"`},
		"fs":            {`import fs from "fs"; import { readFile, mkdir, rm, stat } from "fs/promises"; fs.writeFileSync("f", "one"); fs.appendFileSync("f", "\ntwo"); await mkdir("d/e", { recursive: true }); fs.copyFileSync("f", "d/g"); fs.renameSync("d/g", "d/h"); const l = []; try { fs.readFileSync("none"); } catch (e) { l.push(e.code, e.syscall, e.message.replace(/'.*'/, "P")); } try { await rm("d"); } catch (e) { l.push(e.code); } globalThis.out = [fs.readFileSync("f", "utf8"), (await readFile("f")).length, fs.readdirSync(".").sort(), fs.existsSync("d/h"), (await stat("d")).isDirectory(), fs.statSync("x", { throwIfNoEntry: false }) ?? null, fs.readdirSync("d", { withFileTypes: true }).map((x) => x.name + x.isFile()).sort(), l];`, `["one\ntwo",7,["d","ext.ts","f"],true,true,null,["efalse","htrue"],["ENOENT","open","ENOENT: no such file or directory, open P","EISDIR"]]`},
		"fs streams":    {`import fs from "fs"; import { finished } from "stream/promises"; const w = fs.createWriteStream("s"); w.write("a".repeat(100000)); w.end("end"); await finished(w); let n = 0, last; for await (const c of fs.createReadStream("s", { highWaterMark: 1000 })) { n += c.length; last = c; } const fd = fs.openSync("s", "r"); const b = Buffer.alloc(3); fs.readSync(fd, b, 0, 3, 100000); fs.closeSync(fd); globalThis.out = [n, b.toString()];`, `[100003,"end"]`},
		"child":         {`import { exec, execFile, execSync, spawn, spawnSync } from "child_process"; import { promisify } from "util"; const r = await promisify(execFile)("sh", ["-c", "echo out; echo err >&2"]); let f; try { await promisify(exec)("exit 3"); } catch (e) { f = e.code; } const c = spawn("cat"); let got = ""; c.stdout.on("data", (d) => { got += d; }); c.stdin.write("to "); c.stdin.end("cat"); const code = await new Promise((d) => c.on("close", d)); const k = spawn("sleep", ["9"]); k.on("spawn", () => k.kill()); const sig = await new Promise((d) => k.on("exit", (x, s) => d(s))); const none = await new Promise((d) => spawn("no-such-program").on("error", (e) => d(e.code))); globalThis.out = [r.stdout, r.stderr, f, got, code, sig, none, execSync("echo hi").toString(), spawnSync("sh", ["-c", "exit 2"]).status, spawnSync("cat", { input: "in", encoding: "utf8" }).stdout];`, `["out\n","err\n",3,"to cat",0,"SIGTERM","ENOENT","hi\n",2,"in"]`},
		"crypto":        {`import c from "crypto"; const k = Buffer.alloc(32, 1), iv = Buffer.alloc(12, 2); const e = c.createCipheriv("aes-256-gcm", k, iv); const x = Buffer.concat([e.update("secret", "utf8"), e.final()]); const d = c.createDecipheriv("aes-256-gcm", k, iv); d.setAuthTag(e.getAuthTag()); const y = Buffer.concat([d.update(x), d.final()]).toString(); globalThis.out = [c.createHash("sha256").update("a").digest("hex").slice(0, 8), c.createHmac("sha1", "k").update("a").digest("base64"), c.randomBytes(4).length, /^[0-9a-f-]{36}$/.test(c.randomUUID()), y, c.pbkdf2Sync("p", "s", 1, 4, "sha256").toString("hex"), Buffer.from(await crypto.subtle.digest("SHA-1", Buffer.from("a"))).toString("hex").slice(0, 6)];`, `["ca978112","QOfUQcrbF7B/BQNBqiOmgg7YHIs=",4,true,"secret","372cc981","86f7e4"]`},
		"zlib":          {`import z from "zlib"; import { promisify } from "util"; globalThis.out = [z.gunzipSync(z.gzipSync("hello")).toString(), (await promisify(z.inflate)(z.deflateSync("x"))).toString()];`, `["hello","x"]`},
		"timers":        {`import { setTimeout as sleep } from "timers/promises"; const l = []; queueMicrotask(() => l.push("m")); await new Promise((d) => setImmediate(() => { l.push("a"); d(); })); setTimeout(() => l.push("b"), 5); const i = setInterval(() => { l.push("i"); clearInterval(i); }, 10); await sleep(40); let a; try { await sleep(1000, null, { signal: AbortSignal.timeout(5) }); } catch (e) { a = e.name; } globalThis.out = [l, a];`, `[["m","a","b","i"],"AbortError"]`},
		"clone":         {`const o = { d: new Date(0), m: new Map([[1, { x: [1] }]]), s: new Set([2]), u: new Uint8Array([1]) }; o.self = o; const c = structuredClone(o); let err; try { structuredClone(() => {}); } catch (e) { err = e.name; } globalThis.out = [c.self === c, c.d.getTime(), c.m.get(1).x, [...c.s], c.u instanceof Uint8Array, c !== o, err];`, `[true,0,[1],[2],true,true,"DataCloneError"]`},
		"util":          {`import util from "util"; globalThis.out = [util.format("%s %d %j", "a", 1.5, { b: 1 }), util.inspect({ a: [1, "x"], m: new Map([["k", 1]]) }), util.isDeepStrictEqual({ a: [1] }, { a: [1] }), util.stripVTControlCharacters("\u001b[31mred\u001b[0m"), util.parseArgs({ args: ["-v", "--n=1", "p"], options: { v: { type: "boolean", short: "v" }, n: { type: "string" } }, allowPositionals: true }).positionals];`, `["a 1.5 {\"b\":1}","{ a: [ 1, 'x' ], m: Map(1) { 'k' => 1 } }",true,"red",["p"]]`},
		"abort":         {`const c = new AbortController(); const l = []; c.signal.addEventListener("abort", () => l.push(c.signal.reason.name)); c.abort(); c.abort(); const any = AbortSignal.any([c.signal, new AbortController().signal]); let t; try { any.throwIfAborted(); } catch (e) { t = e instanceof DOMException; } globalThis.out = [l, any.aborted, t];`, `[["AbortError"],true,true]`},
		"process":       {`process.env.NEW_VAR = "v"; import { execSync } from "child_process"; let e; try { process.exit(3); } catch (x) { e = x.message; } globalThis.out = [process.env.NEW_VAR, "NEW_VAR" in process.env, execSync("echo $NEW_VAR").toString(), typeof process.pid, process.version.startsWith("v2"), e]; delete process.env.NEW_VAR;`, `["v",true,"v\n","number",true,"process.exit(3) was called by an extension"]`},
		"readline":      {`import rl from "readline"; import { Readable } from "stream"; const l = []; for await (const x of rl.createInterface({ input: Readable.from(["a\nb", "c\n"]) })) l.push(x); globalThis.out = l;`, `["a","bc"]`},
		"net":           {`import net from "net"; const s = net.createServer((c) => { c.on("data", (d) => c.end("echo " + d)); }); await new Promise((r) => s.listen(0, "127.0.0.1", r)); const c = net.connect(s.address().port, "127.0.0.1"); c.write("hi"); let got = ""; for await (const d of c) got += d; await new Promise((r) => s.close(r)); globalThis.out = got;`, `"echo hi"`},
		"http server":   {`import http from "http"; const s = http.createServer(async (req, res) => { let b = ""; for await (const c of req) b += c; res.setHeader("x-a", "1"); res.writeHead(201, { "content-type": "text/plain" }); res.write("part "); res.end(req.method + req.url + b); }); await new Promise((r) => s.listen(0, "127.0.0.1", r)); const base = "http://127.0.0.1:" + s.address().port; const r = await fetch(base + "/p?q", { method: "POST", body: "body" }); const via = await new Promise((d) => http.get(base + "/g", (res) => { let t = ""; res.on("data", (c) => { t += c; }); res.on("end", () => d(res.statusCode + t)); })); globalThis.out = [r.status, r.headers.get("x-a"), await r.text(), via]; s.close();`, `[201,"1","part POST/p?qbody","201part GET/g"]`},
		"intl":          {`globalThis.out = [(1234567.891).toLocaleString(), new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" }).format(3.5), new Date(Date.UTC(2026, 0, 2, 15, 4, 5)).toLocaleString("en-US", { timeZone: "UTC" }), ["b", "a", "B"].sort((a, b) => a.localeCompare(b)), [...new Intl.Segmenter().segment("e\u0301👩‍👩‍👧x")].length, new Intl.ListFormat("en").format(["a", "b", "c"])];`, `["1,234,567.891","$3.50","1/2/2026, 3:04:05 PM",["a","b","B"],3,"a, b, and c"]`},
		"async local":   {`import { AsyncLocalStorage } from "async_hooks"; const s = new AsyncLocalStorage(); globalThis.out = [s.run(1, () => s.getStore()), s.getStore() ?? null, await s.run(2, async () => { await null; return s.getStore(); })];`, `[1,null,2]`},
		"require":       {`const E = require("events"), fs = require("node:fs"), { Transform } = require("stream"); class X extends E {} function Old() { Transform.call(this); } require("util").inherits(Old, Transform); Old.prototype._transform = function (c, e, cb) { cb(null, String(c) + "!"); }; fs.extra = 1; const o = new Old(); o.end("a"); let got = ""; for await (const c of o) got += c; globalThis.out = [new X() instanceof E, require("assert").equal.length >= 0, fs.extra, got, Buffer("ab").length, Buffer(3).length, new Buffer("c") instanceof Buffer, typeof require("fs").promises.readFile];`, `[true,true,1,"a!",2,3,true,"function"]`},
		"absent":        {`import { Worker } from "worker_threads"; import http2 from "http2"; const l = []; for (const f of [() => new Worker("x"), () => http2.connect("x"), () => require("nope")]) try { f(); } catch (e) { l.push(e.message); } globalThis.out = l;`, `["worker_threads.Worker is not available in this host","http2.connect is not available in this host","Cannot find module 'nope'"]`},
		"globals":       {`globalThis.out = ["fetch", "Headers", "Request", "Response", "FormData", "Blob", "File", "URL", "AbortController", "TextEncoder", "structuredClone", "performance", "crypto", "WebSocket", "ReadableStream", "queueMicrotask", "Buffer", "process", "global", "EventTarget", "MessageChannel", "navigator", "Intl"].filter((k) => typeof globalThis[k] === "undefined");`, `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newTestbed(t, Config{}).result(c.src); got != c.want {
				t.Errorf("out is  %s\nwant    %s", got, c.want)
			}
		})
	}
}

// Scripts trust whom the program trusts, in fetch and in connections of their own.
func TestOwnAuthority(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("hi")) }))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail
	srv.StartTLS()
	defer srv.Close()
	path := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	src := `import tls from "node:tls"; const l = [], u = new URL(` + quoted(srv.URL) + `);
		try { l.push(await (await fetch(u)).text()); } catch (e) { l.push("untrusted"); }
		l.push(await new Promise((d) => { const c = tls.connect({ host: u.hostname, port: Number(u.port) }, () => { c.end(); d("connected"); }); c.on("error", () => d("untrusted")); }));
		globalThis.out = l;`
	for name, want := range map[string]string{"": `["untrusted","untrusted"]`, path: `["hi","connected"]`} {
		n := network.New(network.Options{Env: func(v string) (string, bool) { return name, v == "NODE_EXTRA_CA_CERTS" }})
		if got := newTestbed(t, Config{Network: n}).result(src); got != want {
			t.Errorf("with %q: %s, want %s", name, got, want)
		}
		n.CloseIdleConnections()
	}
}

func TestFetch(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "/json", http.StatusFound)
		case "/slow":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "/stream":
			for _, s := range []string{"a", "b", "c"} {
				_, _ = w.Write([]byte(s))
				w.(http.Flusher).Flush()
			}
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"ua":"` + r.UserAgent() + `","h":"` + r.Header.Get("X-H") + `"}`))
		}
	}))
	defer srv.Close()
	tb := newTestbed(t, Config{})
	got := tb.result(`const u = ` + quoted(srv.URL) + `;
		const j = await fetch(u + "/redirect", { headers: { "X-H": "v" } });
		let s = ""; for await (const c of (await fetch(u + "/stream")).body) s += new TextDecoder().decode(c);
		let slow; try { const r = await fetch(u + "/slow", { signal: AbortSignal.timeout(50) }); await r.text(); } catch (e) { slow = e.name; }
		let none; try { await fetch("http://127.0.0.1:1/"); } catch (e) { none = e.message + " " + e.cause.code; }
		globalThis.out = [j.ok, j.redirected, (await j.json()).h, s, slow, none, await (await fetch("data:text/plain,hi")).text()];`)
	if want := `[true,true,"v","abc","TimeoutError","fetch failed ECONNREFUSED","hi"]`; got != want {
		t.Errorf("out is %s, want %s", got, want)
	}
}

func TestWatch(t *testing.T) {
	tb := newTestbed(t, Config{})
	if err := os.WriteFile(filepath.Join(tb.dir, "w"), []byte("1"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := tb.result(`import fs from "fs"; const w = fs.watch("w"); const e = new Promise((r) => w.once("change", (t, n) => r([t, n])));
		setTimeout(() => fs.writeFileSync("w", "22"), 150); globalThis.out = await e; w.close();`)
	if got != `["change","w"]` {
		t.Errorf("out is %s", got)
	}
}

// Closing does not wait for scripts that run.
func TestCloseWhileRunning(t *testing.T) {
	tb := newTestbed(t, Config{Limits: Limits{Slice: time.Minute}})
	go func() { _ = tb.load(`for (;;) {}`) }()
	time.Sleep(100 * time.Millisecond)
	start := time.Now()
	tb.r.Close()
	if d := time.Since(start); d > 3*time.Second {
		t.Errorf("closing took %v", d)
	}
}

func TestMissingDynamicImport(t *testing.T) {
	tb := newTestbed(t, Config{})
	got := tb.result(`let e; try { await import("not-there"); } catch (x) { e = x.message + x.code; } globalThis.out = e;`)
	if !strings.Contains(got, "Cannot find module 'not-there'MODULE_NOT_FOUND") {
		t.Errorf("out is %s", got)
	}
}
