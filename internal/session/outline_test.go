package session

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// chunked makes the outline of a line from pieces of n bytes, or less where a character
// does not end.
func chunked(line []byte, n int) *outliner {
	var o outliner
	for len(line) > 0 {
		piece := line[:min(n, len(line))]
		if len(piece) < len(line) {
			if piece = piece[:wholeRunes(piece)]; len(piece) == 0 {
				piece = line[:min(len(line), utf8.UTFMax)]
			}
		}
		o.feed(piece)
		line = line[len(piece):]
	}
	return &o
}

// An outline is JSON exactly when its line is, says the same of it, and is the line
// itself when no string is long, however the line is cut into chunks.
func TestOutlines(t *testing.T) {
	long := strings.Repeat("0123456789", outlineString/8)
	for _, text := range []string{
		"short", "", `a\"b`, long, strings.Repeat("é", outlineString), strings.Repeat("a😀", outlineString), strings.Repeat(`\"`, outlineString), strings.Repeat(`x\\`, outlineString),
		strings.Repeat(`\ud83d\ude00`, outlineString/2), long + `\u12`, long + `\u12g4`, long + `\x`, long + "\x01", long + "\n", long + "\xff" + long, long + `\`, strings.Repeat(" ", 3*outlineString) + "end",
	} {
		for _, frame := range []string{`{"type":"message","id":"1","message":{"role":"user","content":"%s"}}`, `{"a":["%s",{"b":"%[1]s"},1.5],"type":"x"}` + " ", `"%s"`, `{"a":"%s"`} {
			line := []byte(fmt.Sprintf(frame, text))
			h, want := scanLine(line)
			for _, n := range []int{1, 2, 3, 7, 64, 4096, len(line)} {
				o := chunked(line, n)
				got, ok := scanLine(o.out)
				if ok = ok && !o.bad; ok != want || o.size != len(line) {
					t.Fatalf("%.80q in chunks of %d: JSON %t of %d bytes, want %t of %d", line, n, ok, o.size, want, len(line))
				}
				if want && (string(got.typ) != string(h.typ) || string(got.id) != string(h.id) || string(got.role) != string(h.role) || got.dirty || o.dirty != h.dirty) && !h.dirty {
					t.Errorf("%.80q in chunks of %d: head %+v, want %+v", line, n, got, h)
				}
				if h.dirty && !o.dirty {
					t.Errorf("%.80q in chunks of %d: taken for clean", line, n)
				}
				if len(o.out) > len(frame)+2*7*outlineString {
					t.Errorf("%.80q: the outline has %d bytes", line, len(o.out))
				}
				if len(text) < outlineString && !bytes.Equal(o.out, line) {
					t.Errorf("outline %.80q of %.80q", o.out, line)
				}
				if want && !h.dirty && !utf8.Valid(o.out) {
					t.Errorf("%.80q in chunks of %d: cut within a character", line, n)
				}
			}
		}
	}
}

// FuzzOutline holds the outline against the scanner of whole lines.
func FuzzOutline(f *testing.F) {
	for _, seed := range []string{`{"a":"b"}`, `{"a":"\u00e9\n"}`, `{"a":"` + strings.Repeat("x", outlineString+5) + `\q"}`, "{\"a\":\"\xc3"} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, line []byte, n int) {
		_, want := scanLine(line)
		o := chunked(line, max(1, n%97))
		if _, ok := scanLine(o.out); (ok && !o.bad) != want {
			t.Errorf("outline of %q: JSON %t, want %t", line, !want, want)
		}
	})
}

// A session with lines longer than the window is indexed as if they were short, and
// its long entries come out whole.
func TestLongLines(t *testing.T) {
	text := strings.Repeat("é0123456789", 30_000) // 360 KB
	entry := func(id, parent, role, more, end string) string {
		return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2025-01-01T00:00:00.000Z","message":{"role":%q,"content":"%s"%s}}`, id, parent, role, more, end)
	}
	const usage = `,"usage":{"input":10,"output":5}`
	lines := []string{
		entry("a", "null", "user", text, ""),
		entry("b", `"a"`, "assistant", "short", usage),
		entry("c", `"b"`, "assistant", text+`\ud83d\ude00`, usage),
		entry("bad", `"b"`, "assistant", text+`\x`, usage),
		entry("d", `"c"`, "toolResult", "\xff"+text, "") + "\r",
		entry("e", `"d"`, "user", text+text+text, ""),
		strings.Repeat("no JSON ", 100_000),
		entry("f", `"e"`, "assistant", "end", usage),
	}
	head := `{"type":"session","version":3,"id":"0195d3c0-1111-7000-8000-000000000001","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/proj","x":"` + text + `"}`
	for _, tail := range []string{"\n", "\n" + text, "\n" + entry("g", `"f"`, "user", text, ""), "\n" + entry("g", `"f"`, "user", text, "") + "\n"} {
		content := head + "\n" + strings.Join(lines, "\n") + tail
		s := mustOpen(t, writeTestFile(t, content), Config{ReadOnly: true})
		v, lines := s.View(), lines
		if string(s.Header().Raw) != head {
			t.Error("the header is not as it was")
		}
		want := []int{0, 1, 2, 4, 5, 7}
		if strings.HasPrefix(tail, "\n{") {
			lines, want = append(lines[:8:8], strings.TrimSpace(tail)), append(want, 8)
		}
		if v.Len() != len(want) {
			t.Fatalf("%d entries, want %d", v.Len(), len(want))
		}
		if isTorn := s.torn >= 0; isTorn != (tail == "\n"+text) || isTorn && s.torn != int64(len(content)-len(text)) {
			t.Errorf("torn at %d of %d", s.torn, len(content))
		}
		for i, k := range want {
			raw, err := v.Raw(i)
			if err != nil {
				t.Fatal(err)
			}
			if line := strings.TrimSuffix(strings.ReplaceAll(lines[k], "\xff", "\uFFFD"), "\r"); string(raw) != line {
				t.Errorf("entry %d differs from its line", i)
			}
			var whole []byte
			for piece, err := range v.Chunks(i) {
				if err != nil {
					t.Fatal(err)
				}
				whole = append(whole, piece...)
			}
			if !bytes.Equal(whole, raw) {
				t.Errorf("entry %d is another one in pieces", i)
			}
			outline, err := v.Outline(i)
			if err != nil || !jsonx.Valid(outline) || len(outline) > 2*outlineString {
				t.Errorf("outline of entry %d: %d bytes, %v", i, len(outline), err)
			}
			if e := v.Entry(i); i > 0 && (e.ParentID != v.Entry(i-1).ID || !e.HasParent) {
				t.Errorf("entry %d: %+v", i, e)
			}
		}
		st, err := v.Stats()
		if err != nil || st.AssistantMessages != 3 || st.ToolResults != 1 || st.Tokens.Input != 30 {
			t.Errorf("counts %+v, %v", st, err)
		}
		s.Close()
	}
}
