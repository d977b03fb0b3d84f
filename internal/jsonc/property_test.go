package jsonc

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

// document draws the text of an object as people write them: odd spaces, comments,
// trailing commas, both line ends.
func document(t *rapid.T) string {
	newline := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "newline")
	gap := func() string {
		return strings.ReplaceAll(rapid.SampledFrom([]string{"", " ", "\n", "\n  ", "\t", " // note\n", "/* a, \"b\": {} */", "\n\n    "}).Draw(t, "gap"), "\n", newline)
	}
	var object func(depth int) string
	object = func(depth int) string {
		var b strings.Builder
		b.WriteString("{" + gap())
		n := rapid.IntRange(0, 3).Draw(t, "members")
		for i := range n {
			fmt.Fprintf(&b, "%q%s:%s", rapid.SampledFrom([]string{"a", "b", "c", "d e"}).Draw(t, "key"), gap(), gap())
			if depth > 0 && rapid.Bool().Draw(t, "nested") {
				b.WriteString(object(depth - 1))
			} else {
				b.WriteString(rapid.SampledFrom([]string{"1", `"x//y"`, "null", "[1, 2,]", "true", `"{"`}).Draw(t, "value"))
			}
			b.WriteString(gap())
			if i < n-1 || rapid.Bool().Draw(t, "trailing comma") {
				b.WriteString("," + gap())
			}
		}
		b.WriteString("}")
		return b.String()
	}
	return rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "mark") + gap() + object(2) + gap()
}

// Two edits of any document keep every comment and every other value, and setting a
// value back restores what is read.
func TestEditsKeepTheRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := []byte(document(t))
		before, err := Parse(src)
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		path := []string{rapid.SampledFrom([]string{"a", "b", "new"}).Draw(t, "path")}
		if rapid.Bool().Draw(t, "deep") {
			path = append(path, rapid.SampledFrom([]string{"a", "c"}).Draw(t, "below"))
		}
		out, err := Set(src, jsonx.Raw(`{"v":[1,{"w":2}]}`), path...)
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		after, err := Parse(out)
		if err != nil {
			t.Fatalf("%q became %q: %v", src, out, err)
		}
		for _, m := range before.Root.Members {
			if m.Key != path[0] && !bytes.Equal(before.Raw(before.Root.Get(m.Key)), after.Raw(after.Root.Get(m.Key))) {
				t.Fatalf("%q became %q: %s changed", src, out, m.Key)
			}
		}
		if before.Root.Get(path[0]) == nil && bytes.Count(src, []byte("note")) != bytes.Count(out, []byte("note")) {
			t.Fatalf("%q became %q: a comment is gone", src, out)
		}
		if bytes.Contains(src, []byte("\r\n")) && bytes.Count(out, []byte("\n")) != bytes.Count(out, []byte("\r\n")) {
			t.Fatalf("%q became %q: mixed line ends", src, out)
		}
		again, err := Set(out, jsonx.Raw(`{"v":[1,{"w":2}]}`), path...)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("setting the same value again changed %q to %q: %v", out, again, err)
		}
	})
}

// Positions count characters, not bytes, and lines by LF.
func TestPosition(t *testing.T) {
	doc, err := Parse([]byte("\ufeff{\r\n  \"ä\": 1,\n\t\"b\": \"𝄞\"}"))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string][2]int{"ä": {2, 8}, "b": {3, 7}} {
		line, column := doc.Position(doc.Root.Get(key).Start)
		if got := [2]int{line, column}; got != want {
			t.Errorf("%s at %v, want %v", key, got, want)
		}
	}
	if line, column := doc.Position(1 << 20); line != 3 || column != 11 {
		t.Errorf("beyond the end: %d, %d", line, column)
	}
}

func TestKindsInWords(t *testing.T) {
	doc, err := Parse([]byte(`[null,true,1,"s",{},[]]`))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, e := range doc.Root.Elems {
		got = append(got, e.Kind.String())
	}
	if s := strings.Join(got, "|"); s != "null|a boolean|a number|a string|an object|an array" || Kind(0).String() != "nothing" {
		t.Error(s)
	}
}
