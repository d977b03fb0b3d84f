package textdiff

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func numbered(from, to int) string {
	var sb strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&sb, "line %d\n", i)
	}
	return sb.String()
}

func TestStrings(t *testing.T) {
	ten := numbered(1, 10)
	for _, tt := range []struct {
		name, before, after string
		want                Diff
	}{
		{
			"a line near the start", ten, strings.Replace(ten, "line 2\n", "LINE 2\n", 1),
			Diff{
				"  1 line 1\n- 2 line 2\n+ 2 LINE 2\n  3 line 3\n  4 line 4\n  5 line 5\n  6 line 6\n    ...",
				"--- f\n+++ f\n@@ -1,6 +1,6 @@\n line 1\n-line 2\n+LINE 2\n line 3\n line 4\n line 5\n line 6\n", 2,
			},
		},
		{
			"changes that share their context", ten, strings.NewReplacer("line 4\n", "L4\n", "line 6\n", "L6\n").Replace(ten),
			Diff{
				"  1 line 1\n  2 line 2\n  3 line 3\n- 4 line 4\n+ 4 L4\n  5 line 5\n- 6 line 6\n+ 6 L6\n  7 line 7\n  8 line 8\n  9 line 9\n 10 line 10",
				"--- f\n+++ f\n@@ -1,10 +1,10 @@\n line 1\n line 2\n line 3\n-line 4\n+L4\n line 5\n-line 6\n+L6\n line 7\n line 8\n line 9\n line 10\n", 4,
			},
		},
		{
			"the last line", "a\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\ne\nF\n",
			Diff{"   ...\n 2 b\n 3 c\n 4 d\n 5 e\n-6 f\n+6 F", "--- f\n+++ f\n@@ -2,5 +2,5 @@\n b\n c\n d\n e\n-f\n+F\n", 6},
		},
		{
			"no line feed at the end", "a\nb", "a\nB\n",
			Diff{" 1 a\n-2 b\n+2 B", "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n", 2},
		},
		{"from nothing", "", "x\n", Diff{"+1 x", "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+x\n", 1}},
		{"to nothing", "x\ny\n", "", Diff{"-1 x\n-2 y", "--- f\n+++ f\n@@ -1,2 +0,0 @@\n-x\n-y\n", 1}},
		{"the same", "x\n", "x\n", Diff{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Strings("f", tt.before, tt.after)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDistantChangesAreShownApart(t *testing.T) {
	before := numbered(1, 40)
	after := strings.NewReplacer("line 10\n", "", "line 30\n", "line 30\nnew\n").Replace(before)
	d := Strings("f", before, after)
	want := "    ...\n  6 line 6\n  7 line 7\n  8 line 8\n  9 line 9\n-10 line 10\n 11 line 11\n 12 line 12\n 13 line 13\n 14 line 14\n    ...\n" +
		" 27 line 27\n 28 line 28\n 29 line 29\n 30 line 30\n+30 new\n 31 line 31\n 32 line 32\n 33 line 33\n 34 line 34\n    ..."
	if diff := cmp.Diff(want, d.Display); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(d.Patch, "@@ -6,9 +6,8 @@\n") || !strings.Contains(d.Patch, "@@ -27,8 +26,9 @@\n") {
		t.Errorf("patch:\n%s", d.Patch)
	}
}

func TestRegions(t *testing.T) {
	// Two regions of a long text that touch, and one far behind.
	regions := []Region{
		{OldLine: 100, NewLine: 100, Old: "a\nb\nc\nd\nOLD\ne\nf\ng\nh\n", New: "a\nb\nc\nd\nNEW\ne\nf\ng\nh\n", Tail: true},
		{OldLine: 109, NewLine: 109, Old: "i\nj\nk\nl\nOLD 2\nm\n", New: "i\nj\nk\nl\nm\n", Tail: true},
		{OldLine: 1000, NewLine: 999, Old: "x\n", New: "y\n"},
	}
	d := Regions("f", regions, 1000, 999)
	want := "      ...\n  100 a\n  101 b\n  102 c\n  103 d\n- 104 OLD\n+ 104 NEW\n  105 e\n  106 f\n  107 g\n  108 h\n  109 i\n  110 j\n  111 k\n  112 l\n- 113 OLD 2\n  114 m\n      ...\n-1000 x\n+ 999 y"
	if diff := cmp.Diff(want, d.Display); diff != "" {
		t.Error(diff)
	}
	if d.FirstChangedLine != 104 || strings.Count(d.Patch, "@@ -") != 2 {
		t.Errorf("first %d, patch:\n%s", d.FirstChangedLine, d.Patch)
	}
}

func TestHugeRegionsAreLeftOut(t *testing.T) {
	d := Strings("f", strings.Repeat("x", maxRegionBytes), strings.Repeat("y", 100))
	if d.Patch != "" || d.Display != fmt.Sprintf("[diff left out: the changed lines hold %d bytes]", maxRegionBytes+100) {
		t.Errorf("display %.100s", d.Display)
	}
}

func TestMemoryFollowsTheChange(t *testing.T) {
	before := strings.Repeat("some text of a line\n", 500_000)
	after := before[:len(before)/2] + "one more line\n" + before[len(before)/2:]
	got := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if d := Strings("f", before, after); d.Patch == "" {
				b.Fatal("no patch")
			}
		}
	}).AllocedBytesPerOp()
	if got > 64<<10 {
		t.Errorf("%d bytes for one line of a text of %d", got, len(before))
	}
}

// apply applies a patch to a text.
func apply(t *testing.T, patch, text string) string {
	t.Helper()
	old := strings.SplitAfter(text, "\n")
	if old[len(old)-1] == "" {
		old = old[:len(old)-1]
	}
	var sb strings.Builder
	at := 0
	rows := strings.SplitAfter(patch, "\n")
	for i := 0; i < len(rows); i++ {
		row := rows[i]
		if strings.HasPrefix(row, "@@ -") {
			start, rest, _ := strings.Cut(row[4:], ",")
			count, _, _ := strings.Cut(rest, " ")
			n, err := strconv.Atoi(start)
			if err != nil {
				t.Fatalf("header %q", row)
			}
			if count != "0" {
				n--
			}
			for ; at < n; at++ {
				sb.WriteString(old[at])
			}
			continue
		}
		if i < 2 || row == "" || row[0] == '\\' {
			continue
		}
		body := row[1:]
		if i+1 < len(rows) && strings.HasPrefix(rows[i+1], `\ No newline`) {
			body = strings.TrimSuffix(body, "\n")
		}
		if row[0] != '+' {
			if at >= len(old) || old[at] != body {
				t.Fatalf("row %q does not fit line %d", row, at+1)
			}
			at++
		}
		if row[0] != '-' {
			sb.WriteString(body)
		}
	}
	for ; at < len(old); at++ {
		sb.WriteString(old[at])
	}
	return sb.String()
}

func FuzzStrings(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc\n")
	f.Add(numbered(1, 30), strings.ReplaceAll(numbered(2, 31), "1\n", "one\n"))
	f.Add("a", "a\n")
	f.Add("\n\n\n\n\n\n\n\n\n\n\n\n", "\n\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		d := Strings("f", before, after)
		if before == after {
			if d != (Diff{}) {
				t.Errorf("a diff of equal texts: %+v", d)
			}
			return
		}
		if got := apply(t, d.Patch, before); got != after {
			t.Errorf("%q → %q: the patch gives %q\n%s", before, after, got, d.Patch)
		}
	})
}
