package ext

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/isotope-agent/isotope/internal/event"
	"github.com/isotope-agent/isotope/internal/jsonx"
)

const dialogs5 = `export default (pi) => {
	pi.registerCommand("ask", { handler: async (a, ctx) => {
		pi.appendEntry("got", [
			await ctx.ui.select("S", ["a", "b"]) ?? null, await ctx.ui.confirm("C", "really?"), await ctx.ui.input("I", "hint") ?? null, await ctx.ui.editor("E", "pre") ?? null,
		]);
	} });
	pi.registerCommand("tell", { handler: (a, ctx) => {
		ctx.ui.notify("plain"); ctx.ui.notify("typed", "warning"); ctx.ui.setStatus("k", "v"); ctx.ui.setStatus("k", undefined); ctx.ui.setWidget("w", ["l"], { placement: "belowEditor" }); ctx.ui.setWidget("w", undefined);
		ctx.ui.setTitle("T"); ctx.ui.setEditorText("E"); ctx.ui.pasteToEditor("P"); ctx.ui.setFooter(() => {}); ctx.ui.setWorkingMessage("x");
		pi.appendEntry("rest", [ctx.ui.getEditorText(), ctx.ui.getAllThemes(), ctx.ui.setTheme("x").success, ctx.ui.theme.fg("accent", "t")]);
	} });
	pi.registerCommand("timeout", { handler: async (a, ctx) => { pi.appendEntry("late", [await ctx.ui.confirm("C", "m", { timeout: 50 }), await ctx.ui.select("S", ["a"], { timeout: 50 }) ?? null]); } });
	pi.registerCommand("aborted", { handler: async (a, ctx) => { pi.appendEntry("aborted", [await ctx.ui.confirm("C", "m", { signal: AbortSignal.abort() }), await ctx.ui.input("I", "", { signal: AbortSignal.timeout(30) }) ?? null]); } });
	pi.on("tool_call", async (e, ctx) => { if (!(await ctx.ui.confirm("run?", e.toolName))) return { block: true, reason: "declined" }; });
};`

func answerAll(r event.ExtensionUIRequest) string {
	return map[string]string{"select": `{"value":"b"}`, "confirm": `{"confirmed":true}`, "input": `{"value":"typed"}`, "editor": `{"value":"edited"}`}[r.Method]
}

func TestDialogs(t *testing.T) {
	b := newBed(t, dialogs5, withAnswers(answerAll))
	b.run("/ask")
	want := []string{
		`ui select {"title":"S","options":["a","b"]}`, `ui confirm {"title":"C","message":"really?"}`, `ui input {"title":"I","placeholder":"hint"}`, `ui editor {"title":"E","prefill":"pre"}`,
		`entry custom {"customType":"got","data":["b",true,"typed","edited"]}`,
	}
	if diff := cmp.Diff(want, strings.Split(b.log(), "\n")); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestDialogDefaults(t *testing.T) {
	for name, answer := range map[string]string{"cancelled": `{"cancelled":true,"value":"x","confirmed":true}`, "wrong shape": `{"other":1}`} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, dialogs5, withAnswers(func(event.ExtensionUIRequest) string { return answer }))
			b.run("/ask")
			if !strings.Contains(b.log(), `"got","data":[null,false,null,null]`) {
				t.Error(b.log())
			}
		})
	}
}

func TestDialogTimeouts(t *testing.T) {
	var ids []string
	b := newBed(t, dialogs5, withAnswers(func(r event.ExtensionUIRequest) string { ids = append(ids, r.ID); return "" }))
	b.run("/timeout")
	b.run("/aborted")
	for _, want := range []string{`ui confirm {"title":"C","message":"m","timeout":50}`, `"late","data":[false,null]`, `"aborted","data":[false,null]`} {
		if !strings.Contains(b.log(), want) {
			t.Errorf("no %s in\n%s", want, b.log())
		}
	}
	if len(ids) != 3 {
		t.Errorf("%d requests; an aborted signal sends none", len(ids))
	}
	// Field report 136: late and unknown answers are nobody's.
	for _, id := range append(ids, "unknown") {
		b.x.DialogAnswer(id, jsonx.Raw(`{"confirmed":true}`))
	}
}

// Field report 136: an answer settles the dialog whose id it has, and no other.
func TestDialogAnswersByID(t *testing.T) {
	var reqs []event.ExtensionUIRequest
	asked := make(chan struct{}, 2)
	b := newBed(t, `export default (pi) => { pi.registerCommand("two", { handler: async (a, ctx) => { pi.appendEntry("r", await Promise.all([ctx.ui.input("A"), ctx.ui.input("B")])); } }); };`,
		withAnswers(func(r event.ExtensionUIRequest) string { reqs = append(reqs, r); asked <- struct{}{}; return "" }))
	done := make(chan struct{})
	go func() { b.run("/two"); close(done) }()
	<-asked
	<-asked
	b.x.DialogAnswer(reqs[1].ID, jsonx.Raw(`{"value":"second"}`))
	b.x.DialogAnswer(reqs[0].ID, jsonx.Raw(`{"value":"first"}`))
	b.x.DialogAnswer(reqs[0].ID, jsonx.Raw(`{"value":"again"}`))
	<-done
	if !strings.Contains(b.log(), `"r","data":["first","second"]`) {
		t.Error(b.log())
	}
}

// Field report 137: without a client that could answer, hasUI says so, dialogs take
// their defaults at once and nothing is sent.
func TestNoUI(t *testing.T) {
	for _, mode := range []string{"json", "print"} {
		b := newBed(t, dialogs5, withMode(mode))
		b.run("/ask")
		b.run("/tell")
		if log := b.log(); strings.Contains(log, "ui ") || !strings.Contains(log, `"got","data":[null,false,null,null]`) {
			t.Errorf("%s: %s", mode, log)
		}
		d, err := b.x.Hooks().BeforeTool(t.Context(), toolCall("{}"))
		if err != nil || !d.Block {
			t.Errorf("%s: %+v %v", mode, d, err)
		}
	}
}

func TestTell(t *testing.T) {
	b := newBed(t, dialogs5)
	b.run("/tell")
	want := []string{
		`ui notify {"message":"plain"}`, `ui notify {"message":"typed","notifyType":"warning"}`, `ui setStatus {"statusKey":"k","statusText":"v"}`, `ui setStatus {"statusKey":"k"}`,
		`ui setWidget {"widgetKey":"w","widgetLines":["l"],"widgetPlacement":"belowEditor"}`, `ui setWidget {"widgetKey":"w"}`, `ui setTitle {"title":"T"}`, `ui set_editor_text {"text":"E"}`, `ui set_editor_text {"text":"P"}`,
		`entry custom {"customType":"rest","data":["",[],false,"t"]}`,
	}
	if diff := cmp.Diff(want, strings.Split(b.log(), "\n")); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// While a dialog waits an abort does not end the handler: the answer does.
func TestAbortWaitsForDialog(t *testing.T) {
	asked := make(chan string, 1)
	b := newBed(t, dialogs5, withAnswers(func(r event.ExtensionUIRequest) string { asked <- r.ID; return "" }))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan bool, 1)
	go func() {
		d, _ := b.x.Hooks().BeforeTool(ctx, toolCall("{}"))
		done <- d.Block
	}()
	id := <-asked
	cancel()
	select {
	case <-done:
		t.Fatal("the handler ended before its dialog")
	case <-time.After(100 * time.Millisecond):
	}
	b.x.DialogAnswer(id, jsonx.Raw(`{"confirmed":false}`))
	if !<-done {
		t.Error("a declined call is not blocked")
	}
}

// At the end of input dialogs take their defaults.
func TestShutdownAnswersDialogs(t *testing.T) {
	asked := make(chan struct{}, 9)
	b := newBed(t, dialogs5, withAnswers(func(event.ExtensionUIRequest) string { asked <- struct{}{}; return "" }))
	done := make(chan struct{})
	go func() { b.run("/ask"); close(done) }()
	<-asked
	b.x.Shutdown()
	<-done
	if !strings.Contains(b.log(), `"got","data":[null,false,null,null]`) {
		t.Error(b.log())
	}
}

// Whatever a script passes, clients get records of the protocol (the host checks each).
func TestDialogsOfCarelessScripts(t *testing.T) {
	b := newBed(t, `export default (pi) => {
		pi.registerCommand("tell", { handler: async (a, ctx) => {
			ctx.ui.notify(42, "success"); ctx.ui.notify(); ctx.ui.setStatus(1, 2); ctx.ui.setStatus("k", null); ctx.ui.setTitle(new Date(0));
			ctx.ui.setWidget("w", "one\ntwo", { placement: "left" }); ctx.ui.setWidget("w", [1, null]); ctx.ui.setEditorText({ toString: () => "obj" });
			await ctx.ui.select(undefined, new Set([1, "b"]), { timeout: "5" }); await ctx.ui.input(null, 7); await ctx.ui.editor("E", false);
		} });
	};`, withAnswers(answerAll))
	b.run("/tell")
	for _, want := range []string{
		`ui notify {"message":"42"}`, `ui notify {"message":""}`, `ui setStatus {"statusKey":"1","statusText":"2"}`, `ui setStatus {"statusKey":"k"}`,
		`ui setWidget {"widgetKey":"w","widgetLines":["one","two"]}`, `ui setWidget {"widgetKey":"w","widgetLines":["1",""]}`, `ui set_editor_text {"text":"obj"}`,
		`ui select {"title":"","options":["1","b"]}`, `ui input {"title":"","placeholder":"7"}`, `ui editor {"title":"E","prefill":"false"}`,
	} {
		if !strings.Contains(b.log(), want) {
			t.Errorf("no %s in\n%s", want, b.log())
		}
	}
}
