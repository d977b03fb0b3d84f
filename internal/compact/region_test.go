package compact

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// protectedLines shows which lines are protected: P or a dot for each.
func protectedLines(text string) string {
	r := parseRegion(text)
	var b strings.Builder
	n := 0
	for _, p := range r.protected {
		if p {
			b.WriteByte('P')
			n++
		} else {
			b.WriteByte('.')
		}
	}
	if n != r.protCount {
		return "wrong count"
	}
	return b.String()
}

func TestProtectedLines(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"none", "a\nb", ".."},
		{"a span", "[User]: a\n<keepContext>\nb\n</keepContext>\nc", ".PPP."},
		{"tag behind a header", "[User]: <keepContext>\nb\n</keepContext>", "PPP"},
		{"case and space", "[Assistant]: x\n  <KEEPCONTEXT>\t\nb\n </keepcontext> \nc", ".PPP."},
		{"not the whole line", "[User]: x <keepContext>\nb\n<keepContext> y\nc", "...."},
		{"nested openers flatten", "[User]: <keepContext>\n<keepContext>\na\n</keepContext>\nb\n</keepContext>\nc", "PPPP..."},
		{"stray closer", "[User]: a\n</keepContext>\nb", "..."},
		{"unclosed, to the end of its message", "[User]: a\n<keepContext>\nb\n\n[Assistant]: c\nd", ".PPP.."},
		{"unclosed, to the end of the text", "[User]: a\n<keepContext>\nb\n", ".PPP"},
		{"two spans", "[User]: <keepContext>\na\n</keepContext>\nb\n<keepContext>\nc\n</keepContext>", "PPP.PPP"},
		{"opener and closer in one message only", "[User]: <keepContext>\na\n[User]: </keepContext>\nb", "PP.."},
		{"not in tool results", "[Tool result]: <keepContext>\na\n</keepContext>\nb", "...."},
		{"nor behind one", "[Tool result]: a\n<keepContext>\nb\n[User]: c\n<keepContext>\nd", "....PP"},
		{"a header in a tool result ends it", "[Tool result]: a\n[Assistant thinking]: <keepContext>\nb", ".PP"},
		{"text before the first header", "<keepContext>\na\n</keepContext>\nb\n[User]: c", "PPP.."},
		{"tool calls", "[Assistant tool calls]: <keepContext>\na", "PP"},
		{"only a prefix of a header", "[User]:<keepContext>\na", ".."},
	} {
		if got := protectedLines(test.text); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestMarker(t *testing.T) {
	for line, want := range map[string]int64{
		"(filtered 1 lines)": 1, "(filtered 42 lines)": 42, "(filtered 0 lines)": 0, "(filtered 9223372036854775807 lines)": math.MaxInt64,
		"(filtered 9223372036854775808 lines)": -1, "(filtered -1 lines)": -1, "(filtered +1 lines)": -1, "(filtered  lines)": -1, "(filtered 1 line)": -1,
		" (filtered 1 lines)": -1, "(filtered 1 lines) ": -1, "(filtered 1_0 lines)": -1, "(filtered x lines)": -1, "(filtered lines)": -1, "": -1,
	} {
		got, ok := marker(line)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
	if line := markerLine(7); line != "(filtered 7 lines)" {
		t.Error(line)
	}
}

func TestRemove(t *testing.T) {
	for _, test := range []struct {
		name, text string
		del        string // x: delete
		want       string
		stats      Stats
	}{
		{"nothing", "a\nb", "..", "a\nb", Stats{LinesBefore: 2, LinesKept: 2}},
		{"one", "a\nb\nc", ".x.", "a\n(filtered 1 lines)\nc", Stats{LinesBefore: 3, LinesDeleted: 1, LinesKept: 2, RangeCount: 1}},
		{"all", "a\nb\nc", "xxx", "(filtered 3 lines)", Stats{LinesBefore: 3, LinesDeleted: 3, RangeCount: 1}},
		{"two runs", "a\nb\nc\nd", "x.xx", "(filtered 1 lines)\nb\n(filtered 2 lines)", Stats{LinesBefore: 4, LinesDeleted: 3, LinesKept: 1, RangeCount: 2}},
		{"empty lines and spaces stay", " a\t\n\n\r\nb ", "...x", " a\t\n\n\r\n(filtered 1 lines)", Stats{LinesBefore: 4, LinesDeleted: 1, LinesKept: 3, RangeCount: 1}},
		{"a marker inside counts what it stood for", "a\n(filtered 5 lines)\nb\nc", "xxx.", "(filtered 7 lines)\nc", Stats{LinesBefore: 4, LinesDeleted: 3, LinesKept: 1, RangeCount: 1}},
		{"markers beside fold", "a\n(filtered 5 lines)\nb\n(filtered 2 lines)\nc", "..x..", "a\n(filtered 8 lines)\nc", Stats{LinesBefore: 5, LinesDeleted: 3, LinesKept: 2, RangeCount: 1}},
		{"markers in a row fold", "(filtered 1 lines)\n(filtered 2 lines)\nb\n(filtered 3 lines)\n(filtered 4 lines)", "..x..", "(filtered 11 lines)", Stats{LinesBefore: 5, LinesDeleted: 5, RangeCount: 1}},
		{"a marker elsewhere stays", "(filtered 5 lines)\na\nb", "..x", "(filtered 5 lines)\na\n(filtered 1 lines)", Stats{LinesBefore: 3, LinesDeleted: 1, LinesKept: 2, RangeCount: 1}},
		{"protected lines stay", "[User]: <keepContext>\na\n</keepContext>\nb", "xxxx", "[User]: <keepContext>\na\n</keepContext>\n(filtered 1 lines)", Stats{LinesBefore: 4, LinesDeleted: 1, LinesKept: 3, RangeCount: 1}},
		{"protected markers too", "a\n<keepContext>\n(filtered 3 lines)\n</keepContext>\nb", "xxxxx", "(filtered 1 lines)\n<keepContext>\n(filtered 3 lines)\n</keepContext>\n(filtered 1 lines)", Stats{LinesBefore: 5, LinesDeleted: 2, LinesKept: 3, RangeCount: 2}},
		{"counts that were never counted", "(filtered 9223372036854775807 lines)\na", "xx", "(filtered 9223372036854775807 lines)", Stats{LinesBefore: 2, LinesDeleted: 2, RangeCount: 1}},
	} {
		r := parseRegion(test.text)
		del := make([]bool, len(r.lines))
		for i := range del {
			del[i] = test.del[i] == 'x'
		}
		text, stats := r.remove(del)
		if text != test.want {
			t.Errorf("%s: %q, want %q", test.name, text, test.want)
		}
		if diff := cmp.Diff(test.stats, stats); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

func TestDeletable(t *testing.T) {
	for text, want := range map[string]bool{
		"a": true, "(filtered 2 lines)": false, "(filtered 2 lines)\n(filtered 3 lines)": false, "[User]: <keepContext>\na": false, "[User]: <keepContext>\n\n[User]: b": true,
	} {
		if got := parseRegion(text).deletable(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestProtectedSpans(t *testing.T) {
	r := parseRegion("[User]: <keepContext>\na\n</keepContext>\nb\n<keepContext>\n</keepContext>\nc")
	if got := spansText(r.protectedSpans(0)); got != "1-3, 5-6" {
		t.Error(got)
	}
	if got := spansText(r.protectedSpans(2)); got != "1-1, 3-4" {
		t.Error(got)
	}
	if got := spansText(r.protectedSpans(6)); got != "none" {
		t.Error(got)
	}
}

// FuzzRegion: whatever the text and the deletions, other lines stay in order, and
// no original line gets lost in the counts.
func FuzzRegion(f *testing.F) {
	f.Add("[User]: <keepContext>\na\n</keepContext>\nb\n\n[Tool result]: c\n(filtered 3 lines)", uint64(0b1011011))
	f.Add("(filtered 3 lines)\n(filtered x lines)\n[User]: \n<keepContext>", uint64(1))
	f.Add("", uint64(0))
	f.Fuzz(func(t *testing.T, text string, pattern uint64) {
		r := parseRegion(text)
		if strings.Join(r.lines, "\n") != text {
			t.Fatal("the lines are not the text")
		}
		var want float64
		del := make([]bool, len(r.lines))
		for i := range r.lines {
			del[i] = pattern>>(i%64)&1 == 1
			want += float64(r.weight(i))
		}
		before := append([]string{}, r.lines...)
		out, _ := r.remove(del)
		checkSurvivors(t, before, r.protected, out)
		var got float64
		for i := range parseRegion(out).lines {
			got += float64(parseRegion(out).weight(i))
		}
		if want < 1<<50 && got != want {
			t.Fatalf("%v original lines became %v", want, got)
		}
	})
}

// checkSurvivors fails unless the lines of out that are no markers are lines of
// before, in order, and the protected lines of before are lines of out, in order.
func checkSurvivors(t failer, before []string, protected []bool, out string) {
	var keep []string
	for i, line := range before {
		if protected[i] {
			keep = append(keep, line)
		}
	}
	lines := strings.Split(out, "\n")
	if missing, ok := inOrder(keep, lines); !ok {
		t.Fatal("a protected line is gone: " + missing)
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { _, ok := marker(line); return ok })
	if missing, ok := inOrder(lines, before); !ok {
		t.Fatal("a line that was not there: " + missing)
	}
}

// inOrder reports whether all of want are in list, in that order, or the first that
// is not.
func inOrder(want, list []string) (missing string, ok bool) {
	for _, line := range want {
		i := slices.Index(list, line)
		if i < 0 {
			return line, false
		}
		list = list[i+1:]
	}
	return "", true
}
