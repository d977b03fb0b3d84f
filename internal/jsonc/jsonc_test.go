package jsonc

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func TestParse(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", `{"a":[1,true,null,"x"],"b":{}}`, `{"a":[1,true,null,"x"],"b":{}}`},
		{"comments", "// head\n{ /* in */ \"a\": 1, // after\n \"u\": \"http://x\" }\n// tail", `{"a":1,"u":"http://x"}`},
		{"trailing commas", `{"a":[1,2,],"b":{"c":1,},}`, `{"a":[1,2],"b":{"c":1}}`},
		{"mark", "\ufeff{\"a\":1}", `{"a":1}`},
		{"empty", "", `{}`},
		{"only a comment", " // nothing yet\n", `{}`},
		{"scalar", ` 12 `, `12`},
		{"duplicates kept", `{"a":1,"a":2}`, `{"a":1,"a":2}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc, err := Parse([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(doc.Raw(doc.Root)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestGetTakesTheLastDuplicate(t *testing.T) {
	doc, err := Parse([]byte(`{"a":1,"b":0,"a":2}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := doc.Root.Get("a").Text; got != "2" {
		t.Errorf("a = %s", got)
	}
	if doc.Root.Get("z") != nil || doc.Root.Get("a").Get("x") != nil {
		t.Error("found a member that is not there")
	}
}

func TestSyntaxErrors(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"a" 1}`, `unexpected '1' where ':' is due at line 1, column 6`},
		{"{\n  \"a\": 1\n  \"b\": 2\n}", `unexpected '"' where ',' or '}' is due at line 3, column 3`},
		{"{\n  \"a\": [1 2]\n}", `unexpected '2' where ',' or ']' is due at line 2, column 11`},
		{`{"a":`, `unexpected end of file where a value is due at line 1, column 6`},
		{`{"ä": x}`, `unexpected 'x' where a value is due at line 1, column 7`},
		{`{a:1}`, `unexpected 'a' where a name or '}' is due at line 1, column 2`},
		{`{"a":"x`, `string without end at line 1, column 6`},
		{"{\"a\":\"x\n\"}", `line break or control character in a string at line 1, column 8`},
		{`{"a":"\q"}`, `string with an invalid escape at line 1, column 6`},
		{`{"a":01}`, `unexpected word where a value is due at line 1, column 6`},
		{`{"a":trve}`, `unexpected word where a value is due at line 1, column 6`},
		{`{} x`, `unexpected 'x' after the end of the value at line 1, column 4`},
		{`{ /* `, `comment without end at line 1, column 3`},
		{"\ufeff{,}", `unexpected ',' where a name or '}' is due at line 1, column 2`},
		{`{"a":/1}`, `unexpected '/' at line 1, column 6`},
	}
	for _, tt := range tests {
		_, err := Parse([]byte(tt.in))
		if err == nil || err.Error() != tt.want {
			t.Errorf("Parse(%q): %v, want %s", tt.in, err, tt.want)
		}
	}
	if _, err := Parse([]byte(strings.Repeat("[", 100000))); err == nil {
		t.Error("deep nesting was accepted")
	}
}

func TestSet(t *testing.T) {
	tests := []struct {
		name, in, path, value, want string
	}{
		{"replace", "{\n  \"a\": 1, // one\n  \"b\": 2\n}\n", "a", `"x"`, "{\n  \"a\": \"x\", // one\n  \"b\": 2\n}\n"},
		{"append", "{\n  \"a\": 1 // one\n}\n", "b", `true`, "{\n  \"a\": 1, // one\n  \"b\": true\n}\n"},
		{"append after a trailing comma", "{\n\t\"a\": 1,\n}", "b", `2`, "{\n\t\"a\": 1,\n\t\"b\": 2\n}"},
		{"empty file", "", "retry.enabled", `false`, "{\n  \"retry\": {\n    \"enabled\": false\n  }\n}\n"},
		{"only a comment", "// mine", "a", `1`, "// mine\n{\n  \"a\": 1\n}\n"},
		{"empty object", "{}", "a", `1`, "{\n  \"a\": 1\n}"},
		{"empty object with a comment", "{\n  // none yet\n}\n", "a", `1`, "{\n  // none yet\n  \"a\": 1\n}\n"},
		{"one line", `{"a":1}`, "b", `2`, `{"a":1, "b": 2}`},
		{"one line with blanks", `{ "a": 1 }`, "b", `2`, `{ "a": 1, "b": 2 }`},
		{"nested", "{\n    \"c\": {\n        \"x\": 1\n    }\n}", "c.y", `[1,{"z":2}]`, "{\n    \"c\": {\n        \"x\": 1,\n        \"y\": [\n            1,\n            {\n                \"z\": 2\n            }\n        ]\n    }\n}"},
		{"object in the way", `{"retry": 3}`, "retry.enabled", `true`, "{\"retry\": {\n  \"enabled\": true\n}}"},
		{"CRLF", "{\r\n  \"a\": 1\r\n}\r\n", "b", `2`, "{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}\r\n"},
		{"duplicate", `{"a":1,"a":2}`, "a", `3`, `{"a":1,"a":3}`},
		{"mark kept", "\ufeff{\"a\":1}", "a", `2`, "\ufeff{\"a\":2}"},
		{"closing bracket on the last line", "{\n  \"a\": 1}", "b", `2`, "{\n  \"a\": 1,\n  \"b\": 2\n}"},
		{"comment before the end", "{\n  \"a\": 1\n  // end\n}", "b", `2`, "{\n  \"a\": 1,\n  // end\n  \"b\": 2\n}"},
		{"name to escape", `{}`, `a"b`, `1`, "{\n  \"a\\\"b\": 1\n}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Set([]byte(tt.in), jsonx.Raw(tt.value), strings.Split(tt.path, ".")...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	for _, in := range []string{`[1]`, `{"a":`, `3`} {
		if out, err := Set([]byte(in), jsonx.Raw(`1`), "a"); err == nil {
			t.Errorf("Set(%q) = %q", in, out)
		}
	}
	if _, err := Set([]byte(`{}`), jsonx.Raw(`{x`), "a"); err == nil {
		t.Error("a broken value was set")
	}
	if _, err := Set([]byte(`{}`), jsonx.Raw(`1`)); err == nil {
		t.Error("an empty path was accepted")
	}
}

func TestDelete(t *testing.T) {
	tests := []struct{ name, in, path, want string }{
		{"middle", "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}", "b", "{\n  \"a\": 1,\n  \"c\": 3\n}"},
		{"last", "{\n  \"a\": 1, // one\n  \"b\": 2\n}", "b", "{\n  \"a\": 1 // one\n}"},
		{"only", "{\n  \"a\": 1\n}", "a", "{\n}"},
		{"one line", `{"a":1, "b":2}`, "a", `{ "b":2}`},
		{"duplicates", `{"a":1,"b":0,"a":2}`, "a", `{"b":0}`},
		{"nested", `{"x":{"a":1}}`, "x.a", `{"x":{}}`},
		{"absent", `{"x":1}`, "y.z", `{"x":1}`},
		{"CRLF", "{\r\n  \"a\": 1,\r\n  \"b\": 2\r\n}", "b", "{\r\n  \"a\": 1\r\n}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Delete([]byte(tt.in), strings.Split(tt.path, ".")...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzSet checks that an edit of any readable document is readable, has the value,
// and leaves every other member of the root as it was.
func FuzzSet(f *testing.F) {
	for _, seed := range []string{"", "{}", "{ // c\n}", `{"a":1,}`, "{\r\n\"a\":{\"b\":[1,],},/*x*/}", "\ufeff{\"k\": 1 // x\n, \"z\":2}", "//x", `{"k":{"v":0}}`} {
		f.Add(seed, "k", "v", "12")
	}
	f.Fuzz(func(t *testing.T, src, k1, k2, value string) {
		before, err := Parse([]byte(src))
		if err != nil || before.Root.Kind != Object || !jsonx.Valid([]byte(value)) || !validText(k1) || !validText(k2) {
			return
		}
		out, err := Set([]byte(src), jsonx.Raw(value), k1, k2)
		if err != nil {
			t.Fatalf("Set(%q): %v", src, err)
		}
		after, err := Parse(out)
		if err != nil {
			t.Fatalf("%q became %q: %v", src, out, err)
		}
		for _, m := range before.Root.Members {
			if m.Key != k1 && !bytes.Equal(before.Raw(before.Root.Get(m.Key)), after.Raw(after.Root.Get(m.Key))) {
				t.Fatalf("%q became %q: %q changed", src, out, m.Key)
			}
		}
		gone, err := Delete(out, k1)
		if err != nil {
			t.Fatalf("Delete from %q: %v", out, err)
		}
		if doc, err := Parse(gone); err != nil || doc.Root.Get(k1) != nil {
			t.Fatalf("Delete: %q became %q: %v", out, gone, err)
		}
	})
}

func validText(s string) bool { return strings.ToValidUTF8(s, "") == s }
