package jsonx_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func TestPolicyIsJavaScripts(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"key order and numbers stay", `{"b":1.0,"a":1e21}`, `{"b":1.0,"a":1e21}`},
		{"lone surrogate escapes stay", `"s\ud800e"`, `"s\ud800e"`},
		{"line separators are ordinary", "\"a\u2028b\"", "\"a\u2028b\""},
		{"no HTML escapes", `"<&>"`, `"<&>"`},
	}
	for _, tt := range tests {
		var raw jsonx.Raw
		if err := jsonx.Unmarshal([]byte(tt.in), &raw); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got, err := jsonx.Marshal(raw)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
	var v struct {
		A string `json:"a"`
	}
	if err := jsonx.Unmarshal([]byte("{\"A\":\"no\",\"a\":\"x\",\"a\":\"y\xff\"}"), &v); err != nil || v.A != "y\uFFFD" {
		t.Errorf("duplicate name, case and bad UTF-8: %q, %v", v.A, err)
	}
	if b, err := jsonx.Marshal(struct{ L []int }{}); err != nil || string(b) != `{"L":[]}` {
		t.Errorf("nil slice: %s, %v", b, err)
	}
}

func TestSyntaxError(t *testing.T) {
	tests := []struct{ in, want string }{
		{``, "Unexpected end of JSON input"},
		{"  \t", "Unexpected end of JSON input"},
		{`{"a":1`, "Expected ',' or '}' after property value in JSON at position 6 (line 1 column 7)"},
		{`{"a":"b`, "Unterminated string in JSON at position 7 (line 1 column 8)"},
		{`{not json`, "Expected property name or '}' in JSON at position 1 (line 1 column 2)"},
		{"\"a\tb\"", "Bad control character in string literal in JSON at position 2 (line 1 column 3)"},
		{`{} x`, "Unexpected non-whitespace character after JSON at position 3 (line 1 column 4)"},
		{`nope`, `Unexpected token 'o', "nope" is not valid JSON`},
		{`{"a":1}`, ""},
		{`  null `, ""},
	}
	for _, tt := range tests {
		got := ""
		if err := jsonx.SyntaxError([]byte(tt.in)); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("SyntaxError(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzSyntaxError(f *testing.F) {
	for _, s := range []string{``, `{`, `"\`, "\"\x00", `[1,2`, `{"a"}`, "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := jsonx.SyntaxError(data); (err == nil) != jsonx.Valid(data) {
			t.Errorf("SyntaxError(%q) = %v, valid = %v", data, err, jsonx.Valid(data))
		}
	})
}

func TestIndent(t *testing.T) {
	got := string(jsonx.Indent([]byte(`{"b":[1,{"c":"x"}],"a":{},"d":[]}`)))
	want := "{\n  \"b\": [\n    1,\n    {\n      \"c\": \"x\"\n    }\n  ],\n  \"a\": {},\n  \"d\": []\n}"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Field reports 1 and 22: lines end with LF only and have no size limit.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	in := "\xef\xbb\xbffirst\r\na\u2028b\u0085\r\r\n\n" + long + "\n\xef\xbb\xbflater\nlast"
	want := []string{"first", "a\u2028b\u0085\r", "", long, "\xef\xbb\xbflater", "last"}
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(in), "byte by byte": iotest.OneByteReader(strings.NewReader(in))} {
		var got []string
		l := jsonx.NewLines(r)
		for {
			line, err := l.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
				break
			}
			got = append(got, string(line))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%.500s", name, diff)
		}
	}
}

func TestEachObject(t *testing.T) {
	for in, want := range map[string]string{
		`[{"a":1},2,[{"b":0}],null,{"c":3}]`: `{"a":1}{"c":3}`,
		`[]`:                                 "",
		`{"a":1}`:                            "",
		`"x"`:                                "",
	} {
		dec := jsontext.NewDecoder(strings.NewReader(in + " true"))
		got := ""
		err := jsonx.EachObject(dec, func() error {
			v, err := dec.ReadValue()
			got += string(v)
			return err
		})
		if next := dec.PeekKind(); err != nil || got != want || next != 't' {
			t.Errorf("%s: got %s, %v, then %v", in, got, err, next)
		}
	}
	for _, in := range []string{`[{"a"`, `[1`, `[}`} {
		dec := jsontext.NewDecoder(strings.NewReader(in))
		if err := jsonx.EachObject(dec, dec.SkipValue); err == nil {
			t.Errorf("%s: no error", in)
		}
	}
}
