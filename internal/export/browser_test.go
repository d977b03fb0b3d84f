package export

import (
	"bytes"
	"flag"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write golden files and screenshots anew")

// exported writes the page of a session and returns its path.
func exported(t testing.TB, session string, opt Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := HTMLFile(path, openView(t, session), opt); err != nil {
		t.Fatal(err)
	}
	return path
}

const demo = "testdata/demo.jsonl"

func demoOptions() Options { return Options{Now: time.UnixMilli(1741086000000)} }

// shown opens a page and waits until all of it is there.
func shown(t testing.TB, b *browser, path, suffix string, v view) *tab {
	t.Helper()
	tb := b.open(t, path, suffix, v)
	tb.settle()
	return tb
}

func (tb *tab) settle() {
	tb.t.Helper()
	tb.wait(`document.documentElement.dataset.state === "complete"`)
	tb.frame()
}

// frame waits until what was asked for is drawn.
func (tb *tab) frame() {
	eval[bool](tb, `new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => r(true)))))`)
}

func (tb *tab) search(query string) {
	tb.t.Helper()
	quoted := string(appendString(nil, []byte(query)))
	eval[any](tb, `(() => { const box = document.querySelector("#search"); box.value = `+quoted+`; box.dispatchEvent(new Event("input", {bubbles: true})); })()`)
	tb.wait(`document.documentElement.dataset.searched === ` + quoted)
	tb.frame()
}

// checkTimes reports whether tests compare times too: for a calm machine.
func checkTimes() bool { return os.Getenv("ISOTOPE_TEST_TIMES") != "" }

// TestParts runs the tests of the page's parts, testdata/unit.js.
func TestParts(t *testing.T) {
	b := startBrowser(t)
	unit, err := os.ReadFile("testdata/unit.js")
	if err != nil {
		t.Fatal(err)
	}
	script := strings.TrimSuffix(assembled(scripts[:len(scripts)-1]), "})();\n") + fmt.Sprintf("const times = %t;\n", checkTimes()) + string(unit) + "})();\n"
	path := filepath.Join(t.TempDir(), "unit.html")
	html := `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="` + policy("", script, "") + `"><body></body><script>` + script + `</script>`
	if err := os.WriteFile(path, []byte(html), 0o600); err != nil {
		t.Fatal(err)
	}
	tb := b.open(t, path, "", view{})
	tb.calm()
	if !eval[bool](tb, "Array.isArray(window.results)") {
		t.Fatal("the tests did not come to their end")
	}
	for _, r := range eval[[]string](tb, "window.results") {
		t.Error(r)
	}
}

func TestPageShowsTheSession(t *testing.T) {
	tb := shown(t, startBrowser(t), exported(t, demo, demoOptions()), "", view{})
	defer tb.calm()
	tb.wait(`document.querySelectorAll(".row").length === 19`) // short: all rows are there
	text := eval[string](tb, `document.querySelector("#main").innerText`)
	for _, want := range []string{
		"0195d3c0-7e57-7000-8000-5e5510000001", "/home/kim/spool", "anthropic/claude-sonnet-4", "openai/gpt-5", "$0.126", "28 on 2 branches",
		"Do not just add a sleep", "1 item left after Drain", "n := len(q.items) + q.busy", "200 runs under the race detector", "git diff --stat", "exit 0",
		"Compacted from 48.2k tokens", "Reviewed by the release bot", "Error: 429 Too many requests", "Branch 2 of 2",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	for expression, want := range map[string]int{
		`document.querySelectorAll(".diff .added").length`:                                      3,
		`document.querySelectorAll(".diff .removed").length`:                                    1,
		`document.querySelectorAll(".picture img").length`:                                      1,
		`document.querySelector(".picture img").naturalWidth`:                                   320,
		`document.querySelectorAll(".table tbody tr").length`:                                   3,
		`document.querySelectorAll("details.thought:not([open])").length`:                       2,
		`document.querySelectorAll(".code .tk-keyword").length`:                                 5,
		`document.querySelectorAll(".row .chip.label").length`:                                  1,
		`[...document.querySelectorAll(".fg1")].filter(n => /FAIL/.test(n.textContent)).length`: 2,
		`[...document.querySelectorAll("button:not([aria-hidden])")].filter(b => !(b.getAttribute("aria-label") || b.innerText || b.textContent).trim()).length`: 0,
		`document.querySelectorAll("#outline [role=treeitem]").length`:                                                                                           17,
		`document.querySelectorAll("#outline [aria-level='2']").length`:                                                                                          2,
	} {
		if got := eval[int](tb, expression); got != want {
			t.Errorf("%s = %d, want %d", expression, got, want)
		}
	}
	if got := eval[string](tb, "document.title"); !strings.HasPrefix(got, "The test `TestQueueDrains` fails") {
		t.Errorf("title %q", got)
	}
}

func TestSearchAndFilters(t *testing.T) {
	tb := shown(t, startBrowser(t), exported(t, demo, demoOptions()), "", view{})
	defer tb.calm()
	rows := func() []string {
		return eval[[]string](tb, `[...document.querySelectorAll("#outline .o-text")].map(n => n.textContent)`)
	}
	tb.search("waitgroup")
	if got := rows(); len(got) != 3 {
		t.Errorf("found %q", got)
	}
	if n := eval[int](tb, `CSS.highlights.get("found")?.size ?? 0`); n == 0 {
		t.Error("nothing is highlighted")
	}
	tb.search(`"one integer" drain`) // a phrase and a word
	if got := rows(); len(got) != 1 {
		t.Errorf("found %q", got)
	}
	tb.search("fixed") // a label, and its entry's text has no such word
	if got := rows(); len(got) != 2 {
		t.Errorf("found %q", got)
	}
	tb.search("nowhere to be found")
	if got := eval[string](tb, `document.querySelector("#count").textContent`); got != "0 matches" {
		t.Errorf("count %q", got)
	}
	// A match in what is folded, on the other branch: it is opened.
	tb.search("producers do")
	eval[any](tb, `document.querySelector("#search").focus()`)
	tb.press("Enter")
	tb.frame()
	if got := eval[string](tb, `document.querySelector(".row.seen").innerText`); !strings.Contains(got, "exactly what your producers do") {
		t.Errorf("went to %q", got)
	}
	tb.search("before I form a theory")
	eval[any](tb, `document.querySelector("#search").focus()`)
	tb.press("Enter")
	tb.wait(`document.querySelector("details.thought[open]")`)
	tb.press("Escape")
	tb.wait(`!document.documentElement.classList.contains("searching")`)
	if n := eval[int](tb, `CSS.highlights.get("found")?.size ?? 0`); n != 0 {
		t.Error("a cleared search still highlights")
	}

	for filter, want := range map[string][2]int{"default": {17, 2}, "no-tools": {15, 0}, "user-only": {5, 0}, "labeled-only": {1, 1}, "all": {28, 2}} {
		eval[any](tb, `document.querySelector("[data-filter='`+filter+`']").click()`)
		tb.frame()
		if got := len(rows()); got != want[0] {
			t.Errorf("%s: %d rows in the outline, want %d: %q", filter, got, want[0], rows())
		}
		if got := eval[string](tb, `document.querySelector("[role=radio][aria-checked=true]").dataset.filter`); got != filter {
			t.Errorf("%s: %s is marked", filter, got)
		}
		cards := eval[int](tb, `[...document.querySelectorAll(".row .fold > summary")].filter(n => n.textContent.startsWith("bash")).length`)
		if filter != "labeled-only" && filter != "default" && filter != "all" && cards != 0 {
			t.Errorf("%s shows %d tool cards", filter, cards)
		}
	}
}

func TestDeepLinksAndBranches(t *testing.T) {
	b := startBrowser(t)
	path := exported(t, demo, demoOptions())
	v := openView(t, demo)
	other, fixed := "", ""
	for i := range v.Len() {
		raw, err := v.Raw(i)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte("Use a WaitGroup instead")) {
			other = v.Entry(i).ID
		}
		if bytes.Contains(raw, []byte(`"targetId"`)) {
			fixed = plain(member(raw, "targetId"))
		}
	}
	seen := `document.querySelector(".row.seen")?.innerText ?? ""`
	for _, suffix := range []string{"#entry=" + other, "?leafId=" + v.LeafID() + "&targetId=" + other, "#targetId=" + other} {
		tb := shown(t, b, path, suffix, view{})
		if got := eval[string](tb, seen); !strings.Contains(got, "Use a WaitGroup instead") {
			t.Errorf("%s leads to %q", suffix, got)
		}
		if got := eval[string](tb, `document.querySelector("#main").innerText`); strings.Contains(got, "200 runs under the race") {
			t.Errorf("%s: the other branch is shown too", suffix)
		}
		tb.calm()
	}
	tb := shown(t, b, path, "#entry="+fixed, view{width: 1280, height: 500})
	defer tb.calm()
	if got := eval[float64](tb, `document.querySelector(".row.seen").getBoundingClientRect().top`); got < 40 || got > 300 {
		t.Errorf("the entry stands at %v", got)
	}
	if got := eval[string](tb, `document.querySelector("#outline [aria-selected=true]").innerText`); !strings.Contains(got, "fixed") {
		t.Errorf("the outline shows %q", got)
	}
	// To and fro between branches, by the bar at the fork.
	tb.wait(`document.querySelector(".fork button:not(:disabled)")`)
	eval[any](tb, `document.querySelector(".fork [aria-label='Previous branch']").click()`)
	tb.frame()
	if got := eval[string](tb, `document.querySelector("#main").innerText`); !strings.Contains(got, "Use a WaitGroup instead") || !strings.Contains(got, "Branch 1 of 2") {
		t.Error("the first branch is not shown")
	}
	tb.press("]")
	tb.frame()
	if got := eval[string](tb, seen); !strings.Contains(got, "Yes, count them") {
		t.Errorf("] leads to %q", got)
	}
	eval[any](tb, `location.hash = "#entry=`+other+`"`)
	tb.wait(`/Use a WaitGroup instead/.test(document.querySelector(".row.seen")?.innerText ?? "")`)
	eval[any](tb, `location.hash = "#entry=no-such-entry"`)
	tb.frame()
}

// A session that stands in the middle, or at a label beside the conversation, shows the
// way to what was said after it.
func TestOnward(t *testing.T) {
	user := func(id, parent, text string) string {
		return `{"type":"message","id":"` + id + `","parentId":` + parent + `,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":"` + text + `"}}`
	}
	path := writeSession(t, user("a", "null", "first"), user("b", `"a"`, "second"), user("c", `"b"`, "third"),
		`{"type":"label","id":"d","parentId":"a","timestamp":"2025-01-01T00:00:00.000Z","targetId":"a","label":"here"}`)
	tb := shown(t, startBrowser(t), exported(t, path, Options{}), "", view{})
	defer tb.calm()
	if got := eval[string](tb, `document.querySelector(".onward")?.innerText ?? ""`); !strings.Contains(got, "second") || !strings.Contains(got, "2 entries") {
		t.Errorf("the way on is %q", got)
	}
	eval[any](tb, `document.querySelector(".onward button").click()`)
	tb.wait(`/third/.test(document.querySelector("#main").innerText) && !document.querySelector(".onward")`)
}

func TestKeyboard(t *testing.T) {
	tb := shown(t, startBrowser(t), exported(t, demo, demoOptions()), "", view{})
	defer tb.calm()
	seen := func() string {
		tb.frame()
		return eval[string](tb, `document.querySelector(".row.seen")?.innerText ?? ""`)
	}
	tb.press("J")
	if got := seen(); !strings.Contains(got, "fails about once in twenty") {
		t.Errorf("J: %q", got)
	}
	tb.press("j")
	if got := eval[string](tb, `document.activeElement.className`); !strings.Contains(got, "assistant") {
		t.Errorf("j: focus on %q", got)
	}
	tb.press("G")
	tb.frame()
	if got := eval[string](tb, `document.activeElement.innerText`); !strings.Contains(got, "Error: 429") {
		t.Errorf("G: %q", got)
	}
	tb.press("g", "t")
	tb.wait(`document.querySelectorAll("details.thought[open]").length === 2`)
	tb.press("o")
	tb.wait(`document.querySelectorAll(".tool-card:not([open])").length === 0`)
	tb.press("o")
	tb.wait(`document.querySelectorAll(".tool-card[open], .tool-card-bad[open]").length === 0`)
	tb.press("/")
	if got := eval[string](tb, `document.activeElement.id`); got != "search" {
		t.Errorf("/: focus on %q", got)
	}
	tb.press("j") // typed, not a command
	if got := eval[string](tb, `document.querySelector("#search").value`); got != "j" {
		t.Errorf("typed %q", got)
	}
	tb.press("Escape", "?")
	tb.wait(`document.querySelector("dialog.help[open]")`)
	tb.press("Escape")
	tb.wait(`!document.querySelector("dialog")`)
	tb.press("b")
	tb.wait(`document.querySelector("#side").getBoundingClientRect().width === 0`)
	tb.press("b")
	// The outline has keys of its own.
	eval[any](tb, `document.querySelector("#outline").focus()`)
	tb.press("Home", "ArrowDown", "ArrowDown", "ArrowDown")
	if got := eval[string](tb, `document.getElementById(document.querySelector("#outline").getAttribute("aria-activedescendant")).innerText`); !strings.Contains(got, "Use a WaitGroup") {
		t.Errorf("the cursor is on %q", got)
	}
	tb.press("ArrowLeft")
	tb.wait(`document.querySelectorAll("#outline [role=treeitem]").length === 16 && document.querySelector("#outline [aria-expanded=false]")`)
	tb.press("ArrowRight", "Enter")
	if got := seen(); !strings.Contains(got, "Use a WaitGroup instead") {
		t.Errorf("Enter: %q", got)
	}
}

func TestCopyAndDownload(t *testing.T) {
	b := startBrowser(t)
	tb := shown(t, b, exported(t, demo, demoOptions()), "", view{})
	defer tb.calm()
	tb.call("Browser.grantPermissions", map[string]any{"permissions": []string{"clipboardReadWrite", "clipboardSanitizedWrite"}})
	copied := func(button string) string {
		t.Helper()
		eval[any](tb, button+`.click()`)
		tb.wait(`/copied/.test(document.querySelector("#live").textContent)`)
		eval[any](tb, `document.querySelector("#live").textContent = ""`)
		return eval[string](tb, `navigator.clipboard.readText()`)
	}
	if got := copied(`document.querySelector(".card [aria-label='Copy session id']")`); got != "0195d3c0-7e57-7000-8000-5e5510000001" {
		t.Errorf("session id: %q", got)
	}
	if got := copied(`document.querySelector(".code [aria-label='Copy code']")`); !strings.HasPrefix(got, "// pending is what") || !strings.HasSuffix(got, "\n}") {
		t.Errorf("code: %q", got)
	}
	if got := copied(`document.querySelector(".row.user [aria-label='Copy text']")`); !strings.HasSuffix(got, "Do **not** just add a sleep.") {
		t.Errorf("text: %q", got)
	}
	link := copied(`document.querySelector(".row.user [aria-label='Copy link to this entry']")`)
	if !strings.Contains(link, "page.html#entry=a1b2c0") {
		t.Errorf("link: %q", link)
	}
	if got := copied(`document.querySelector(".tool-card-bad [aria-label='Copy input']")`); !strings.HasPrefix(got, "go test ./queue") {
		t.Errorf("command: %q", got)
	}
	// Without the clipboard API the old way serves.
	eval[any](tb, `Object.defineProperty(navigator, "clipboard", {value: {writeText: () => Promise.reject(new Error("no"))}, configurable: true})`)
	eval[any](tb, `document.querySelector(".card [aria-label='Copy session id']").click()`)
	tb.wait(`document.querySelector("#live").textContent === "Session id copied"`)

	eval[any](tb, `document.querySelector(".row.user [aria-label='Show the raw entry']").click()`)
	tb.wait(`/"role": "user"/.test(document.querySelector("dialog.sheet[open] pre")?.textContent ?? "")`)
	tb.press("Escape")

	// The download is the session, byte for byte.
	dir := t.TempDir()
	tb.call("Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": dir})
	eval[any](tb, `document.querySelector("#download").click()`)
	got := filepath.Join(dir, "demo.jsonl")
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(got); err == nil || time.Now().After(deadline) {
			break
		}
	}
	if a, b := readFile(t, got), readFile(t, demo); a != b {
		t.Errorf("the download has %d bytes and is not the session's %d", len(a), len(b))
	}
}

func TestThemes(t *testing.T) {
	b := startBrowser(t)
	path := exported(t, demo, demoOptions())
	for _, dark := range []bool{false, true} {
		name := map[bool]string{false: "light", true: "dark"}[dark]
		tb := shown(t, b, path, "#entry=a1b2c0bb", view{width: 1280, height: 860, dark: dark})
		luminance := eval[float64](tb, `(() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g).map(Number); return r + g + b; })()`)
		if (luminance < 200) != dark {
			t.Errorf("%s: the paper has the brightness %v", name, luminance)
		}
		eval[any](tb, `document.activeElement.blur(); document.querySelector(".row.seen").classList.remove("seen")`)
		tb.frame()
		shot := tb.screenshot()
		if img, err := png.Decode(bytes.NewReader(shot)); err != nil || img.Bounds().Dx() != 1280 {
			t.Errorf("%s: no picture: %v", name, err)
		}
		if *update {
			writeFile(t, filepath.Join("..", "..", "docs", "export", name+".png"), shot)
		}
		// The reader's choice wins over the system's.
		eval[any](tb, `document.querySelector("#theme-toggle").click()`)
		if got := eval[string](tb, `document.documentElement.dataset.theme + " " + document.querySelector("#theme-toggle").getAttribute("aria-label")`); got != "light Theme: light" {
			t.Errorf("after one click: %q", got)
		}
		eval[any](tb, `document.querySelector("#theme-toggle").click()`)
		if got := eval[string](tb, `document.documentElement.dataset.theme`); got != "dark" {
			t.Errorf("after two clicks: %q", got)
		}
		eval[any](tb, `document.querySelector("#theme-toggle").click()`)
		tb.calm()
	}
}

func TestNarrowScreen(t *testing.T) {
	tb := shown(t, startBrowser(t), exported(t, demo, demoOptions()), "", view{width: 390, height: 800})
	defer tb.calm()
	if got := eval[float64](tb, `document.querySelector("#side").getBoundingClientRect().width`); got != 0 {
		t.Errorf("the outline takes %v pixels", got)
	}
	if got := eval[int](tb, `document.documentElement.scrollWidth`); got > 390 {
		t.Errorf("the page is %d pixels wide", got)
	}
	if got := eval[[]string](tb, `[...document.querySelectorAll(".rows > *")].filter(n => n.getBoundingClientRect().right > 391).map(n => n.className)`); len(got) > 0 {
		t.Errorf("too wide: %q", got)
	}
	eval[any](tb, `document.querySelector("#side-toggle").click()`)
	tb.wait(`document.querySelector("#side").getBoundingClientRect().width > 200 && document.querySelectorAll("#outline .o-row").length > 5`)
	eval[any](tb, `document.querySelectorAll("#outline .o-row")[5].click()`)
	tb.wait(`document.querySelector("#side").getBoundingClientRect().width === 0`)
}

// Rows exist near the view only, the page can be used while the rest is still read, and
// it is found and scrolled to wherever it stands. How long that takes is in the log, and
// checked where ISOTOPE_TEST_TIMES is set (a calm machine).
func TestHugeSession(t *testing.T) {
	b := startBrowser(t)
	path := exported(t, longSession(t, 50_000), Options{})
	tb := shown(t, b, path, "", view{})
	defer tb.calm()
	ready := eval[float64](tb, `performance.getEntriesByName("isotope-ready")[0].startTime`)
	loaded := eval[float64](tb, `performance.getEntriesByType("navigation")[0].domContentLoadedEventEnd`)
	t.Logf("50,000 entries: usable after %.0f ms, complete after %.0f ms", ready, loaded)
	if ready > loaded {
		t.Errorf("usable after %.0f ms, not before all was read, which took %.0f ms", ready, loaded)
	}
	if ready > 1000 && checkTimes() {
		t.Errorf("usable after %.0f ms", ready)
	}
	if got := eval[int](tb, `document.querySelectorAll(".row").length + document.querySelectorAll(".o-row").length`); got > 200 {
		t.Errorf("%d rows exist", got)
	}
	tb.search("question 41236")
	if got := eval[string](tb, `document.querySelector("#count").textContent`); got != "1 match" {
		t.Errorf("count %q", got)
	}
	eval[any](tb, `document.querySelector("#search").focus()`)
	tb.press("Enter")
	tb.frame()
	if got := eval[string](tb, `document.querySelector(".row.seen").innerText`); !strings.Contains(got, "question 41236") {
		t.Errorf("went to %q", got)
	}
	// Wherever the reader scrolls to, rows are there, and they stay where they are.
	for _, at := range []string{"0", "0.37", "0.99", "0.5", "1"} {
		eval[any](tb, `(m => m.scrollTop = m.scrollHeight * `+at+`)(document.querySelector("#main"))`)
		tb.frame()
		tb.frame()
		gap := `(() => { const m = document.querySelector("#main").getBoundingClientRect(); const hit = y => document.elementFromPoint(m.left + m.width / 2, y)?.closest(".rows"); return [m.top + 5, m.top + m.height * 0.4].every(hit); })()`
		if !eval[bool](tb, gap) {
			t.Errorf("nothing stands at %s", at)
		}
	}
	top := func() []any {
		return eval[[]any](tb, `(() => { const t = document.querySelector("#main").getBoundingClientRect().top; const n = [...document.querySelectorAll(".row")].find(n => n.getBoundingClientRect().bottom > t + 1); return [n.dataset.entry, Math.round(n.getBoundingClientRect().top)]; })()`)
	}
	eval[any](tb, `(m => m.scrollTop = m.scrollHeight * 0.61)(document.querySelector("#main"))`)
	tb.frame()
	tb.frame()
	before := top()
	for range 6 {
		tb.frame()
	}
	if after := top(); !slices.Equal(before, after) {
		t.Errorf("the view moved by itself from %v to %v", before, after)
	}
}
