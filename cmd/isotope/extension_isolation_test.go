//go:build !windows

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// watcher is an extension that says where it runs and watches tools.
const watcher = `
import { spawn } from "node:child_process";
export default (pi: any) => {
  pi.on("tool_call", () => {});
  pi.registerCommand("who", { handler: async (_: string, ctx: any) => {
    const c = spawn("sleep", ["300"]);
    await new Promise((r) => c.on("spawn", r));
    ctx.ui.notify("who " + process.pid + " " + process.ppid + " " + c.pid);
  } });
};`

// isolated launches the program with its extensions in a process of their own.
func isolated(t *testing.T) *process {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(home, ".isotope", "agent", "settings.json"), `{"extensions":{"isolation":"process"}}`)
	writeFile(t, filepath.Join(dir, "watcher.ts"), watcher)
	p := launch(t, home, dir, "isotope", "--mode", "rpc", "--model", bashTurns(t, "echo ran"), "--no-session", "-e", "watcher.ts")
	p.follow()
	return p
}

// who returns the processes of the extensions' host and of a child of theirs.
func (p *process) who() (host, child int) {
	p.t.Helper()
	p.send(`{"type":"prompt","message":"/who"}`)
	lines := p.until(`"method":"notify"`)
	_, words, _ := strings.Cut(lines[len(lines)-1], `"message":"who `)
	var engine int
	_, err := fmt.Sscanf(words, "%d %d %d", &host, &engine, &child)
	if err != nil || engine != p.cmd.Process.Pid || host == engine || child == 0 {
		p.t.Fatalf("host %d, engine %d (is %d), child %d", host, engine, p.cmd.Process.Pid, child)
	}
	return host, child
}

// A crash of the extensions' process is told and harms nothing: tools that they watch
// are refused until a reload.
func TestIsolatedExtensionsCrash(t *testing.T) {
	needShell(t)
	p := isolated(t)
	host, child := p.who()
	if err := syscall.Kill(host, syscall.SIGSEGV); err != nil {
		t.Fatal(err)
	}
	p.until(`"type":"extension_error"`, `"event":"host"`, "crashed")
	wantGone(t, []int{host, child})
	p.send(`{"type":"prompt","message":"go"}`)
	p.until(`"type":"tool_execution_end"`, `"isError":true`, "crashed")
	p.until(`"type":"agent_settled"`)
	p.answer(`{"type":"reload"}`)
	if again, _ := p.who(); again == host {
		t.Error("the same process")
	}
	p.closeInput()
	p.rest()
	p.wantExit(0)
}

// However the engine ends, the extensions' process and its children end with it.
func TestIsolatedExtensionsEndWithTheEngine(t *testing.T) {
	needShell(t)
	for name, end := range map[string]func(*process){
		"end of input": (*process).closeInput,
		"SIGTERM":      func(p *process) { p.signal(syscall.SIGTERM) },
		"SIGKILL":      func(p *process) { p.signal(syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			p := isolated(t)
			host, child := p.who()
			end(p)
			p.wait()
			wantGone(t, []int{host, child})
		})
	}
}
