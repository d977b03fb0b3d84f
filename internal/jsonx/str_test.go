package jsonx_test

import (
	"testing"

	"github.com/isotope-agent/isotope/internal/jsonx"
)

func TestStrComesOutAsItWentIn(t *testing.T) {
	for _, in := range []string{
		`"plain"`, `""`, `"a\nb\"c\\"`, `"héé😀"`, `"s\ud800e"`, `"\udfff"`, `"\ud800\ud800x"`, `"\\ud800"`, `"a\ud83d"`,
	} {
		var s jsonx.Str
		if err := jsonx.Unmarshal([]byte(in), &s); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		out, err := jsonx.Marshal(s)
		if err != nil || string(out) != in {
			t.Errorf("%s came out as %s, %v", in, out, err)
		}
	}
	var s jsonx.Str
	if err := jsonx.Unmarshal([]byte(`"\ud83d\ude00\u0041"`), &s); err != nil || s != "😀A" {
		t.Errorf("a whole pair: %q, %v", s, err)
	}
	if err := jsonx.Unmarshal([]byte("\"x\xff\""), &s); err != nil || s != "x\uFFFD" {
		t.Errorf("invalid UTF-8: %q, %v", s, err)
	}
	if err := jsonx.Unmarshal([]byte(`5`), &s); err == nil {
		t.Error("a number was taken for a string")
	}
}

func FuzzStr(f *testing.F) {
	for _, s := range []string{`"\ud800"`, `"\u00e9\ud83d\ude00"`, `"\\\ud8"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !jsonx.Valid(data) || len(data) == 0 || data[0] != '"' {
			return
		}
		s, err := jsonx.DecodeStr(data)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		out, err := jsonx.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := jsonx.DecodeStr(out)
		if err != nil || again != s {
			t.Errorf("%q: %q came back as %q, %v", data, s, again, err)
		}
	})
}
