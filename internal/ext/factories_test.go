package ext

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/tool"
)

// The bash tool of the factories runs what an extension makes of a command: through its
// own operations, with its own prefix, environment and folder. Whatever it runs on, its
// results, updates and errors are those of the built-in tool.
func TestBashFactory(t *testing.T) {
	const echo = `async exec(command, cwd, { onData, signal, timeout, env }) { onData(Buffer.from("ran " + command + "\n")); onData(Buffer.from([0xc3])); onData(Buffer.from([0xa9, 10])); return { exitCode: 0 }; }`
	for name, c := range map[string]struct{ options, args, want string }{
		"operations": {`{ operations: { ` + echo + ` } }`, `{"command":"x"}`, `{"content":[{"type":"text","text":"ran x\né\n"}],"structuredContent":{"output":"ran x\né\n","truncated":false,"exit_code":0}}`},
		"prefix":     {`{ commandPrefix: "first", operations: { ` + echo + ` } }`, `{"command":"x"}`, `"text":"ran first\nx\né\n"`},
		"exit code":  {`{ operations: { async exec() { return { exitCode: 7 }; } } }`, `{"command":"x"}`, `{"content":[{"type":"text","text":"(no output)\n\nCommand exited with code 7"}],"structuredContent":{"output":"","truncated":false,"exit_code":7},"isError":true}`},
		"throws":     {`{ operations: { exec() { throw new Error("no route"); } } }`, `{"command":"x"}`, `error: no route`},
		"time-out":   {`{ operations: { exec: (c, d, o) => new Promise((ok, no) => o.signal.addEventListener("abort", () => no(new Error("timeout:0.01")))) } }`, `{"command":"x","timeout":0.01}`, `error: Command timed out after 0.01 seconds`},
		"own limit":  {`{ operations: { async exec(c, d, o) { throw new Error("timeout:" + o.timeout); } } }`, `{"command":"x","timeout":0.01}`, `error: Command timed out after 0.01 seconds`},
		"hook":       {`{ spawnHook: (c) => ({ command: c.command + " $NEW", cwd: c.cwd + "/sub", env: { ...c.env, NEW: "made" } }) }`, `{"command":"basename $PWD; echo"}`, `"text":"sub\nmade\n"`},
		"shell":      {`{ shellPath: "/bin/sh", commandPrefix: "A=1" }`, `{"command":"echo $A$0"}`, `"text":"1/bin/sh\n"`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBedFiles(t, map[string]string{"ext.ts": `import { createBashTool } from "@earendil-works/pi-coding-agent"; export default (pi) => pi.registerTool({ ...createBashTool(process.cwd(), ` + c.options + `), name: "sh" });`, "sub/.keep": ""}, withSub())
			res, err := b.x.Tools()[0].Run(t.Context(), tool.Call{ID: "1", Args: jsonx.Raw(c.args)}, func(tool.Result) {})
			got := text(res)
			if err != nil {
				got = "error: " + err.Error()
			}
			if got = wallTime().ReplaceAllString(got, ""); !strings.Contains(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

var wallTime = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`,"wall_time_seconds":[0-9.]+|,"details":null`) })

// withSub lets scripts work in the folder of the extensions, which has sub.
func withSub() bedOption {
	return func(c *Config, b *bed) { c.Cwd = b.dir + "/extensions" }
}

// Built-in tools keep their own words when they fail for an extension.
func TestFactoryErrors(t *testing.T) {
	b := newBed(t, `import { createReadTool } from "@earendil-works/pi-coding-agent"; import fs from "fs"; export default (pi) => { pi.registerTool({ ...createReadTool(process.cwd()), name: "see" }); pi.registerCommand("x", { handler() { try { fs.statSync("none"); } catch (e) { pi.appendEntry("e", [e.syscall, e.code]); } } }); };`)
	_, err := b.x.Tools()[0].Run(t.Context(), tool.Call{ID: "1", Args: jsonx.Raw(`{"path":"none"}`)}, func(tool.Result) {})
	if want := "ENOENT: no such file or directory, access '" + b.dir + "/none'"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	b.run("/x")
	if !strings.Contains(b.log(), `"data":["stat","ENOENT"]`) {
		t.Error(b.log())
	}
}
