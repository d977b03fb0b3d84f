package proc

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSanitizer(t *testing.T) {
	long := strings.Repeat("x", maxEscape)
	for _, c := range []struct{ name, in, want string }{
		{"plain", "one\ntwo\tthree", "one\ntwo\tthree"},
		{"carriage returns", "a\rb\r\nc", "ab\nc"},
		{"controls", "bin\x01\x00\x07\x0b\x0c\x1fend", "binend"},
		{"delete stays", "a\x7fb", "a\x7fb"},
		{"not UTF-8", "bin\x01\x00\xffend", "bin\uFFFDend"},
		{"interlinear marks", "a\uFFF9b\uFFFAc\uFFFBd\uFFFCe", "abcd\uFFFCe"},
		{"colours", "\x1b[31mred\x1b[0m\n", "red\n"},
		{"true colour", "\x1b[38;2;1;2;3mx\x1b[38:5:1my", "xy"},
		{"private mode", "\x1b[?25lx\x1b[?25h", "x"},
		{"mouse report", "\x1b[<35;59;1Mx", "x"},
		{"intermediate byte", "\x1b[4 qx", "x"},
		{"console key", "\x1b[[Ax", "x"},
		{"one-character CSI", "\u009b31mred\u009b0m", "red"},
		{"other C1", "a\u0085b\u00a0c", "a\u0085b\u00a0c"},
		{"charset", "\x1b(Bx\x1b)0y", "xy"},
		{"keypad", "\x1b=12\x1b>34", "1234"},
		{"save cursor", "\x1b7x\x1b8", "x"},
		{"title, BEL", "\x1b]0;title\x07x", "x"},
		{"title, ST", "\x1b]0;title\x1b\\x", "x"},
		{"title, C1 ST", "\x1b]0;title\u009cx", "x"},
		{"link", "\x1b]8;;http://example.com\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"device string", "\x1bP1$r0m\x1b\\x", "x"},
		{"malformed CSI", "\x1b[31\nx", "[31\nx"},
		{"lone escape at the end", "x\x1b", "x"},
		{"unfinished CSI at the end", "x\x1b[31", "x[31"},
		{"unfinished title at the end", "x\x1b]0;t", "x]0;t"},
		{"title that never ends", "\x1b]" + long, "]" + long},
		{"title cut by an escape", "\x1b]0;t\x1b[31mx\x07", "]0;tx"},
		{"escape before text", "\x1b\u00e9", "\u00e9"},
		{"emoji", "\U0001F600", "\U0001F600"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{len(c.in), 1, 2, 3, 5} {
				if got := cleanInPieces(c.in, size); got != c.want {
					t.Errorf("in pieces of %d: %q, want %q", size, got, c.want)
				}
			}
		})
	}
}

func cleanInPieces(in string, size int) string {
	var s Sanitizer
	var out strings.Builder
	for i := 0; i < len(in); i += size {
		out.Write(s.Clean([]byte(in[i:min(i+size, len(in))])))
	}
	out.Write(s.Flush())
	return out.String()
}

func FuzzSanitizer(f *testing.F) {
	f.Add("plain\n", 3)
	f.Add("\x1b[31mred\x1b[0m\r\n", 1)
	f.Add("\x1b]0;t\x1b\\\xf0\x9f\x98\x80\xff\u009b1m", 2)
	f.Fuzz(func(t *testing.T, in string, size int) {
		if size < 1 {
			size = 1
		}
		whole, pieces := cleanInPieces(in, max(len(in), 1)), cleanInPieces(in, size)
		// Only an abandoned sequence longer than what is held may differ.
		if len(in) < maxEscape && whole != pieces {
			t.Errorf("whole %q, in pieces of %d %q", whole, size, pieces)
		}
		if !utf8.ValidString(pieces) {
			t.Errorf("%q is not valid UTF-8", pieces)
		}
		if strings.ContainsAny(pieces, "\x1b\r\x00\x07") {
			t.Errorf("%q has control characters", pieces)
		}
	})
}
