package proc

import (
	"strings"
	"testing"
)

func TestTextReplacesLikeABrowser(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"plain", "plain"},
		{"h\u00e9llo \U0001F600", "h\u00e9llo \U0001F600"},
		{"a\xffb", "a\uFFFDb"},
		{"\xff\xfe", "\uFFFD\uFFFD"},
		{"\x80\x80", "\uFFFD\uFFFD"},
		{"\xf0\x9f\x98a", "\uFFFDa"},           // one mark for a broken beginning
		{"\xf0\x9fa", "\uFFFDa"},               // the same, shorter
		{"\xe2\x82", "\uFFFD"},                 // at the end
		{"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"}, // a surrogate is no beginning
		{"\xc0\x80", "\uFFFD\uFFFD"},           // overlong
		{"\xf5\x80", "\uFFFD\uFFFD"},           // beyond Unicode
		{"\xe2\x82\xe2\x82\xac", "\uFFFD\u20ac"},
		{"\uFFFD", "\uFFFD"}, // already there
	} {
		if got := text([]byte(c.in)); got != c.want {
			t.Errorf("text(%q) = %q, want %q", c.in, got, c.want)
		}
		if got := textLen([]byte(c.in)); got != len(c.want) {
			t.Errorf("textLen(%q) = %d, want %d", c.in, got, len(c.want))
		}
	}
}

func TestJoinerNeverHalvesACharacter(t *testing.T) {
	const in = "a\u00e9\u20ac\U0001F600\xff\xe2z\xf0\x9f"
	for size := 1; size <= len(in); size++ {
		var j Joiner
		var got strings.Builder
		for i := 0; i < len(in); i += size {
			p := j.Join([]byte(in[i:min(i+size, len(in))]))
			if openRune(p) != 0 {
				t.Errorf("size %d: %q ends in half a character", size, p)
			}
			got.Write(p)
		}
		got.Write(j.Flush())
		if got.String() != in {
			t.Errorf("size %d: joined %q, want %q", size, got.String(), in)
		}
	}
}
