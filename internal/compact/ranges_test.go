package compact

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var diffSpans = cmp.AllowUnexported(span{})

func TestParseRanges(t *testing.T) {
	for _, test := range []struct {
		text string
		cut  bool
		want []span
		bad  bool
	}{
		{"1,2", false, []span{{1, 2}}, false},
		{"1,2\n", false, []span{{1, 2}}, false},
		{"5,5\n1,20\n0,0", false, []span{{5, 5}, {1, 20}, {0, 0}}, false},
		{"9,3", false, []span{{9, 3}}, false},
		{"1,99999999999999999999999", false, []span{{1, maxLineNumber}}, false},
		{"", false, nil, true},
		{"\n", false, nil, true},
		{"1,2\n\n", false, nil, true},
		{"\n1,2", false, nil, true},
		{"1,2\n\n3,4", false, nil, true},
		{"1, 2", false, nil, true},
		{" 1,2", false, nil, true},
		{"1,2 ", false, nil, true},
		{"1,2\r\n3,4", false, nil, true},
		{"01,2", false, nil, true},
		{"+1,2", false, nil, true},
		{"-1,2", false, nil, true},
		{"1,2,3", false, nil, true},
		{"1", false, nil, true},
		{"1-2", false, nil, true},
		{",", false, nil, true},
		{"1,2\nthat is all", false, nil, true},
		{"```\n1,2\n```", false, nil, true},
		{"١,٢", false, nil, true},
		{"1,2\n3,4", true, []span{{1, 2}}, false},
		{"1,2\n3,4\n", true, []span{{1, 2}, {3, 4}}, false},
		{"1,2\n3,", true, []span{{1, 2}}, false},
		{"1,2\nx", true, []span{{1, 2}}, false},
		{"1,2", true, nil, false},
		{"", true, nil, false},
		{"1,2\n\n3", true, nil, true},
		{"x\n3,4\n", true, nil, true},
	} {
		got, err := parseRanges(test.text, test.cut)
		if (err != nil) != test.bad {
			t.Errorf("%q, cut %v: %v", test.text, test.cut, err)
		}
		if diff := cmp.Diff(test.want, got, diffSpans); diff != "" {
			t.Errorf("%q, cut %v: %s", test.text, test.cut, diff)
		}
	}
}

func TestMerge(t *testing.T) {
	for _, test := range []struct{ in, want []span }{
		{nil, []span{}},
		{[]span{{3, 1}}, []span{{1, 3}}},
		{[]span{{0, 0}, {11, 20}}, []span{}},
		{[]span{{0, 2}, {9, 20}}, []span{{1, 2}, {9, 10}}},
		{[]span{{5, 6}, {1, 2}}, []span{{1, 2}, {5, 6}}},
		{[]span{{1, 2}, {3, 4}}, []span{{1, 4}}},
		{[]span{{1, 9}, {3, 4}, {9, 10}}, []span{{1, 10}}},
		{[]span{{1, 2}, {4, 5}}, []span{{1, 2}, {4, 5}}},
	} {
		if diff := cmp.Diff(test.want, merge(test.in, 10), diffSpans); diff != "" {
			t.Errorf("%v: %s", test.in, diff)
		}
	}
}

func TestMarks(t *testing.T) {
	r := parseRegion("[User]: <keepContext>\nb\n</keepContext>\nd\ne\nf\ng\nh")
	for _, test := range []struct {
		ranges []span
		offset int
		want   string
		usable int
	}{
		{[]span{{4, 5}}, 0, "...xx...", 2},
		{[]span{{1, 4}}, 0, "xxxx....", 1},
		{[]span{{1, 3}}, 0, "xxx.....", 0},
		{[]span{{1, 2}, {99, 1000}}, 4, "xxxxxx..", 2},
		{nil, 4, "xxxx....", 0},
	} {
		del, usable := r.marks(test.ranges, test.offset)
		got := ""
		for _, d := range del {
			got += map[bool]string{true: "x", false: "."}[d]
		}
		if got != test.want || usable != test.usable {
			t.Errorf("%v from %d: %s, %d usable", test.ranges, test.offset, got, usable)
		}
	}
}

// FuzzParseRanges: what is accepted is exactly what the ranges would be written as.
func FuzzParseRanges(f *testing.F) {
	for _, s := range []string{"1,2", "1,2\n3,4\n", "0,0", "1,2\n\n", "x", "1,1073741825"} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		got, err := parseRanges(text, cut)
		if err != nil {
			if got != nil {
				t.Fatal("ranges beside an error")
			}
			return
		}
		if slices.ContainsFunc(got, func(s span) bool { return s.from == maxLineNumber || s.to == maxLineNumber }) {
			return
		}
		var b strings.Builder
		for _, s := range got {
			fmt.Fprintf(&b, "%d,%d\n", s.from, s.to)
		}
		want := text
		switch i := strings.LastIndexByte(text, '\n'); {
		case cut:
			want = text[:i+1]
		case !strings.HasSuffix(text, "\n"):
			want += "\n"
		}
		if b.String() != want {
			t.Fatalf("%q was read as %q", text, b.String())
		}
		for last := range 5 {
			prev := -1
			for _, s := range merge(slices.Clone(got), last) {
				if s.from <= prev+1 && prev >= 0 || s.from < 1 || s.to < s.from || s.to > last {
					t.Fatalf("merged within %d: %v", last, s)
				}
				prev = s.to
			}
		}
	})
}
