package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const asker = `export default function (pi: any) {
  pi.registerCommand("ask", {
    handler: async (_args: string, ctx: any) => {
      ctx.ui.notify("about to ask", "info");
      ctx.ui.setStatus("s", "asking");
      const answers = [
        await ctx.ui.select("Which?", ["a", "b"]),
        await ctx.ui.confirm("Sure?", "Really?"),
        await ctx.ui.input("Name", "you"),
        await ctx.ui.editor("Text", "draft"),
        await ctx.ui.confirm("Quick?", "No time", { timeout: 1 }),
      ];
      ctx.ui.notify("answers " + JSON.stringify(answers.map((a) => a === undefined ? "none" : a)));
    },
  });
}`

// Dialogs of an extension as clients answer them: rightly, with cancelled to everything,
// what was only shown included (field report A0, pi-acp), twice, too late, and by ids that
// nobody has. No answer of theirs is answered.
func TestDialogs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "asker.ts")
	if err := os.WriteFile(file, []byte(asker), 0o600); err != nil {
		t.Fatal(err)
	}
	right := map[string]string{"select": `"value":"b"`, "confirm": `"confirmed":true`, "input": `"value":"me"`, "editor": `"value":"x\ny"`}
	for name, c := range map[string]struct {
		answer func(method string) string
		want   string
	}{
		"right":     {func(m string) string { return right[m] }, `["b",true,"me","x\ny",false]`},
		"cancelled": {func(string) string { return `"cancelled":true` }, `["none",false,"none","none",false]`},
		"wrong":     {func(string) string { return `"value":7,"confirmed":"yes"` }, `["none",false,"none","none",false]`},
	} {
		if underRace && name != "cancelled" {
			continue // the JavaScript engine takes its time there
		}
		t.Run(name, func(t *testing.T) {
			p := start(t, "--mode", "rpc", "--model", "scripted/demo", "--no-session", "-e", file)
			p.send(`{"id":"p","type":"prompt","message":"/ask"}`)
			for {
				lines := p.until(`"type":"extension_ui_request"`)
				request := lines[len(lines)-1]
				id, method := member(t, request, "id"), member(t, request, "method")
				if message := member(t, request, "message"); strings.HasPrefix(message, "answers ") {
					if got := strings.TrimPrefix(message, "answers "); got != c.want {
						t.Errorf("answers %s, want %s", got, c.want)
					}
					break
				}
				if member(t, request, "title") == "Quick?" {
					continue // nobody answers in time
				}
				for _, to := range []string{"nobody", id, id} {
					p.send(`{"type":"extension_ui_response","id":"` + to + `",` + c.answer(method) + `,"method":"` + method + `"}`)
				}
			}
			p.until(`"id":"p"`, `"disposition":"handled"`)
			p.closeInput()
			for _, line := range p.rest() {
				if strings.Contains(line, "extension_ui_response") || strings.Contains(line, `"success":false`) {
					t.Errorf("an answer was answered: %s", line)
				}
			}
			p.wantExit(0)
		})
	}
}
