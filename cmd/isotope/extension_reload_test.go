package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// teller is an extension that says where it is, in an answer to a command of its name.
func teller(name string) string {
	return strings.ReplaceAll(`
import { execSync } from "node:child_process";
export default (pi: any) => {
  pi.on("session_start", (e: any, ctx: any) => ctx.ui.notify("NAME starts: " + e.reason));
  pi.on("session_shutdown", (e: any, ctx: any) => ctx.ui.notify("NAME ends: " + e.reason));
  pi.on("input", (e: any) => ({ action: "transform", text: e.text + " by NAME" }));
  pi.registerTool({ name: "NAME_tool", description: "d", parameters: { type: "object", properties: {} }, execute: async () => ({ content: [] }) });
  pi.registerCommand("NAME", { handler: async (_: string, ctx: any) => {
    const r = await pi.exec("pwd", []);
    ctx.ui.notify("NAME in " + [ctx.cwd, process.cwd(), execSync("pwd").toString().trim(), r.stdout.trim()].join("|"));
  } });
};`, "NAME", name)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// An extension that is added while none is loaded comes alive with a reload, and goes
// with another one.
func TestExtensionComesWithReload(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	file := filepath.Join(home, ".isotope", "agent", "extensions", "late.ts")
	p := launch(t, home, dir, "isotope", "--mode", "rpc", "--model", script(t, `{"steps":[{"text":"an answer"}]}`), "--no-session")
	p.follow()
	if got := p.answer(`{"type":"get_commands"}`); strings.Contains(got, `"late"`) {
		t.Fatal(got)
	}
	writeFile(t, file, teller("late"))
	p.send(`{"type":"reload"}`)
	p.until(`"message":"late starts: reload"`)
	if got := p.answer(`{"type":"get_commands"}`); !strings.Contains(got, `"late"`) {
		t.Errorf("commands: %s", got)
	}
	p.send(`{"type":"prompt","message":"hello"}`)
	p.until(`"hello by late"`)
	p.until(`"type":"agent_settled"`)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	p.send(`{"type":"reload"}`)
	p.until(`"message":"late ends: reload"`)
	p.until(`"command":"reload"`)
	if got := p.answer(`{"type":"get_commands"}`); strings.Contains(got, `"late"`) {
		t.Errorf("commands: %s", got)
	}
	p.closeInput()
	p.rest()
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// With a session of another folder the extensions of that folder come, and work there.
func TestExtensionsOfTheOtherFolder(t *testing.T) {
	needShell(t)
	home := t.TempDir()
	one, two := realDir(t), realDir(t)
	writeFile(t, filepath.Join(two, ".isotope", "extensions", "two.ts"), teller("two"))
	model := script(t, `{"steps":[{"text":"an answer"}]}`)
	p := launch(t, home, two, "isotope", "--mode", "json", "--model", model, "hi")
	p.closeInput()
	p.follow()
	p.rest()
	sessions, err := filepath.Glob(filepath.Join(home, ".isotope", "agent", "sessions", "*", "*.jsonl"))
	if err != nil || len(sessions) != 1 {
		t.Fatal(sessions, err)
	}
	p = launch(t, home, one, "isotope", "--mode", "rpc", "--model", model, "--approve")
	p.follow()
	if got := p.answer(`{"type":"get_commands"}`); strings.Contains(got, `"two"`) {
		t.Fatal(got)
	}
	p.send(`{"type":"switch_session","sessionPath":` + string(jsonx.String(sessions[0])) + `}`)
	p.until(`"message":"two starts: resume"`)
	p.send(`{"type":"prompt","message":"/two"}`)
	p.until(`"message":"two in ` + strings.Join([]string{two, two, two, two}, "|") + `"`)
	p.send(`{"type":"new_session"}`)
	p.until(`"message":"two ends: new"`)
	p.until(`"message":"two starts: new"`)
	p.closeInput()
	p.rest()
	if code := p.wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// realDir is a new folder by the name that pwd gives it.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
