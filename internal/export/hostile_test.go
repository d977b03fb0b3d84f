package export

import (
	"slices"
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
)

// hostile are texts that would like to be more than text. Each would set window.pwned.
var hostile = []string{
	`<script>window.pwned=1</script>`, `</script><script>window.pwned=2</script>`, `<!--<script>`, `--></script>`, `<img src=x onerror="window.pwned=3">`,
	`<svg onload=window.pwned=4>`, `<iframe srcdoc="<script>parent.pwned=5</script>">`, `"><b onmouseover=window.pwned=6>`, `' autofocus onfocus=window.pwned=7 x='`,
	`[click](javascript:window.pwned=8)`, `[click](JaVa` + "\t" + `ScRiPt:window.pwned=9)`, "[click](\u0001javascript:window.pwned=10)", `[click](data:text/html,<script>window.pwned=11</script>)`,
	`![x](javascript:window.pwned=12)`, `![x](https://tracker.example/p.png)`, `![x](data:image/svg+xml,<svg onload=window.pwned=13>)`, `<javascript:window.pwned=14>`,
	`[ref]` + "\n\n" + `[ref]: javascript:window.pwned=15`, `[x](vbscript:window.pwned=16) [y](file:///etc/passwd) [z](blob:x) [w](//evil.example)`,
	"```\"><script>window.pwned=17</script>\ncode </code></pre><script>window.pwned=18</script>\n```", "`</code><script>window.pwned=19</script>`",
	`| <script>window.pwned=20</script> |` + "\n|---|\n" + `| [c](javascript:window.pwned=21) |`, `<a href="javascript:window.pwned=22">x</a>`, `<style>*{display:none}</style>`,
	`<form action=https://evil.example><input name=x></form>`, `<base href=https://evil.example/>`, `<meta http-equiv=refresh content="0;url=https://evil.example">`,
	"\x1b]8;;javascript:window.pwned=23\x07link\x1b]8;;\x07", "\x1b]52;c;cHduZWQ=\x07", "\x1b[2J\x1b[1;1H\x1b[31mred\x1b[0m \x1bc", "a\u2028b\u2029c\u0085d", "\u202e}cod.exe\u202c \u2066x\u2069 \U000e0041\U000e0042",
	"\u0000\u0007\u0008\u007f\ufeff", `{{constructor.constructor("window.pwned=24")()}} ${window.pwned=25} <%= 26 %>`, `\u003cscript\u003ewindow.pwned=27\u003c/script\u003e`, `&lt;script&gt;window.pwned=28&lt;/script&gt; &#60;script&#62;`,
	`javascript:window.pwned=29`, `https://x.example/"onmouseover="window.pwned=30`, `http://x.example/<script>window.pwned=31</script>`, `mailto:a@b.example?subject="><script>window.pwned=32</script>`,
	`<details open ontoggle=window.pwned=33>`, `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=window.pwned=34&gt;">`, `<svg><a xlink:href="javascript:window.pwned=35"><text>x</text></a></svg>`,
}

// hostileSession puts each of them wherever a session holds text.
func hostileSession(t testing.TB) string {
	t.Helper()
	var lines []string
	parent := "null"
	add := func(typ, members string) {
		id := string(jsonx.String(strings.Repeat("0", 3) + itoa(len(lines)) + `"><script>window.pwned=40</script>`))
		line := `{"type":` + typ + `,"id":` + id + `,"parentId":` + parent + `,"timestamp":"2025-01-01T00:00:00.000Z"`
		if members != "" {
			line += "," + members
		}
		lines = append(lines, line+"}")
		parent = id
	}
	message := func(members string) { add(`"message"`, `"message":{`+members+`}`) }
	for _, text := range hostile {
		q := string(jsonx.String(text))
		message(`"role":"user","content":[{"type":"text","text":` + q + `},{"type":"image","mimeType":` + q + `,"data":` + q + `},{"type":` + q + `}],"timestamp":1`)
		message(`"role":"assistant","provider":` + q + `,"model":` + q + `,"stopReason":"error","errorMessage":` + q + `,"content":[{"type":"thinking","thinking":` + q + `},{"type":"text","text":` + q +
			`},{"type":"toolCall","id":` + q + `,"name":` + q + `,"arguments":{` + q + `:` + q + `}},{"type":"toolCall","id":"b","name":"bash","arguments":{"command":` + q + `}},{"type":"toolCall","id":"e","name":"edit","arguments":{"path":` + q + `,"edits":[{"oldText":` + q + `,"newText":"x"}]}},` +
			`{"type":"toolCall","id":"w","name":"write","arguments":{"path":"a.html","content":` + q + `}},{"type":"toolCall","id":"r","name":"read","arguments":{"path":` + q + `}},{"type":"toolCall","id":"g","name":"grep","arguments":{"pattern":` + q + `,"glob":` + q + `}}]`)
		message(`"role":"toolResult","toolCallId":` + q + `,"toolName":` + q + `,"content":[{"type":"text","text":` + q + `}],"isError":true,"details":{"diff":` + q + `}`)
		message(`"role":"toolResult","toolCallId":"e","toolName":"edit","content":[{"type":"text","text":"ok"}],"isError":false,"details":{"diff":` + string(jsonx.String("+1 "+text+"\n-2 "+text)) + `}`)
		message(`"role":"toolResult","toolCallId":"r","toolName":"read","content":` + q + `,"isError":false`)
		message(`"role":"bashExecution","command":` + q + `,"output":` + q + `,"exitCode":1,"fullOutputPath":` + q)
		message(`"role":` + q + `,"content":` + q)
		add(`"custom_message"`, `"customType":`+q+`,"content":`+q+`,"display":true,"details":{`+q+`:`+q+`}`)
		add(`"compaction"`, `"summary":`+q+`,"tokensBefore":`+q)
		add(`"branch_summary"`, `"summary":`+q+`,"fromId":`+q)
		add(`"model_change"`, `"provider":`+q+`,"modelId":`+q)
		add(`"label"`, `"targetId":`+parent+`,"label":`+q)
		add(`"session_info"`, `"name":`+q)
		add(`"custom"`, `"customType":`+q+`,"data":`+q)
		add(q, `"x":`+q)
	}
	// Shapes that no program writes.
	for _, members := range []string{
		`"message":null`, `"message":[]`, `"message":"x"`, `"message":{"role":"user"}`, `"message":{"role":"user","content":null}`, `"message":{"role":"user","content":{"toString":1}}`,
		`"message":{"role":"assistant","content":[null,1,"x",[],{"type":"toolCall"},{"type":"toolCall","id":1,"name":{},"arguments":"{"},{"type":"thinking","thinking":7},{"type":"image"}],"usage":{"input":"x","cost":[]},"durationMs":{}}`,
		`"message":{"role":"assistant","content":"bare"}`, `"message":{"role":"toolResult"}`, `"message":{"role":"bashExecution","command":{"a":1},"output":7,"exitCode":"x"}`,
		`"message":{"__proto__":{"role":"user","content":"polluted"},"role":"user","content":"own"},"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}`,
		`"message":{"role":"user","content":"\ud800 half \udc00"}`, `"message":{"role":"user","content":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`,
	} {
		add(`"message"`, members)
	}
	lines = append(lines, `{"type":"message","id":"__proto__","parentId":"constructor","timestamp":"x","message":{"role":"user","content":"an id that is a name"}}`,
		`{"type":"message","parentId":"__proto__","timestamp":17,"message":{"role":"user","content":"no id, no time"}}`,
		"{\"type\":\"message\",\"id\":\"utf\",\"parentId\":\"__proto__\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"bad \xff\xfe bytes\"}}",
		`{"type":"message","id":"end","parentId":`+parent+`,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":"the end"}}`)
	return writeSession(t, lines...)
}

// TestHostileSessionInABrowser opens everything that can be opened and looks for
// anything that came to life.
func TestHostileSessionInABrowser(t *testing.T) {
	path := exported(t, hostileSession(t), Options{
		Title: hostile[1] + hostile[4], SystemPrompt: strings.Join(hostile, "\n"), Dialect: hostile[0],
		Tools: []llm.ToolSpec{{Name: hostile[0], Description: strings.Join(hostile[:12], "\n\n"), Parameters: jsonx.Raw(`{"properties":{"<b>":{"type":"<i>","description":"<script>"},"__proto__":{"type":"x"}},"required":["<b>"]}`)}},
	})
	tb := shown(t, startBrowser(t), path, "", view{width: 1280, height: 6000})
	tb.call("Page.setDownloadBehavior", map[string]any{"behavior": "deny"})
	inert := func(when string) {
		t.Helper()
		if got := eval[any](tb, `window.pwned ?? ({}).polluted ?? null`); got != nil {
			t.Fatalf("%s: it ran: %v", when, got)
		}
		if got := eval[int](tb, `document.querySelectorAll("script:not([type])").length`); got != 2 {
			t.Errorf("%s: %d programs", when, got)
		}
		for _, none := range []string{
			`document.querySelectorAll("iframe, object, embed, form, base, frame, applet, video, audio, math, body style, body link, body meta").length`,
			`[...document.querySelectorAll("body *")].filter(n => [...n.attributes].some(a => a.name.startsWith("on") || a.name === "srcdoc" || a.name === "style" && /url/.test(a.value))).length`,
			`[...document.querySelectorAll("a[href]")].filter(a => !/^(https?:\/\/|mailto:)/.test(a.getAttribute("href")) && !a.getAttribute("href").startsWith("#")).length`,
			`[...document.querySelectorAll("a[target]")].filter(a => !/noopener/.test(a.rel)).length`,
			`[...document.querySelectorAll("img")].filter(n => !/^data:image\/(png|jpeg|gif|webp|bmp|avif);base64,/.test(n.src)).length`,
			`document.querySelectorAll("svg a, svg script, svg image, svg foreignObject").length`,
			`[...document.querySelectorAll("#main, #side, .bar")].filter(n => /[\u0000-\u0008\u000e-\u001f\u202a-\u202e\u2066-\u2069]/.test(n.textContent)).length`,
		} {
			if got := eval[int](tb, none); got != 0 {
				t.Errorf("%s: %s = %d", when, none, got)
			}
		}
	}
	inert("at once")
	eval[any](tb, `document.querySelector("[data-filter=all]").click()`)
	tb.press("t", "o")
	tb.frame()
	// Every part of the branch comes by; what folds is opened, what is a button is hovered.
	shown := map[string]bool{}
	for k := 0; k < 1000; k++ {
		for _, e := range eval[[]string](tb, `(() => { for (const d of document.querySelectorAll("#main details:not([open])")) d.open = true; for (const n of document.querySelectorAll("#main *")) n.dispatchEvent(new MouseEvent("mouseover", {bubbles: true})); return [...document.querySelectorAll(".row")].map(n => n.dataset.entry); })()`) {
			shown[e] = true
		}
		if k%4 == 0 {
			inert("after " + itoa(k) + " steps")
		}
		if eval[bool](tb, `(m => { const last = m.scrollTop + m.clientHeight >= m.scrollHeight - 2; m.scrollTop += 5000; return last; })(document.querySelector("#main"))`) {
			break
		}
		tb.frame()
	}
	// Three of fifteen are results, which are part of the message that called.
	if want := len(hostile)*12 + 14; len(shown) < want {
		t.Errorf("only %d of %d entries came by", len(shown), want)
	}
	inert("at the end")
	if got := eval[int](tb, `document.querySelectorAll(".fault").length`); got != 0 {
		t.Errorf("%d entries could not be drawn", got)
	}
	// The raw view, the search, the copies, the other roots.
	tb.press("G")
	tb.frame()
	eval[any](tb, `document.querySelector(".row [aria-label='Show the raw entry']").click()`)
	inert("raw")
	tb.press("Escape")
	for _, q := range []string{"<script>", `javascript:`, `"onmouseover`, "pwned=23", `\`, "(", "polluted", "\u202e"} {
		tb.search(q)
		inert("searching " + q)
	}
	tb.search("bytes bad")
	if got := eval[int](tb, `document.querySelectorAll("#outline [role=treeitem]").length`); got != 1 {
		t.Errorf("%d entries with replaced bytes", got)
	}
	tb.press("Escape")
	for _, suffix := range []string{"#entry=__proto__", "#entry=utf", "#entry=" + "%22%3E%3Cscript%3E", "#leaf=constructor&entry=end"} {
		eval[any](tb, `location.hash = "`+suffix+`"`)
		tb.frame()
		inert(suffix)
	}
	// A browser says so itself when the policy had to step in; it must not have come to that.
	tb.calm()
	if title := eval[string](tb, "document.title"); !strings.Contains(title, "<script>window.pwned=2</script>") {
		t.Errorf("title %q", title)
	}
}

func TestHostileListIsComplete(t *testing.T) {
	for _, must := range []string{"javascript:", "data:text/html", "onerror", "</script>", "<!--", "\u2028", "\x1b]8", "\u202e"} {
		if !slices.ContainsFunc(hostile, func(s string) bool { return strings.Contains(s, must) }) {
			t.Errorf("no text with %q", must)
		}
	}
}
