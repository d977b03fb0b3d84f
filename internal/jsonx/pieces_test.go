package jsonx_test

import (
	"strings"
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func TestPieces(t *testing.T) {
	tests := []struct {
		name string
		in   []string
		want []string
	}{
		{"plain", []string{`"a"`, `""`, `"é😀"`}, []string{"a", "", "é😀"}},
		{"escapes", []string{`"a\n\"\u00e9"`, `"\ud83d\ude00"`}, []string{"a\n\"é", "😀"}},
		{"no strings", []string{`null`, `5`, `{"a":1}`, ``}, []string{"", "", "", ""}},
		{"a cut character", []string{`"a\ud83d"`, `"\ude00b"`}, []string{"a", "😀b"}},
		{"in any case of hex digits", []string{`"\uD83D"`, `"\uDE00"`}, []string{"", "😀"}},
		{"with nothing between", []string{`"\ud83d"`, `""`, `"\ude00"`}, []string{"", "", "😀"}},
		{"a half that stays alone", []string{`"\ud83d"`, `"x"`}, []string{"", "\uFFFDx"}},
		{"a backslash is no escape", []string{`"\\ud83d"`, `"x"`}, []string{`\ud83d`, "x"}},
		{"a second half at the end", []string{`"\ude00"`}, []string{"\uFFFD"}},
		{"invalid UTF-8", []string{"\"a\xff\""}, []string{"a\uFFFD"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p jsonx.Pieces
			var got []string
			for _, in := range tt.in {
				got = append(got, p.Next(jsonx.Raw(in)))
			}
			if strings.Join(got, "|") != strings.Join(tt.want, "|") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
