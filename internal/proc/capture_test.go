package proc

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func testSpill(t testing.TB) Spill {
	return Spill{TempDir: t.TempDir(), Dialect: "test", Owner: ownerName(), Session: "s1"}
}

func seq(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

func capture(t testing.TB, s Spill, pieces ...string) *Capture {
	c := NewCapture(s)
	for _, p := range pieces {
		c.Append([]byte(p))
	}
	c.Close()
	return c
}

func TestTail(t *testing.T) {
	xs := func(n int) string { return strings.Repeat("x", n) }
	euros := strings.Repeat("\u20ac", 20000) // 60,000 bytes
	for _, c := range []struct {
		name, in, want, by   string
		lines, shown         int
		partial              bool
		lastLine, totalBytes int
	}{
		{name: "nothing"},
		{name: "all of it", in: "a\nb\n", want: "a\nb\n", lines: 2, shown: 2, lastLine: 1, totalBytes: 4},
		{name: "no last line feed", in: "a\nb", want: "a\nb", lines: 2, shown: 2, lastLine: 1, totalBytes: 3},
		{name: "as many lines as allowed", in: seq(1, 2000), want: seq(1, 2000), lines: 2000, shown: 2000, lastLine: 4, totalBytes: 8893},
		{name: "one line more", in: seq(1, 2001), want: strings.TrimSuffix(seq(2, 2001), "\n"), by: "lines", lines: 2001, shown: 2000, lastLine: 4, totalBytes: 8898},
		{name: "one open line more", in: seq(1, 2000) + "x", want: seq(2, 2000) + "x", by: "lines", lines: 2001, shown: 2000, lastLine: 1, totalBytes: 8894},
		{name: "as many bytes as allowed", in: xs(MaxBytes), want: xs(MaxBytes), lines: 1, shown: 1, lastLine: MaxBytes, totalBytes: MaxBytes},
		{name: "one byte more", in: xs(MaxBytes + 1), want: xs(MaxBytes), by: "bytes", lines: 1, shown: 1, partial: true, lastLine: MaxBytes + 1, totalBytes: MaxBytes + 1},
		{name: "only the line feed is too much", in: xs(MaxBytes) + "\n", want: xs(MaxBytes), by: "bytes", lines: 1, shown: 1, lastLine: MaxBytes, totalBytes: MaxBytes + 1},
		{name: "whole lines", in: xs(30000) + "\n" + xs(30000) + "\nend\n", want: xs(30000) + "\nend", by: "bytes", lines: 3, shown: 2, lastLine: 3, totalBytes: 60006},
		{name: "report 140: the end of a long last line", in: "start\n" + xs(150000) + "END\n", want: xs(MaxBytes-3) + "END", by: "bytes", lines: 2, shown: 1, partial: true, lastLine: 150003, totalBytes: 150010},
		{name: "no halved character", in: euros, want: strings.Repeat("\u20ac", MaxBytes/3), by: "bytes", lines: 1, shown: 1, partial: true, lastLine: 60000, totalBytes: 60000},
		{name: "not UTF-8", in: "a\xff\n", want: "a\uFFFD\n", lines: 1, shown: 1, lastLine: 4, totalBytes: 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := capture(t, Spill{}, c.in).Tail()
			want := Truncation{
				Content: c.want, TotalLines: int64(c.lines), TotalBytes: int64(c.totalBytes), OutputLines: c.shown, OutputBytes: len(c.want),
				LastLinePartial: c.partial, MaxLines: 2000, MaxBytes: 51200, LastLineBytes: int64(c.lastLine),
			}
			if c.by != "" {
				want.Truncated, want.TruncatedBy = true, &c.by
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// wholeTail computes the tail from the whole text at once.
func wholeTail(s string) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if s == "" || len(lines) <= MaxLines && len(s) <= MaxBytes {
		return s
	}
	lines = lines[max(0, len(lines)-MaxLines):]
	for len(lines) > 1 && len(strings.Join(lines, "\n")) > MaxBytes {
		lines = lines[1:]
	}
	out := strings.Join(lines, "\n")
	if len(out) > MaxBytes {
		out = out[len(out)-MaxBytes:]
		for !utf8.RuneStart(out[0]) {
			out = out[1:]
		}
	}
	return out
}

// Whatever the pieces, the tail is that of the whole, memory is bounded, and the
// file has everything if and only if something is missing from the tail.
func TestCaptureIsTheSameInPieces(t *testing.T) {
	spill := testSpill(t)
	rapid.Check(t, func(t *rapid.T) {
		var all strings.Builder
		c := NewCapture(spill)
		n := rapid.IntRange(0, 12).Draw(t, "pieces")
		for range n {
			unit := rapid.SampledFrom([]string{"x", "ab\n", "\n", "\u20ac", "line of text\n", "\xff"}).Draw(t, "unit")
			p := strings.Repeat(unit, rapid.SampledFrom([]int{1, 7, 150, 900, 2500, 9000, 30000}).Draw(t, "times"))
			all.WriteString(p)
			c.Append([]byte(p))
			if cap(c.win) > 1<<20 && len(c.win) > 4*keepBytes {
				t.Fatalf("the window holds %d bytes", len(c.win))
			}
		}
		c.Close()
		want := wholeTail(text([]byte(all.String())))
		tail := c.Tail()
		if tail.Content != want {
			t.Fatalf("tail of %d bytes, want %d", len(tail.Content), len(want))
		}
		if (c.Path() != "") != tail.Truncated {
			t.Fatalf("truncated %v with path %q", tail.Truncated, c.Path())
		}
		if tail.Truncated {
			if b, err := os.ReadFile(c.Path()); err != nil || string(b) != all.String() {
				t.Fatalf("the file has %d bytes of %d, error %v", len(b), all.Len(), err)
			}
			os.Remove(c.Path())
		}
	})
}

func TestWhole(t *testing.T) {
	const limit = 100000
	s := testSpill(t)
	middle := strings.Repeat("m", 2*limit)
	for _, c := range []struct {
		name  string
		spill Spill
		in    string
		want  string
		cut   bool
	}{
		{"short", s, "a\xff\n", "a\uFFFD\n", false},
		{"in the file", s, seq(1, 5000), seq(1, 5000), false},
		{
			"head and tail", s, "head" + middle + "tail",
			"head" + middle[:limit/2-4] + "\n\n[... 100008 bytes omitted ...]\n\n" + middle[:limit/2-4] + "tail", true,
		},
		{
			"cut between characters", s, "x" + strings.Repeat("\u20ac", limit),
			"x" + strings.Repeat("\u20ac", 16666) + "\n\n[... 200004 bytes omitted ...]\n\n" + strings.Repeat("\u20ac", 16666), true,
		},
		{"no file", Spill{}, strings.Repeat("x", 60000), "\n\n[... 0 bytes omitted ...]\n\n" + strings.Repeat("x", 60000), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, cut := capture(t, c.spill, c.in).Whole(limit)
			if cut != c.cut || got != c.want {
				t.Errorf("cut %v, %d bytes, want %v, %d bytes: %s", cut, len(got), c.cut, len(c.want), cmp.Diff(c.want, got))
			}
		})
	}
}

func BenchmarkCapture(b *testing.B) {
	in := []byte(seq(1, 2_000_000))
	s := testSpill(b)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		c := NewCapture(s)
		for i := 0; i < len(in); i += readSize {
			c.Append(in[i:min(i+readSize, len(in))])
		}
		c.Close()
		os.Remove(c.Path())
	}
}
