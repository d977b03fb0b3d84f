package ext

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/isotope-agent/isotope/internal/engine"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/ext/js"
	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/tool"
)

// Extensions do in a process of their own what they do in the engine's: every way across
// the border is used. (With ISOTOPE_TEST_ISOLATION=process all tests run so.)
func TestIsolated(t *testing.T) {
	b := newBed(t, `import { exec } from "node:child_process";
		export default (pi) => {
			pi.on("input", async (e, ctx) => ({ action: "transform", text: e.text + (await ctx.ui.confirm("t", "m")) }));
			pi.registerTool({ name: "t", description: "", parameters: {}, async execute(id, p, signal, update) {
				update({ content: [{ type: "text", text: "half" }] });
				return { content: [{ type: "text", text: p.x + (await pi.exec("echo", ["out"])).stdout.trim() }] };
			} });
			pi.registerCommand("fail", { handler: () => {
				throw new TypeError("here"); } });
			pi.registerCommand("node", { handler: async () => { await new Promise((r) => exec("true", r)); console.log("to people"); setTimeout(() => { throw new Error("by timer"); }, 1); pi.appendEntry("pid", process.pid); } });
		};`, isolated, withAnswers(func(event.ExtensionUIRequest) string { return `{"confirmed":true}` }))
	if res, err := b.x.Hooks().Input(t.Context(), engine.Input{Text: "x"}); err != nil || res.Text != "xtrue" {
		t.Errorf("%+v, %v", res, err)
	}
	var updates []string
	res, err := b.x.Tools()[0].Run(t.Context(), tool.Call{Args: jsonx.Raw(`{"x":"y "}`)}, func(r tool.Result) { updates = append(updates, r.Content.PlainText("")) })
	if err != nil || res.Content.PlainText("") != "y out" || strings.Join(updates, "|") != "half" {
		t.Errorf("%+v, %q, %v", res, updates, err)
	}
	b.run("/fail")
	if errs := b.errors(); len(errs) != 1 || errs[0].Error != "here" {
		t.Errorf("errors %+v", errs)
	}
	b.waitReport("ext.ts:9:")
	b.run("/node")
	b.waitReport("to people")
	b.waitFor(`"error":"by timer"`)
	if strings.Contains(b.log(), `"data":`+strconv.Itoa(os.Getpid())+"}") {
		t.Error("it runs in this process")
	}
}

// waitReport waits until a text was reported to people, waitFor until it was asked of the
// host.
func (b *bed) waitReport(text string) {
	b.t.Helper()
	b.wait(text, func() string { b.mu.Lock(); defer b.mu.Unlock(); return strings.Join(b.reports, "\n") })
}

func (b *bed) waitFor(text string) { b.t.Helper(); b.wait(text, b.log) }

func (b *bed) wait(text string, in func() string) {
	b.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(in(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("no %q in:\n%s", text, in())
		}
	}
}

// Whatever ends the process of the extensions, the engine goes on: it is told, what
// extensions watch is refused, and a reload starts another process.
func TestIsolatedCrash(t *testing.T) {
	for name, source := range map[string]string{
		"a memory fault":   `process.kill(process.pid, "SIGSEGV")`,
		"killed":           `process.kill(process.pid, "SIGKILL")`,
		"nothing but kill": `require("child_process").execSync("kill -9 $PPID")`,
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.Contains(source, "$PPID") {
				t.Skip("needs a shell")
			}
			b := newBed(t, `const wait = () => new Promise((r) => setTimeout(r, 60000));
				export default (pi) => {
					pi.on("tool_call", async (e) => { if (e.input.crash) { `+source+`; await wait(); } });
					pi.on("user_bash", () => {});
					pi.on("input", (e) => ({ action: "transform", text: "seen" }));
				};`, isolated)
			h := b.x.Hooks()
			if d, err := h.BeforeTool(t.Context(), toolCall("{}")); err != nil || d.Block {
				t.Fatalf("before: %+v, %v", d, err)
			}
			if d, err := h.BeforeTool(t.Context(), toolCall(`{"crash":true}`)); !errors.Is(err, js.ErrDead) {
				t.Errorf("the call that crashed it: %+v, %v", d, err)
			}
			b.waitFor(`"event":"host"`)
			if d, err := h.BeforeTool(t.Context(), toolCall("{}")); !errors.Is(err, js.ErrDead) {
				t.Errorf("while it is down: %+v, %v", d, err)
			}
			if handled, _, _, err := h.UserBash(t.Context(), "ls"); handled || !errors.Is(err, js.ErrDead) {
				t.Errorf("while it is down: %v, %v", handled, err)
			}
			if res, err := h.Input(t.Context(), engine.Input{Text: "x"}); err != nil || res.Replace {
				t.Errorf("while it is down: %+v, %v", res, err)
			}
			if errs := b.x.Replace(t.Context()); len(errs) > 0 {
				t.Fatal(errs)
			}
			if res, err := h.Input(t.Context(), engine.Input{Text: "x"}); err != nil || res.Text != "seen" {
				t.Errorf("after a reload: %+v, %v", res, err)
			}
		})
	}
}
