package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
	"github.com/isotope-agent/isotope/internal/llm"
	"github.com/isotope-agent/isotope/internal/session"
)

func readFile(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func pageOf(t testing.TB, v *session.View, opt Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, v, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// element is a script element of a page.
type element struct{ attributes, text string }

var scriptElement = regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`)

func scriptsOf(page string) []element {
	var out []element
	for _, m := range scriptElement.FindAllStringSubmatch(page, -1) {
		out = append(out, element{m[1], m[2]})
	}
	return out
}

// embedded returns the session lines that a page embeds, decoded from their pieces, and
// fails when a piece says a wrong first entry.
func embedded(t testing.TB, page string) []string {
	t.Helper()
	var lines []string
	for _, s := range scriptsOf(page) {
		if !strings.Contains(s.attributes, `class="piece"`) {
			continue
		}
		if want := `data-from="` + itoa(len(lines)) + `"`; !strings.Contains(s.attributes, want) {
			t.Errorf("a piece has %s, want %s", s.attributes, want)
		}
		for line := range strings.SplitSeq(s.text, "\n") {
			if !jsonx.Valid([]byte(line)) {
				t.Errorf("no JSON: %q", line)
			}
			lines = append(lines, strings.ReplaceAll(line, `\u003C`, "<"))
		}
	}
	return lines
}

func itoa(n int) string { b, _ := jsonx.Marshal(n); return string(b) }

// A page is: its fixed head, the index, the meta data, the script, the entries.
func TestStructureOfAPage(t *testing.T) {
	v := openView(t, demo)
	page := pageOf(t, v, demoOptions())
	if !strings.HasPrefix(page, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\"") || !strings.HasSuffix(page, "</body>\n</html>\n") {
		t.Error("no whole document")
	}
	var order []string
	for _, s := range scriptsOf(page) {
		name := strings.TrimSpace(s.attributes)
		if s.attributes == "" {
			name = "program"
		}
		order = append(order, name)
	}
	want := []string{"program", `type="application/json" class="index"`, `type="application/json" id="meta"`, "program", `type="application/json" class="piece" data-from="0"`}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("script elements (-want +got):\n%s", diff)
	}
	lines := strings.Split(strings.TrimSuffix(readFile(t, demo), "\n"), "\n")
	if diff := cmp.Diff(lines[1:], embedded(t, page)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if place := regexp.MustCompile(`\{\{\w+\}\}`).FindString(page); place != "" {
		t.Errorf("a place of the shell was left open: %s", place)
	}
}

// The data in front of the entries, as the page's script reads it.
func TestIndexAndMetaGolden(t *testing.T) {
	page := pageOf(t, openView(t, demo), demoOptions())
	var got bytes.Buffer
	for _, s := range scriptsOf(page) {
		if strings.Contains(s.attributes, `class="index"`) || strings.Contains(s.attributes, `id="meta"`) {
			got.Write(jsonx.Indent([]byte(s.text)))
			got.WriteByte('\n')
		}
	}
	const golden = "testdata/demo.index.golden"
	if *update {
		writeFile(t, golden, got.Bytes())
	}
	if diff := cmp.Diff(readFile(t, golden), got.String()); diff != "" {
		t.Errorf("index and meta data (-want +got):\n%s", diff)
	}
}

// The policy names exactly the programs and the style of the page.
func TestPolicyFitsThePage(t *testing.T) {
	page := pageOf(t, openView(t, demo), Options{})
	m := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no policy")
	}
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(page)
	var programs []string
	for _, s := range scriptsOf(page) {
		if s.attributes == "" {
			programs = append(programs, s.text)
		}
	}
	if len(programs) != 2 || style == nil || m[1] != policy(programs[0], programs[1], style[1]) {
		t.Errorf("the policy %s does not fit", m[1])
	}
	for _, must := range []string{"default-src 'none'", "img-src data:", "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(m[1], must) {
			t.Errorf("the policy lacks %q", must)
		}
	}
	if strings.Contains(m[1], "unsafe") || strings.Contains(m[1], "http") {
		t.Errorf("the policy is too wide: %s", m[1])
	}
}

// What the sources of the page must not contain: markup made from text, code made from
// text, requests, ends of the element they stand in; names that hide one another.
func TestAssets(t *testing.T) {
	names := map[string]string{}
	declared := regexp.MustCompile(`(?m)^(?:async )?(?:function\*?|const|let|class) (\w+)`)
	for _, name := range scripts {
		source := asset("js/" + name + ".js")
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch(", "XMLHttpRequest", "WebSocket", "import(", "</script", "<!--\n", "sendBeacon", "DOMParser", "srcdoc"} {
			if strings.Contains(source, bad) {
				t.Errorf("%s.js contains %s", name, bad)
			}
		}
		if n := strings.Count(source, "\n"); n > 500 {
			t.Errorf("%s.js has %d lines", name, n)
		}
		for _, m := range declared.FindAllStringSubmatch(source, -1) {
			if other := names[m[1]]; other != "" {
				t.Errorf("%s stands in %s.js and in %s.js", m[1], other, name)
			}
			names[m[1]] = name
		}
	}
	list, err := files.ReadDir("assets/js")
	if err != nil || len(list) != len(scripts) {
		t.Errorf("%d files for %d scripts: %v", len(list), len(scripts), err)
	}
	if css := asset("page.css"); strings.Contains(css, "url(") || strings.Contains(css, "@import") {
		t.Error("the style asks for files")
	}
	if html := asset("page.html"); strings.Contains(html, `src="`) || regexp.MustCompile(`href="http`).MatchString(html) {
		t.Error("the shell asks for files")
	}
	if strings.Contains(strings.ToLower(assembled(scripts)), "<!--") && strings.Contains(strings.ToLower(assembled(scripts)), "<script") {
		t.Error("the two together would change how a browser ends the element")
	}
}

// Whatever a session holds, nothing of it leaves its element, and all of it is there.
func TestHostileTextStaysData(t *testing.T) {
	path := hostileSession(t)
	v := openView(t, path)
	page := pageOf(t, v, Options{
		Title: `</title><script>window.pwned = "title"</script>`, SystemPrompt: "</script><script>window.pwned = 1</script>",
		Tools: []llm.ToolSpec{{Name: "<b>", Description: "</script>", Parameters: jsonx.Raw(`{"x":"<!--<script>"}`)}}, Dialect: "<i>",
	})
	programs := 0
	for _, s := range scriptsOf(page) {
		if !strings.Contains(s.attributes, "application/json") {
			programs++
		} else if strings.ContainsRune(s.text, '<') {
			t.Errorf("a %s holds a <", s.attributes)
		}
	}
	if programs != 2 {
		t.Errorf("%d programs", programs)
	}
	if n := strings.Count(page, "<title>"); n != 1 || strings.Contains(page, `<script>window.pwned`) {
		t.Errorf("%d titles, or text became markup", n)
	}
	seq, err := v.Entries("")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for raw := range seq {
		want = append(want, strings.ReplaceAll(string(raw), `\u003C`, "<"))
	}
	if diff := cmp.Diff(want, embedded(t, page)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestTitles(t *testing.T) {
	user := func(text string) string {
		return `{"type":"message","id":"a1","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":` + string(jsonx.String(text)) + `}}`
	}
	for _, c := range []struct {
		name, title string
		lines       []string
		want        string
	}{
		{"given", " Mine & yours ", []string{user("x")}, "Mine &amp; yours"},
		{"name", "", []string{user("x"), `{"type":"session_info","id":"a2","parentId":"a1","timestamp":"2025-01-01T00:00:00.000Z","name":"Fix <it>"}`}, "Fix &lt;it&gt;"},
		{"first words", "", []string{user("  two\n\nlines \t here ")}, "two lines here"},
		{"long", "", []string{user(strings.Repeat("äb ", 80))}, strings.Repeat("äb ", 29) + "äb ä…"},
		{"nothing", "", []string{`{"type":"custom","id":"a1","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","customType":"x"}`}, "Session 0195d3c0-1111-7000-8000-000000000001"},
	} {
		page := pageOf(t, openView(t, writeSession(t, c.lines...)), Options{Title: c.title})
		got := regexp.MustCompile(`<title>(.*?)</title>`).FindStringSubmatch(page)
		if got == nil || got[1] != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A session without entries has a page too.
func TestEmptySession(t *testing.T) {
	page := pageOf(t, openView(t, writeSession(t)), Options{Now: time.UnixMilli(1)})
	if lines := embedded(t, page); len(lines) != 0 || !strings.Contains(page, `"entries":0`) {
		t.Errorf("%d entries", len(lines))
	}
}

// Pieces are small, whatever the number of entries; a huge entry is a piece of its own.
func TestPieces(t *testing.T) {
	big := `{"type":"message","id":"bb","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":"` + strings.Repeat("x", 3*pieceBytes) + `"}}`
	small := `{"type":"message","id":"aa","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":"y"}}`
	lines := slices.Repeat([]string{small}, 3000)
	lines[1500] = big
	page := pageOf(t, openView(t, writeSession(t, lines...)), Options{})
	if diff := cmp.Diff(lines, embedded(t, page)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff[:min(len(diff), 2000)])
	}
	pieces, blocks := 0, 0
	for _, s := range scriptsOf(page) {
		if strings.Contains(s.attributes, `class="piece"`) {
			pieces++
			if len(s.text) > pieceBytes+len(big) {
				t.Errorf("a piece has %d bytes", len(s.text))
			}
		}
		if strings.Contains(s.attributes, `class="index"`) {
			blocks++
		}
	}
	if pieces < 4 || blocks != 2 {
		t.Errorf("%d pieces and %d blocks of the index", pieces, blocks)
	}
}

func TestJSONL(t *testing.T) {
	var b bytes.Buffer
	if err := JSONL(&b, openView(t, demo)); err != nil {
		t.Fatal(err)
	}
	if b.String() != readFile(t, demo) {
		t.Error("not the session, byte for byte")
	}
}

// However many goroutines make the index, the page is the same: blocks in their order,
// models by their first appearance, parents across the ends of blocks.
func TestManyMakers(t *testing.T) {
	var lines []string
	parent := "null"
	for i := range 5*blockEntries + 7 {
		id := fmt.Sprintf("%08x", i)
		lines = append(lines, fmt.Sprintf(`{"type":"model_change","id":"%s","parentId":%s,"timestamp":"2025-01-01T00:00:00.000Z","provider":"p","modelId":"m%d"}`, id, parent, i*7/blockEntries))
		if parent = `"` + id + `"`; i%1000 == 999 {
			parent = `"00000001"`
		}
	}
	v := openView(t, writeSession(t, lines...))
	page := func(makers int) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(makers))
		var out bytes.Buffer
		if err := HTML(&out, v, Options{}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	one := page(1)
	if n := strings.Count(one, `class="index">{"k"`); n != 6 {
		t.Errorf("%d blocks", n)
	}
	for _, makers := range []int{2, 3, 4} {
		if page(makers) != one {
			t.Errorf("%d goroutines make another page than one", makers)
		}
	}
}

type failing struct{ left int }

var errFull = errors.New("no room")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// The writer's error comes back, soon after it happened.
func TestWriterFails(t *testing.T) {
	v := openView(t, longSession(t, 5000))
	for _, left := range []int{0, 100_000, 600_000, 1_500_000, 3_000_000} {
		if err := HTML(&failing{left}, v, Options{}); !errors.Is(err, errFull) {
			t.Errorf("HTML with room for %d bytes: %v", left, err)
		}
		if err := JSONL(&failing{left / 2}, v); !errors.Is(err, errFull) {
			t.Errorf("JSONL with room for %d bytes: %v", left, err)
		}
	}
}

// Memory does not grow with the session, nor with its largest entry: all that opening
// and exporting allocate, collected or not, is far below the 64 MB that an export may
// hold and, beside the index, the same for 20,000 entries as for 2,000.
func TestMemoryIsBounded(t *testing.T) {
	picture := `"content":[{"type":"text","text":"look"},{"type":"image","mimeType":"image/png","data":"` + strings.Repeat("QUJD", 8<<20) + `"}]` // 32 MB
	entry := func(id, members string) string {
		return `{"type":"message","id":"` + id + `","parentId":null,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user",` + members + `}}`
	}
	for name, c := range map[string]struct {
		path    string
		entries int
	}{
		"2,000 entries":  {longSession(t, 2_000), 2_000},
		"20,000 entries": {longSession(t, 20_000), 20_000},
		"large entries":  {writeSession(t, entry("a", picture), entry("b", `"content":"<\n>"`), entry("c", picture)), 3},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v := openView(t, c.path)
		if err := HTML(io.Discard, v, Options{}); err != nil {
			t.Fatal(err)
		}
		if err := JSONL(io.Discard, v); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		used := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d KB", name, used>>10)
		if limit := uint64(16<<20 + 256*c.entries); used > limit {
			t.Errorf("%s: %d bytes were allocated, the limit is %d", name, used, limit)
		}
	}
}

func TestDefaultName(t *testing.T) {
	got := DefaultName("pi", filepath.Join("x", "2025-01-01T00-00-00-000Z_0195.jsonl"))
	if want := "pi-session-2025-01-01T00-00-00-000Z_0195.html"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func BenchmarkDescribe(b *testing.B) {
	v := openView(b, demo)
	raws := make([]jsonx.Raw, v.Len())
	for i := range raws {
		raws[i], _ = v.Raw(i)
	}
	d := describer{seen: map[string]bool{}}
	b.ReportAllocs()
	for b.Loop() {
		for i, raw := range raws {
			d.describe(v.Entry(i), member(raw, "message"), raw)
		}
	}
}
